"""The references of job.yaml and tfgen.yaml are current and complete, and the schemas accept their examples."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema
import pytest
import yaml

from schema_page import PAGES, page
from tests.support.tools import ROOT

SCHEMAS = {
    "job-reference.md": "trainingjob.v1alpha1.schema.json",
    "tfgen-reference.md": "defaults.v1alpha1.schema.json",
}
JOB: dict[str, Any] = {
    "apiVersion": "tfgen/v1alpha1",
    "kind": "TrainingJob",
    "metadata": {"name": "mnist"},
    "spec": {"image": "registry.example.com/ml/mnist:1.4.0", "roles": {"worker": {}}},
}
LAYER: dict[str, Any] = {"apiVersion": "tfgen/v1alpha1", "kind": "Defaults"}
DOCUMENTS = {"job-reference.md": JOB, "tfgen-reference.md": LAYER}


def text(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def schema(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((ROOT / "schemas" / SCHEMAS[name]).read_text(encoding="utf-8"))
    return document


def examples() -> list[object]:
    sections = [(name, section) for name in SCHEMAS for section in text(name).split("\n## ")[1:]]
    found = [
        (name, section.split("`")[1], re.findall(r"^```yaml\n(.*?)^```$", section, re.M | re.S))
        for name, section in sections
    ]
    return [pytest.param(name, blocks, id=f"{name}-{key}") for name, key, blocks in found]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_that_of_its_schema(name: str) -> None:
    assert text(name) == page(name), "run `make cli`"


def test_each_top_level_key_has_a_section() -> None:
    keys = [*schema("job-reference.md")["properties"]["spec"]["properties"]]
    assert re.findall(r"^## `(.*)`$", text("job-reference.md"), re.M) == ["metadata", *keys]
    keys = [*schema("tfgen-reference.md")["properties"]]
    assert re.findall(r"^## `(.*)`$", text("tfgen-reference.md"), re.M) == keys


@pytest.mark.parametrize(("name", "blocks"), examples())
def test_the_schema_accepts_the_example(name: str, blocks: list[str]) -> None:
    (block,) = blocks
    example, document = yaml.safe_load(block), DOCUMENTS[name]
    spec = {**document.get("spec", {}), **example.get("spec", {})}
    jsonschema.Draft7Validator(schema(name)).validate({**document, **example, **({"spec": spec} if spec else {})})


@pytest.mark.parametrize("name", PAGES)
def test_each_link_has_its_page(name: str) -> None:
    links = re.findall(r"\]\(([^)#]+)", text(name))
    assert links
    assert all((ROOT / "docs" / link).exists() for link in links)
