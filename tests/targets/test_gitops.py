"""Tests of the objects for Argo CD and Flux: validated against their CRDs and against small schemas, and other checks.

tests/data/gitops/CASE contains a job.yaml, and in argocd/ and flux/ all objects for the tools.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jsonschema
import lupa
import pytest
import yaml

from tests.support.real_crds import real_validator
from tests.support.tools import ROOT
from tfgen.check.jobs import check
from tfgen.errors import has_errors
from tfgen.graph.graph import plain_objects
from tfgen.targets.gitops import health_check, health_checks
from tfgen.targets.render import render
from tfgen.text.parse import parse

KINDS = {
    "Application": "argo-cd-3.6.1-application.yaml",
    "ApplicationSet": "argo-cd-3.6.1-applicationset.yaml",
    "Kustomization": "flux-kustomize-controller-1.10.1-kustomizations.yaml",
    "HelmRelease": "flux-helm-controller-1.6.3-helmreleases.yaml",
    "GitRepository": "flux-source-controller-1.10.1-gitrepositories.yaml",
}
DATA = ROOT / "tests" / "data" / "gitops"
CASES = sorted(path.parent for path in DATA.glob("*/job.yaml"))
TOOLS = ("argocd", "flux")


def expected(case: Path) -> dict[str, str]:
    """Return the files of a case, by path relative to overlays/."""
    paths = (path for tool in TOOLS for path in sorted((case / tool).rglob("*")) if path.is_file())
    return {path.relative_to(case).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def emitted() -> Iterator[Mapping[str, Any]]:
    """Yield every object for a GitOps tool in the cases."""
    for case in CASES:
        yield from filter(None, map(yaml.safe_load, expected(case).values()))


OWN_KINDS = {"Namespace", "ConfigMap"}
"""Kubernetes' own kinds among the objects for the tools. The two schemas do not describe these kinds."""
CUSTOM_OBJECTS = [
    pytest.param(item, id=f"{item['kind']}-{item['metadata']['name']}")
    for item in emitted()
    if item["kind"] not in OWN_KINDS
]


def rendered(spec: str, name: str = "mnist", roles: str = "roles: {chief: {}, ps: {}, worker: {}},") -> dict[str, Any]:
    """The GitOps objects of a job by path."""
    text = (
        f"{{apiVersion: tfgen/v1alpha1, kind: TrainingJob, metadata: {{name: {name}, namespace: ml}}, spec: {{"
        f"image: 'registry.example.com/ml/mnist:1', {roles} {spec}}}}}"
    )
    assert not has_errors(check(text, "job.yaml").problems)
    files = render(parse(text, "job.yaml").documents[0].data).tree.files
    wanted = ("overlays/argocd/", "overlays/flux/")
    return {path: yaml.safe_load(text) for path, text in files.items() if path.startswith(wanted) and text}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_files_of_a_job_are_those_of_the_case(case: Path) -> None:
    checked = check((case / "job.yaml").read_bytes(), "job.yaml")
    assert checked.problems == ()
    files = render(checked.documents[0].data).tree.files
    made = {path.removeprefix("overlays/"): text for path, text in files.items()}
    assert {path: text for path, text in made.items() if path.startswith(TOOLS)} == expected(case)


def test_every_kind_is_among_the_cases() -> None:
    kinds = {item["kind"] for item in emitted()}
    assert kinds - {*KINDS} == OWN_KINDS
    assert kinds & {*KINDS} == {*KINDS}


@pytest.mark.parametrize("item", CUSTOM_OBJECTS)
def test_object_is_valid_for_the_schema_of_tfgen(item: Mapping[str, Any]) -> None:
    group, _, version = item["apiVersion"].partition("/")
    path = ROOT / "schemas" / f"{item['kind'].lower()}.{group}.{version}.json"
    jsonschema.Draft7Validator(json.loads(path.read_text(encoding="utf-8"))).validate(item)


@pytest.mark.may_skip("the CRDs are not in every checkout")
@pytest.mark.parametrize("item", CUSTOM_OBJECTS)
def test_object_is_valid_for_the_real_crd(item: Mapping[str, Any]) -> None:
    real_validator(KINDS[item["kind"]], item["apiVersion"]).validate(item)


# -- fields of the objects -----------------------------------------------------------------------------------------

GITOPS = "gitops: {repository: 'https://git.example.com/ml/jobs.git', %s}, environments: {prod: {}}"


SINGLE = "strategy: Single, roles: {chief: {}}, workload: {kind: Job}, gang: {scheduler: kueue, queue: q}"
QUEUED = "gang: {scheduler: kueue, queue: q}"
# The spec of a job, and the field that a controller or a user changes: the finisher's release, or the start of the job.
CHANGED = {
    "completion: {by: Chief}": ("apps", "StatefulSet", "/spec/replicas"),
    "workload: {kind: JobSet, suspend: true}": ("jobset.x-k8s.io", "JobSet", "/spec/suspend"),
    "workload: {kind: TFJob, suspend: true}": ("kubeflow.org", "TFJob", "/spec/runPolicy/suspend"),
    f"workload: {{kind: JobSet}}, {QUEUED}": ("jobset.x-k8s.io", "JobSet", "/spec/suspend"),
    f"workload: {{kind: TFJob}}, {QUEUED}": ("kubeflow.org", "TFJob", "/spec/runPolicy/suspend"),
    SINGLE: ("batch", "Job", "/spec/suspend"),
    "workload: {kind: JobSet}": None,
    "workload: {kind: TFJob}": None,
    "workload: {kind: Job}": None,
    "completion: {release: Keep}": None,
}


