"""Objects that a job does not own: each command that writes to a cluster names them and leaves them unchanged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("kubernetes", reason="needs the kubernetes client: pip install kubernetes")

from tests.support.namespace import APPLIED, BY_HAND, LABELS, Namespace, inventory, live_object
from tests.support.recorded_run import read_run
from tests.support.tools import ROOT
from tfgen.commands.apply import apply, plan_apply
from tfgen.commands.delete import plan_delete, plan_prune
from tfgen.commands.release import Released, release_run
from tfgen.errors import TfgenError
from tfgen.live.target import ObjectRefusedError, delete_object, ownership, patch_object

WORKER, CHIEF = ("apps/v1", "StatefulSet", "web-worker"), ("batch/v1", "Job", "web-chief")
ACCOUNT = ("v1", "ServiceAccount", "web")
JOB = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: web}
spec:
  image: registry.example.com/web:1
  roles: {chief: {}, worker: {replicas: 2}}
"""


def with_pods(item: tuple[str, str, str], labels: dict[str, str] | None, uid: str = "uid") -> Any:
    """Return an object of a hand-made or of a rendered kind, with a pod template."""
    live = live_object(*item, BY_HAND)
    live["metadata"]["uid"] = uid
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main"}]}}
    return {**live, "spec": {"replicas": 2, "template": template}}


def of_run(run: str = "", job: str = "web") -> dict[str, str]:
    return {"tfgen/job": job, "tfgen/run": run}


def release(place: Namespace, folder: Path) -> list[Released]:
    """Release a run without a finisher in the cluster, and return the results for the worker and the chief."""
    (folder / "job.yaml").write_text(JOB)
    run = read_run(folder / "job.yaml", None)
    worker, finisher, chief = release_run(place.target(run=run.run), run)
    assert finisher == Released(("batch/v1", "Job", "web-finisher"), "not found")
    return [worker, chief]


def test_release_leaves_hand_made_objects_with_the_names_of_the_job(tmp_path: Path) -> None:
    place = Namespace(with_pods(WORKER, {"app": "web"}), with_pods(CHIEF, None))
    reason = "the job web did not create the object"
    assert release(place, tmp_path) == [Released(WORKER, "left", reason), Released(CHIEF, "left", reason)]
    assert place.patched == []


def test_release_leaves_a_listed_object_that_a_person_replaced(tmp_path: Path) -> None:
    """The labels of the new object are not those of the job, and its UID is not in the inventory."""
    listed = inventory((*WORKER, "old uid"), (*CHIEF, "uid"))
    place = Namespace(listed, with_pods(WORKER, {"app": "web"}), with_pods(CHIEF, of_run()))
    assert [(item.identity, item.outcome) for item in release(place, tmp_path)] == [
        (WORKER, "left"),
        (CHIEF, "released"),
    ]
    assert place.patched == ["batch/v1/namespaces/ml/jobs/web-chief"]


def test_release_says_that_an_object_was_recreated_and_releases_the_object(tmp_path: Path) -> None:
    place = Namespace(inventory((*WORKER, "old uid")), with_pods(WORKER, of_run()), with_pods(CHIEF, of_run()))
    assert release(place, tmp_path) == [
        Released(WORKER, "released", "recreated since the last apply"),
        Released(CHIEF, "released"),
    ]


@pytest.mark.parametrize(
    ("labels", "listed", "is_own"),
    [
        pytest.param(of_run(), (), True, id="labels"),
        pytest.param(of_run("2"), (), False, id="labels of another run"),
        pytest.param(of_run(job="other"), (), False, id="labels of another job"),
        pytest.param(None, ((*WORKER, "uid"),), True, id="no labels, listed UID"),
        pytest.param(None, ((*WORKER, "old"),), False, id="no labels, other UID"),
        pytest.param(None, (WORKER,), False, id="no labels, inventory of an older tfgen, made by hand"),
    ],
)
def test_the_labels_or_the_uid_in_the_inventory_show_the_owner(
    labels: dict[str, str] | None, listed: tuple[tuple[str, ...], ...], is_own: bool
) -> None:
    live = with_pods(WORKER, labels)
    assert ownership(Namespace(inventory(*listed)).target(run=""), live).is_own == is_own


