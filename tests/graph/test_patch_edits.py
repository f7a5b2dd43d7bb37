"""Tests that patching a node with holes and then filling it gives the same as patching the filled node."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tfgen.graph.fill import Scope, fill
from tfgen.graph.holes import ABSENT, ForEach, Node, Value, When
from tfgen.graph.patch_edits import Merger, PatchedField
from tfgen.kubernetes.merge import kubectl, merge

ON = Value("on", "boolean")
OTHERS = ForEach(Value("others", "map"), {"containerPort": 9})

fields = {"protocol": st.sampled_from(["TCP", "UDP"]), "name": st.sampled_from("ab")}
ports = st.fixed_dictionaries({"containerPort": st.sampled_from([1, 2])}, optional=fields)
# Each conditional port has its own number: if two ports have one number, the condition of one decides how a patch
# affects the other.
conditional = st.builds(
    lambda port, number: When(ON, {**port, "containerPort": number}), ports, st.sampled_from([3, 4, 5])
)
lists = st.builds(
    lambda plain, others: [*plain, *others],
    st.lists(ports, max_size=3),
    st.lists(st.one_of(conditional, st.just(OTHERS)), max_size=2, unique_by=repr),
).filter(lambda items: len({item.if_true["containerPort"] for item in items if isinstance(item, When)}) < 2)
owners = st.one_of(
    st.builds(lambda items: {"ports": items}, lists),
    st.builds(lambda then, otherwise: {"ports": When(ON, then, otherwise)}, lists, lists),
    st.just({}),
    st.just({"ports": ABSENT}),
    st.builds(lambda items: When(ON, {"ports": items, "more": 1}), lists),
)
patched_ports = st.fixed_dictionaries(
    {"containerPort": st.sampled_from([1, 2, 3, 4])},
    optional={**fields, "name": st.one_of(st.none(), st.sampled_from("cd"))},
)
removed_ports = st.builds(lambda number: {"containerPort": number, "$patch": "delete"}, st.sampled_from([1, 2]))
patches = st.lists(st.one_of(patched_ports, removed_ports), max_size=4)


@given(owner=owners, patch=patches)
def test_patch_before_filling_equals_a_patch_after_it(owner: Node, patch: list[dict[str, Any]]) -> None:
    merger = Merger(kubectl("Pod"))
    merged = merger.merge({"a": owner}, {"a": {"ports": patch}}, (), PatchedField("Thing", "thing", {}))
    assert not merger.faults
    for is_on in (True, False):
        scope = Scope({"on": is_on, "others": {"k": 1}}, "r", "c")
        plain = merge(fill({"always": 1, "a": owner}, scope), {"a": {"ports": patch}}, kubectl("Pod"))
        assert _ports(fill({"always": 1, **merged}, scope)) == _ports(plain)


def _ports(filled: Any) -> list[Any]:
    """Return the ports. If a condition leaves no port, the filled node has no list."""
    ports: list[Any] = filled.get("a", {}).get("ports", [])
    return ports
