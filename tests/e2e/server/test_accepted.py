"""The API server accepts every object and every pod of every job, and changes nothing the second time.

A dry run tries the objects of every overlay. One job of each workload kind is applied, to a namespace with the Pod
Security profile of the job, by default "restricted". The API server rejects pods one by one, long after it has accepted
their owner, so these tests wait for the pods.
"""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.client import ApiError, Client, Object, eventually
from tests.e2e.conftest import dns_label
from tests.e2e.control_plane import ControlPlane
from tests.e2e.custom_kinds import definitions
from tests.e2e.jobs import EXAMPLES, environments, without_namespaces, write_job
from tests.support import tools
from tests.support.command import WITHOUT_COLLECTION, Command, CommandError
from tests.support.generated import Document
from tests.support.rendered import Rendered
from tests.support.tools import ROOT
from tfgen.check.jobs import check
from tfgen.graph.graph import plain_objects
from tfgen.schema import kinds

CASES = environments([*EXAMPLES, *sorted(ROOT.glob("tests/golden/*/job.yaml"))])
NEEDED = ("ServiceAccount", "PriorityClass", "RuntimeClass")
"""The kinds of objects without which the API server refuses a pod."""
UNSEEN = "no PriorityClass with name"
"""The text of a temporary refusal: the API server reads a pod's class from a list that is updated after the class."""

CHARTS = [*dict(CASES).items()]
"""Each job with its last environment. The objects of a chart are those of the overlay in every environment
(tests/equal), so one installation shows that the API server accepts the fields that Helm applies."""

OF_EACH_KIND = {
    "everything-prod": "StatefulSet",
    "job-large": "Job",
    "pod-prod": "Pod",
    "elastic-dl-dev": "ElasticDL",
    "tfjob-dev": "TFJob",
    "job-set-dev": "JobSet",
    "volcano-job-partial": "VolcanoJob",
}
"""A job and environment of each workload kind. The nightly tests apply all others."""


def each(cases: Sequence[tuple[Path, str | None]], kept: Collection[str]) -> pytest.MarkDecorator:
    """Return the mark that runs a test with each case. All cases except the kept ones are nightly."""
    names = [f"{path.parent.name}-{environment or 'base'}" for path, environment in cases]
    params = [
        pytest.param(*case, id=name, marks=[] if name in kept else pytest.mark.nightly)
        for case, name in zip(cases, names, strict=True)
    ]
    return pytest.mark.parametrize(("job", "environment"), params)


@pytest.fixture(scope="module")
def with_custom_kinds(gang_cluster: ControlPlane) -> ControlPlane:
    """A cluster that serves all kinds that jobs are rendered to."""
    objects = [obj for job, environment in CASES for obj in _rendered(job, environment)]
    gang_cluster.install(definitions(gang_cluster.client, objects))
    return gang_cluster


@functools.cache
def _rendered(job: Path, environment: str | None) -> Sequence[Object]:
    return [*map(dict, plain_objects(without_namespaces(_document(job)), environment))]


@functools.cache
def _document(job: Path) -> Document:
    (document,) = check(job.read_text(encoding="utf-8"), str(job)).documents
    data: Document = document.data
    return data


@pytest.fixture
def rendered(job: Path, tmp_path: Path) -> Rendered:
    return write_job(job.read_text(encoding="utf-8"), tmp_path)


@pytest.fixture
def place(with_custom_kinds: ControlPlane, rendered: Rendered, request: pytest.FixtureRequest) -> Iterator[str]:
    """Create a namespace with the Pod Security profile of the job, and the objects that the job expects there."""
    name = with_custom_kinds.namespace(dns_label(request.node.name), _profile(rendered.document))
    with_custom_kinds.client.apply_all(_taken_for_granted(rendered.document["spec"]), name)
    yield name
    with_custom_kinds.client.delete("Namespace", name)
    _remove_cluster_scoped(with_custom_kinds.client)


def _remove_cluster_scoped(client: Client) -> None:
    for kind in ("PriorityClass", "eci.alibabacloud.com/v1/ImageCache"):
        for each in client.list(kind):
            if not each["metadata"]["name"].startswith("system-"):
                client.delete(kind, each["metadata"]["name"])


