from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from tfgen.kubernetes.object import KINDS, find_groups

SPEC = importlib.util.find_spec("kubernetes_validate")
NOT_IN_MANIFESTS = {"Binding", "ComponentStatus", "DeleteOptions", "Eviction", "Scale", "Status", "WatchEvent"}


@pytest.fixture(scope="module")
def definitions() -> dict[str, object]:
    assert SPEC
    assert SPEC.origin
    folder = Path(SPEC.origin).parent / "kubernetes-json-schema" / "v1.36.0-local-strict"
    found: dict[str, object] = json.loads((folder / "_definitions.json").read_text(encoding="utf-8"))["$defs"]
    return found


def test_each_kind_is_one_of_kubernetes_and_no_stable_kind_is_missing(definitions: dict[str, object]) -> None:
    published: dict[str, set[str]] = {}
    stable: dict[str, set[str]] = {}
    for name, definition in definitions.items():
        for kind in definition.get("x-kubernetes-group-version-kind", ()):  # type: ignore[attr-defined]
            published.setdefault(kind["group"], set()).add(kind["kind"])
            is_stable = kind["version"] in ("v1", "v2") and "Review" not in name
            has_metadata = "metadata" in definition.get("properties", {})  # type: ignore[attr-defined]
            if is_stable and has_metadata and not kind["kind"].endswith("List"):
                stable.setdefault(kind["group"], set()).add(kind["kind"])
    for group, kinds in KINDS.items():
        assert kinds <= published[group]
        assert stable[group] - NOT_IN_MANIFESTS <= kinds


def test_a_kind_of_two_groups_has_both() -> None:
    assert find_groups("Event") == ("", "events.k8s.io")
    assert find_groups("TFJob") == ()
