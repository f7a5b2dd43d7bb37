"""TensorBoard of a job: the effect of its values, and the problems of wrong values. tests/golden has its objects."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest

from tests.support.objects import container, job_with, objects, pods
from tests.support.problems import all_problems
from tfgen.graph.fill import Scope, evaluate, fill
from tfgen.graph.guards import guards
from tfgen.graph.helper_pods import RELEASED_BOARD
from tfgen.graph.holes import ABSENT
from tfgen.job.training_job import TrainingJob
from tfgen.report.problems import as_text

SPEC = """\
run: r1
nodeSelector: {disk: ssd}
roles: {chief: {}, ps: {}, worker: {nodeSelector: {gpu: "yes"}}}
storage:
  data: {mountPath: /data, claim: {name: data}, for: [chief, worker]}
  logs: {mountPath: /logs, subPath: mnist, claim: {size: 1Gi}, for: [chief, ps, tensorboard]}
  model: {mountPath: /model, subPathExpr: runs/$(TASK_INDEX), claim: {name: model}}
tensorboard: """


def made(section, run="r1"):
    """Return the objects of TensorBoard by kind."""
    found = objects(SPEC.replace("r1", run) + section).items()
    return {kind: item for (kind, name), item in found if name == "mnist-tensorboard"}


def test_pod_reads_the_volumes_of_tensorboard_on_the_nodes_of_the_job():
    pod = made("{logDir: /logs/runs}")["Deployment"]["spec"]["template"]
    assert pod["spec"]["nodeSelector"] == {"disk": "ssd"}
    assert container(pod, "tensorboard")["args"] == ["--logdir", "/logs/runs", "--bind_all", "--port", "6006"]
    assert container(pod, "tensorboard")["volumeMounts"][1:] == [
        {"name": "logs", "mountPath": "/logs", "subPath": "mnist", "readOnly": True},
        {"name": "model", "mountPath": "/model", "readOnly": True},
    ]


def test_port_of_the_service_is_that_of_the_section():
    (port,) = made("{logDir: /logs, port: 8080}")["Service"]["spec"]["ports"]
    assert port == {"name": "http", "port": 8080, "protocol": "TCP", "targetPort": "http"}


def test_selector_of_a_run_omits_tensorboard_and_its_own_selector_omits_tasks():
    labels = {component: pod["metadata"]["labels"] for component, pod in pods(SPEC + "{logDir: /logs}").items()}
    services = {name: item for (kind, name), item in objects(SPEC + "{logDir: /logs}").items() if kind == "Service"}
    selected = {
        name: {component for component, each in labels.items() if service["spec"]["selector"].items() <= each.items()}
        for name, service in services.items()
    }
    assert selected["mnist-tensorboard"] == {"tensorboard"}
    assert {"chief", "ps", "worker"} <= selected["mnist-r1"] <= labels.keys() - {"tensorboard"}


def test_new_run_changes_nothing_of_tensorboard():
    assert made("{logDir: /logs}") == made("{logDir: /logs}", run="r2")
    assert made("{logDir: /logs}").keys() == {"Deployment", "Service", "NetworkPolicy"}


def test_image_and_resources_are_those_of_the_section():
    section = "{logDir: /logs, image: 'tensorboard:2', resources: {cpu: '', memory: 4Gi, requests: {memory: 2Gi}}}"
    found = container(made(section)["Deployment"]["spec"]["template"], "tensorboard")
    assert found["image"] == "tensorboard:2"
    assert found["resources"] == {"requests": {"memory": "2Gi"}, "limits": {"memory": "4Gi"}}


@pytest.mark.parametrize(
    ("section", "is_made", "released"),
    [
        ("{logDir: /logs}", True, ABSENT),
        ("{logDir: /logs, keep: false}", True, "mnist-tensorboard"),
        ("{logDir: /logs, enabled: false}", False, ABSENT),
        ("{logDir: /logs, keep: false, enabled: false}", False, ABSENT),
    ],
)
def test_end_of_a_run_releases_tensorboard_unless_it_is_kept(section, is_made, released):
    assert bool(made(section)) is is_made
    values = TrainingJob.from_document(job_with(SPEC + section)).values
    assert fill(RELEASED_BOARD, Scope(values, "mnist", "mnist")) == released


@pytest.mark.parametrize(("length", "refused"), [(45, False), (46, True)])  # -mnist-tensorboard has 18 characters
def test_release_that_leaves_no_room_for_the_name_is_refused(length, refused):
    """The name of a job is short enough, but together with the name of a Helm release it may be too long."""
    job = TrainingJob.from_document(job_with(SPEC + "{logDir: /logs}"))
    guard = next(each for each in guards(job.structure) if each.rule == "tensorboard-name")
    assert evaluate(guard.when, Scope(job.values, "r" * length, "mnist")) is refused


ONE_TASK = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  strategy: Single
  roles: {chief: {image: "registry.example.com/ml/mnist:1"}}
"""
LOGS = "storage: {logs: {mountPath: /logs, claim: {name: logs}}}\n"


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            f"{LOGS}tensorboard: {{logDir: /logs, image: tensorboard}}",
            '8:39: warning: the image "tensorboard" has no tag, which means latest, so the image may change without a'
            " commit; write a version or a digest [latest-tag]\n",
        ),
        (
            f"{LOGS}tensorboard: {{logDir: /logs}}",
            "8:3: TensorBoard has no image: set image for the job, or tensorboard.image [no-image]\n",
        ),
        (
            f'{LOGS}tensorboard: {{logDir: /logs, image: "a:1", resources: {{requests: {{memory: 2Gi}}}}}}',
            "8:77: tensorboard.resources.requests.memory: a request of 2Gi with a limit of 1Gi, which the API server"
            " refuses; raise the limit, or lower the request [limits-below-requests]\n",
        ),
        (
            """\
            storage: {logs: {mountPath: /logs, claim: {size: 1Gi, accessMode: ReadWriteOnce}}}
            tensorboard: {logDir: /logs, image: "a:1"}
            """,
            "7:69: warning: storage.logs is a ReadWriteOnce claim of 2 pods (1 of chief and 1 of tensorboard), so"
            " all pods must run on one node; set accessMode to ReadWriteMany, or list fewer roles in storage.logs.for"
            " [claim-access-mode]\n",
        ),
        (
            """\
            storage:
              a: {mountPath: /logs, claim: {name: a}, for: [tensorboard]}
              b: {mountPath: /logs/, claim: {name: b}, for: [tensorboard]}
            tensorboard: {logDir: /logs, image: "a:1"}
            """,
            "9:20: storage.b is mounted at /logs, and so is storage.a; choose another mountPath"
            " [duplicate-mount-path]\n",
        ),
        (
            "storage: {logs: {mountPath: /logs, claim: {name: logs}, for: [tensorboard]}}\n",
            "7:65: storage.logs.for lists tensorboard, but the job has only chief; remove this entry, or add "
            "tensorboard to the job [unknown-role]\n",
        ),
    ],
)
def test_mistake_is_reported(spec, expected):
    text = ONE_TASK + indent(dedent(spec), "  ")
    assert as_text(all_problems(text)).replace("job.yaml:", "") == expected