@pytest.mark.parametrize(
    ("manager", "chart", "is_own"),
    [
        ("tfgen", None, True),
        ("Helm", "web-1.36.50121087183672", True),
        ("Helm", "web-1.36.50121087183672_d5a2b3c4e5f6", True),
        ("Helm", "web-0.1.0", False),
        ("Helm", "web-1.2.3", False),
        ("kustomize", None, False),
    ],
)
def test_an_object_without_pods_has_the_labels_of_the_overlays_or_of_the_chart(
    manager: str, chart: str | None, is_own: bool
) -> None:
    """A chart that `helm create web` made has the same labels, but the version of the chart is short.

    Flux adds the digest of the artifact to the version.
    """
    labels = {**LABELS, "app.kubernetes.io/managed-by": manager, **({"helm.sh/chart": chart} if chart else {})}
    assert ownership(Namespace().target(), live_object(*ACCOUNT, BY_HAND, labels)).is_own == is_own


def test_an_object_with_pods_needs_the_labels_on_its_pods() -> None:
    """The StatefulSet of another chart named web has the usual labels. An object under `objects` has its own pods."""
    worker = with_pods(WORKER, {"app.kubernetes.io/name": "web"})
    worker["metadata"]["labels"] = {**LABELS}
    assert not ownership(Namespace().target(run=""), worker).is_own
    worker["metadata"]["labels"]["tfgen/object"] = "worker"
    assert ownership(Namespace().target(run=""), worker).is_own


def test_an_object_in_the_inventory_of_an_older_tfgen_is_own_if_tfgen_applied_the_object() -> None:
    assert ownership(Namespace(inventory(ACCOUNT)).target(), live_object(*ACCOUNT, APPLIED)).is_own


def test_every_write_refuses_an_object_that_the_job_does_not_own() -> None:
    target, live = Namespace().target(is_forced=True), live_object(*ACCOUNT, BY_HAND)
    with pytest.raises(ObjectRefusedError, match="ServiceAccount web: the job web did not create the object"):
        delete_object(target, live)
    with pytest.raises(ObjectRefusedError, match="ServiceAccount web: the job web did not create the object"):
        patch_object(target, live, "path", {})


def test_one_module_sends_writes() -> None:
    """`data` of the API client sends each request. A new write goes through the functions that check the owner."""
    writers = {
        path.name
        for room in ("commands", "cli", "live")
        for path in (ROOT / "gen" / "tfgen" / room).rglob("*.py")
        if any(f'"{verb}"' in path.read_text(encoding="utf-8") for verb in ("PATCH", "DELETE", "POST", "PUT"))
    }
    assert writers == {"target.py"}


ITEM = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "web", "labels": LABELS}}


def test_apply_refuses_a_hand_made_service_account() -> None:
    place = Namespace(live_object(*ACCOUNT, BY_HAND))
    with pytest.raises(TfgenError, match="ServiceAccount web: the job web did not create the object; rename the job"):
        plan_apply(place.target(), [ITEM])


def test_a_forced_apply_changes_a_hand_made_service_account_that_no_command_deletes_afterwards() -> None:
    place = Namespace(live_object(*ACCOUNT, BY_HAND))
    target = place.target(is_forced=True)
    item = {**ITEM, "automountServiceAccountToken": False}
    changes = plan_apply(target, [item])
    assert [change.outcome for change in apply(target, [item], changes)] == ["changed"]
    assert place.objects[place.path(*ACCOUNT)]["automountServiceAccountToken"] is False
    assert place.target().inventory == {}
    assert [change.outcome for change in plan_delete(place.target(is_forced=True), [item])] == ["left"]
    assert [change.outcome for change in plan_prune(place.target(is_forced=True), [ACCOUNT])] == ["left"]


def test_a_forced_apply_refuses_a_hand_made_object_with_pods() -> None:
    """The server would refuse most changes of such an object, and its pods would get the labels of the job."""
    place = Namespace(with_pods(WORKER, {"app": "web"}))
    item = {**with_pods(WORKER, of_run()), "metadata": {"name": "web-worker", "labels": LABELS}}
    with pytest.raises(TfgenError, match="did not create the object; rename the job, or delete the object with kubec"):
        plan_apply(place.target(is_forced=True), [item])


def test_the_inventory_lists_the_objects_that_apply_created_with_their_uids() -> None:
    place = Namespace()
    changes = plan_apply(place.target(), [ITEM])
    assert [change.outcome for change in apply(place.target(), [ITEM], changes)] == ["created"]
    assert place.target().inventory == {ACCOUNT: "uid of web"}
