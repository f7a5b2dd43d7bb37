"""A run of a single environment: the overlay changes the objects of the base, and then renames the objects."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.support import normal
from tests.support.draws import drawn
from tests.support.generated import Document, accepted, jobs, saying
from tests.support.rendered import Rendered
from tfgen.graph.fill import Scope, fill
from tfgen.graph.objects.finisher import config_map

pytestmark = pytest.mark.long

JOB: Document = {
    "apiVersion": "tfgen/v1alpha1",
    "kind": "TrainingJob",
    "metadata": {"name": "mnist"},
    "spec": {
        "image": "registry.example.com/mnist:1",
        "roles": {"chief": {}, "ps": {"replicas": 2}, "worker": {"replicas": 4, "args": ["a"]}, "evaluator": {}},
        "storage": {"model": {"mountPath": "/model", "claim": {"size": "1Gi"}}},
        "gang": {"scheduler": "volcano"},
        "tensorboard": {"logDir": "/model"},
        "environments": {"prod": {}},
    },
}
MIRRORED: Mapping[str, Any] = {
    "strategy": "MultiWorkerMirrored",
    "roles": {"chief": None, "ps": None, "evaluator": None},
    "tensorboard": None,
}

OF_RUN = ["Service mnist", "ConfigMap mnist", "NetworkPolicy mnist", "PodGroup mnist", "Job mnist-chief"]
ROLES = ["StatefulSet mnist-ps", "StatefulSet mnist-worker", "Job mnist-evaluator"]
FINISHER = [f"{kind} mnist-finisher" for kind in ("ServiceAccount", "Role", "RoleBinding")]
PROGRAM = fill(config_map(), Scope({"run": "", "labels": {}, "annotations": {}}, "mnist", "mnist"))["metadata"]["name"]
ALL = [*OF_RUN, *ROLES, *FINISHER, f"ConfigMap {PROGRAM}", "Job mnist-finisher"]


FILES_OF_FINISHER = [
    *("files/finisher.py", "finisher-role.yaml", "finisher-rolebinding.yaml", "finisher-serviceaccount.yaml"),
    "finisher.yaml",
]


def without(*titles: str) -> list[str]:
    return [title for title in ALL if title not in titles]


CASES: Mapping[str, tuple[Mapping[str, Any], list[str], list[str], list[str]]] = {
    # The changed values of the job, the renamed objects, the deleted objects, and the new files.
    "a new run alone": ({"environments": {"prod": {"run": "2"}}}, ALL, [], []),
    "no run where the job has one": (
        {"run": "2", "environments": {"prod": {"run": ""}}},
        [title.replace("mnist", "mnist-2") for title in ALL],
        [],
        [],
    ),
    "other arguments, replicas and images": (
        {
            "environments": {
                "prod": {
                    "run": "2",
                    "image": "registry.example.com/mnist:2",
                    "env": {"A": "a"},
                    "roles": {"ps": {"replicas": 3, "image": "other:1"}, "worker": {"replicas": 8, "args": ["b"]}},
                }
            }
        },
        ALL,
        [],
        [],
    ),
    "no gang and no isolation": (
        {"environments": {"prod": {"run": "2", "gang": {"enabled": False}, "network": {"policy": "Off"}}}},
        without("PodGroup mnist", "NetworkPolicy mnist"),
        ["NetworkPolicy mnist", "PodGroup mnist", "NetworkPolicy mnist-tensorboard"],
        [],
    ),
    "a role that is gone": (
        {**MIRRORED, "startDeadline": 60, "environments": {"prod": {"run": "2", "startDeadline": 0}}},
        [*OF_RUN[:4], "Job mnist-worker"],
        [*FINISHER, f"ConfigMap {PROGRAM}", "Job mnist-finisher"],
        [],
    ),
    "a role that is new": (
        {**MIRRORED, "environments": {"prod": {"run": "2", "startDeadline": 60}}},
        [*OF_RUN[:4], "Job mnist-worker", *FINISHER, f"ConfigMap {PROGRAM}", "Job mnist-finisher"],
        [],
        FILES_OF_FINISHER,
    ),
    "a run that is called as a part of another is": (
        {
            "network": {"egress": {"limited": True}},
            "environments": {"prod": {"run": "finisher"}},
        },
        without("NetworkPolicy mnist"),
        ["NetworkPolicy mnist"],
        ["finisher-networkpolicy.yaml"],
    ),
    "a label that is gone": (
        {"labels": {"a": "b"}, "environments": {"prod": {"run": "2", "labels": {"a": None, "c": "null"}}}},
        ALL,
        [],
        [],
    ),
    "a user's reference to what another environment has": (
        {
            "envFrom": [{"configMapRef": {"name": "mnist", "optional": True}}],
            "roles": {"worker": {"serviceAccountName": "mnist-finisher"}},
            "environments": {"prod": {"run": "2"}},
        },
        without("ConfigMap mnist", "ServiceAccount mnist-finisher"),
        ["ConfigMap mnist", "ServiceAccount mnist-finisher"],
        ["configmap.yaml", "finisher-serviceaccount.yaml"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_overlay_renames_what_stays(name, tmp_path):
    values, renamed, deleted, new = CASES[name]
    document = saying(JOB, values)
    # Replace the environments, because `saying` would remove a key with null.
    document = {**document, "spec": {**document["spec"], "environments": values["environments"]}}
    assert accepted(document)
    rendered = Rendered.write(document, tmp_path)
    rendered.assert_equal("prod")
    folder = rendered.overlay("prod")
    kustomization = yaml.safe_load((folder / "kustomization.yaml").read_text(encoding="utf-8"))
    entries = kustomization["patches"]
    files_of_patches = {entry["path"] for entry in entries if "path" in entry}
    texts = [entry.get("patch") or (folder / entry["path"]).read_text(encoding="utf-8") for entry in entries]
    patches = [yaml.safe_load(text) for text in texts]
    targets = [entry["target"] for entry in entries if "target" in entry]
    assert sorted(f"{target['kind']} {target['name'].strip('^$')}" for target in targets) == sorted(renamed)
    gone = [patch for patch in patches if "$patch" in patch]
    assert [f"{patch['kind']} {patch['metadata']['name']}" for patch in gone] == deleted
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*.*") if path.is_file()}
    assert sorted(files - {"kustomization.yaml", *files_of_patches}) == sorted(new)


def test_a_new_run_changes_the_kustomization_alone(tmp_path):
    """A rerun changes one file of the overlay for the reviewer, also in an environment with its own values."""
    own = {"image": "registry.example.com/mnist:2", "labels": {"team": "a"}, "tensorboard": {"enabled": False}}
    prod = {**own, "roles": {"worker": {"replicas": 8, "args": ["b"]}}, "startDeadline": 60}
    overlays = []
    for run in ("", "2", "3"):
        document = saying(JOB, {"environments": {"prod": {**prod, "run": run}}})
        overlays.append(Rendered.write(document, tmp_path / f"run-{run}"))
    for before, after in pairwise(overlays):
        old, new = (files_below(rendered.overlay("prod")) for rendered in (before, after))
        assert {path for path in old.keys() | new.keys() if old.get(path) != new.get(path)} == {"kustomization.yaml"}


def test_the_patches_of_a_run_omit_the_references_that_kustomize_updates(tmp_path):
    rendered = Rendered.write(saying(JOB, {"environments": {"prod": {"run": "2"}}}), tmp_path)
    rendered.assert_equal("prod")
    kustomization = (rendered.overlay("prod") / "kustomization.yaml").read_text(encoding="utf-8")
    updated = ("serviceName", "configMapKeyRef", "configMap:", "serviceAccountName", "roleRef", "subjects")
    assert [field for field in updated if field in kustomization] == []


def files_below(folder: Path) -> Mapping[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in files}


NAMES = st.sampled_from(["", "2", "b", "finisher", "worker", "tensorboard-2", PROGRAM.removeprefix("mnist-")])


@st.composite
def reruns(draw: st.DrawFn) -> Document:
    """Draw a job with an environment that has its own run and drawn changes."""
    document = draw(jobs(environments=1))
    (name,) = document["spec"]["environments"]
    runs = draw(st.lists(NAMES, min_size=2, max_size=2, unique=True))
    own = {"run": runs[1], "args": draw(st.lists(st.sampled_from(["a", "b"]), max_size=2)), "image": "other:2"}
    rerun = saying(document, {"run": runs[0], "environments": {name: own}})
    assume(accepted(rerun))
    return rerun


@drawn(15)
@given(document=reruns())
def test_kustomize_and_tfgen_agree(document):
    with tempfile.TemporaryDirectory() as folder:
        rendered = Rendered.write(document, Path(folder))
        (environment,) = rendered.environments
        normal.assert_equal(
            {
                "kustomize": rendered.by_kustomize(environment),
                "tfgen": rendered.by_tfgen(environment),
                "our reading of the overlay": rendered.by_our_reading(environment),
            }
        )


@pytest.mark.parametrize("name", ["123", "true", "null", "1e3"])
def test_a_new_name_that_yaml_reads_as_another_type_stays_a_text(name: str, tmp_path: Path) -> None:
    spec = {"image": "a:1", "roles": {"chief": {}, "ps": {}, "worker": {}}, "serviceAccount": {}}
    spec["environments"] = {"dev": {"serviceAccountName": name}}
    document = {"apiVersion": "tfgen/v1alpha1", "kind": "TrainingJob", "metadata": {"name": "mnist"}, "spec": spec}
    rendered = Rendered.write(document, tmp_path)
    rendered.assert_equal("dev")
    assert ("v1", "ServiceAccount", name) in rendered.by_kustomize("dev")


@pytest.mark.parametrize("name", ["true", "null"])
def test_an_environment_without_the_run_of_the_job_has_the_name_of_the_job(name: str, tmp_path: Path) -> None:
    spec = {"run": "2", "image": "a:1", "roles": {"chief": {}, "ps": {}, "worker": {}}}
    spec["environments"] = {"dev": {"run": ""}}
    document = {"apiVersion": "tfgen/v1alpha1", "kind": "TrainingJob", "metadata": {"name": name}, "spec": spec}
    rendered = Rendered.write(document, tmp_path)
    rendered.assert_equal("dev")
    assert ("v1", "Service", name) in rendered.by_kustomize("dev")
