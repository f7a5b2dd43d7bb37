"""What is read off the schema for a chart: values, their schema, and how an environment is merged.

The chart's own judges are here too: Helm merges as we do, and takes and refuses values by the schema that we make.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import helm_python
import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.everything import EVERYTHING
from tests.support.generated import drawn, jobs
from tfgen.schema import file as schema_file
from tfgen.schema import tunables
from tfgen.text.yaml_text import dump

if TYPE_CHECKING:
    from pathlib import Path

SMALL = {"image": "x:1", "roles": {"worker": {"replicas": 4}}}


def test_values_are_complete_and_in_the_schemas_order():
    values = tunables.values(
        {
            "roles": {"worker": {"resources": {"gpu": {"count": 1}}, "env": {"B": "b", "A": "a"}}},
            "storage": {"z": {"emptyDir": {}, "mountPath": "/z"}, "a": {"mountPath": "/a", "claim": {"name": "a"}}},
            "image": "x:1",
        }
    )
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
            "priorityClassName": "",
            "priorityClasses": {},
            "serviceAccountName": "",
            "runtimeClassName": "",
            "labels": {},
            "annotations": {},
            "shm": "",
            "storage": {
                "a": {"mountPath": "/a", "claim": {"name": "a"}},
                "z": {"mountPath": "/z", "emptyDir": {}},
            },
            "retries": 20,
            "completion": {"onFailure": "Release", "evaluatorGrace": 300, "image": ""},
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
                    "image": "",
                    "imagePullPolicy": "",
                    "command": [],
                    "args": [],
                    "workingDir": "",
                    "env": {"A": "a", "B": "b"},
                    "envFrom": [],
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
                    "nodeSelector": {},
                    "tolerations": [],
                    "affinity": {},
                    "placement": "",
                    "topologySpreadConstraints": [],
                    "spot": False,
                    "nodeName": "",
                    "priorityClassName": "",
                    "serviceAccountName": "",
                    "runtimeClassName": "",
                    "labels": {},
                    "annotations": {},
                    "shm": "",
                    "terminationGracePeriodSeconds": 0,
                }
            },
            "network": {"policy": "Isolated", "egress": {"limited": False, "rules": []}},
            "security": {"runAsUser": 1000, "runAsGroup": 1000, "fsGroup": 1000, "readOnlyRootFilesystem": True},
        }
    )


def test_a_section_brings_its_tunables():
    gang = {t.path for t in tunables.tunables({**SMALL, "gang": {"scheduler": "volcano"}})} - {
        t.path for t in tunables.tunables(SMALL)
    }
    keys = (
        "enabled",
        "apiVersion",
        "schedulerName",
        "queue",
        "priorityClassName",
        "minAvailable",
        "minResources",
        "scheduleTimeoutSeconds",
        "requiredTopology",
        "preferredTopology",
    )
    assert gang == {("gang", key) for key in keys}


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
        ("roles.chief.affinity", "map", {}),
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
    with pytest.raises(LookupError, match=f"no tunable at values path {path}$"):
        tunables.at(path.split("."))


def test_what_an_environment_does_not_say_is_as_the_job_has_it():
    spec = {
        **SMALL,
        "env": {"A": "a", "B": "b"},
        "args": ["x", "y"],
        "environments": {"dev": {"env": {"A": None, "C": "c"}, "args": ["z"], "roles": {"worker": {"replicas": 1}}}},
    }
    values = tunables.environment_values(spec, "dev")
    assert values == tunables.values(
        {"image": "x:1", "env": {"B": "b", "C": "c"}, "args": ["z"], "roles": {"worker": {"replicas": 1}}}
    )


def test_missing_sections():
    environment = {"roles": {"worker": {}, "evaluator": {}}, "gang": {}}
    assert tunables.missing_sections(SMALL, environment) == (("roles", "evaluator"), ("gang",))


# The schema of the values.


def test_every_value_is_required_and_nothing_else_is_let_in():
    schema = tunables.values_schema(SMALL)
    values = tunables.values(SMALL)
    validator = jsonschema.Draft7Validator(schema)
    validator.check_schema(schema)
    assert list(validator.iter_errors(values)) == []
    assert list(validator.iter_errors({**values, "global": {"x": 1}, "enabled": True})) == []
    for tunable in tunables.tunables(SMALL):
        for broken in (without(values, tunable.path), with_value(values, tunable.path, None)):
            assert not validator.is_valid(broken), tunable.path
    assert not validator.is_valid({**values, "port": 1})
    assert not validator.is_valid({**values, "gang": {}})


def without(values: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    first, *rest = path
    if rest:
        return {**values, first: without(values[first], tuple(rest))}
    return {key: value for key, value in values.items() if key != first}


def with_value(values: dict[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    first, *rest = path
    return {**values, first: with_value(values[first], tuple(rest), value) if rest else value}


def test_it_stands_alone():
    """Helm resolves no reference but local ones, and our own keywords mean nothing to its users."""
    written = json.dumps(tunables.values_schema(EVERYTHING["spec"]))
    used = {ref.partition('"')[0] for ref in written.split('"$ref": "#/definitions/')[1:]}
    assert '"x-' not in written
    assert '"$id"' not in written
    assert written.count('"$ref"') == written.count('"$ref": "#/definitions/')
    assert used == set(tunables.values_schema(EVERYTHING["spec"])["definitions"])


def test_it_keeps_what_helps_a_reader():
    replicas = tunables.values_schema(SMALL)["properties"]["roles"]["properties"]["worker"]["properties"]["replicas"]
    assert replicas == {
        "description": "Number of tasks.",
        "type": "integer",
        "minimum": 1,
        "maximum": 10000,
        "default": 1,
        "examples": [4],
    }


# The real Helm.


def chart(folder: Path, values: Any, schema: Any = True) -> helm_python.Chart:
    (folder / "Chart.yaml").write_text("{apiVersion: v2, name: tiny, version: 0.1.0}")
    (folder / "values.yaml").write_text(dump(values), encoding="utf-8")
    (folder / "values.schema.json").write_text(json.dumps(schema))
    return helm_python.Chart.load(folder)


def trees(*more: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Values with few keys, so that two of them meet."""
    leaf = st.one_of(
        st.booleans(), st.integers(-9, 9), st.text("xy", max_size=2), st.lists(st.integers(0, 9), max_size=2), *more
    )
    node = st.recursive(leaf, lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3))
    return st.dictionaries(st.sampled_from("abc"), node, max_size=3)


