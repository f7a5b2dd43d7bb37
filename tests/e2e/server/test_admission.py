"""Tests that tfgen and the API server evaluate admission policies equally, for each object and for each of its pods.

The cases are those of tests/check/admission: a folder of policies, a job that they admit, and a job that they refuse.
The policies see the same defaults as in the API server.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.client import ApiError, Client, Object, eventually
from tests.e2e.control_plane import ControlPlane
from tests.support.quantities import CANONICAL
from tests.support.tools import ROOT
from tfgen.check.admission.admit import find_policy_faults, requests_of
from tfgen.check.admission.folder import read_policy_folders
from tfgen.check.jobs import check, check_all
from tfgen.graph.built import plain_objects
from tfgen.job.sources import read_sources
from tfgen.kubernetes.defaulted import defaulted

FOLDER = ROOT / "tests" / "check" / "admission"
# The cases without a verdict of tfgen, and the cases without a refusal.
NO_VERDICT = {"iterations", "not-evaluated", "policy-namespace", "warn-and-audit"}
CASES = sorted(path for path in FOLDER.iterdir() if path.is_dir() and path.name not in NO_VERDICT)
JOBS = sorted([*ROOT.glob("examples/*/job.yaml"), *ROOT.glob("tests/golden/*/job.yaml")])
NAMESPACE = "ml"
POLICY_KINDS = ("ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy")

Verdict = Mapping[tuple[str, bool], list[str]]
"""The reasons why an object, or a pod of the object, is refused. The list is empty for an admitted object."""


@pytest.fixture(scope="module")
def place(whole_cluster: ControlPlane) -> ControlPlane:
    """Create a privileged namespace for the jobs. The policies apply to the whole cluster."""
    whole_cluster.namespace(NAMESPACE, profile="privileged")
    return whole_cluster


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.name)
def test_the_verdicts_are_those_of_the_api_server(case: Path, place: ControlPlane) -> None:
    client = place.client
    cluster_objects = _manifests(case / "cluster.yaml") if (case / "cluster.yaml").exists() else []
    place.install(item for item in cluster_objects if item["kind"] == "CustomResourceDefinition")
    client.apply_all(item for item in cluster_objects if item["kind"] != "CustomResourceDefinition")
    policies = _manifests(case / "policies" / "policy.yaml")
    refused, admitted = (_objects_of(case / "jobs" / f"{name}.yaml") for name in ("no", "yes"))
    client.apply_all(item for item in (*refused, *admitted) if item["kind"] == "ServiceAccount")  # pods need them
    client.apply_all(sorted(policies, key=lambda item: item["kind"] in POLICY_KINDS))
    try:
        ours = _ours(case, "no", refused)
        assert any(ours.values())
        # A policy takes effect a moment after its creation.
        eventually(lambda: _agree(ours, _theirs(client, refused)), f"the verdict of {case.name}", patience=30)
        assert not any(_ours(case, "yes", admitted).values())
        assert not any(_theirs(client, admitted).values())
    finally:
        for kind in POLICY_KINDS:
            for item in policies:
                if item["kind"] == kind:
                    client.delete(kind, item["metadata"]["name"])
        eventually(lambda: not any(_theirs(client, refused).values()), "the end of the policies")


def test_policies_see_the_defaults_of_the_api_server(place: ControlPlane) -> None:
    differences = []
    for path in JOBS:
        for document in check(path.read_bytes(), path.name).documents:
            for item in plain_objects(document.data):
                if (spec := _created_spec(place.client, item)) is not None:
                    ours = defaulted(item)["spec"]
                    differences += [f"{path.parent.name}: {item['kind']}: {line}" for line in _differences(ours, spec)]
    assert sorted(set(differences)) == []


def test_quantities_are_those_of_the_api_server(place: ControlPlane) -> None:
    theirs = {}
    for text in CANONICAL:
        quota = {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": "tried"},
            "spec": {"hard": {"cpu": text}},
        }
        theirs[text] = place.client.create(quota, NAMESPACE, dry_run=True)["spec"]["hard"]["cpu"]
    assert theirs == CANONICAL


def _manifests(path: Path) -> list[Object]:
    return [{**item} for item in yaml.safe_load_all(path.read_text(encoding="utf-8"))]


def _objects_of(path: Path) -> list[Object]:
    """Return the objects of a job with the namespace of the test."""
    (document,) = check(path.read_bytes(), path.name).documents
    where = {"namespace": NAMESPACE}
    return [{**item, "metadata": {**item["metadata"], **where}} for item in plain_objects(document.data)]


def _ours(case: Path, job: str, items: list[Object]) -> Verdict:
    checked = check_all(read_sources([case / "jobs" / f"{job}.yaml"]))
    (document,) = checked.valid_jobs
    folders = read_policy_folders([document])
    verdict: dict[tuple[str, bool], list[str]] = {}
    for item in items:
        for fault in find_policy_faults(document, folders, [item], NAMESPACE):
            assert not hasattr(fault, "severity"), fault
            message, _, origin = fault.message.partition(" (by ")
            verdict.setdefault((_name(item), origin.endswith(", for the pods)")), []).append(message)
    return verdict


def _theirs(client: Client, items: list[Object]) -> Verdict:
    """Return the verdict of the API server on each object, and on each pod as the controller of the object creates the
    pod.
    """
    verdict = {}
    for item in items:
        for request in requests_of(item, NAMESPACE):
            pod = {**request.item, "metadata": {**request.item["metadata"], "generateName": "tried-"}}
            message = _refusal(client, pod if request.is_of_pods else item)
            verdict[_name(item), request.is_of_pods] = [message] if message else []
    return verdict


def _refusal(client: Client, item: Object) -> str:
    """Return the reason why a policy refuses an object, or an empty text for an admitted object."""
    try:
        client.create(item, NAMESPACE, dry_run=True)
    except ApiError as error:
        if "ValidatingAdmissionPolicy" not in error.message and "already exists" not in error.message:
            raise
        return error.message if "ValidatingAdmissionPolicy" in error.message else ""
    return ""


def _agree(ours: Verdict, theirs: Verdict) -> bool:
    """Test whether both verdicts refuse the objects, and share a reason if the policy writes the reasons."""
    refused = {key: messages for key, messages in theirs.items() if messages}
    return refused.keys() == ours.keys() and all(
        any(message in refused[key][0] or message.startswith("the expression ") for message in messages)
        for key, messages in ours.items()
    )


def _name(item: Object) -> str:
    return f"{item['kind']} {item['metadata']['name']}"


# -- defaults ------------------------------------------------------------------------------------------------------

# Fields that the API server adds before policies see an object, and that no job sets: addresses and a selector by uid.
# Also fields that the API server drops because an alpha feature is off. The API server chooses the node ports of a
# Service, too.
OF_THE_SERVER = {
    "Service": ("clusterIPs", "ipFamilies", "ipFamilyPolicy", "clusterIP"),
    "Job": ("selector", "template.metadata.labels", "template.spec.schedulingGroup"),
    "PersistentVolumeClaim": (),
    "StatefulSet": ("template.spec.schedulingGroup",),
    "Deployment": (),
    "NetworkPolicy": (),
}


def _created_spec(client: Client, item: Mapping[str, Any]) -> Any:
    """Return the spec of an object with the defaults of the API server, for the kinds with defaults."""
    if item["kind"] not in OF_THE_SERVER or not item["apiVersion"].startswith(
        ("v1", "apps/", "batch/v1", "networking")
    ):
        return None
    spec = client.create(item, NAMESPACE, dry_run=True)["spec"]
    for path in OF_THE_SERVER[item["kind"]]:
        *above, key = path.split(".")
        part = spec
        for step in above:
            part = part[step]
        ours = item["spec"]
        for step in above:
            ours = ours[step]
        if key in ours:
            part[key] = ours[key]
        else:
            part.pop(key, None)
    if item["kind"] == "Service":
        for port in spec["ports"]:
            port.pop("nodePort", None)
    return spec


def _differences(ours: Any, theirs: Any, path: str = "spec") -> Iterator[str]:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in sorted({*ours, *theirs}):
            if key not in theirs:
                yield f"{path}.{key}: {ours[key]!r}, and the API server has none"
            elif key not in ours:
                yield f"{path}.{key}: the API server has {theirs[key]!r}"
            else:
                yield from _differences(ours[key], theirs[key], f"{path}.{key}")
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for index, pair in enumerate(zip(ours, theirs, strict=True)):
            yield from _differences(*pair, f"{path}[{index}]")
    elif ours != theirs or type(ours) is not type(theirs):
        yield f"{path}: {ours!r}, and the API server has {theirs!r}"
