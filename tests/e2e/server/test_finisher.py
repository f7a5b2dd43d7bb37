"""The finisher, with the token of its own service account, as the pod of its Job runs it: effects and permissions.

Each test runs the program of the rendered ConfigMap with the arguments of the rendered Job, against a real API server
and real controllers, for one way in which a job can end. The nightly tests repeat cases that
tests/graph/test_finisher.py proves with a stand-in for the API server.
"""

from __future__ import annotations

import calendar
import http.client
import json
import ssl
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.client import Client, Object, eventually
from tests.e2e.control_plane import ControlPlane
from tests.e2e.finisher import Finisher, running
from tests.e2e.jobs import write_job
from tests.e2e.kubelet import end

CHIEF = """
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  image: registry.example.com/mnist:1
  retries: 0
  roles:
    chief: {}
    ps: {replicas: 2}
    worker: {replicas: 3}
    evaluator: {}
  storage:
    model: {mountPath: /model, emptyDir: {}}
  tensorboard: {logDir: /model, keep: false}
  completion: {evaluatorGrace: 5}
"""

WORKER_0 = """
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  image: registry.example.com/mnist:1
  retries: 0
  completion: {by: Worker0}
  roles:
    ps: {replicas: 2}
    worker: {replicas: 3}
"""

ALL_WORKERS = WORKER_0.replace("Worker0", "AllWorkers")

JOBS = """
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  image: registry.example.com/mnist:1
  retries: 0
  workload: {kind: Job}
  roles:
    chief: {}
    ps: {replicas: 2}
    worker: {replicas: 3}
"""

nightly = pytest.mark.nightly

TRAININGS = {"chief": CHIEF, "worker-0": WORKER_0, "all-workers": ALL_WORKERS, "jobs": JOBS}
END = {"chief": "mnist-chief", "worker-0": "mnist-worker", "all-workers": "mnist-worker", "jobs": "mnist-chief"}
"""The Job whose end is the end of the training, by training."""


@pytest.fixture
def start(cluster: ControlPlane, namespace: str, tmp_path: Path) -> Callable[[str], None]:
    """Return a function that applies a job, and returns when all of its pods run."""

    def started(text: str) -> None:
        rendered = write_job(text, tmp_path / "rendered")
        cluster.kubectl("apply", "--server-side", "-n", namespace, "-k", rendered.overlay(None))
        number = sum(
            obj["spec"].get("replicas", obj["spec"].get("completions", 0))
            for (_, kind, _), obj in rendered.by_tfgen(None).items()
            if kind in ("StatefulSet", "Job", "Deployment")
        )
        eventually(lambda: len(running(cluster.client, namespace)) == number, f"{number} running pods")

    return started


@pytest.mark.parametrize("training", [pytest.param("chief", marks=nightly), "worker-0", "all-workers", "jobs"])
def test_a_training_that_completes_is_released(
    training: str, cluster: ControlPlane, namespace: str, start: Callable[[str], None], finisher: Finisher
) -> None:
    start(TRAININGS[training])
    finisher.run()
    # The end of worker 0 alone is enough if it is the end of the job, while the other workers still run.
    pods = running(cluster.client, namespace, END[training].rpartition("-")[2])
    for pod in pods[:1] if training == "worker-0" else pods:
        end(cluster.client, pod)
    assert f"jobs/{END[training]}: is Complete" in finisher.finish()
    _assert_released(cluster.client, namespace)


@nightly
@pytest.mark.parametrize("training", TRAININGS)
def test_a_training_that_fails_is_released(
    training: str, cluster: ControlPlane, namespace: str, start: Callable[[str], None], finisher: Finisher
) -> None:
    start(TRAININGS[training])
    finisher.run()
    end(cluster.client, running(cluster.client, namespace, END[training].rpartition("-")[2])[0], exit_code=1)
    assert f"jobs/{END[training]}: is Failed" in finisher.finish()
    _assert_released(cluster.client, namespace)


@pytest.mark.parametrize("training", ["chief", *(pytest.param(each, marks=nightly) for each in [*TRAININGS][1:])])
def test_a_training_that_is_deleted_is_released(
    training: str, cluster: ControlPlane, namespace: str, start: Callable[[str], None], finisher: Finisher
) -> None:
    start(TRAININGS[training])
    finisher.run()
    cluster.kubectl("delete", "job", END[training], "-n", namespace)
    assert f"jobs/{END[training]}: is gone" in finisher.finish()
    _assert_released(cluster.client, namespace)


@nightly
def test_a_failed_training_keeps_its_tasks_where_asked(
    cluster: ControlPlane, namespace: str, start: Callable[[str], None], finisher: Finisher
) -> None:
    start(CHIEF.replace("completion: {", "completion: {onFailure: Keep, "))
    finisher.run()
    end(cluster.client, running(cluster.client, namespace, "chief")[0], exit_code=1)
    assert "no task is released" in finisher.finish()
    assert len(running(cluster.client, namespace, "worker")) == 3


