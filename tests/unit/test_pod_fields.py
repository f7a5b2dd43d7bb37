"""The table of a pod's fields: what Kubernetes' own schemas have, of every version that tfgen supports.

After a newer kubernetes-validate, raise LATEST, run `pytest tests/unit/test_pod_fields.py --golden-update`, and look at
what it wrote.
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
    """The types that a PodTemplateSpec is made of, in the notation of the table."""
    known = json.loads((folder / "_definitions.json").read_text(encoding="utf-8"))["$defs"]
    found: dict[str, dict[str, str]] = {}
    names: dict[str, str] = {}
    to_do = ["io.k8s.api.core.v1.PodTemplateSpec"]
    while to_do:
        name = to_do.pop()
        short = name.rpartition(".")[2]
        if short not in SCALARS and short not in found:
            fields = known[name]["properties"]
            found[short] = {key: notation(node) for key, node in fields.items()}
            to_do += refs(fields)
        assert names.setdefault(short, name) == name
    return found


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
    expected: dict[str, dict[str, str]] = {}
    for version, folder in versions().items():
        for name, fields in types(folder).items() if LEAST <= version <= LATEST else ():
            there = expected.setdefault(name, {})
            assert all(there.get(field, kind) == kind for field, kind in fields.items())  # no field changed its type
            there |= fields
    text = json.dumps(expected, indent=1, sort_keys=True) + "\n"
    path = schema_file.path(pod_fields.NAME)
    if request.config.getoption("--golden-update", default=False):
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text


def test_no_two_fields_of_a_type_are_one_slip_apart() -> None:
    for fields in pod_fields.types().values():
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
