"""The objects that `tfgen delete` and the prune step of `tfgen apply` remove, in a namespace in memory."""

from __future__ import annotations

import pytest

pytest.importorskip("kubernetes", reason="needs the kubernetes client: pip install kubernetes")

from tests.support.namespace import APPLIED, BY_HAND, LABELS, Namespace, inventory, live_object
from tfgen.cli.live import change_row
from tfgen.commands.delete import delete, plan_delete, plan_prune
from tfgen.errors import TfgenError, UsageError
from tfgen.live.target import Neighbor, ObjectChange

SETS = ("apps/v1", "StatefulSet", "web-worker")


def results(changes: list[ObjectChange]) -> dict[str, str]:
    return {row["name"]: row["action"] for row in map(change_row, changes)}


def test_an_object_of_a_listed_name_that_somebody_else_created_stays() -> None:
    """The user deleted the StatefulSet of the last apply, and created another with the same name."""
    service = live_object("v1", "Service", "web", APPLIED)
    place = Namespace(inventory(SETS, ("v1", "Service", "web")), live_object(*SETS, BY_HAND), service)
    changes = plan_delete(place.target(), [])
    assert results(changes) == {"web-worker": "left", "web": "deleted"}
    list(delete(place.target(), changes))
    assert place.deleted == ["web", "web.tfgen"]
    assert results(plan_prune(place.target(), [SETS, ("v1", "Service", "web")])) == {
        "web-worker": "left",
        "web": "deleted",
    }


def test_an_object_whose_kind_the_server_lacks_is_left_and_named() -> None:
    place = Namespace(inventory(("jobset.x-k8s.io/v1alpha2", "JobSet", "web"), SETS), live_object(*SETS, APPLIED))
    changes = plan_delete(place.target(), [])
    assert results(changes) == {"web": "left", "web-worker": "deleted"}
    assert "no kind JobSet of jobset.x-k8s.io/v1alpha2; check the address of the server" in changes[0].reason


@pytest.mark.parametrize("data", [None, {}, {"objects": "{"}, {"objects": "7"}, {"objects": '[["v1"]]'}])
def test_a_config_map_that_is_no_inventory_is_neither_read_nor_deleted(data: object) -> None:
    place = Namespace({**live_object("v1", "ConfigMap", "web.tfgen", BY_HAND), "data": data})
    with pytest.raises(TfgenError, match=r"ConfigMap web\.tfgen in ml is not an inventory of tfgen"):
        plan_delete(place.target(), [])
    assert place.deleted == []


@pytest.mark.parametrize("name", ["", "web-model/status", "web-model?x=y"])
def test_a_claim_s_name_is_a_name(name: str) -> None:
    claim = live_object("v1", "PersistentVolumeClaim", "web-model", APPLIED, LABELS)
    place = Namespace(claim)
    place.objects[place.path("v1", "PersistentVolumeClaim", "web-model/status")] = claim
    with pytest.raises(UsageError, match=r"--claim: the namespace .* has no claim"):
        plan_delete(place.target(), [], [name])


SERVICE, CLAIM = ("v1", "Service", "web"), ("v1", "PersistentVolumeClaim", "web-model")
OF_PROD = ("apps/v1", "StatefulSet", "web-prod-worker")
PROD = Neighbor("prod", OF_PROD, (SERVICE, CLAIM, OF_PROD))
BOTH = [live_object(*item, APPLIED, LABELS) for item in (SERVICE, CLAIM, SETS, OF_PROD)]


@pytest.mark.parametrize("is_applied", [True, False], ids=["by-tfgen", "by-kubectl"])
def test_an_object_of_another_environment_in_the_namespace_stays(is_applied: bool) -> None:
    """`kubectl apply` writes no inventory. The StatefulSet of prod then shows that prod is applied."""
    of_prod = [inventory(SERVICE, CLAIM, OF_PROD, name="web.prod.tfgen")] if is_applied else []
    place = Namespace(inventory(SERVICE, CLAIM, SETS, name="web.dev.tfgen"), *of_prod, *BOTH)
    target = place.target("dev", PROD)
    changes = plan_delete(target, [])
    assert results(changes) == {"web-worker": "deleted", "web-model": "kept", "web": "kept"}
    assert [change.reason for change in changes if change.identity == SERVICE] == [
        "the environment prod also has the object"
    ]
    list(delete(target, changes))
    assert place.deleted == ["web-worker", "web.dev.tfgen"]
    assert results(plan_delete(target, [], ["web-model"]))["web-model"] == "left"
    assert results(plan_prune(target, [SERVICE, SETS])) == {"web-worker": "deleted"}


def test_an_environment_that_is_not_there_keeps_no_object() -> None:
    place = Namespace(inventory(SERVICE, CLAIM, SETS, name="web.dev.tfgen"), *BOTH[:3])
    changes = plan_delete(place.target("dev", PROD), [], ["web-model"])
    assert set(results(changes).values()) == {"deleted"}


def test_an_object_that_ends_the_runs_of_both_environments_says_nothing() -> None:
    place = Namespace(inventory(SERVICE, SETS, name="web.dev.tfgen"), *BOTH[:3])
    changes = plan_delete(place.target("dev", PROD.replaced(deciding_object=SETS, objects=(SERVICE, SETS))), [])
    assert results(changes) == {"web-worker": "deleted", "web": "deleted"}
