"""The objects of a job and of its environments, their identities, and the objects that an upgrade keeps released.

tests/e2e/server/test_released.py tests the lookups of an upgrade.
"""

from __future__ import annotations

import json

import pytest

from tests.support.objects import job_with
from tests.support.tools import ROOT
from tfgen.graph.fill import Scope
from tfgen.graph.graph import JOB_NAME, Identity, build, filled, identities
from tfgen.graph.holes import Call, NamedTemplate, Parameter, Value, When, values_paths
from tfgen.job.training_job import TrainingJob
from tfgen.kubernetes.object import group
from tfgen.targets.chart.chart import template_files
from tfgen.text.parse import parse


def test_object_that_an_environment_does_not_change_is_the_object_of_the_job():
    """A caller can then check the object of all environments once."""
    job = build(job_with("environments: {prod: {roles: {worker: {replicas: 3}}}, same: {}}"))
    changed = {
        environment: [name for name, item in items.items() if item is not job.base[name]]
        for environment, items in job.environments.items()
    }
    assert changed == {"prod": ["configmap", "worker"], "same": []}


@pytest.mark.parametrize("path", sorted(ROOT.glob("examples/*/job.yaml")), ids=lambda path: path.parent.name)
def test_objects_of_an_environment_follow_from_its_values_alone(path):
    """`build` fills only the templates whose values an environment changes, and `filled` fills all of them."""
    (document,) = parse(path.read_text(encoding="utf-8"), path.name).documents
    built = build(document.data)
    for environment, items in built.environments.items():
        assert json.dumps(items) == json.dumps(filled(built.job, built.templates, environment))


@pytest.mark.parametrize(
    ("node", "paths"),
    [
        ({"a": [Value("replicas", "integer")]}, {"replicas."}),
        (When(Value("gang.enabled", "boolean"), Value("gang.queue", "string")), {"gang.enabled.", "gang.queue."}),
        (
            Call(
                NamedTemplate("pod", "", Parameter("values", "map"), ("values",)),
                (("values", Value("roles.ps", "map")),),
            ),
            {"roles.ps."},
        ),
        (Value("", "map"), {""}),
        ("text", set()),
    ],
)
def test_values_on_which_a_node_depends(node, paths):
    assert values_paths(node) == paths


def test_object_with_another_type_of_a_value_is_another_object():
    """`True == 1` is true in Python."""
    own = "{apiVersion: example.com/v1, kind: Own, spec: {a: 1}}"
    job = build(
        job_with(f"objects: {{one: {own}}}\nenvironments: {{prod: {{objects: {{one: {{spec: {{a: true}}}}}}}}}}")
    )
    (item,) = (item for item in job.environments["prod"].values() if item["kind"] == "Own")
    assert item["spec"]["a"] is True


# -- identities -------------------------------------------------------------------------------------------------------

NAMED = """\
storage: {data: {mountPath: /data, claim: {size: 1Gi}}, old: {mountPath: /old, claim: {name: old}}}
serviceAccount: {create: true}
serviceAccountName: trainer
priorityClasses: {high: {value: 1}}
objects: {quota: {apiVersion: v1, kind: ResourceQuota}}
"""


def identities_of(spec):
    job = TrainingJob.from_document(job_with(spec))
    return [*identities(job.structure, Scope(job.values, job.name, job.name))]


@pytest.mark.parametrize("path", sorted(ROOT.glob("examples/*/job.yaml")), ids=lambda path: path.parent.name)
def test_identities_are_those_of_the_built_objects(path):
    built = build(parse(path.read_text(encoding="utf-8"), str(path)).documents[0].data)
    job = built.job
    variants = [(job.values, built.base)]
    variants += [(item.values, built.environments[item.name]) for item in job.environments if item.enabled]
    for values, objects in variants:
        found = [identity[:3] for identity in identities(job.structure, Scope(values, job.name, job.name))]
        assert found == [(group(item), item["kind"], item["metadata"]["name"]) for item in objects.values()]


def test_identity_has_the_path_that_causes_the_name():
    found = identities_of(f'{NAMED}run: "2"')
    assert Identity("", "PersistentVolumeClaim", "mnist-data", ("storage", "data")) in found
    assert Identity("", "ServiceAccount", "trainer", ("serviceAccountName",)) in found
    assert Identity("scheduling.k8s.io", "PriorityClass", "high", ("priorityClasses", "high")) in found
    assert Identity("", "ResourceQuota", "mnist-quota", ("objects", "quota")) in found
    assert Identity("apps", "StatefulSet", "mnist-2-worker", ("run",)) in found
    assert "old" not in {identity.name for identity in found}
    assert Identity("apps", "StatefulSet", "mnist-worker", JOB_NAME) in identities_of(NAMED)


# -- objects that an upgrade keeps released ---------------------------------------------------------------------------

ROLES = {"chief": {}, "ps": {}, "worker": {}, "evaluator": {}}
WORKERS = {"strategy": "MultiWorkerMirrored", "roles": {"worker": {"replicas": 2}}}
BOARD = {
    "storage": {"model": {"mountPath": "/model", "claim": {"size": "1Gi"}}},
    "tensorboard": {"logDir": "/model/logs"},
}
TARGET = {"target": {"kind": "Deployment", "name": "tensorboard"}}
TWO = {"board": {**TARGET, "merge": {"spec": {"replicas": 2}}}}
TWO_BY_OPERATION = {"board": {**TARGET, "json": [{"op": "replace", "path": "/spec/replicas", "value": 2}]}}


def templates(**spec):
    return template_files(TrainingJob.from_document(job_with(spec)))


@pytest.mark.parametrize(
    ("spec", "names"),
    [
        ({"roles": ROLES}, {"evaluator", "ps", "worker"}),
        ({"roles": ROLES, "workload": {"kind": "Job"}}, {"evaluator", "ps", "worker"}),
        ({"roles": ROLES, **BOARD}, {"evaluator", "ps", "tensorboard", "worker"}),
        ({"roles": ROLES, "completion": {"release": "Keep"}}, set()),
        (WORKERS, set()),
        ({**WORKERS, **BOARD}, {"tensorboard"}),
        ({"workload": {"kind": "JobSet"}}, set()),
    ],
)
def test_upgrade_keeps_what_the_finisher_releases(spec, names):
    found = {path for path, text in templates(**spec).items() if 'include "mnist.isReleased"' in text}
    assert found == {f"templates/{name}.yaml" for name in names}


@pytest.mark.parametrize("patches", [TWO, TWO_BY_OPERATION], ids=["merge", "json"])
def test_patch_sets_the_replicas_of_a_run_that_trains(patches):
    assert build(job_with({**BOARD, "patches": patches})).base["tensorboard"]["spec"]["replicas"] == 2
    text = templates(**BOARD, patches=patches)["templates/tensorboard.yaml"]
    assert "  replicas: 0\n  {{- else }}\n  replicas: 2\n  {{- end }}\n" in text
    text = templates(**BOARD, environments={"prod": {"patches": patches}})["templates/tensorboard.yaml"]
    own = '  {{- else if eq .Values.environment "prod" }}\n  replicas: 2\n'
    assert f"  replicas: 0\n{own}  {{{{- else }}}}\n  replicas: 1\n  {{{{- end }}}}\n" in text
