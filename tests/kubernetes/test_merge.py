"""Tests of the merge of a patch into an object and into a graph, as in kubectl, kustomize and RFC 7386."""

from __future__ import annotations

import pytest

from tfgen.graph.holes import ForEach, Value
from tfgen.kubernetes.merge import JSON_MERGE, KUBECTL, kustomize, merge

IMAGE = Value("image", "string")
OURS = {
    "name": "tensorflow",
    "image": IMAGE,
    "env": [{"name": "A", "value": "1"}, ForEach(Value("env", "map"), {"name": "x"})],
}
POD = {"spec": {"containers": [OURS], "volumes": [{"name": "tmp", "emptyDir": {}}], "hostNetwork": False}}

SPREAD = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}

CASES = {
    "a field more": (POD["spec"], {"hostPID": True}, {**POD["spec"], "hostPID": True}),
    "a field changed": ({"a": 1, "b": 2}, {"a": 3}, {"a": 3, "b": 2}),
    "a field gone": ({"a": 1, "b": {"c": 1, "d": 2}}, {"b": {"c": None}}, {"a": 1, "b": {"d": 2}}),
    "null for what is not there": ({"a": 1}, {"b": None}, {"a": 1}),
    "a map for a hole": ({"a": IMAGE}, {"a": {"b": 1}}, {"a": {"b": 1}}),
    "an item merged by its name": (
        POD["spec"],
        {"containers": [{"name": "tensorflow", "tty": True}]},
        {**POD["spec"], "containers": [{**OURS, "tty": True}]},
    ),
    "an item more, at the end": (
        POD["spec"],
        {"containers": [{"name": "log", "image": "b"}]},
        {**POD["spec"], "containers": [OURS, {"name": "log", "image": "b"}]},
    ),
    "an item more, with fields that are blank": (
        {"containers": [OURS]},
        {"containers": [{"name": "log", "env": None, "resources": {"limits": None, "requests": {"cpu": 1}}}]},
        {"containers": [OURS, {"name": "log", "resources": {"requests": {"cpu": 1}}}]},
    ),
    "an item gone": (POD["spec"], {"volumes": [{"$patch": "delete", "name": "tmp"}]}, {**POD["spec"], "volumes": []}),
    "a list within an item": (
        {"containers": [OURS]},
        {"containers": [{"name": "tensorflow", "env": [{"name": "A", "value": "2"}, {"name": "B", "value": "3"}]}]},
        {"containers": [{**OURS, "env": [{"name": "A", "value": "2"}, OURS["env"][1], {"name": "B", "value": "3"}]}]},
    ),
    "ports by number": (
        {"ports": [{"containerPort": 1, "name": "a"}]},
        {"ports": [{"containerPort": 1, "protocol": "UDP"}, {"containerPort": 2}]},
        {"ports": [{"containerPort": 1, "name": "a", "protocol": "UDP"}, {"containerPort": 2}]},
    ),
    "ports of one number, where none was": (
        {},
        {"ports": [{"containerPort": 53, "protocol": "TCP"}, {"containerPort": 53, "protocol": "UDP"}]},
        {"ports": [{"containerPort": 53, "protocol": "TCP"}, {"containerPort": 53, "protocol": "UDP"}]},
    ),
    "ports of one number, beside another": (
        {"ports": [{"containerPort": 80}]},
        {"ports": [{"containerPort": 53, "protocol": "UDP"}, {"containerPort": 53, "protocol": "TCP"}]},
        {
            "ports": [
                {"containerPort": 80},
                {"containerPort": 53, "protocol": "UDP"},
                {"containerPort": 53, "protocol": "TCP"},
            ]
        },
    ),
    "ports of one number, one of them there": (
        {"ports": [{"containerPort": 53, "name": "a"}]},
        {"ports": [{"containerPort": 53, "protocol": "UDP"}, {"containerPort": 53, "protocol": "TCP"}]},
        {
            "ports": [
                {"containerPort": 53, "name": "a", "protocol": "TCP"},
                {"containerPort": 53, "protocol": "UDP"},
            ]
        },
    ),
    "one of two ports of one number": (
        {"ports": [{"containerPort": 53, "protocol": "TCP"}, {"containerPort": 53, "protocol": "UDP"}]},
        {"ports": [{"containerPort": 53, "protocol": "UDP", "name": "a"}]},
        {"ports": [{"containerPort": 53, "protocol": "TCP"}, {"containerPort": 53, "protocol": "UDP", "name": "a"}]},
    ),
    "ports of one number removed together, and one put in their place": (
        {"ports": [{"containerPort": 53, "protocol": "TCP"}, {"containerPort": 53, "protocol": "UDP"}]},
        {"ports": [{"containerPort": 53, "name": "a"}, {"containerPort": 53, "$patch": "delete"}]},
        {"ports": [{"containerPort": 53, "name": "a"}]},
    ),
    "constraints of one key": (
        {"topologySpreadConstraints": [{**SPREAD, "topologyKey": "host"}]},
        {"topologySpreadConstraints": [SPREAD, {**SPREAD, "whenUnsatisfiable": "ScheduleAnyway"}]},
        {
            "topologySpreadConstraints": [
                {**SPREAD, "topologyKey": "host"},
                SPREAD,
                {**SPREAD, "whenUnsatisfiable": "ScheduleAnyway"},
            ]
        },
    ),
    "any other list is replaced": (
        {"command": ["a", "b"], "tolerations": [{"key": "a"}]},
        {"command": ["c"], "tolerations": [{"key": "b"}]},
        {"command": ["c"], "tolerations": [{"key": "b"}]},
    ),
    "a list for a hole": ({"volumes": Value("v", "list")}, {"volumes": [{"name": "a"}]}, {"volumes": [{"name": "a"}]}),
}