@nightly
def test_a_training_that_does_not_start_in_time_is_released(
    cluster: ControlPlane, namespace: str, tmp_path: Path, finisher: Finisher
) -> None:
    """The chief of the job requests more than any node has."""
    text = CHIEF.replace("chief: {}", "chief: {resources: {cpu: 500}}").replace("retries: 0", "startDeadline: 20")
    cluster.kubectl("apply", "-n", namespace, "-k", write_job(text, tmp_path / "rendered").overlay(None))
    finisher.run()
    assert "jobs/mnist-chief: has not started within 20 s" in finisher.finish()
    _assert_released(cluster.client, namespace)
    assert cluster.client.get("Job", "mnist-chief", namespace)["spec"]["suspend"] is True


@nightly
@pytest.mark.parametrize("role", ["ps", "worker"])
def test_a_training_of_which_a_part_finds_no_node_is_released_within_5_s_of_its_deadline(
    role: str, cluster: ControlPlane, namespace: str, tmp_path: Path, finisher: Finisher
) -> None:
    """The chief of the job runs, and waits for the other tasks."""
    replicas = {"ps": "ps: {replicas: 2", "worker": "worker: {replicas: 3"}[role]
    text = CHIEF.replace("retries: 0", "startDeadline: 40").replace(replicas, f"{replicas}, resources: {{cpu: 500}}")
    cluster.kubectl("apply", "-n", namespace, "-k", write_job(text, tmp_path / "rendered").overlay(None))
    eventually(lambda: running(cluster.client, namespace, "chief"), "the chief")
    finisher.run()
    log = finisher.finish()
    assert f"jobs/mnist-chief: has not started within 40 s, for want of statefulsets/mnist-{role}" in log
    made = cluster.client.get("Job", "mnist-chief", namespace)["metadata"]["creationTimestamp"]
    late = [_seconds(line[:20]) - _seconds(made) - 40 for line in log.splitlines() if "scaled to 0" in line]
    assert late
    assert all(0 <= seconds <= 5 for seconds in late), log
    _assert_released(cluster.client, namespace)
    assert cluster.client.get("Job", "mnist-chief", namespace)["spec"]["suspend"] is True


@nightly
def test_a_training_that_has_started_is_left_alone_by_a_finisher_that_has_not_seen_it(
    cluster: ControlPlane, namespace: str, start: Callable[[str], None], finisher: Finisher
) -> None:
    """The workers of a started job lost their nodes, for example by a drain, after the start deadline."""
    start(CHIEF.replace("retries: 0", "startDeadline: 5"))
    first = finisher.run()
    eventually(lambda: "jobs/mnist-chief: has started" in first.tail(), "the note")
    first.stop()
    cluster.client.evict(finisher.pod["metadata"]["name"], namespace)
    gone = finisher.pod["metadata"]["uid"]
    eventually(
        lambda: [pod for pod in running(cluster.client, namespace, "finisher") if pod["metadata"]["uid"] != gone],
        "the next finisher's pod",
    )
    nodes = [node["metadata"]["name"] for node in cluster.client.list("Node")]
    try:
        cluster.kubectl("cordon", *nodes)
        cluster.kubectl("delete", "pods", "-n", namespace, "-l", "tfgen/role=worker", "--wait=false")
        eventually(lambda: not running(cluster.client, namespace, "worker"), "the loss of all workers")
        finisher.run()
        time.sleep(3)
        assert cluster.client.get("StatefulSet", "mnist-worker", namespace)["spec"]["replicas"] == 3
    finally:
        cluster.kubectl("uncordon", *nodes)
    end(cluster.client, running(cluster.client, namespace, "chief")[0])
    assert "jobs/mnist-chief: is Complete" in finisher.finish()
    _assert_released(cluster.client, namespace)


def test_the_end_is_seen_soon_after_a_restart_of_the_api_server(
    cluster: ControlPlane, namespace: str, start: Callable[[str], None], finisher: Finisher
) -> None:
    start(CHIEF)
    finisher.run()
    cluster.restart_api_server()
    ended = time.monotonic()
    end(cluster.client, running(cluster.client, namespace, "chief")[0])
    log = finisher.finish()
    # A pause after an error, and a read every 5 seconds, both on a busy machine.
    assert time.monotonic() - ended < 30, log
    _assert_released(cluster.client, namespace)


