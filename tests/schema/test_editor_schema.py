"""Tests of the schema for editors, which is small and accepts the same files as the published schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from tests.support.tools import ROOT
from tfgen.schema.editor_schema import editor_schema
from tfgen.schema.file import DEFAULTS, NAME, load
from tfgen.text.parse import parse

FOLDERS = ("examples/*/job.yaml", "tests/golden/*/job.yaml", "tests/invalid/*.yaml", "tests/invalid/ok/*.yaml")
JOBS = sorted(path for pattern in FOLDERS for path in ROOT.glob(pattern))
TEAMS = sorted(ROOT.glob("tests/invalid/layers/**/tfgen.yaml"))


def documents(path: Path) -> list[Any]:
    return [document.data for document in parse(path.read_text(encoding="utf-8"), path.name).documents]


@pytest.mark.parametrize("name", [NAME, DEFAULTS])
def test_it_has_at_most_102_kb(name: str) -> None:
    assert len(editor_schema(name).encode()) <= 102_000


@pytest.mark.parametrize(("name", "paths"), [(NAME, JOBS), (DEFAULTS, TEAMS)], ids=["jobs", "defaults"])
def test_it_accepts_what_the_published_schema_accepts(name: str, paths: list[Path]) -> None:
    published = jsonschema_rs.Draft7Validator(dict(load(name)))
    small = jsonschema_rs.Draft7Validator(json.loads(editor_schema(name)))
    verdicts = set()
    for path in paths:
        for data in documents(path):
            errors, small_errors = (
                {error.instance_path.__repr__() for error in validator.iter_errors(data)}
                for validator in (published, small)
            )
            assert bool(errors) == bool(small_errors), path
            verdicts.add(bool(errors))
    assert verdicts == {True, False}


@pytest.mark.parametrize("name", [NAME, DEFAULTS])
def test_every_key_has_its_text(name: str) -> None:
    """Each key has a description, down to six levels, because some keys can contain themselves."""
    schema = json.loads(editor_schema(name))

    def keys(node: Any, above: tuple[str, ...]) -> list[tuple[str, ...]]:
        described = []
        while "$ref" in node or "anyOf" in node:
            if "description" in node:
                described.append(node["description"])
            node = node["anyOf"][0] if "anyOf" in node else schema["$defs"][node["$ref"].removeprefix("#/$defs/")]
        lacks = [] if described or "description" in node or not above else [above]
        if len(above) < 6:
            lacks += [lack for key, below in node.get("properties", {}).items() for lack in keys(below, (*above, key))]
        return lacks

    assert keys(schema, ()) == []