@pytest.mark.parametrize("name", CASES)
def test_kubectl_merges(name):
    under, over, expected = CASES[name]
    assert merge(under, over, KUBECTL) == expected


BY_DIALECT = {
    "kubectl leaves items where they are": (
        KUBECTL,
        {"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}, {"name": "C"}]},
        {"env": [{"name": "N"}, {"name": "B", "value": "3"}, {"name": "C", "$patch": "delete"}]},
        {"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "3"}, {"name": "N"}]},
    ),
    "kustomize puts the items of a patch first": (
        kustomize("Pod"),
        {"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}, {"name": "C"}]},
        {"env": [{"name": "N"}, {"name": "B", "value": "3"}, {"name": "C", "$patch": "delete"}]},
        {"env": [{"name": "N"}, {"name": "B", "value": "3"}, {"name": "A", "value": "1"}]},
    ),
    "kustomize goes by two fields, and puts only what is new first": (
        kustomize("Pod"),
        {"topologySpreadConstraints": [SPREAD, {**SPREAD, "topologyKey": "host"}]},
        {
            "topologySpreadConstraints": [
                {**SPREAD, "topologyKey": "host", "maxSkew": 2},
                {**SPREAD, "topologyKey": "x"},
            ]
        },
        {
            "topologySpreadConstraints": [
                {**SPREAD, "topologyKey": "x"},
                SPREAD,
                {**SPREAD, "topologyKey": "host", "maxSkew": 2},
            ]
        },
    ),
    "kustomize takes a list whole that Kubernetes 1.21 did not have": (
        kustomize("Pod"),
        {"resourceClaims": [{"name": "a"}]},
        {"resourceClaims": [{"name": "b"}]},
        {"resourceClaims": [{"name": "b"}]},
    ),
    "a list that is to be replaced": (
        kustomize("Pod"),
        {"env": [{"name": "A"}]},
        {"env": [{"$patch": "replace"}, {"name": "B"}]},
        {"env": [{"name": "B"}]},
    ),
    "a directive where there is no list yet": (
        kustomize("Pod"),
        {"a": 1},
        {"env": [{"name": "A", "$patch": "delete"}, {"name": "B", "valueFrom": None}]},
        {"a": 1, "env": [{"name": "B"}]},
    ),
    "RFC 7386 has lists whole": (
        JSON_MERGE,
        {"env": [{"name": "A", "value": "1"}], "a": {"b": 1, "c": 2}},
        {"env": [{"name": "B"}], "a": {"b": None}},
        {"env": [{"name": "B"}], "a": {"c": 2}},
    ),
    "RFC 7386 has no null in what is new": (JSON_MERGE, {"a": "foo"}, {"a": {"b": {"c": None}}}, {"a": {"b": {}}}),
}


@pytest.mark.parametrize("name", BY_DIALECT)
def test_a_dialect_merges(name):
    dialect, under, patch, expected = BY_DIALECT[name]
    assert merge(under, patch, dialect) == expected


def test_neither_side_is_changed():
    under, over = {"a": {"b": [1]}, "volumes": [{"name": "x", "c": {}}]}, {"volumes": [{"name": "x", "c": {"d": 1}}]}
    before = repr((under, over))
    merge(under, over, KUBECTL)
    assert repr((under, over)) == before
