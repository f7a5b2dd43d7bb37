"""The differences that `tfgen apply` and `tfgen diff --live` show."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

pytest.importorskip("kubernetes", reason="needs the kubernetes client: pip install kubernetes")

from tfgen.commands.apply import live_changes

GOLDENS = Path(__file__).parents[1] / "golden"
CUSTOM_KINDS = {
    "JobSet": (GOLDENS / "job-set/expected/overlays/job-set/base/jobset.yaml", ("spec", "replicatedJobs")),
    "TFJob": (
        GOLDENS / "tfjob/expected/overlays/tfjob/base/tfjob.yaml",
        ("spec", "tfReplicaSpecs", "Chief", "template", "spec", "containers"),
    ),
}


def first_container(value: Any) -> Any:
    """Return the first container of an object, at any depth."""
    if isinstance(value, dict) and "containers" in value:
        return value["containers"][0]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return next((container for item in items if (container := first_container(item))), None)


@pytest.mark.parametrize("kind", CUSTOM_KINDS)
def test_a_webhook_s_form_of_quantities_is_no_change(kind: str) -> None:
    """The webhooks of JobSet and Kueue write each object again with https://pkg.go.dev/encoding/json.

    The new text of a Quantity can differ from the old text.
    """
    path, changed = CUSTOM_KINDS[kind]
    after = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert after["kind"] == kind
    first_container(after)["env"] += [
        {"name": "C", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
        {"name": "RUN", "value": ""},
    ]
    first_container(after)["resources"] = {"limits": {"cpu": 2, "memory": "1024Mi"}}
    before = copy.deepcopy(after)
    field, text = first_container(before)["env"][-2:]
    field["valueFrom"]["resourceFieldRef"]["divisor"] = "0"
    del text["value"]
    first_container(before)["resources"] = {"limits": {"cpu": "2", "memory": "1Gi"}}
    assert live_changes(before, after) == ()
    first_container(before)["resources"] = {"limits": {"cpu": "3", "memory": "1Gi"}}
    assert [change.path.steps[: len(changed)] for change in live_changes(before, after)] == [changed]
