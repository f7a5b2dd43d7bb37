"""The differences that `tfgen apply` and `tfgen diff --live` show."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

pytest.importorskip("kubernetes", reason="needs the kubernetes client: pip install kubernetes")

from tests.support.namespace import APPLIED, LABELS, Namespace, live_object
from tfgen.commands.apply import live_changes, plan_apply
from tfgen.errors import TfgenError
from tfgen.live.api import ApiError

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


class Refusing(Namespace):
    """A namespace whose server refuses every dry run with the same error."""

    def __init__(self, status: int, message: str, *objects: Any) -> None:
        super().__init__(*objects)
        self.error = ApiError(status, f"{status}: {message}")

    def data(self, method: str, path: str, query: Any = None, body: Any = None, content_type: str = "") -> Any:
        if "apply" in content_type:
            raise self.error
        return super().data(method, path, query, body, content_type)


def test_equal_refusals_are_one_line_with_the_fix() -> None:
    names = [f"web-{number}" for number in range(8)]
    items = [{"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "labels": LABELS}} for name in names]
    with pytest.raises(TfgenError) as raised:
        plan_apply(Refusing(404, 'namespaces "ml" not found').target(), items)
    assert str(raised.value).splitlines() == [
        "nothing was applied:",
        "Service web-0, Service web-1, Service web-2, Service web-3, Service web-4, Service web-5 and 2 more: "
        '404: namespaces "ml" not found; create the namespace: kubectl create namespace ml',
    ]


def claim(size: str) -> Any:
    item = live_object("v1", "PersistentVolumeClaim", "web-model", APPLIED, LABELS)
    return {**item, "spec": {"resources": {"requests": {"storage": size}}}}


@pytest.mark.parametrize(
    ("size", "fix"),
    [
        ("10Gi", "a claim cannot shrink: the claim in the cluster has 20Gi; set its size to at least 20Gi"),
        ("20480Mi", "to create the claim again, without its data: tfgen delete JOB --claim web-model"),
    ],
)
def test_a_refused_change_of_a_claim_has_its_fix(size: str, fix: str) -> None:
    """https://kubernetes.io/docs/concepts/storage/persistent-volumes/#expanding-persistent-volumes-claims."""
    message = "spec: Forbidden: spec is immutable after creation except resources.requests"
    place = Refusing(422, message, claim("20Gi"))
    with pytest.raises(TfgenError) as raised:
        plan_apply(place.target(), [claim(size)])
    assert str(raised.value) == f"nothing was applied:\nPersistentVolumeClaim web-model: 422: {message}; {fix}"