def _profile(document: Document) -> str:
    return str(document["spec"].get("security", {}).get("profile", "restricted"))


def test_a_job_of_each_workload_kind_is_applied() -> None:
    kinds_of_cases = {
        f"{path.parent.name}-{environment or 'base'}": kinds.of_spec(_document(path)["spec"])
        for path, environment in CASES
    }
    assert {name: kinds_of_cases[name] for name in OF_EACH_KIND} == OF_EACH_KIND
    assert {*OF_EACH_KIND.values()} == {*kinds.FACTS}


@each(CASES, OF_EACH_KIND)
def test_an_overlay_is_applied(
    with_custom_kinds: ControlPlane, place: str, rendered: Rendered, job: Path, environment: str | None
) -> None:
    apply = ("apply", "--server-side", "--namespace", place, "--kustomize", rendered.overlay(environment))
    with_custom_kinds.kubectl(*apply)
    before = _settled(with_custom_kinds.client, place, job, environment)
    with_custom_kinds.kubectl(*apply)
    assert _content(with_custom_kinds.client, place, job, environment) == before


@each(CHARTS, ["everything-prod"])
def test_a_chart_is_installed(
    with_custom_kinds: ControlPlane, place: str, rendered: Rendered, job: Path, environment: str | None
) -> None:
    def helm(verb: str) -> None:
        chart: list[str | Path] = [rendered.name, rendered.chart, *rendered.values_args(environment)]
        argv = (tools.helm_program(), verb, *chart, "--namespace", place)
        Command(argv, env={**WITHOUT_COLLECTION, "KUBECONFIG": str(with_custom_kinds.admin)}).run(timeout=1800)

    helm("install")
    before = _settled(with_custom_kinds.client, place, job, environment)
    helm("upgrade")
    assert _content(with_custom_kinds.client, place, job, environment) == before


def _taken_for_granted(spec: Mapping[str, Any]) -> Iterator[Object]:
    """Yield the objects that a job refers to and does not create, and that its pods need."""
    said = [spec, *spec.get("environments", {}).values()]
    made = {name for each in said for name in each.get("priorityClasses") or ()}
    for each in said:
        if account := each.get("serviceAccountName"):
            yield {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": account}}
        if runtime := each.get("runtimeClassName"):
            yield _class("node.k8s.io/v1", "RuntimeClass", runtime, handler="runc")
        if (priority := each.get("priorityClassName")) and priority not in made:
            yield _class("scheduling.k8s.io/v1", "PriorityClass", priority, value=1000)


def _class(version: str, kind: str, name: str, **content: Any) -> Object:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **content}


@pytest.fixture(scope="module")
def tried(with_custom_kinds: ControlPlane) -> Iterator[Mapping[str, str]]:
    """Create a namespace for each Pod Security profile, and all objects without which the server refuses a pod."""
    client = with_custom_kinds.client
    profiles = {_profile(_document(job)) for job, _ in CASES}
    names = {profile: with_custom_kinds.namespace(f"tried-{profile}", profile) for profile in profiles}
    for job, environment in CASES:
        document = _document(job)
        needed = [*_taken_for_granted(document["spec"]), *_rendered(job, environment)]
        client.apply_all((obj for obj in needed if obj["kind"] in NEEDED), names[_profile(document)])
    yield names
    for name in names.values():
        client.delete("Namespace", name)
    _remove_cluster_scoped(client)


@pytest.mark.parametrize("job", [*dict(CASES)], ids=lambda job: job.parent.name)
def test_all_objects_and_pods_of_a_job_are_taken(
    with_custom_kinds: ControlPlane, tried: Mapping[str, str], job: Path
) -> None:
    """Each pod template is tried as a pod, because a dry run creates no owner whose controller creates pods."""
    namespace = tried[_profile(_document(job))]
    objects = [obj for path, environment in CASES if path == job for obj in _rendered(path, environment)]
    different = [obj for obj, _ in itertools.groupby(sorted(objects, key=json.dumps))]
    for obj in different:
        with_custom_kinds.client.apply(obj, namespace, dry_run=True)
    for template in [template for obj in different for template in _templates(obj)]:
        metadata = {**template.get("metadata", {}), "name": "tried"}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}
        eventually(functools.partial(_is_taken, with_custom_kinds.client, pod, namespace), "a pod's priority class")


