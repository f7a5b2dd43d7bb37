"""Tests of the values of a chart and of the merge of an environment, which tfgen derives from the job schema.

One test compares the merge with the merge of Helm.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.draws import drawn
from tests.support.values_chart import chart
from tfgen.schema import tunables
from tfgen.schema.kinds import COPIED

if TYPE_CHECKING:
    pass

SMALL = {"image": "x:1", "roles": {"worker": {"replicas": 4}}}


def test_values_are_complete_and_in_the_schemas_order():
    """The test lists all values, except for the values that tfgen only copies to the pods."""
    values = tunables.values(
        {
            "roles": {"worker": {"resources": {"gpu": {"count": 1}}, "env": {"B": "b", "A": "a"}}},
            "storage": {"z": {"emptyDir": {}, "mountPath": "/z"}, "a": {"mountPath": "/a", "claim": {"name": "a"}}},
            "image": "x:1",
        }
    )
    copied = {key: values.pop(key) for key in COPIED}
    assert copied == {key: tunables.at((key,)).default for key in COPIED}
    assert json.dumps(values) == json.dumps(
        {
            "run": "",
            "resumeFrom": "",
            "image": "x:1",
            "imagePullPolicy": "",
            "imagePullSecrets": [],
            "command": [],
            "args": [],
            "workingDir": "",
            "env": {},
            "envFrom": [],
            "nodeSelector": {},
            "tolerations": [],
            "affinity": {},
            "placement": "none",
            "topologySpreadConstraints": [],
            "spot": False,
            "priorityClasses": {},
            "objects": {},
            "serviceAccountName": "",
            "labels": {},
            "annotations": {},
            "shm": "",
            "storage": {
                "a": {"mountPath": "/a", "claim": {"name": "a"}},
                "z": {"mountPath": "/z", "emptyDir": {}},
            },
            "retries": 20,
            "restart": {"ignoreExitCodes": []},
            "completion": {
                "onFailure": "Release",
                "image": "",
                "notify": {"secretKeyRef": {"name": "", "key": "address"}},
            },
            "helpers": {
                "resources": {
                    "requests": {"cpu": "100m", "memory": "128Mi"},
                    "limits": {"cpu": "100m", "memory": "128Mi"},
                }
            },
            "deadline": 0,
            "lockWait": 600,
            "startDeadline": 0,
            "roles": {
                "worker": {
                    "replicas": 1,
                    "env": {"A": "a", "B": "b"},
                    "resources": {
                        "cpu": "",
                        "memory": "",
                        "requests": {},
                        "limits": {},
                        "gpu": {
                            "count": 1,
                            "product": "",
                            "productLabel": "nvidia.com/gpu.product",
                            "resource": "nvidia.com/gpu",
                            "share": {},
                        },
                    },
                }
            },
            "network": {
                "policy": "Isolated",
                "egress": {
                    "limited": False,
                    "rules": [],
                    "apiServer": [{"ports": [{"port": 443, "protocol": "TCP"}, {"port": 6443, "protocol": "TCP"}]}],
                },
            },
            "security": {
                "runAsUser": 1000,
                "runAsGroup": 1000,
                "fsGroup": 1000,
                "hostUsers": True,
                "readOnlyRootFilesystem": True,
            },
        }
    )


def test_jobs_of_one_kind_have_the_same_tunables():
    assert tunables.tunables(SMALL) is tunables.tunables({**SMALL, "image": "other:1", "env": {"A": "1"}})


def test_a_section_brings_its_tunables():
    with_gang = tunables.tunables({**SMALL, "gang": {"scheduler": "volcano"}})
    gang = with_gang.keys() - tunables.tunables(SMALL).keys()
    keys = ("enabled", "schedulerName", "queue", "priorityClassName", "minAvailable", "minResources")
    topology = {("gang", "networkTopology", key) for key in ("mode", "highestTierAllowed", "highestTierName")}
    assert gang == topology | {("gang", key) for key in keys}


@pytest.mark.parametrize(
    ("section", "paths"),
    [
        ({"gang": {"scheduler": "kube-batch"}}, ["gang.minResources", "gang.requiredTopology", "gang.apiVersion"]),
        ({"gang": {"scheduler": "volcano"}, "strategy": "MultiWorkerMirrored"}, ["gang.minAvailable"]),
        ({"strategy": "Single", "roles": {"chief": {}}}, ["completion.onFailure", "completion.evaluatorGrace"]),
        ({"completion": {"release": "Keep"}}, ["completion.onFailure"]),
        (
            {"podDisruptionBudget": {}, "strategy": "Single", "roles": {"chief": {}}},
            ["podDisruptionBudget.maxUnavailable"],
        ),
    ],
)
def test_what_a_job_has_no_part_for_is_no_value_of_its_chart(section, paths):
    spec = {**SMALL, **section}
    here = {".".join(path) for path in tunables.tunables(spec)}
    everywhere = {".".join(path) for path in tunables.tunables(spec, of_any_kind=True)}
    assert here.isdisjoint(paths)
    assert everywhere.issuperset(paths)


def test_what_an_environment_says_of_no_value_does_not_reach_its_chart():
    """Helm would refuse the key. The same defaults may set the key for jobs with an evaluator and for jobs without."""
    environment = {"namespace": "x", "completion": {"evaluatorGrace": 60, "image": "y:1"}, "env": {"A": None}}
    spec = {**SMALL, "environments": {"dev": environment}}
    assert tunables.chart_overrides(spec)["dev"] == {"completion": {"image": "y:1"}, "env": {"A": None}}


@pytest.mark.parametrize(
    ("path", "kind", "default"),
    [
        ("image", "string", ""),
        ("placement", "string", "none"),
        ("roles.worker.replicas", "integer", 1),
        ("roles.ps.resources.cpu", "quantity", ""),
        ("roles.evaluator.resources.gpu.count", "integer", 0),
        ("gang.enabled", "boolean", True),
        ("storage", "map", {}),
        ("roles.chief.affinity", "map", None),
        ("tolerations", "list", []),
    ],
)
def test_a_tunable_has_a_kind_and_a_default(path, kind, default):
    tunable = tunables.at(path.split("."))
    assert (tunable.type, tunable.default) == (kind, default)


@pytest.mark.parametrize(
    "path", ["replicas", "port", "gang.scheduler", "roles", "roles.chief.replicas", "storage.data"]
)
def test_a_path_that_is_no_tunable_is_an_error(path):
    with pytest.raises(LookupError, match=f"no tunable has the values path {path}$"):
        tunables.at(path.split("."))


def test_what_an_environment_does_not_say_is_as_the_job_has_it():
    spec = {
        **SMALL,
        "env": {"A": "a", "B": "b"},
        "args": ["x", "y"],
        "environments": {"dev": {"env": {"A": None, "C": "c"}, "args": ["z"], "roles": {"worker": {"replicas": 1}}}},
    }
    values = tunables.values(spec, "dev")
    assert values == tunables.values(
        {"image": "x:1", "env": {"B": "b", "C": "c"}, "args": ["z"], "roles": {"worker": {"replicas": 1}}}
    )


def test_missing_sections():
    environment = {"roles": {"worker": {}, "evaluator": {}}, "gang": {}}
    assert tunables.missing_sections(SMALL, environment) == (("roles", "evaluator"), ("gang",))


# Helm.


def trees(*more: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Draw values with few keys, so that two drawn values have keys in common."""
    leaf = st.one_of(
        st.booleans(), st.integers(-9, 9), st.text("xy", max_size=2), st.lists(st.integers(0, 9), max_size=2), *more
    )
    node = st.recursive(leaf, lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3))
    return st.dictionaries(st.sampled_from("abc"), node, max_size=3)


@pytest.mark.long
@drawn(100)
@given(under=trees(), over=trees(st.none()))
def test_helm_merges_values_the_same(tmp_path_factory, under, over):
    assert chart(tmp_path_factory.mktemp("chart"), under).merge_values(over) == tunables.merge(under, over)


def test_a_record_that_an_environment_removes_has_its_defaults_again():
    worker = {"resources": {"cpu": 2, "memory": "4Gi"}, "replicas": 3}
    spec = {
        "image": "i",
        "roles": {"worker": worker},
        "environments": {"prod": {"roles": {"worker": {"resources": None}}}},
    }
    own, by_environment = tunables.all_values(spec)
    plain = tunables.values({"image": "i", "roles": {"worker": {"replicas": 3}}})
    assert own["roles"]["worker"]["resources"]["cpu"] == 2
    assert by_environment["prod"] == plain
    assert [*by_environment["prod"]["roles"]["worker"]] == [*plain["roles"]["worker"]]
