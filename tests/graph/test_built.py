"""Tests of the plain objects of a job and of its environments."""

from __future__ import annotations

from tfgen.graph.built import build

DATA = {
    "metadata": {"name": "mnist"},
    "spec": {
        "roles": {"chief": {}, "ps": {}, "worker": {"replicas": 2}},
        "image": "i:1",
        "environments": {"prod": {"roles": {"worker": {"replicas": 3}}}, "same": {}},
    },
}


def test_an_object_that_an_environment_does_not_change_is_the_object_of_the_job() -> None:
    """A caller can then check the object of all environments once."""
    job = build(DATA)
    changed = {
        environment: [name for name, item in items.items() if item is not job.base[name]]
        for environment, items in job.environments.items()
    }
    assert changed == {"prod": ["configmap", "worker"], "same": []}


def test_an_object_of_which_only_a_type_changes_is_a_different_object() -> None:
    """`True == 1` is true in Python."""
    own = {"apiVersion": "example.com/v1", "kind": "Own", "spec": {"a": 1}}
    spec = {
        **DATA["spec"],
        "objects": {"one": own},
        "environments": {"prod": {"objects": {"one": {"spec": {"a": True}}}}},
    }
    job = build({**DATA, "spec": spec})
    [(_, item)] = [entry for entry in job.environments["prod"].items() if entry[1]["kind"] == "Own"]
    assert item["spec"]["a"] is True
