"""Tests of the rendered custom kinds, validated against tfgen's small schemas, and of these small schemas.

The tests render the golden jobs and the examples, and compare the small schemas with the definitions that the projects
install in a cluster.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping
from typing import Any

import jsonschema
import pytest
import yaml

from tests.support.rendered_kinds import JOBS, OURS, key_of, rendered
from tests.support.tools import ROOT
from tfgen.check.jobs import check
from tfgen.check.object_schemas import ObjectSchemas
from tfgen.graph.graph import plain_objects

DEFINITIONS = ROOT.parent / "shared" / "crds"

NO_DEFINITION = {"tfjob.kubeflow.org.v1beta1"}
"""The versions that no project serves any more."""


@functools.cache
def definitions() -> Mapping[str, Mapping[str, Any]]:
    """Return the structural schemas of the projects' definitions, by the same keys as `OURS`."""
    if not DEFINITIONS.exists():
        pytest.skip(f"needs the projects' definitions in {DEFINITIONS}")
    found = {}
    for path in sorted(DEFINITIONS.glob("*.yaml")):
        for document in yaml.load_all(path.read_text(encoding="utf-8"), yaml.CSafeLoader):
            spec = document["spec"]
            for version in spec["versions"]:
                key = f"{spec['names']['kind']}.{spec['group']}.{version['name']}".lower()
                found[key] = version["schema"]["openAPIV3Schema"]
    return found


@pytest.mark.parametrize("key", OURS)
def test_each_kind_is_rendered_and_as_its_schema_has_it(key):
    objects = [item for _, found, item in rendered() if found == key]
    assert objects, "no golden and no example has it"
    for item in objects:
        jsonschema.validate(item, OURS[key])


def test_every_custom_kind_has_a_schema():
    own = ("", "apps", "batch", "networking.k8s.io", "policy", "rbac.authorization.k8s.io")
    own += ("resource.k8s.io", "scheduling.k8s.io")
    jobs = [check(path.read_bytes(), path.name).documents[0].data for path in JOBS]
    # The entries of `objects` may have any kind.
    own_alone = [
        {**job, "spec": {key: value for key, value in job["spec"].items() if key != "objects"}} for job in jobs
    ]
    items = [item for job in own_alone for item in plain_objects(job)]
    assert {key_of(item) for item in items if item["apiVersion"].rpartition("/")[0] not in own} == {*OURS}


@pytest.mark.may_skip("the projects' definitions are not part of the repository")
@pytest.mark.parametrize("key", [key for key in OURS if key not in NO_DEFINITION])
def test_the_real_definition_has_each_field_of_our_schema(key):
    assert list(_unknown_fields(OURS[key], definitions()[key], "")) == []


@pytest.mark.may_skip("the projects' definitions are not part of the repository")
@pytest.mark.parametrize("key", [key for key in OURS if key not in NO_DEFINITION])
def test_the_real_definition_accepts_what_is_rendered_and_prunes_nothing(key):
    closed = jsonschema.Draft7Validator(_closed(definitions()[key]))
    made = [(place, item) for place, found, item in rendered() if found == key]
    assert made
    assert [f"{place}: {e.json_path}: {e.message}" for place, item in made for e in closed.iter_errors(item)] == []


@pytest.mark.may_skip("the projects' definitions are not part of the repository")
def test_a_field_that_would_be_pruned_is_found():
    key = "tfjob.kubeflow.org.v1"
    item = json.loads(json.dumps(next(item for _, found, item in rendered() if found == key)))
    validator = jsonschema.Draft7Validator(_closed(definitions()[key]))
    assert validator.is_valid(item)
    item["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["imagePullPolicies"] = "Always"
    assert not validator.is_valid(item)
    assert list(_unknown_fields({"properties": {"spec": {"properties": {"x": {}}}}}, definitions()[key], "")) == [
        ".spec.x"
    ]


def _unknown_fields(ours: Mapping[str, Any], theirs: Mapping[str, Any], path: str) -> Iterator[str]:
    """Yield the fields of our schema that the definition lacks, or whose type or values the definition refuses."""
    if path in (".metadata", ".apiVersion", ".kind"):
        return
    if "type" in ours and "type" in theirs and not theirs.get("x-kubernetes-int-or-string"):
        kinds = [ours["type"]] if isinstance(ours["type"], str) else ours["type"]
        if theirs["type"] not in kinds:
            yield f"{path}: {theirs['type']}"
    if "enum" in ours and "enum" in theirs and not set(ours["enum"]) <= set(theirs["enum"]):
        yield f"{path}: {theirs['enum']}"
    inner = theirs.get("properties", {})
    for name, node in ours.get("properties", {}).items():
        below = inner.get(name, theirs.get("additionalProperties"))
        if isinstance(below, Mapping):
            yield from _unknown_fields(node, below, f"{path}.{name}")
        elif not theirs.get("x-kubernetes-preserve-unknown-fields"):
            yield f"{path}.{name}"
    if "items" in ours:
        yield from _unknown_fields(ours["items"], theirs["items"], f"{path}[]")


def _closed(found: Any, name: str = "") -> Any:
    """Return a structural schema in which each field that the API server would drop is an error."""
    if isinstance(found, list):
        return [_closed(item) for item in found]
    if not isinstance(found, Mapping):
        return found
    if found.get("x-kubernetes-int-or-string"):
        return {"type": ["integer", "string"]}
    made = {key: _closed(value, key) for key, value in found.items() if key not in ("format", "nullable", "default")}
    is_record = found.get("type") == "object" and "properties" in found
    if is_record and name not in ("properties", "metadata") and not found.get("x-kubernetes-preserve-unknown-fields"):
        made.setdefault("additionalProperties", False)
    return made


APPLICATION = {
    "project": "ads",
    "destination": {"server": "https://kubernetes.default.svc", "namespace": "ads"},
    "source": {"repoURL": "https://git.example.com/ml/jobs.git", "path": "base", "directory": {"recurse": True}},
}
RELEASE = {
    "interval": "10m",
    "chart": {"spec": {"chart": "redis", "sourceRef": {"kind": "HelmRepository", "name": "bitnami"}}},
}
ENTRIES = {
    "Application": ("argoproj.io/v1alpha1", APPLICATION),
    "HelmRelease": ("helm.toolkit.fluxcd.io/v2", RELEASE),
}


@pytest.mark.parametrize("kind", ENTRIES)
def test_an_entry_of_objects_may_have_fields_that_tfgen_does_not_write(kind: str) -> None:
    version, spec = ENTRIES[kind]
    entry = {"apiVersion": version, "kind": kind, "spec": spec}
    job = {
        "apiVersion": "tfgen/v1alpha1",
        "kind": "TrainingJob",
        "metadata": {"name": "mnist"},
        "spec": {
            "image": "registry.example.com/ml/mnist:1.4.0",
            "roles": {"chief": {}, "ps": {}, "worker": {}},
            "objects": {"extra": entry},
        },
    }
    (document,) = check(json.dumps(job), "job.yaml").documents
    (item,) = (item for item in plain_objects(document.data) if item["kind"] == kind)
    assert item["spec"] == spec
    assert [*ObjectSchemas().faults(item)] == []