def test_it_is_evicted_twice_and_releases(
    cluster: ControlPlane, namespace: str, start: Callable[[str], None], finisher: Finisher
) -> None:
    start(CHIEF)
    for _ in range(2):
        process = finisher.run()
        cluster.client.evict(finisher.pod["metadata"]["name"], namespace)
        process.stop()
        assert "ended by SIGTERM" in process.tail()
    finisher.run()
    end(cluster.client, running(cluster.client, namespace, "chief")[0])
    finisher.finish()
    _assert_released(cluster.client, namespace)
    assert cluster.client.get("Job", "mnist-finisher", namespace)["status"].get("failed", 0) == 0  # despite evictions


@nightly
def test_an_end_while_it_is_away_is_seen(
    cluster: ControlPlane, namespace: str, start: Callable[[str], None], finisher: Finisher
) -> None:
    start(CHIEF)
    finisher.run().stop()
    end(cluster.client, running(cluster.client, namespace, "chief")[0])
    eventually(lambda: cluster.client.get("Job", "mnist-chief", namespace)["status"].get("succeeded"), "the chief")
    cluster.client.evict(finisher.pod["metadata"]["name"], namespace)
    finisher.run()
    assert "jobs/mnist-chief: is Complete" in finisher.finish()
    _assert_released(cluster.client, namespace)


# -- permissions ----------------------------------------------------------------------------------------------------

NEEDED = [
    ("batch", "jobs", ["mnist-chief"], ["get"]),
    ("batch", "jobs", ["mnist-evaluator"], ["get", "patch"]),
    ("apps", "statefulsets/scale", ["mnist-ps", "mnist-worker"], ["patch"]),
    ("apps", "deployments/scale", ["mnist-tensorboard"], ["patch"]),
]
"""The API group, resource, names and verbs that the release of a job with an evaluator and TensorBoard needs."""

NEEDED_FOR_A_DEADLINE = [
    ("batch", "jobs", ["mnist-chief"], ["get", "patch"]),
    *NEEDED[1:],
    ("apps", "statefulsets", ["mnist-ps", "mnist-worker"], ["get"]),
]
"""The same for a job with a startDeadline: the finisher records the start, or suspends objects without a start."""

FORBIDDEN = [
    # Each permitted verb for a name that the Role lacks, and each other verb for a name that the Role has.
    ("GET", "/apis/batch/v1/namespaces/{namespace}/jobs/mnist-finisher"),
    ("GET", "/apis/batch/v1/namespaces/{namespace}/jobs"),
    ("GET", "/apis/batch/v1/namespaces/{namespace}/jobs?watch=true&timeoutSeconds=1"),
    (
        "GET",
        "/apis/batch/v1/namespaces/{namespace}/jobs?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Dother",
    ),
    (
        "GET",
        "/apis/batch/v1/namespaces/{namespace}/jobs?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Dmnist-chief",
    ),
    ("GET", "/apis/batch/v1/namespaces/default/jobs/mnist-chief"),
    ("GET", "/apis/batch/v1/jobs"),
    ("PATCH", "/apis/batch/v1/namespaces/{namespace}/jobs/mnist-chief"),
    ("PATCH", "/apis/batch/v1/namespaces/{namespace}/jobs/mnist-finisher"),
    ("PATCH", "/apis/batch/v1/namespaces/{namespace}/jobs/mnist-chief/status"),
    ("PUT", "/apis/batch/v1/namespaces/{namespace}/jobs/mnist-evaluator"),
    ("DELETE", "/apis/batch/v1/namespaces/{namespace}/jobs/mnist-evaluator"),
    ("POST", "/apis/batch/v1/namespaces/{namespace}/jobs"),
    ("DELETE", "/apis/batch/v1/namespaces/{namespace}/jobs"),
    ("GET", "/apis/apps/v1/namespaces/{namespace}/statefulsets/mnist-ps"),
    ("GET", "/apis/apps/v1/namespaces/{namespace}/statefulsets/mnist-ps/scale"),
    ("PUT", "/apis/apps/v1/namespaces/{namespace}/statefulsets/mnist-ps/scale"),
    ("PATCH", "/apis/apps/v1/namespaces/{namespace}/statefulsets/mnist-ps"),
    ("PATCH", "/apis/apps/v1/namespaces/{namespace}/statefulsets/other/scale"),
    ("PATCH", "/apis/apps/v1/namespaces/default/statefulsets/mnist-ps/scale"),
    ("DELETE", "/apis/apps/v1/namespaces/{namespace}/statefulsets/mnist-ps"),
    ("PATCH", "/apis/apps/v1/namespaces/{namespace}/deployments/mnist-tensorboard"),
    ("PATCH", "/apis/apps/v1/namespaces/{namespace}/replicasets/mnist-ps/scale"),
    ("GET", "/api/v1/namespaces/{namespace}/pods"),
    ("POST", "/api/v1/namespaces/{namespace}/pods"),
    ("DELETE", "/api/v1/namespaces/{namespace}/pods/mnist-ps-0"),
    ("GET", "/api/v1/namespaces/{namespace}/pods/mnist-ps-0/log"),
    ("POST", "/api/v1/namespaces/{namespace}/pods/mnist-ps-0/exec?command=sh"),
    ("GET", "/api/v1/namespaces/{namespace}/secrets"),
    ("GET", "/api/v1/namespaces/{namespace}/configmaps"),
    ("GET", "/api/v1/namespaces/{namespace}/persistentvolumeclaims"),
    ("POST", "/api/v1/namespaces/{namespace}/serviceaccounts/mnist-finisher/token"),
    ("PATCH", "/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/roles/mnist-finisher"),
    ("GET", "/api/v1/nodes"),
    ("GET", "/api/v1/namespaces"),
]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [(CHIEF, NEEDED), (CHIEF.replace("retries: 0", "startDeadline: 60"), NEEDED_FOR_A_DEADLINE)],
    ids=["without", "with-a-deadline"],
)
def test_it_may_do_what_it_needs_and_nothing_else(
    text: str,
    wanted: list[tuple[str, str, list[str], list[str]]],
    cluster: ControlPlane,
    namespace: str,
    tmp_path: Path,
) -> None:
    """Compare the authorizer's list of the account's permissions, without the permissions of every account."""
    _apply_account(cluster, namespace, text, tmp_path)
    every = _rules(cluster, "default", namespace)
    own = [rule for rule in _rules(cluster, "mnist-finisher", namespace) if rule not in every]
    needed = [
        {"apiGroups": [group], "resources": [resource], "resourceNames": sorted(names), "verbs": sorted(verbs)}
        for group, resource, names, verbs in wanted
    ]
    assert sorted(json.dumps(rule, sort_keys=True) for rule in own) == sorted(
        json.dumps(rule, sort_keys=True) for rule in needed
    )


