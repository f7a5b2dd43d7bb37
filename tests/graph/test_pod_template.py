"""podTemplate over our own pod, as kubectl's strategic merge lays it."""

from __future__ import annotations

import pytest

from tfgen.graph.built import plain_objects
from tfgen.graph.holes import Each, Value
from tfgen.graph.workloads.pod_template import merge
from tfgen.text.document import parse

IMAGE = Value("image", "string")
OURS = {
    "name": "tensorflow",
    "image": IMAGE,
    "env": [{"name": "A", "value": "1"}, Each(Value("env", "map"), {"name": "x"})],
}
POD = {"spec": {"containers": [OURS], "volumes": [{"name": "tmp", "emptyDir": {}}], "hostNetwork": False}}

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
    "any other list is replaced": (
        {"command": ["a", "b"], "tolerations": [{"key": "a"}]},
        {"command": ["c"], "tolerations": [{"key": "b"}]},
        {"command": ["c"], "tolerations": [{"key": "b"}]},
    ),
    "a list for a hole": ({"volumes": Value("v", "list")}, {"volumes": [{"name": "a"}]}, {"volumes": [{"name": "a"}]}),
}


@pytest.mark.parametrize("name", CASES)
def test_merge(name):
    under, over, expected = CASES[name]
    assert merge(under, over) == expected


def test_neither_side_is_changed():
    under, over = {"a": {"b": [1]}, "volumes": [{"name": "x", "c": {}}]}, {"volumes": [{"name": "x", "c": {"d": 1}}]}
    before = repr((under, over))
    merge(under, over)
    assert repr((under, over)) == before


def test_a_container_of_the_template_meets_the_profile_in_what_it_does_not_say():
    job = parse(
        """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  image: registry.example.com/ml/mnist:1.4.0
  strategy: Single
  roles: {chief: {}}
  sidecars: [{name: log, image: "log:1", securityContext: {capabilities: {add: [NET_BIND_SERVICE]}}}]
  podTemplate:
    spec:
      initContainers: [{name: log, image: "log:2"}]
      containers: [{name: more, image: "more:1", securityContext: {runAsUser: 7}}]
""",
        "job.yaml",
    ).documents[0]
    (task,) = (made for made in plain_objects(job.data) if made["kind"] == "Job")
    spec = task["spec"]["template"]["spec"]
    said = {each["name"]: each["securityContext"] for each in (*spec["initContainers"], *spec["containers"])}
    restricted = {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert said == {
        "log": {**restricted, "capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]}},
        "tensorflow": restricted,
        "more": {**restricted, "runAsUser": 7},
    }
