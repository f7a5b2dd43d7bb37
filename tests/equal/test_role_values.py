"""The value of a role wins over the value of the job, in the chart, the overlays and the plain objects.

A job whose role has its own value is compared with a job that has this value itself: both have the same pods of the
role. An empty scalar or list of a role, such as `spot: false`, overrides the value of the job, too. A map of a role is
merged over the map of the job, so an empty map changes nothing.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.support.command import CommandError
from tests.support.draws import drawn
from tests.support.generated import SCHEMA, accepted, drawn_from, job, saying
from tests.support.rendered import Rendered, assert_outputs_equal
from tfgen.graph.graph import plain_objects
from tfgen.schema import file as schema_file
from tfgen.schema.kinds import COPIED
from tfgen.schema.tunables import all_tunables, at

ROLES = ("chief", "ps", "worker")
SPOT_TAINT = "cloud.google.com/gke-spot"


def constraint(zone):
    return {"maxSkew": 1, "topologyKey": zone, "whenUnsatisfiable": "ScheduleAnyway"}


def affinity(kind, weight):
    term = {"weight": weight, "podAffinityTerm": {"topologyKey": "kubernetes.io/hostname"}}
    return {kind: {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}


MAPS = ({"a": "job", "b": "job"}, {}, {"b": "", "c": "role"})
# For each key of a role: the value of the job, the empty value (if the schema allows it), and another value of a role.
KEYS: dict[str, tuple[Any, ...]] = {
    "image": ("job:1", "role:1"),
    "imagePullPolicy": ("Always", "", "Never"),
    "command": (["job"], [], ["role"]),
    "args": (["job"], [], ["role"]),
    "workingDir": ("/job", "", "/role"),
    "env": ({"A": "job", "B": "job"}, {}, {"B": "", "C": "role"}),
    "envFrom": ([{"configMapRef": {"name": "job"}}], [], [{"secretRef": {"name": "role"}}]),
    "nodeSelector": MAPS,
    "labels": MAPS,
    "annotations": MAPS,
    "tolerations": ([{"key": "job", "operator": "Exists"}], [], [{"key": "role", "operator": "Exists"}]),
    "spot": (True, False, True),
    "affinity": (
        affinity("podAffinity", 1),
        {},
        {**affinity("podAffinity", 2), **affinity("podAntiAffinity", 3)},
    ),
    "placement": ("spread", "", "pack"),
    "topologySpreadConstraints": ([constraint("job")], [], [constraint("role")]),
    **{
        key: {"string": ("job", "", "role"), "boolean": (True, False, True)}[at((key,)).type]
        for key in COPIED
    },
    "serviceAccountName": ("job", "", "role"),
    "shm": ("1Gi", "", "2Gi"),
}  # fmt: skip
OF_ROLES_ALONE = {"nodeName": "node-1", "terminationGracePeriodSeconds": 77}
OTHERS = ("replicas", "resources", "restartPolicy")
EXAMPLES = [(key, values[0], own) for key, values in KEYS.items() for own in values[1:]]


def of_role(role, spec, environment=None):
    """Return the pod template of a role."""
    (item,) = (each for each in plain_objects(job(**spec), environment) if each["metadata"]["name"] == f"mnist-{role}")
    return item["spec"]["template"]


def assert_role_wins(key, of_job, own, of_environment, folder):
    """Check one value of the job, of ps, and of worker in an environment."""
    spec = {"network": {"policy": "Off"}, **({} if of_job is None else {key: of_job})}
    roles = {"chief": {}, "ps": {key: own}, "worker": {}}
    document = job(**spec, roles=roles, environments={"dev": {"roles": {"worker": {key: of_environment}}}})
    assert_outputs_equal(document, folder)
    for role, value, environment in (("ps", own, None), ("ps", own, "dev"), ("worker", of_environment, "dev")):
        expected = saying(job(**spec), {key: value})["spec"]
        assert of_role(role, document["spec"], environment) == of_role(role, expected), (key, role, environment)
    for role, environment in (("chief", None), ("chief", "dev"), ("worker", None)):
        assert of_role(role, document["spec"], environment) == of_role(role, spec), (key, role, environment)


def test_the_table_has_every_tunable_of_a_role():
    keys = {path[2] for path in all_tunables() if path[:2] == ("roles", "worker")}
    assert keys == {*KEYS, *OF_ROLES_ALONE, *OTHERS}


@pytest.mark.long
@pytest.mark.parametrize(("key", "of_job", "own"), EXAMPLES, ids=[f"{key}={own!r:.20}" for key, _, own in EXAMPLES])
def test_value_of_a_role_wins(key, of_job, own, tmp_path):
    assert_role_wins(key, of_job, own, KEYS[key][-1], tmp_path)
    pods = [of_role("ps", {key: of_job, "roles": {"chief": {}, "ps": said, "worker": {}}}) for said in ({}, {key: own})]
    assert (pods[0] != pods[1]) == (own not in ({}, of_job)), "the case changes nothing"


@st.composite
def values(draw):
    """Draw a key, and values of the job, of a role and of an environment from the schema."""
    key = draw(st.sampled_from([*KEYS]))
    node = drawn_from(SCHEMA["properties"]["spec"]["properties"][key])
    return key, *(draw(node) for _ in range(3))


@pytest.mark.long
@drawn(25)
@given(drawn_values=values())
def test_drawn_value_of_a_role_wins(drawn_values):
    key, *three = drawn_values
    assume(all(accepted(job(**{key: value})) for value in three))
    assume(accepted(job(roles={role: {key: value} for role, value in zip(ROLES, three, strict=True)})))
    with tempfile.TemporaryDirectory() as folder:
        assert_role_wins(key, *three, Path(folder))


@pytest.mark.parametrize(("key", "value"), OF_ROLES_ALONE.items())
@pytest.mark.parametrize("environment", [None, "dev"])
def test_value_that_only_roles_have_is_in_the_pod_of_the_role(key, value, environment, tmp_path):
    said = {"ps": {key: value}}
    document = saying(job(), {"roles": said} if environment is None else {"environments": {"dev": {"roles": said}}})
    assert_outputs_equal(document, tmp_path)
    found = {role: of_role(role, document["spec"], environment)["spec"].get(key) for role in ROLES}
    assert found == {**{role: of_role(role, {})["spec"].get(key) for role in ROLES}, "ps": value}


def test_restart_policy_of_a_role_wins_over_the_policy_of_the_tf_job(tmp_path):
    document = job(
        workload={"kind": "TFJob", "tfJob": {"restartPolicy": "Never"}},
        roles={"chief": {"restartPolicy": "Always"}, "ps": {}, "worker": {}},
        environments={"dev": {"roles": {"ps": {"restartPolicy": "ExitCode"}}}},
    )
    assert_outputs_equal(document, tmp_path)
    for environment, of_ps in ((None, "Never"), ("dev", "ExitCode")):
        (tf_job,) = (item for item in plain_objects(document, environment) if item["kind"] == "TFJob")
        policies = {name: spec["restartPolicy"] for name, spec in tf_job["spec"]["tfReplicaSpecs"].items()}
        assert policies == {"Chief": "Always", "PS": of_ps, "Worker": "Never"}


def test_values_yaml_shows_an_unset_key_of_a_role_as_a_comment_line(tmp_path):
    states = {"chief": {}, "ps": {"spot": False, "tolerations": []}, "worker": {"priorityClassName": ""}}
    rendered = Rendered.write(job(roles=states), tmp_path)
    text = (rendered.chart / "values.yaml").read_text(encoding="utf-8")
    roles = yaml.safe_load(text)["roles"]
    assert {role: roles[role].keys() - {"replicas", "resources"} for role in ROLES} == {
        role: {*states[role]} for role in ROLES
    }
    for name in (*KEYS, *OF_ROLES_ALONE):
        set_in = sum(name in states[role] for role in ROLES)
        assert text.count(f"\n    # {name}: ") == len(ROLES) - set_in
    schema = json.loads((rendered.chart / "values.schema.json").read_text(encoding="utf-8"))
    assert not set(KEYS) & set(schema["definitions"]["role"]["required"])
    jsonschema.validate(yaml.safe_load(text), schema)


@pytest.mark.parametrize("key", [*KEYS, *OF_ROLES_ALONE])
def test_null_of_a_role_is_refused(key):
    assert not accepted(job(roles={"chief": {}, "ps": {key: None}, "worker": {}}))


def test_helm_returns_to_the_value_of_the_job_for_a_key_that_null_removes(tmp_path):
    rendered = Rendered.write(job(spot=True, roles={"chief": {}, "ps": {"spot": False}, "worker": {}}), tmp_path)

    def tolerated(*args):
        pod = rendered.by_helm(*args)["apps/v1", "StatefulSet", "mnist-ps"]["spec"]["template"]["spec"]
        return [item["key"] for item in pod.get("tolerations", ())]

    assert SPOT_TAINT not in tolerated()
    assert SPOT_TAINT in tolerated("--set", "roles.ps.spot=null")
    with pytest.raises(CommandError, match="spot"):
        rendered.by_helm("--set-json", 'roles.ps.spot="yes"')


SELECTED = {"tfgen/job": "mnist", "tfgen/run": "2", "tfgen/role": "ps"}
IN_ZONE = constraint("topology.kubernetes.io/zone")
EVERY_FIELD = {"minDomains": 2, "nodeAffinityPolicy": "Ignore", "nodeTaintsPolicy": "Honor"}


def test_topology_spread_constraint_has_every_field_of_the_schema():
    """The object graph names each field, so a new field of the schema needs a line in the graph and in this test."""
    schema = schema_file.load()["definitions"]["topologySpreadConstraints"]["items"]
    assert {*schema["properties"]} == {*IN_ZONE, *EVERY_FIELD, "labelSelector", "matchLabelKeys"}


@pytest.mark.parametrize(
    ("own", "selector"),
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
def test_topology_spread_constraint_counts_the_pods_of_the_role(own, selector, tmp_path):
    whole = {**constraint("host"), "whenUnsatisfiable": "DoNotSchedule", **EVERY_FIELD, **own}
    document = job(run="2", topologySpreadConstraints=[{**IN_ZONE, **own}, whole])
    rendered = assert_outputs_equal(document, tmp_path)
    pod = rendered.by_helm()["apps/v1", "StatefulSet", "mnist-2-ps"]["spec"]["template"]["spec"]
    expected = [{**item, "labelSelector": selector} for item in document["spec"]["topologySpreadConstraints"]]
    assert pod["topologySpreadConstraints"] == expected