def test_all_else_is_refused(cluster: ControlPlane, namespace: str, tmp_path: Path) -> None:
    """Try each forbidden request."""
    _apply_account(cluster, namespace, CHIEF, tmp_path)
    token = cluster.client.token("mnist-finisher", namespace)
    took = {
        f"{method} {path}": status
        for method, path in FORBIDDEN
        if (status := _ask(cluster, token, method, path.format(namespace=namespace))) != 403
    }
    assert took == {}
    assert _ask(cluster, token, "GET", f"/apis/batch/v1/namespaces/{namespace}/jobs/mnist-chief") == 404


def _apply_account(cluster: ControlPlane, namespace: str, text: str, folder: Path) -> None:
    """Apply the account of the finisher and its permissions. The authorizer answers without the other objects."""
    for (_, kind, _), obj in write_job(text, folder).by_tfgen(None).items():
        if kind in ("ServiceAccount", "Role", "RoleBinding"):
            cluster.client.apply(obj, namespace)


def _rules(cluster: ControlPlane, account: str, namespace: str) -> list[Object]:
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview"}
    client = Client(cluster.service_account(account, namespace))
    rules: list[Object] = client.create({**review, "spec": {"namespace": namespace}})["status"]["resourceRules"]
    client.close()
    return [{key: sorted(values) for key, values in rule.items()} for rule in rules]


def _ask(cluster: ControlPlane, token: str, method: str, path: str) -> int:
    """Return the status of the response to a request with a token."""
    context = ssl.create_default_context(cafile=cluster.authority.certificate)
    connection = http.client.HTTPSConnection(cluster.url.removeprefix("https://"), context=context, timeout=30)
    try:
        body = "{}" if method in ("POST", "PUT", "PATCH") else None
        content = "application/merge-patch+json" if method == "PATCH" else "application/json"
        connection.request(method, path, body, {"Authorization": f"Bearer {token}", "Content-Type": content})
        return connection.getresponse().status
    finally:
        connection.close()


# -- helpers --------------------------------------------------------------------------------------------------------


def _seconds(timestamp: str) -> float:
    return calendar.timegm(time.strptime(timestamp, "%Y-%m-%dT%H:%M:%SZ"))


def _assert_released(client: Client, namespace: str) -> None:
    """Test that no pod is left, and that no workload would create a pod."""
    eventually(lambda: not running(client, namespace), "the end of all pods")
    for kind in ("StatefulSet", "Deployment"):
        for owner in client.list(kind, namespace):
            assert owner["spec"]["replicas"] == 0, owner["metadata"]["name"]
    eventually(lambda: all(_has_ended(job) for job in client.list("Job", namespace)), "the end of all Jobs")


def _has_ended(job: Object) -> bool:
    types = {each["type"] for each in job["status"].get("conditions", ()) if each["status"] == "True"}
    return bool(types & {"Complete", "Failed", "Suspended"})
