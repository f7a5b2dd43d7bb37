"""TensorBoard of a job: its complete objects, the effect of its values, and the problems of wrong values."""

from __future__ import annotations

from textwrap import dedent, indent
from typing import Any

import pytest
import yaml

from tests.support.problems import all_problems
from tfgen.graph.built import plain_objects
from tfgen.graph.fill import Scope, evaluate, fill
from tfgen.graph.guards import guards
from tfgen.graph.holes import ABSENT
from tfgen.graph.objects import tensorboard
from tfgen.job.training_job import TrainingJob
from tfgen.report.problems import as_text

JOB = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  run: r1
  image: registry.example.com/ml/mnist:1
  nodeSelector: {disk: ssd}
  roles: {chief: {}, ps: {}, worker: {replicas: 2, nodeSelector: {gpu: "yes"}}}
  gang: {scheduler: volcano}
  storage:
    data: {mountPath: /data, claim: {name: data}, for: [chief, worker]}
    logs: {mountPath: /logs, subPath: mnist, claim: {size: 1Gi}, for: [chief, ps, tensorboard]}
    model: {mountPath: /model, subPathExpr: runs/$(TASK_INDEX), claim: {name: model}}
"""
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: mnist-tensorboard
  labels:
    app.kubernetes.io/name: mnist
    app.kubernetes.io/instance: mnist
    app.kubernetes.io/managed-by: tfgen
    app.kubernetes.io/component: tensorboard
spec:
  replicas: 1
  strategy: {type: Recreate}
  selector: {matchLabels: {tfgen/job: mnist, tfgen/role: tensorboard}}
  template:
    metadata:
      labels:
        tfgen/job: mnist
        tfgen/role: tensorboard
        app.kubernetes.io/name: mnist
        app.kubernetes.io/instance: mnist
        app.kubernetes.io/component: tensorboard
    spec:
      automountServiceAccountToken: false
      enableServiceLinks: false
      securityContext:
        runAsNonRoot: true
        runAsUser: 1000
        runAsGroup: 1000
        fsGroup: 1000
        fsGroupChangePolicy: OnRootMismatch
        seccompProfile: {type: RuntimeDefault}
      nodeSelector: {disk: ssd}
      containers:
      - name: tensorboard
        image: registry.example.com/ml/mnist:1
        command: [tensorboard]
        args: [--logdir, /logs/runs, --bind_all, --port, "6006"]
        env:
        - {name: HOME, value: /tmp}
        - {name: NVIDIA_VISIBLE_DEVICES, value: void}
        ports: [{name: http, containerPort: 6006, protocol: TCP}]
        resources: {requests: {cpu: 500m, memory: 1Gi}, limits: {cpu: 500m, memory: 1Gi}}
        startupProbe: {httpGet: {path: /, port: http}, timeoutSeconds: 10, periodSeconds: 5, failureThreshold: 60}
        readinessProbe: {httpGet: {path: /, port: http}, timeoutSeconds: 10}
        livenessProbe: {httpGet: {path: /, port: http}, timeoutSeconds: 10, periodSeconds: 30}
        securityContext:
          allowPrivilegeEscalation: false
          readOnlyRootFilesystem: true
          capabilities: {drop: [ALL]}
        volumeMounts:
        - {name: tmp, mountPath: /tmp}
        - {name: logs, mountPath: /logs, subPath: mnist, readOnly: true}
        - {name: model, mountPath: /model, readOnly: true}
      volumes:
      - {name: tmp, emptyDir: {}}
      - {name: logs, persistentVolumeClaim: {claimName: mnist-logs}}
      - {name: model, persistentVolumeClaim: {claimName: model}}
"""


def job(section: str) -> Any:
    return yaml.safe_load(JOB) | {"spec": {**yaml.safe_load(JOB)["spec"], "tensorboard": yaml.safe_load(section)}}


def made(section: str, kind: str) -> Any:
    """Return the object of TensorBoard of a kind, or None."""
    objects = [each for each in plain_objects(job(section)) if each["metadata"]["name"] == "mnist-tensorboard"]
    return next((each for each in objects if each["kind"] == kind), None)


def test_the_deployment():
    assert made("{logDir: /logs/runs}", "Deployment") == yaml.safe_load(DEPLOYMENT)


def test_the_service():
    expected = """\
        type: ClusterIP
        selector: {tfgen/job: mnist, tfgen/role: tensorboard}
        ports: [{name: http, port: 8080, protocol: TCP, targetPort: http}]
        """
    assert made("{logDir: /logs, port: 8080}", "Service")["spec"] == yaml.safe_load(dedent(expected))


