"""The table of a pod's fields: what Kubernetes' own schemas have, of every version that tfgen supports.

After a newer kubernetes-validate, raise LATEST, run `pytest tests/schema/test_pod_fields.py --golden-update`, and look
at what it wrote.
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

from tfgen.kubernetes.merge_keys import MERGE_KEYS
from tfgen.schema import file as schema_file
from tfgen.schema import pod_fields

LEAST, LATEST = (1, 31), (1, 37)
"""The versions of Kubernetes whose fields the table has: raise the latest, and write the table anew."""

SCALARS = {"Quantity": "quantity", "IntOrString": "integer or text", "Time": "text", "FieldsV1": "any"}
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
def types(folder: Path) -> dict[str, dict[str, str]]:
    """The types that a PodTemplateSpec is made of, with the fields of each in the notation of the table."""
    return {short: {key: notation(node) for key, node in found["properties"].items()} for short, found in nodes(folder)}


@functools.cache
def nodes(folder: Path) -> tuple[tuple[str, Mapping[str, Any]], ...]:
    """The same as Kubernetes' schema has them."""
    known = json.loads((folder / "_definitions.json").read_text(encoding="utf-8"))["$defs"]
    found: dict[str, Mapping[str, Any]] = {}
    names: dict[str, str] = {}
    to_do = ["io.k8s.api.core.v1.PodTemplateSpec"]
    while to_do:
        name = to_do.pop()
        short = name.rpartition(".")[2]
        if short not in SCALARS and short not in found:
            found[short] = known[name]
            to_do += refs(known[name]["properties"])
        assert names.setdefault(short, name) == name
    return tuple(found.items())


def list_keys(node: Mapping[str, Any]) -> dict[str, list[str]]:
    """By field, the keys that tell the items of its list apart."""
    return {
        key: list(inner.get("x-kubernetes-list-map-keys", ()))
        for key, inner in node["properties"].items()
        if inner.get("x-kubernetes-list-type", "atomic") != "atomic"
    }


def notation(node: Mapping[str, Any]) -> str:
    if "$ref" in node:
        short = node["$ref"].rpartition(".")[2]
        return SCALARS.get(short, short)
    (kind,) = {*([node["type"]] if isinstance(node["type"], str) else node["type"])} - {"null"}
    if kind == "array":
        return f"[{notation(node['items'])}]"
    return f"{{{notation(node['additionalProperties'])}}}" if kind == "object" else TYPES[kind]


def refs(found: Any) -> Iterator[str]:
    for key, inner in found.items() if isinstance(found, dict) else enumerate(found) if isinstance(found, list) else ():
        if key == "$ref":
            yield inner.rpartition("/")[2]
        else:
            yield from refs(inner)


def test_the_table_is_what_kubernetes_has(request: pytest.FixtureRequest) -> None:
    expected: dict[str, dict[str, Any]] = {}
    for version, folder in versions().items():
        for name, node in nodes(folder) if LEAST <= version <= LATEST else ():
            required = sorted(node.get("required", ()))
            there = expected.setdefault(name, {"fields": {}, "keys": {}, "required": required})
            assert there["required"] == required
            for part, found in (("fields", types(folder)[name]), ("keys", list_keys(node))):
                # No field changed its type or its keys.
                assert all(there[part].get(field, of_field) == of_field for field, of_field in found.items())
                there[part] |= found
    text = json.dumps(expected, indent=1, sort_keys=True) + "\n"
    path = schema_file.path(pod_fields.NAME)
    if request.config.getoption("--golden-update", default=False):
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text


def test_the_lists_that_merge_are_those_of_kubernetes() -> None:
    """By a field's name alone: no two types have lists of one name that merge by different keys."""
    merging = {
        (field, inner["x-kubernetes-patch-merge-key"])
        for version, folder in versions().items()
        if LEAST <= version <= LATEST
        for _, node in nodes(folder)
        for field, inner in node["properties"].items()
        if "x-kubernetes-patch-merge-key" in inner
    }
    assert sorted(merging) == sorted(MERGE_KEYS.items())
    by_table = {field: keys for found in pod_fields.types().values() for field, keys in found.keys.items()}
    assert all(by_table[field][0] == key for field, key in MERGE_KEYS.items())


def test_no_two_fields_of_a_type_are_one_slip_apart() -> None:
    for fields in (found.fields for found in pod_fields.types().values()):
        for field in fields:
            assert pod_fields.misspelt(field, fields.keys() - {field}) is None


def test_no_field_that_kubernetes_added_was_taken_for_a_slip() -> None:
    """So that of a newer Kubernetes' fields an older tfgen warns, and does not refuse them."""
    each = [folder for version, folder in versions().items() if version <= LATEST]
    added = 0
    for before, after in itertools.pairwise(each):
        for name, fields in types(after).items():
            known = types(before).get(name, fields)
            new = fields.keys() - known.keys()
            added += len(new)
            assert [field for field in new if pod_fields.misspelt(field, known)] == []
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
    assert pod_fields.misspelt(name, known) == field
