"""Values of a role: each key that a role sets overrides the job, in the chart, the overlays and the plain objects.

An empty scalar or list of a role, such as `spot: false`, overrides the value of the job, too. A map of a role is merged
over the map of the job, so an empty map changes nothing.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.support.command import CommandError
from tests.support.draws import drawn
from tests.support.generated import accepted
from tests.support.normal import Objects
from tests.support.rendered import Rendered
from tfgen.schema import file as schema_file
from tfgen.schema.kinds import COPIED
from tfgen.schema.tunables import all_leaves, at

UNSET, EMPTY, SET = "unset", "empty", "set"
ROLES = ("chief", "ps", "worker")
SPOT_TAINT = "cloud.google.com/gke-spot"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def _container(pod: Any) -> Any:
    return next(item for item in pod["spec"]["containers"] if item["name"] == "tensorflow")


def _container_field(field: str) -> Callable[[Any], Any]:
    return lambda pod: _container(pod).get(field)


def _spec_field(field: str) -> Callable[[Any], Any]:
    return lambda pod: pod["spec"].get(field)


def _own_env(pod: Any) -> Mapping[str, Any]:
    return {item["name"]: item["value"] for item in _container(pod)["env"] if item["name"] in ("A", "B", "C")}


def _own_metadata(field: str) -> Callable[[Any], Any]:
    return lambda pod: {key: text for key, text in pod["metadata"][field].items() if key in ("a", "b", "c")}


def _tolerated(pod: Any) -> Sequence[str]:
    return [item["key"] for item in pod["spec"].get("tolerations", ())]


def _shm(pod: Any) -> Any:
    return next((item["emptyDir"]["sizeLimit"] for item in pod["spec"]["volumes"] if item["name"] == "shm"), None)


def _node_term(weight: int) -> Mapping[str, Any]:
    expression = {"key": "example.com/disk", "operator": "Exists"}
    return {PREFERRED: [{"weight": weight, "preference": {"matchExpressions": [expression]}}]}


def _pod_term(weight: int) -> Mapping[str, Any]:
    return {PREFERRED: [{"weight": weight, "podAffinityTerm": {"topologyKey": "kubernetes.io/hostname"}}]}


def _constraint(zone: str) -> Mapping[str, Any]:
    return {"maxSkew": 1, "topologyKey": zone, "whenUnsatisfiable": "ScheduleAnyway"}


@dataclass(frozen=True)
class Key:
    """A key of a role.

    Attributes:
        job: the value of the job; None if only roles have the key.
        empty: the empty value of a role; None if the schema allows no empty value.
        own: another value of a role.
        read: function that reads the field of the pod.
        fields: the field of the pod if the role does not set the key, if the role sets `empty`, and if it sets `own`.
    """

    job: Any
    empty: Any
    own: Any
    read: Callable[[Any], Any]
    fields: tuple[Any, Any, Any]


def _copied(key: str) -> Key:
    job, empty, own = {"string": ("job", "", "role"), "boolean": (True, False, True)}[at((key,)).type]
    return Key(job, empty, own, _spec_field(key), (job, None, own))


MERGED = {"a": "job", "b": "job"}
OVER = {"b": "", "c": "role"}
IN_ALL = {"a": "job", "b": "", "c": "role"}
BY_KEY = (MERGED, MERGED, IN_ALL)
KEYS: Mapping[str, Key] = {
    "image": Key("job:1", None, "role:1", _container_field("image"), ("job:1", None, "role:1")),
    "imagePullPolicy": Key("Always", "", "Never", _container_field("imagePullPolicy"), ("Always", None, "Never")),
    "command": Key(["job"], [], ["role"], _container_field("command"), (["job"], None, ["role"])),
    "args": Key(["job"], [], ["role"], _container_field("args"), (["job"], None, ["role"])),
    "workingDir": Key("/job", "", "/role", _container_field("workingDir"), ("/job", None, "/role")),
    "env": Key(
        {"A": "job", "B": "job"},
        {},
        {"B": "", "C": "role"},
        _own_env,
        ({"A": "job", "B": "job"}, {"A": "job", "B": "job"}, {"A": "job", "B": "", "C": "role"}),
    ),
    "envFrom": Key(
        [{"configMapRef": {"name": "job"}}],
        [],
        [{"secretRef": {"name": "role"}}],
        _container_field("envFrom"),
        ([{"configMapRef": {"name": "job"}}], None, [{"secretRef": {"name": "role"}}]),
    ),
    "nodeSelector": Key(MERGED, {}, OVER, _spec_field("nodeSelector"), BY_KEY),
    "labels": Key(MERGED, {}, OVER, _own_metadata("labels"), BY_KEY),
    "annotations": Key(MERGED, {}, OVER, _own_metadata("annotations"), BY_KEY),
    "tolerations": Key(
        [{"key": "job", "operator": "Exists"}],
        [],
        [{"key": "role", "operator": "Exists"}],
        lambda pod: [key for key in _tolerated(pod) if key in ("job", "role")],
        (["job"], [], ["role"]),
    ),
    "spot": Key(True, False, True, lambda pod: SPOT_TAINT in _tolerated(pod), (True, False, True)),
    "affinity": Key(
        {"nodeAffinity": _node_term(1), "podAffinity": _pod_term(1)},
        {},
        {"podAffinity": _pod_term(2), "podAntiAffinity": _pod_term(3)},
        lambda pod: {kind: terms[PREFERRED][0]["weight"] for kind, terms in pod["spec"].get("affinity", {}).items()},
        (
            {"nodeAffinity": 1, "podAffinity": 1},
            {"nodeAffinity": 1, "podAffinity": 1},
            {"nodeAffinity": 1, "podAffinity": 2, "podAntiAffinity": 3},
        ),
    ),
    "placement": Key(
        "spread",
        "",
        "pack",
        lambda pod: [*pod["spec"].get("affinity", ())],
        (["podAntiAffinity"], [], ["podAffinity"]),
    ),
    "topologySpreadConstraints": Key(
        [_constraint("job")],
        [],
        [_constraint("role")],
        lambda pod: [item["topologyKey"] for item in pod["spec"].get("topologySpreadConstraints", ())],
        (["job"], [], ["role"]),
    ),
    "nodeName": Key(None, "", "role", _spec_field("nodeName"), (None, None, "role")),
    **{key: _copied(key) for key in COPIED},
    "serviceAccountName": Key("job", "", "role", _spec_field("serviceAccountName"), ("job", None, "role")),
    "shm": Key("1Gi", "", "2Gi", _shm, ("1Gi", None, "2Gi")),
    "terminationGracePeriodSeconds": Key(
        None, 0, 77, _spec_field("terminationGracePeriodSeconds"), ({"chief": 30, "ps": 5, "worker": 5}, 0, 77)
    ),
}
NOTHING_SET: Mapping[str, Mapping[str, str]] = {role: {} for role in ROLES}
HAS_DEFAULT = ("replicas", "resources")
ONLY_IN_TFJOB = ("restartPolicy",)


def test_the_table_has_every_tunable_of_a_role():
    keys = {path[2] for path in all_leaves() if path[:2] == ("roles", "worker")}
    assert keys == {*KEYS, *HAS_DEFAULT, *ONLY_IN_TFJOB}


def _values(states: Mapping[str, str]) -> dict[str, Any]:
    """Return the values of a role, by the state of each key."""
    values = {name: KEYS[name].empty if state == EMPTY else KEYS[name].own for name, state in states.items()}
    return {name: value for name, value in values.items() if states[name] != UNSET and value is not None}


def _job(omitted: str, role_states: Mapping[str, Mapping[str, str]], dev: Mapping[str, Any]) -> dict[str, Any]:
    spec = {
        **{name: key.job for name, key in KEYS.items() if key.job is not None and name != omitted},
        "roles": {role: _values(states) for role, states in role_states.items()},
        "network": {"policy": "Off"},
        "environments": {"dev": {"roles": dev}},
    }
    return {"apiVersion": "tfgen/v1alpha1", "kind": "TrainingJob", "metadata": {"name": "mnist"}, "spec": spec}


def _pods(objects: Objects) -> Mapping[str, Any]:
    templates = (item["spec"]["template"] for item in objects.values() if item["kind"] in ("StatefulSet", "Job"))
    return {pod["metadata"]["labels"].get("tfgen/role"): pod for pod in templates}


def _assert_fields(objects: Objects, states: Mapping[str, Mapping[str, str]]) -> None:
    pods = _pods(objects)
    for role in ROLES:
        for name, state in states[role].items():
            key = KEYS[name]
            field = key.fields[(UNSET, EMPTY, SET).index(state) if key.empty is not None or state == SET else 0]
            expected = field[role] if name == "terminationGracePeriodSeconds" and isinstance(field, dict) else field
            assert key.read(pods[role]) == expected, (role, name, state)


def _over(base: str, over: str, key: Key) -> str:
    """Return the state of a key of a role after an environment: a map that is not empty remains."""
    remains = over == UNSET or (over == EMPTY and (key.empty is None or (key.empty == {} and base == SET)))
    return base if remains else over


STATES = st.sampled_from([UNSET, EMPTY, SET])


@st.composite
def _states(draw: st.DrawFn) -> tuple[str, Mapping[str, Mapping[str, str]], Mapping[str, Mapping[str, str]]]:
    omitted = draw(st.sampled_from(["affinity", "placement"]))  # an affinity replaces the affinity of placement
    names = [name for name in KEYS if name != omitted]
    job, dev = ({role: {name: draw(STATES) for name in names} for role in ROLES} for _ in range(2))
    return omitted, job, dev


def _check(folder: Path, omitted: str, job: Mapping[str, Any], dev: Mapping[str, Any]) -> None:
    document = _job(omitted, job, {role: _values(states) for role, states in dev.items()})
    assert accepted(document)
    rendered = Rendered.write(document, folder)
    for environment in (None, "dev"):
        rendered.assert_equal(environment)
    in_dev = {
        role: {name: _over(state, dev[role][name], KEYS[name]) for name, state in job[role].items()} for role in ROLES
    }
    _assert_fields(rendered.by_tfgen(None), job)
    _assert_fields(rendered.by_tfgen("dev"), in_dev)


@pytest.mark.parametrize("omitted", ["affinity", "placement"])
@pytest.mark.parametrize("state", [UNSET, EMPTY, SET])
def test_each_key_of_a_role_overrides_the_job(omitted, state, tmp_path):
    names = [name for name in KEYS if name != omitted]
    job = {role: dict.fromkeys(names, state if role == "ps" else UNSET) for role in ROLES}
    dev = {role: dict.fromkeys(names, state if role == "worker" else UNSET) for role in ROLES}
    _check(tmp_path, omitted, job, dev)


@pytest.mark.long
@drawn(25)
@given(states=_states())
def test_each_key_of_a_role_overrides_the_job_in_random_jobs(states):
    with tempfile.TemporaryDirectory() as folder:
        _check(Path(folder), *states)


def test_the_restart_policy_of_a_role_overrides_the_policy_of_the_tf_job(tmp_path):
    document = {
        "apiVersion": "tfgen/v1alpha1",
        "kind": "TrainingJob",
        "metadata": {"name": "mnist"},
        "spec": {
            "image": "job:1",
            "workload": {"kind": "TFJob", "tfJob": {"restartPolicy": "Never"}},
            "roles": {"chief": {"restartPolicy": "Always"}, "ps": {}, "worker": {}},
            "environments": {"dev": {"roles": {"ps": {"restartPolicy": "ExitCode"}}}},
        },
    }
    rendered = Rendered.write(document, tmp_path)
    for environment, of_ps in ((None, "Never"), ("dev", "ExitCode")):
        rendered.assert_equal(environment)
        (tf_job,) = (item for item in rendered.by_tfgen(environment).values() if item["kind"] == "TFJob")
        policies = {name: spec["restartPolicy"] for name, spec in tf_job["spec"]["tfReplicaSpecs"].items()}
        assert policies == {"Chief": "Always", "PS": of_ps, "Worker": "Never"}


def test_values_yaml_shows_an_unset_key_of_a_role_as_a_comment_line(tmp_path):
    states = {"chief": {}, "ps": {"spot": EMPTY, "tolerations": EMPTY}, "worker": {"priorityClassName": EMPTY}}
    rendered = Rendered.write(_job("affinity", states, {}), tmp_path)
    text = (rendered.chart / "values.yaml").read_text(encoding="utf-8")
    roles = yaml.safe_load(text)["roles"]
    assert {role: roles[role].keys() - {"replicas", "resources"} for role in ROLES} == {
        role: {*states[role]} for role in ROLES
    }
    for name in KEYS:
        set_in = sum(name in states[role] for role in ROLES)
        assert text.count(f"\n    # {name}: ") == len(ROLES) - set_in
    schema = json.loads((rendered.chart / "values.schema.json").read_text(encoding="utf-8"))
    assert not set(KEYS) & set(schema["definitions"]["role"]["required"])
    jsonschema.validate(yaml.safe_load(text), schema)


@pytest.mark.parametrize("name", [name for name, key in KEYS.items() if key.empty != {}])
def test_null_of_a_role_is_refused(name, tmp_path):
    assert not accepted(_job("", NOTHING_SET, {"ps": {name: None}}))
    document = _job("", NOTHING_SET, {})
    document["spec"]["roles"]["ps"] = {name: None}
    assert not accepted(document)


def test_helm_returns_to_the_value_of_the_job_for_a_key_that_null_removes(tmp_path):
    rendered = Rendered.write(_job("placement", {**NOTHING_SET, "ps": {"spot": EMPTY}}, {}), tmp_path)
    assert SPOT_TAINT not in _tolerated(_pods(rendered.by_helm())["ps"])
    assert SPOT_TAINT in _tolerated(_pods(rendered.by_helm("--set", "roles.ps.spot=null"))["ps"])
    with pytest.raises(CommandError, match="spot"):
        rendered.by_helm("--set-json", 'roles.ps.spot="yes"')


SELECTED = {"tfgen/job": "mnist", "tfgen/run": "2", "tfgen/role": "ps"}
IN_ZONE = _constraint("topology.kubernetes.io/zone")
EVERY_FIELD = {"minDomains": 2, "nodeAffinityPolicy": "Ignore", "nodeTaintsPolicy": "Honor"}


def test_a_topology_spread_constraint_has_every_field_of_the_schema():
    """The object graph names each field, so a new field of the schema needs a line in the graph and in this test."""
    schema = schema_file.load()["definitions"]["topologySpreadConstraints"]["items"]
    assert {*schema["properties"]} == {*IN_ZONE, *EVERY_FIELD, "labelSelector", "matchLabelKeys"}


@pytest.mark.parametrize(
    ("constraint", "selector"),
    [
        ({}, {"matchLabels": SELECTED}),
        # Kubernetes refuses a key in both matchLabelKeys and labelSelector (ValidatePodTopologySpreadConstraints).
        ({"matchLabelKeys": ["tfgen/run"]}, {"matchLabels": {"tfgen/job": "mnist", "tfgen/role": "ps"}}),
        ({"matchLabelKeys": ["example.com/team"]}, {"matchLabels": SELECTED}),
        ({"matchLabelKeys": ["tfgen/run", "tfgen/job", "tfgen/role"]}, {}),
        ({"labelSelector": {}}, {}),
        ({"labelSelector": {"matchLabels": {"a": "b"}}}, {"matchLabels": {"a": "b"}}),
    ],
)
def test_a_topology_spread_constraint_counts_the_pods_of_the_role(constraint, selector, tmp_path):
    constraints = [
        {**IN_ZONE, **constraint},
        {**_constraint("host"), "whenUnsatisfiable": "DoNotSchedule", **EVERY_FIELD, **constraint},
    ]
    document = _job("", NOTHING_SET, {})
    document["spec"] |= {"run": "2", "topologySpreadConstraints": constraints}
    rendered = Rendered.write(document, tmp_path)
    rendered.assert_equal(None)
    for objects in (rendered.by_helm(), rendered.by_tfgen(None)):
        expected = [{**item, "labelSelector": selector} for item in constraints]
        assert _pods(objects)["ps"]["spec"]["topologySpreadConstraints"] == expected