POLICY = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {{name: {namespace}.example.com}}
spec:
  matchConstraints:
    resourceRules: [{{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [statefulsets]}}]
  validations: [{{expression: object.spec.replicas <= 1, message: one worker is enough}}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {{name: {namespace}.example.com}}
spec:
  policyName: {namespace}.example.com
  validationActions: [Deny]
  matchResources: {{namespaceSelector: {{matchLabels: {{kubernetes.io/metadata.name: {namespace}}}}}}}
"""


def test_a_dry_run_of_an_overlay_evaluates_the_policies_of_the_cluster(
    cluster: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    """docs/guard-rails.md has this command for CI."""
    overlay = write_job((ROOT / "examples/dist-mnist/job.yaml").read_text(encoding="utf-8"), tmp_path).overlay("dev")
    dry_run = ("apply", "--dry-run=server", "-n", namespace, "-k", overlay)
    cluster.kubectl(*dry_run)
    cluster.kubectl("apply", "-f", "-", stdin=POLICY.format(namespace=namespace))

    def refusal() -> str:
        try:
            cluster.kubectl(*dry_run)
        except CommandError as error:
            return str(error)
        return ""

    # A policy takes effect a moment after its creation.
    eventually(lambda: "denied request: one worker is enough" in refusal(), "the refusal of the overlay")
    assert cluster.client.list("StatefulSet", namespace) == []


def _is_taken(client: Client, pod: Object, namespace: str) -> bool:
    try:
        client.create(pod, namespace, dry_run=True)
    except ApiError as error:
        if UNSEEN in error.message:
            return False
        raise
    return True


def _templates(data: Any) -> Iterator[Object]:
    """Yield the pod templates at any depth of an object."""
    if isinstance(data, dict):
        if "containers" in data.get("spec", ()):
            yield data
        for value in data.values():
            yield from _templates(value)
    elif isinstance(data, list):
        for value in data:
            yield from _templates(value)


Content = dict[tuple[str, str], Object]


def _settled(client: Client, namespace: str, job: Path, environment: str | None) -> Content:
    """Return the objects of the namespace when all pods exist."""
    eventually(lambda: _has_all_pods(client, namespace), "all pods")
    return _content(client, namespace, job, environment)


def _has_all_pods(client: Client, namespace: str) -> bool:
    assert not (refused := _refusals(client, namespace)), refused
    owners = [owner for kind in ("apps/v1/StatefulSet", "apps/v1/Deployment") for owner in client.list(kind, namespace)]
    jobs = client.list("batch/v1/Job", namespace)
    return all(owner.get("status", {}).get("replicas") == owner["spec"]["replicas"] for owner in owners) and all(
        job.get("status", {}).get("active") == job["spec"]["parallelism"] for job in jobs
    )


def _refusals(client: Client, namespace: str) -> list[str]:
    """Return the reasons for refused pods, without temporary reasons."""
    events = client.list("v1/Event", namespace, fields="type=Warning")
    refused = [event["message"] for event in events if event["reason"] == "FailedCreate"]
    return [message for message in refused if UNSEEN not in message]


def _content(client: Client, namespace: str, job: Path, environment: str | None) -> Content:
    """Return all applied objects, by kind and name: the content, and the managers of the fields with times.

    The result omits the status and the resourceVersion, because controllers change them all the time.
    """
    kinds = {(f"{obj['apiVersion']}/{obj['kind']}", obj["metadata"]["name"]) for obj in _rendered(job, environment)}
    return {(kind, name): _without_status(kind, client.get(kind, name, namespace)) for kind, name in kinds}


def _without_status(kind: str, obj: Object) -> Object:
    metadata = {key: value for key, value in obj["metadata"].items() if key not in ("resourceVersion", "managedFields")}
    # An apply without a change leaves the managers and their times unchanged, except for a claim.
    writers = () if kind == "v1/PersistentVolumeClaim" else obj["metadata"]["managedFields"]
    applied = [entry for entry in writers if entry["operation"] == "Apply"]
    return {**obj, "metadata": metadata, "status": None, "applied": applied}