def test_no_selector_of_a_run_selects_it_and_its_own_selects_no_task():
    objects = plain_objects(job("{logDir: /logs}"))
    pods = {
        each["metadata"]["name"]: each["spec"]["template"]["metadata"]["labels"]
        for each in objects
        if "template" in each.get("spec", {})
    }
    services = {
        each["metadata"]["name"]: {
            name for name, pod in pods.items() if each["spec"]["selector"].items() <= pod.items()
        }
        for each in objects
        if each["kind"] == "Service"
    }
    assert services["mnist-tensorboard"] == {"mnist-tensorboard"}
    assert services["mnist-r1"] >= {"mnist-r1-chief", "mnist-r1-ps", "mnist-r1-worker"}
    assert "mnist-tensorboard" not in services["mnist-r1"]


def test_a_new_run_finds_it_as_it_is():
    document = job("{logDir: /logs}")
    rerun = {**document, "spec": {**document["spec"], "run": "r2"}}
    of_job, of_rerun = (
        [each for each in plain_objects(d) if each["metadata"]["name"] == "mnist-tensorboard"]
        for d in (document, rerun)
    )
    assert len(of_job) == 3
    assert of_job == of_rerun


def test_what_it_is_given():
    deployment = made(
        "{logDir: /logs, image: 'tensorboard:2', resources: {cpu: '', memory: 4Gi, requests: {memory: 2Gi}}}",
        "Deployment",
    )
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "tensorboard:2"
    assert container["resources"] == {"requests": {"memory": "2Gi"}, "limits": {"memory": "4Gi"}}


@pytest.mark.parametrize("section", ["{logDir: /logs, enabled: false}", "{logDir: /logs, enabled: false, keep: false}"])
def test_nothing_where_it_is_not_enabled(section):
    assert [made(section, kind) for kind in ("Deployment", "Service", "NetworkPolicy")] == [None] * 3


@pytest.mark.parametrize(
    ("section", "expected"),
    [
        ("{logDir: /logs}", ABSENT),
        ("{logDir: /logs, keep: false}", "mnist-tensorboard"),
        ("{logDir: /logs, keep: false, enabled: false}", ABSENT),
    ],
)
def test_what_the_end_of_a_run_releases(section, expected):
    values = TrainingJob.from_document(job(section)).values
    assert fill(tensorboard.released_deployment(), Scope(values, "mnist", "mnist")) == expected


def test_a_release_that_leaves_no_room_for_its_name():
    """The name of a job is short enough, but together with the name of a Helm release it may be too long."""
    document = TrainingJob.from_document(job("{logDir: /logs}"))
    guard = next(each for each in guards(document.structure) if each.rule == "tensorboard-name")
    releases = {45: "r" * 45, 46: "r" * 46}  # the suffix -mnist-tensorboard has 18 characters
    wrong = {n: evaluate(guard.when, Scope(document.values, name, "mnist")) for n, name in releases.items()}
    assert wrong == {45: False, 46: True}


ONE_TASK = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  strategy: Single
  roles: {chief: {image: "registry.example.com/ml/mnist:1"}}
"""


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            """\
            storage: {logs: {mountPath: /logs, claim: {name: logs}}}
            tensorboard: {logDir: /logs, image: tensorboard}
            """,
            '8:39: warning: the image "tensorboard" has no tag, which means latest, so the image may change without a'
            " commit; write a version or a digest [latest-tag]\n",
        ),
        (
            """\
            storage: {logs: {mountPath: /logs, claim: {name: logs}}}
            tensorboard: {logDir: /logs}
            """,
            "8:3: TensorBoard has no image: set image for the job, or tensorboard.image [no-image]\n",
        ),
        (
            """\
            storage: {logs: {mountPath: /logs, claim: {name: logs}}}
            tensorboard: {logDir: /logs, image: "a:1", resources: {requests: {memory: 2Gi}}}
            """,
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
            """\
            storage: {logs: {mountPath: /logs, claim: {name: logs}, for: [tensorboard]}}
            """,
            "7:65: storage.logs.for lists tensorboard, but the job has only chief; remove this entry, or add "
            "tensorboard to the job [unknown-role]\n",
        ),
    ],
)
def test_mistakes(spec, expected):
    text = ONE_TASK + indent(dedent(spec), "  ")
    assert as_text(all_problems(text)).replace("job.yaml:", "") == expected
