"""Validators of the real CustomResourceDefinitions, which are beside some checkouts."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tests.support.tools import ROOT

CRDS = ROOT.parent / "shared" / "crds"


def real_validator(file: str, api_version: str) -> jsonschema.Draft7Validator:
    """Return the validator of a version of a CustomResourceDefinition. Skip the test without the file."""
    if not (CRDS / file).exists():
        pytest.skip(f"no {file} beside the checkout")
    group, _, version = api_version.partition("/")
    return _validator(CRDS / file, group, version)


@functools.cache
def _validator(path: Path, group: str, name: str) -> jsonschema.Draft7Validator:
    """Return the validator of a version of a CustomResourceDefinition that the API server serves."""
    crd = yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)
    assert crd["spec"]["group"] == group
    (version,) = (v for v in crd["spec"]["versions"] if v["name"] == name)
    assert version["served"]
    whole = _closed(version["schema"]["openAPIV3Schema"])
    whole["properties"]["metadata"] = {"type": "object"}
    return jsonschema.Draft7Validator(whole)


def _closed(found: Any) -> Any:
    """Return the schema with closed records, because the API server prunes unknown fields."""
    if isinstance(found, list):
        return [_closed(item) for item in found]
    if not isinstance(found, dict):
        return found
    made = {key: _closed(value) for key, value in found.items()}
    if "properties" in made and isinstance(made["properties"], dict) and made.get("type") == "object":
        made.setdefault("additionalProperties", False)
    return made
