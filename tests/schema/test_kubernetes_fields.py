"""Tests of the table of Kubernetes' types against the schemas of every version of Kubernetes that tfgen supports.

After an update of kubernetes-validate, raise LATEST and run
`pytest tests/schema/test_kubernetes_fields.py --golden-update`. Then read the difference in the table.
"""

from __future__ import annotations

import functools
import importlib.util
import itertools
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tfgen.kubernetes.merge import MERGE_KEYS
from tfgen.kubernetes.object import KINDS
from tfgen.schema import file as schema_file
from tfgen.schema import kubernetes_fields

LEAST, LATEST = (1, 31), (1, 37)
"""The first and the last version of Kubernetes whose fields the table has. After a change, write the table again."""

SCALARS = {"Quantity": "quantity", "IntOrString": "integer or text", "Time": "text", "FieldsV1": "any"}
POD_TEMPLATE = "io.k8s.api.core.v1.PodTemplateSpec"
SCALARS |= {"MicroTime": "text", "RawExtension": "any"}
UNCHECKED = {"metadata": "any", "status": "any"}
"""The fields of an object that the table does not describe: the job's schema describes `metadata`, and servers write
`status`."""

SAME_NAME = {
    "CrossVersionObjectReference",
    "EndpointPort",
    "HorizontalPodAutoscaler",
    "HorizontalPodAutoscalerSpec",
    "ResourceClaim",
    "ServiceReference",
    "Subject",
}
"""The names that two types of Kubernetes share."""

UNLISTED = {
    "CSINode",
    "CSIStorageCapacity",
    "CertificateSigningRequest",
    "ControllerRevision",
    "CustomResourceDefinition",
    "Event",
    "IPAddress",
    "Lease",
    "Node",
    "PodCertificateRequest",
    "ResourceSlice",
    "VolumeAttachment",
}
"""The kinds without a type in the table. The components of a cluster write most of these kinds. The JSON schema in a
CustomResourceDefinition refers to itself."""

TYPES = {"string": "text", "integer": "integer", "boolean": "boolean"}


def versions() -> dict[tuple[int, int], Path]:
    spec = importlib.util.find_spec("kubernetes_validate")
    assert spec
    assert spec.origin
    found = {}
    for folder in sorted((Path(spec.origin).parent / "kubernetes-json-schema").iterdir()):
        match = re.fullmatch(r"v(\d+)\.(\d+)\.\d+-local-strict", folder.name)
        if match:
            found[int(match[1]), int(match[2])] = folder
    return dict(sorted(found.items()))


@functools.cache
def definitions(folder: Path) -> Mapping[str, Any]:
    """Return the definitions of a version of Kubernetes, by their full names."""
    found: Mapping[str, Any] = json.loads((folder / "_definitions.json").read_text(encoding="utf-8"))["$defs"]
    return found


@functools.cache
def kinds(folder: Path) -> Mapping[tuple[str, str], str]:
    """Return the full name of the type of each stable kind that people write, by the API version and the kind."""
    found = {}
    for name, node in definitions(folder).items():
        for of_kind in node.get("x-kubernetes-group-version-kind", ()):
            group, version, kind = of_kind["group"], of_kind["version"], of_kind["kind"]
            if kind in KINDS.get(group, ()) and re.fullmatch(r"v\d+", version) and kind not in UNLISTED:
                found[f"{group}/{version}" if group else version, kind] = name
    return found


def table_name(name: str) -> str:
    """Return the name of a type in the table: with its group or version if Kubernetes has two types of that name."""
    package, _, short = name.rpartition(".")
    group, version = package.split(".")[-2:]
    if short in SAME_NAME and group not in ("core", "rbac", "admissionregistration"):
        return f"{version}.{short}" if group == "autoscaling" else f"{group}.{short}"
    return short


@functools.cache
def types(folder: Path) -> dict[str, dict[str, str]]:
    """Return the fields of each type in the notation of the table."""
    roots = set(kinds(folder).values())
    found = {}
    for name, node in nodes(folder).items():
        fields = {key: notation(inner) for key, inner in node.get("properties", {}).items()}
        found[table_name(name)] = {**fields, **UNCHECKED} if name in roots else fields
    return found


@functools.cache
def nodes(folder: Path) -> Mapping[str, Mapping[str, Any]]:
    """Return the definitions of a PodTemplateSpec, of each kind, and of all types in their fields, by full names."""
    return nodes_of(folder, POD_TEMPLATE, *kinds(folder).values())


def nodes_of(folder: Path, *names: str) -> Mapping[str, Mapping[str, Any]]:
    """Return the definitions of types, and of all types in their fields, by full names."""
    found: dict[str, Mapping[str, Any]] = {}
    to_do = [*names]
    roots = {*names} - {POD_TEMPLATE}
    while to_do:
        name = to_do.pop()
        if name.rpartition(".")[2] not in SCALARS and name not in found:
            found[name] = definitions(folder)[name]
            fields = found[name].get("properties", {})
            to_do += refs({key: fields[key] for key in fields if name not in roots or key not in UNCHECKED})
    return found


