"""Values other than those of the job: Helm renders the objects that tfgen renders for a job with these values.

A values path is also the path in the spec, so a user's values and a change of the spec are the same mapping.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support import normal, tools
from tests.support.chart_job import JOB
from tests.support.command import CommandError
from tests.support.generated import accepted, saying
from tests.support.helm import HelmProgram
from tests.support.rendered import Rendered
from tfgen.graph.built import plain_objects


@dataclass(frozen=True)
class Case:
    """Values that the user of a chart sets: in a values file, or with arguments."""

    name: str
    values: Mapping[str, Any]
    args: tuple[str, ...] = ()


def _of_driver(text: str) -> Mapping[str, Any]:
    """Return a volume that is the last volume of each pod, and whose last text is `text`."""
    source = {"driver": "hub.example.com", "volumeAttributes": {"query": text}}
    return {"storage": {"zoo": {"mountPath": "/zoo", "csi": source}}}


HOSTILE_WORDS = [
    'it\'s "quoted"',
    "two\nlines\n",
    "{{ .Values.image }}",
    "}}{{",
    "$(TASK_INDEX) $$(ESCAPED)",
    "${HOME}",
    "back\\slash",
    "Größe 世界 🚀",
    "y",
    "1e3",
    "08",
    "- item",
    "trailing ",
    "\ttab",
]

CASES = [
    Case("ps", {"roles": {"ps": {"replicas": 7}}}, ("--set", "roles.ps.replicas=7")),
    Case("worker", {"roles": {"worker": {"replicas": 12}}}, ("--set-json", "roles.worker.replicas=12")),
    Case("one worker", {"roles": {"worker": {"replicas": 1}}}),
    Case("image", {"image": "other:2"}, ("--set", "image=other:2")),
    Case("a role's image", {"roles": {"worker": {"image": "gpu:2"}}}, ("--set", "roles.worker.image=gpu:2")),
    Case("images of roles alone", {"image": "", "roles": {r: {"image": "a"} for r in JOB["spec"]["roles"]}}),
    Case("gpu to 0", {"roles": {"worker": {"resources": {"gpu": {"count": 0}}}}}),
    Case("gpu from 0", {"roles": {"ps": {"resources": {"gpu": {"count": 2, "product": "NVIDIA-L4"}}}}}),
    Case("gpu of another vendor", {"roles": {"worker": {"resources": {"gpu": {"resource": "amd.com/gpu"}}}}}),
    Case("gang off", {"gang": {"enabled": False}}, ("--set", "gang.enabled=false")),
    Case("queue", {"gang": {"queue": "prod"}}, ("--set", "gang.queue=prod")),
    Case("a gang's least", {"gang": {"minAvailable": 5}}, ("--set", "gang.minAvailable=5")),
    Case("a gang's priority", {"gang": {"priorityClassName": "high"}}),
    Case("env", {"env": {"DATA": None, "A": "$(DATA2)", "DATA2": "", "TOKEN": {"secretKeyRef": {"key": "1e3"}}}}),
    Case("one cpu", {"roles": {"worker": {"resources": {"cpu": "1"}}}}),
    Case("less than one cpu", {"roles": {"worker": {"resources": {"cpu": "500m"}}}}),
    Case(
        "amounts as numbers",
        {
            "shm": 2.0,
            "roles": {
                # Helm prints a fraction in a map as a number, and tfgen writes a fraction as a text.
                "worker": {"resources": {"cpu": 0.5, "requests": {"memory": "0.00001"}, "limits": {"memory": "1.5"}}},
                "ps": {"resources": {"cpu": 3.0, "memory": 999998.5}},
                "chief": {"resources": {"limits": {"cpu": "0.25", "memory": 4.0}}},
            },
        },
    ),
    Case(
        "less than one cpu, as a number",
        {"roles": {"worker": {"resources": {"cpu": 0.5}}}},
        ("--set-json", "roles.worker.resources.cpu=0.5"),
    ),
    Case("env of a role", {"roles": {"worker": {"env": {"DATA": "/mine", "OMP_NUM_THREADS": "1", "HOME": "/h"}}}}),
    Case("a literal for a reference", {"env": {"TOKEN": None, "PLAIN": "y"}}),
    Case("command", {"command": HOSTILE_WORDS}),
    Case("command of a role", {"roles": {"chief": {"command": HOSTILE_WORDS, "args": HOSTILE_WORDS}}}),
    Case("no command", {"command": []}, ("--set-json", "command=[]")),
    Case("storage by another source", {"storage": {"data": {"claim": None, "emptyDir": {}}}}),
    Case("storage by a claim's name", {"storage": {"data": {"claim": {"size": None, "name": "mine"}}}}),
    Case("storage of one role", {"storage": {"data": {"for": ["chief"], "readOnly": True, "subPath": "a/{{b}}"}}}),
    Case("a last text of one empty line", _of_driver("\n")),
    Case("a last text that ends with empty lines", _of_driver("a\n\n\n")),
    Case("a last text that ends with a wide space", _of_driver("a\n\u3000")),
    Case("no storage", {"storage": {"data": None}}, ("--set", "storage.data=null")),
    Case("more storage", {"storage": {"1e3": {"mountPath": "/x", "configMap": {"name": "y", "items": []}}}}),
    Case("run", {"run": "2"}, ("--set-string", "run=2")),
    Case("a run that reads as a number", {"run": "1e3"}, ("--set-string", "run=1e3")),
    Case("network policy off", {"network": {"policy": "Off"}}, ("--set-string", "network.policy=Off")),
    Case("resources", {"roles": {"chief": {"resources": {"cpu": "500m", "memory": 1000000000 // 1001}}}}),
    Case(
        "resources by name",
        {"roles": {"ps": {"resources": {"limits": {"cpu": 3, "a.b/c": 1}, "requests": {"a.b/c": 1}}}}},
    ),
    Case("label without a value", {"labels": {"example.com/team": ""}}),
    Case(
        "labels of a role", {"roles": {"ps": {"labels": {"example.com/team": "on", "sidecar.istio.io/inject": "true"}}}}
    ),
    Case("annotations", {"annotations": {"example.com/a": HOSTILE_WORDS[1], "y": "{{"}}),
    Case("shm", {"shm": "2Gi"}, ("--set", "shm=2Gi")),
    Case("shm of a role", {"roles": {"worker": {"shm": 1024}}}),
    Case("pack", {"placement": "pack"}, ("--set", "placement=pack")),
    Case("affinity over placement", {"placement": "none", "affinity": {"nodeAffinity": {}}}),
    Case("user", {"security": {"runAsUser": 2**31 - 1, "fsGroup": 0, "readOnlyRootFilesystem": False}}),
    Case("retries", {"retries": 0}, ("--set", "retries=0")),
    Case("exit codes", {"restart": {"ignoreExitCodes": [42, 143]}}, ("--set", "restart.ignoreExitCodes={42,143}")),
    Case("grace", {"roles": {"ps": {"terminationGracePeriodSeconds": 60}}}),
    Case(
        "service account",
        {"serviceAccount": {"create": True, "annotations": {"example.com/a": HOSTILE_WORDS[1], "n": "7"}}},
    ),
    Case(
        "service account by name",
        {"serviceAccountName": "trainer", "serviceAccount": {"create": True}},
        ("--set", "serviceAccount.create=true,serviceAccountName=trainer"),
    ),
    Case("pull secrets", {"imagePullSecrets": [{"name": "a"}, {"name": "1e3"}]}),
]


@pytest.fixture(scope="module")
def chart(tmp_path_factory) -> Rendered:
    return Rendered.write(JOB, tmp_path_factory.mktemp("values"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_helm_gives_what_a_job_that_says_so_gives(case, chart, tmp_path):
    args = case.args or ("--values", _file(case.values, tmp_path))
    job = saying(JOB, case.values)
    assert accepted(job)
    assert normal.by_identity(plain_objects(job)) != chart.by_tfgen(None), "the case changes nothing"
    normal.assert_equal({"helm": chart.by_helm(*args), "tfgen": normal.by_identity(plain_objects(job))})


IDLE = [
    ("completion.evaluatorGrace", 5, {}),
    ("completion.onFailure", "Keep", {"completion": {"release": "Keep"}}),
    ("completion.onFailure", "Keep", {"strategy": "Single", "roles": {"chief": {}}}),
    (
        "podDisruptionBudget.maxUnavailable",
        1,
        {"strategy": "Single", "roles": {"chief": {}}, "podDisruptionBudget": {}},
    ),
    ("gang.queue", "", {"gang": {"scheduler": "coscheduling"}}),
    ("gang.scheduleTimeoutSeconds", 0, {"gang": {"scheduler": "volcano"}}),
    ("network.egress.apiServer", [], {"workload": {"kind": "TFJob"}}),
    ("network.egress.apiServer", [], {"workload": {"kind": "JobSet"}}),
]


@pytest.mark.parametrize(("path", "value", "structure"), IDLE)
def test_helm_takes_a_value_that_nothing_reads_as_an_environment_does(path, value, structure, tmp_path):
    spec = {"image": "registry.example.com/ml/mnist:1", "roles": {"chief": {}, "ps": {}, "worker": {}}, **structure}
    job = {**JOB, "spec": spec}
    values = value
    for key in reversed(path.split(".")):
        values = {key: values}
    assert accepted({**job, "spec": {**spec, "environments": {"dev": values}}})
    rendered = Rendered.write(job, tmp_path)
    assert path.rpartition(".")[2] not in (rendered.chart / "values.yaml").read_text(encoding="utf-8")
    by_helm = rendered.by_helm("--values", _file(values, tmp_path))
    normal.assert_equal({"helm": by_helm, "helm without the value": rendered.by_helm()})


def _file(values: Mapping[str, Any], folder: Path) -> str:
    path = folder / "values-of-the-test.json"
    path.write_text(json.dumps(values, ensure_ascii=False), encoding="utf-8")
    return str(path)


KINDS_OF_VARIABLES = {
    "apiVersion": "tfgen/v1alpha1",
    "kind": "TrainingJob",
    "metadata": {"name": "kinds"},
    "spec": {
        "strategy": "Single",
        "image": "a:1",
        "roles": {"chief": {}},
        "env": {"TEXT": "a", "REFERENCE": {"secretKeyRef": {"name": "hub", "key": "token"}}},
        "storage": {"data": {"mountPath": "/data", "claim": {"name": "mnist"}}},
        "environments": {
            "dev": {
                "env": {"TEXT": {"secretKeyRef": {"name": "hub", "key": "text"}}, "REFERENCE": "b"},
                "storage": {"data": {"claim": None, "emptyDir": {}}},
            }
        },
    },
}


def test_a_variable_may_be_of_another_kind_in_an_environment_though_helm_warns(tmp_path):
    """Helm prints the warning in docs/environments.md, and renders the correct objects."""
    rendered = Rendered.write(KINDS_OF_VARIABLES, tmp_path)
    rendered.assert_equal("dev")
    with pytest.raises(CommandError) as raised:
        rendered.by_helm(*rendered.values_args("dev"), helm=HelmProgram(tools.helm_program()))
    assert "destination for kinds.env.TEXT is a table. Ignoring non-table value" in raised.value.stderr
    assert "cannot overwrite table with non table for kinds.env.REFERENCE" in raised.value.stderr


def test_lint_does_not_know_what_null_removes(tmp_path):
    """`helm lint` ignores a removal by null, as docs/environments.md explains.

    Delete this test and the explanation when a newer Helm fails here.
    """
    rendered = Rendered.write(KINDS_OF_VARIABLES, tmp_path)
    with pytest.raises(CommandError, match="'oneOf' failed"):
        tools.helm_lint(rendered.chart, *rendered.values_args("dev"))
