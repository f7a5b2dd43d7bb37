"""Patches between two objects: readable for a reviewer, and kustomize produces the second object."""

from __future__ import annotations

import pytest

from tfgen.targets.kustomize.patch import merge_patch, strategic_merge_patch

ENV = [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]
DNS = {"containerPort": 53, "protocol": "TCP"}
SPREAD = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}

SAME = {"spec": {"replicas": 4, "containers": [{"name": "a", "env": ENV}]}}
BOTH = {
    "nothing": (SAME, SAME, {}),
    "a field": ({"spec": {"a": 1, "b": 2}}, {"spec": {"a": 1, "b": 3}}, {"spec": {"b": 3}}),
    "a field more": ({"a": 1}, {"a": 1, "b": {"c": 2}}, {"b": {"c": 2}}),
    "a field gone": ({"spec": {"a": 1, "b": {"c": 2}}}, {"spec": {"a": 1}}, {"spec": {"b": None}}),
    "another type": ({"a": {"b": 1}}, {"a": [1]}, {"a": [1]}),
    "a list without keys": ({"command": ["a", "b"]}, {"command": ["a"]}, {"command": ["a"]}),
    "a union switched": (
        {"volume": {"name": "a", "nfs": {"path": "/a"}}},
        {"volume": {"name": "a", "emptyDir": {}}},
        {"volume": {"emptyDir": {}, "nfs": None}},
    ),
}
STRATEGIC = {
    "an item changed: those before it are named, in order": (
        {"env": ENV},
        {"env": [ENV[0], {"name": "B", "value": "3"}]},
        {"env": [{"name": "A"}, {"name": "B", "value": "3"}]},
    ),
    "an item more, in its place": (
        {"env": ENV},
        {"env": [ENV[0], {"name": "AA", "value": "x"}, ENV[1]]},
        {"env": [{"name": "A"}, {"name": "AA", "value": "x"}]},
    ),
    "an item more, at the end": (
        {"env": ENV},
        {"env": [*ENV, {"name": "C", "value": "x"}]},
        {"env": [{"name": "A"}, {"name": "B"}, {"name": "C", "value": "x"}]},
    ),
    "an item more, which says only its name": (
        {"env": ENV},
        {"env": [{"name": "AA"}, *ENV]},
        {"env": [{"name": "AA"}]},
    ),
    "items in another order": ({"env": ENV}, {"env": [*ENV[::-1]]}, {"env": [{"name": "B"}]}),
    "an item gone": ({"env": ENV}, {"env": [ENV[1]]}, {"env": [{"$patch": "delete", "name": "A"}]}),
    "a value for a reference": (
        {"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]},
        {"env": [{"name": "A", "value": "1"}]},
        {"env": [{"name": "A", "value": "1", "valueFrom": None}]},
    ),
    "a list gone": ({"a": 1, "env": ENV}, {"a": 1}, {"env": None}),
    "a list within an item": (
        {"containers": [{"name": "a", "image": "i", "env": ENV}]},
        {"containers": [{"name": "a", "image": "i", "env": ENV[:1]}]},
        {"containers": [{"name": "a", "env": [{"$patch": "delete", "name": "B"}]}]},
    ),
    "items by two keys": (
        {"topologySpreadConstraints": [SPREAD]},
        {"topologySpreadConstraints": [{**SPREAD, "whenUnsatisfiable": "ScheduleAnyway"}]},
        {"topologySpreadConstraints": [{"$patch": "replace"}, {**SPREAD, "whenUnsatisfiable": "ScheduleAnyway"}]},
    ),
    "an item more by two keys: kustomize would put it first": (
        {"topologySpreadConstraints": [SPREAD]},
        {"topologySpreadConstraints": [SPREAD, {**SPREAD, "topologyKey": "host"}]},
        {"topologySpreadConstraints": [{"$patch": "replace"}, SPREAD, {**SPREAD, "topologyKey": "host"}]},
    ),
    "items that one key does not tell apart": (
        {"ports": [DNS, {**DNS, "protocol": "UDP"}]},
        {"ports": [DNS, {**DNS, "protocol": "UDP", "name": "dns"}]},
        {"ports": [{"$patch": "replace"}, DNS, {**DNS, "protocol": "UDP", "name": "dns"}]},
    ),
    "ports of a Service": (
        {"kind": "Service", "ports": [{"port": 80, "name": "http"}]},
        {"kind": "Service", "ports": [{"port": 80, "name": "http"}, {"port": 81, "name": "more"}]},
        {"ports": [{"$patch": "replace"}, {"port": 80, "name": "http"}, {"port": 81, "name": "more"}]},
    ),
    "mounts by their path": (
        {"volumeMounts": [{"name": "a", "mountPath": "/a"}]},
        {"volumeMounts": [{"name": "b", "mountPath": "/a"}]},
        {"volumeMounts": [{"mountPath": "/a", "name": "b"}]},
    ),
}


@pytest.mark.parametrize("make", [merge_patch, strategic_merge_patch])
@pytest.mark.parametrize("name", BOTH)
def test_patch(name, make):
    before, after, expected = BOTH[name]
    assert make(before, after) == expected


@pytest.mark.parametrize("name", STRATEGIC)
def test_strategic_merge_patch(name):
    before, after, expected = STRATEGIC[name]
    assert strategic_merge_patch(before, after) == expected


@pytest.mark.parametrize("name", STRATEGIC)
def test_merge_patch_has_complete_lists(name):
    before, after, _ = STRATEGIC[name]
    lists = {key: after.get(key) for key, value in before.items() if isinstance(value, list)}
    assert merge_patch(before, after) == lists


def test_keys_of_a_patch_have_the_order_of_the_object():
    patch = strategic_merge_patch({"b": 1, "a": 1, "z": 1}, {"b": 2, "a": 2})
    assert list(patch) == ["b", "a", "z"]