def list_keys(node: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the keys that identify the items of a list, by the field of the list."""
    return {
        key: list(inner.get("x-kubernetes-list-map-keys", ()))
        for key, inner in node.get("properties", {}).items()
        if inner.get("x-kubernetes-list-type", "atomic") != "atomic"
    }


def notation(node: Mapping[str, Any]) -> str:
    if "$ref" in node:
        name = node["$ref"].rpartition("/")[2]
        return SCALARS.get(name.rpartition(".")[2]) or table_name(name)
    (kind,) = {*([node["type"]] if isinstance(node["type"], str) else node["type"])} - {"null"}
    if kind == "array":
        return f"[{notation(node['items'])}]"
    return f"{{{notation(node['additionalProperties'])}}}" if kind == "object" else TYPES[kind]


def refs(found: Any) -> Iterator[str]:
    for key, inner in found.items() if isinstance(found, dict) else enumerate(found) if isinstance(found, list) else ():
        if key == "$ref" and isinstance(inner, str):
            yield inner.rpartition("/")[2]
        else:
            yield from refs(inner)


def test_the_table_is_what_kubernetes_has(request: pytest.FixtureRequest) -> None:
    expected: dict[str, dict[str, Any]] = {"kinds": {}, "types": {}}
    for version, folder in versions().items():
        if not LEAST <= version <= LATEST:
            continue
        for (api_version, kind), name in kinds(folder).items():
            expected["kinds"].setdefault(api_version, {})[kind] = table_name(name)
        for name, node in nodes(folder).items():
            short, required = table_name(name), sorted(node.get("required", ()))
            entry = expected["types"].setdefault(short, {"fields": {}, "keys": {}, "required": required})
            entry["required"] = [field for field in entry["required"] if field in required]
            for part, found in (("fields", types(folder)[short]), ("keys", list_keys(node))):
                # No version of Kubernetes changes the type or the keys of a field.
                assert all(entry[part].get(field, of_field) == of_field for field, of_field in found.items())
                entry[part] |= found
    text = json.dumps(expected, indent=1, sort_keys=True) + "\n"
    path = schema_file.path(kubernetes_fields.NAME)
    if request.config.getoption("--golden-update", default=False):
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text


def test_no_two_types_have_one_name_in_the_table() -> None:
    for folder in versions().values():
        assert len({table_name(name) for name in nodes(folder)}) == len(nodes(folder))


def test_the_lists_that_merge_are_those_of_kubernetes() -> None:
    """The name of a field determines its merge key: all lists of a pod with the same name have the same merge key."""
    merging = {
        (field, inner["x-kubernetes-patch-merge-key"])
        for version, folder in versions().items()
        if LEAST <= version <= LATEST
        for node in nodes_of(folder, POD_TEMPLATE).values()
        for field, inner in node.get("properties", {}).items()
        if "x-kubernetes-patch-merge-key" in inner
    }
    assert sorted(merging) == sorted(MERGE_KEYS.items())
    of_pods = [kubernetes_fields.types()[table_name(name)] for name in nodes_of(versions()[LATEST], POD_TEMPLATE)]
    by_table = {field: keys for found in of_pods for field, keys in found.keys.items()}
    assert all(by_table[field][0] == key for field, key in MERGE_KEYS.items())


def test_no_two_fields_of_a_type_are_one_slip_apart() -> None:
    near = {
        field
        for fields in (found.fields for found in kubernetes_fields.types().values())
        for field in fields
        if kubernetes_fields.misspelt(field, fields.keys() - {field}) is not None
    }
    assert near == {"clusterIP", "clusterIPs"}


def test_no_field_that_kubernetes_added_was_taken_for_a_slip() -> None:
    """An older tfgen must warn about the new fields of a newer Kubernetes, and must not refuse the fields."""
    each = [folder for version, folder in versions().items() if version <= LATEST]
    added = 0
    for before, after in itertools.pairwise(each):
        for name, fields in types(after).items():
            known = types(before).get(name, fields)
            new = fields.keys() - known.keys()
            added += len(new)
            assert [field for field in new if kubernetes_fields.misspelt(field, known)] == []
    assert added > 40


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("matchLabel", "matchLabels"),
        ("envs", "env"),
        ("evn", "env"),
        ("VolumeMounts", "volumeMounts"),
        ("imagePullPolcy", "imagePullPolicy"),
        ("imagePullPollicy", "imagePullPolicy"),
        ("imagePulPolisy", None),
        ("environment", None),
        ("restartPolicyRules", None),
        ("", None),
    ],
)
def test_slips(name: str, field: str | None) -> None:
    known = ["matchLabels", "env", "volumeMounts", "imagePullPolicy", "restartPolicy"]
    assert kubernetes_fields.misspelt(name, known) == field