@settings(max_examples=300)
@given(under=trees(), over=trees(st.none()))
def test_helm_merges_values_the_same(tmp_path_factory, under, over):
    assert chart(tmp_path_factory.mktemp("chart"), under).merge_values(over) == tunables.merge(under, over)


def test_helm_takes_the_values_and_refuses_what_is_wrong(tmp_path):
    spec = EVERYTHING["spec"]
    helm = chart(tmp_path, tunables.values(spec), tunables.values_schema(spec))
    for environment in spec["environments"].values():
        helm.validate_schema(environment)
    for wrong in (
        {"image": None},
        {"retries": "3"},
        {"port": 1},
        {"env": {"TF_CONFIG": "x"}},
        {"annotations": {"a": "\u0085"}},
        {"roles": {"worker": {"replicas": 0}}},
        {"storage": {"data": {"emptyDir": {}}}},
        {"env": {"NEW": None}},
    ):
        with pytest.raises(helm_python.HelmValuesError):
            helm.validate_schema(wrong)


@drawn(50)
@given(data=jobs(environments=1))
def test_the_values_of_every_job_are_allowed_by_their_schema(tmp_path_factory, data):
    """By Python's reference, and by Helm: the patterns are read by Go, too, and numbers survive float64."""
    spec = data["spec"]
    schema = tunables.values_schema(spec)
    reference = jsonschema.Draft7Validator(schema)
    helm = chart(tmp_path_factory.mktemp("chart"), tunables.values(spec), schema)
    for name, environment in {"none": {}, **spec["environments"]}.items():
        helm.validate_schema(environment)
        expected = tunables.environment_values({**spec, "environments": {name: environment}}, name)
        assert helm.merge_values(environment) == expected
        assert list(reference.iter_errors(expected)) == []


def test_a_map_s_entries_have_no_values_that_the_kind_never_reads() -> None:
    spec = {"workload": {"kind": "ElasticDL"}, "image": "mnist:1", "roles": {"worker": {}}}
    volume = tunables.values_schema(spec)["definitions"]["volume"]
    assert [*volume["properties"]] == ["mountPath", "subPath", "claim", "hostPath"]
    assert volume["oneOf"] == [{"required": ["claim"]}, {"required": ["hostPath"]}]
    everywhere = schema_file.load()["definitions"]["volume"]
    assert {"nfs", "emptyDir"} <= everywhere["properties"].keys()