@pytest.mark.parametrize(("spec", "changed"), CHANGED.items())
def test_gitops_tools_ignore_exactly_the_field_that_changes_in_the_cluster(spec, changed):
    files = rendered(f"{spec}, {GITOPS % 'argocd: {}, flux: {}'}", **({"roles": ""} if spec == SINGLE else {}))
    application, kustomization = (files[f"overlays/{tool}/mnist-prod.yaml"]["spec"] for tool in TOOLS)
    ignored = application.get("ignoreDifferences"), kustomization.get("ignore")
    if changed is None:
        assert ignored == (None, None)
    else:
        group, kind, field = changed
        target = {"group": group, "kind": kind}
        assert ignored == ([{**target, "jsonPointers": [field]}], [{"paths": [field], "target": target}])
        assert "RespectIgnoreDifferences=true" in application["syncPolicy"]["syncOptions"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_nothing_is_replaced_hooked_or_substituted(case: Path) -> None:
    files = render(yaml.safe_load((case / "job.yaml").read_text(encoding="utf-8"))).tree.files
    assert any(path.startswith(("overlays/argocd/", "overlays/flux/")) for path in files)
    for text in files.values():
        assert "argocd.argoproj.io/hook" not in text
        assert "Replace=true" not in text
        assert "ttlSecondsAfterFinished" not in text
        assert "postBuild" not in text
        assert "force: true" not in text


@pytest.mark.parametrize("source", ["Kustomize", "Chart"])
def test_health_of_a_custom_kind_is_stated_only_for_a_wait(source: str) -> None:
    """A helm-controller before 1.5 does not support the field."""

    def said(flux: str, scheduler: str = "volcano") -> Any:
        delivery = GITOPS % f"source: {source}, flux: {flux}"
        return rendered(f"workload: {{kind: Job}}, gang: {{scheduler: {scheduler}}}, {delivery}")[
            "overlays/flux/mnist-prod.yaml"
        ]["spec"]

    assert "healthCheckExprs" not in said("{}")
    assert said("{wait: true, timeout: 24h}")["healthCheckExprs"] == [
        {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "current": "has(status.phase)"}
    ]
    # The status of Kubernetes' own PodGroup has conditions, and no phase for a health check.
    assert "healthCheckExprs" not in said("{wait: true, timeout: 24h}", "kubernetes")


def test_waves_contain_the_gang_before_its_pods_and_no_claim() -> None:
    """A wave starts when the previous wave is healthy. A claim that needs a pod of a later wave is never healthy."""
    waves: dict[str, set[str]] = {}
    for item in plain_objects(yaml.safe_load((DATA / "overlays" / "job.yaml").read_text(encoding="utf-8"))):
        annotations = item["metadata"].get("annotations", {})
        waves.setdefault(annotations.get("argocd.argoproj.io/sync-wave", "0"), set()).add(item["kind"])
    assert waves["-1"] >= {"PodGroup", "Role", "RoleBinding", "ServiceAccount", "ConfigMap", "NetworkPolicy"}
    assert not waves["-1"] & {"PersistentVolumeClaim", "StatefulSet", "Job", "Deployment"}
    assert set(waves) == {"-1", "0"}


def test_jobs_of_one_repository_share_its_objects() -> None:
    one, other = (rendered(GITOPS % "flux: {}", name) for name in ("mnist", "cifar"))
    assert sorted(one.keys() & other.keys()) == [
        "overlays/flux/gitrepository-tfgen-724f9cc7.yaml",
        "overlays/flux/namespace-ml.yaml",
    ]
    assert all(one[path] == other[path] for path in one.keys() & other.keys())


# -- health checks in Lua --------------------------------------------------------------------------------------------


def conditions(**status: str) -> dict[str, Any]:
    return {"conditions": [{"type": kind, "status": value, "message": kind} for kind, value in status.items()]}


@pytest.mark.parametrize(
    ("name", "status", "expected"),
    [
        ("podgroup", None, "Healthy"),
        ("podgroup", {"phase": "Pending"}, "Healthy"),
        ("podgroup", {"phase": "Unknown"}, "Healthy"),
        ("tfjob", None, "Progressing"),
        ("tfjob", conditions(Created="True", Running="True"), "Progressing"),
        ("tfjob", conditions(Created="True", Running="False", Succeeded="True"), "Healthy"),
        ("tfjob", conditions(Created="True", Running="False", Failed="True"), "Degraded"),
        ("tfjob", conditions(Created="True", Suspended="True"), "Suspended"),
        ("jobset", None, "Progressing"),
        ("jobset", conditions(Completed="True"), "Healthy"),
        ("jobset", conditions(Failed="True"), "Degraded"),
        ("jobset", conditions(Suspended="False"), "Progressing"),
        ("jobset", conditions(Suspended="True"), "Suspended"),
        ("volcano_job", None, "Progressing"),
        ("volcano_job", {"state": {"phase": "Running"}}, "Progressing"),
        ("volcano_job", {"state": {"phase": "Completed"}}, "Healthy"),
        ("volcano_job", {"state": {"phase": "Failed", "message": "no"}}, "Degraded"),
        ("volcano_job", {"state": {"phase": "Aborted"}}, "Suspended"),
    ],
)
def test_health(name: str, status: Any, expected: str) -> None:
    lua = lupa.LuaRuntime(unpack_returned_tuples=True)
    lua.globals().obj = lua.table_from({"status": status} if status else {}, recursive=True)
    health = lua.execute(health_check(name))
    assert health["status"] == expected
    assert isinstance(health["message"], str)


def test_each_kind_that_argo_cd_does_not_know_has_a_check() -> None:
    kinds = {key.removeprefix("resource.customizations.health.") for key in health_checks()["data"]}
    assert kinds >= {
        "scheduling.volcano.sh_PodGroup",
        "kubeflow.org_TFJob",
        "batch.volcano.sh_Job",
        "jobset.x-k8s.io_JobSet",
    }
