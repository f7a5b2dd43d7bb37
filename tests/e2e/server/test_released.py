"""Effect of each way of applying a job after the end of its run: the table of docs/runs.md, "After the end".

Each test applies a job, ends its training, lets the finisher release the tasks, and applies the same job again. The
nightly tests repeat the cases of Helm 4 with Helm 3.14 and with client-side apply, and apply with kubectl.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.client import Client, eventually
from tests.e2e.control_plane import ControlPlane
from tests.e2e.finisher import RELEASED, Finisher, running
from tests.e2e.jobs import write_job
from tests.e2e.kubelet import end
from tests.e2e.ways import WAYS, Apply, helm
from tests.support.command import Command
from tests.support.rendered import Rendered
from tests.support.tools import helm_program, oldest_helm_program

JOB = """
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  image: registry.example.com/mnist:1
  workload: {kind: KIND}
  roles:
    chief: {}
    ps: {replicas: 2}
    worker: {replicas: 3}
    evaluator: {}
  completion: {evaluatorGrace: 1}
"""

BOARD = """\
  storage: {model: {mountPath: /model, emptyDir: {}}}
  tensorboard: {logDir: /model/logs, keep: KEEP}
"""

HELMS: dict[str, Callable[..., Apply]] = {
    "helm-4": helm,
    "helm-4-client-side": partial(helm, "--server-side=false"),
    "helm-3.14": partial(helm, program=oldest_helm_program),
}
"""By version of Helm: a function that takes options, and returns a `helm upgrade` with these options."""

UPGRADES = {name: make() for name, make in HELMS.items()}

POST_RENDERER = """\
name: wait
version: 1.0.0
type: postrenderer/v1
apiVersion: v1
runtime: subprocess
runtimeConfig: {platformCommand: [{command: "${HELM_PLUGIN_DIR}/wait.sh"}]}
"""
"""The post-renderer as a plugin of Helm 4, https://helm.sh/docs/topics/plugins/. Helm 3 runs the script itself."""

nightly = pytest.mark.nightly
each_upgrade = pytest.mark.parametrize(
    "upgrade",
    [pytest.param(upgrade, id=name, marks=[] if name == "helm-4" else nightly) for name, upgrade in UPGRADES.items()],
)


def _train(
    kind: str, apply: Apply, cluster: ControlPlane, namespace: str, finisher: Finisher, folder: Path
) -> Rendered:
    """Run a job of a workload kind to its end, until the finisher has released all tasks."""
    job = write_job(JOB.replace("KIND", kind), folder / "rendered")
    apply(cluster, job, namespace)
    eventually(lambda: len(running(cluster.client, namespace)) == 8, "all pods and the finisher")
    finisher.run()
    (chief,) = running(cluster.client, namespace, "chief")
    end(cluster.client, chief)
    finisher.finish()
    eventually(lambda: not running(cluster.client, namespace), "the end of all pods")
    return job


@nightly
@pytest.mark.parametrize("apply", [*WAYS.values(), UPGRADES["helm-3.14"]], ids=[*WAYS, "helm-3.14"])
def test_jobs_stay_released(
    apply: Apply, cluster: ControlPlane, namespace: str, finisher: Finisher, tmp_path: Path
) -> None:
    """No file of the overlay sets `suspend`; the chart of a finished run sets `suspend: true`."""
    job = _train("Job", apply, cluster, namespace, finisher, tmp_path)
    before = _suspended(cluster.client, namespace)
    assert before == {"mnist-chief": False, "mnist-ps": True, "mnist-worker": True, "mnist-evaluator": True} | {
        "mnist-finisher": False
    }
    apply(cluster, job, namespace)
    assert _suspended(cluster.client, namespace) == before
    assert running(cluster.client, namespace) == []


@pytest.mark.parametrize("way", [pytest.param("kubectl-apply", marks=nightly), "kubectl-apply-server-side"])
def test_stateful_sets_come_back(
    way: str, cluster: ControlPlane, namespace: str, finisher: Finisher, tmp_path: Path
) -> None:
    """The replicas of a StatefulSet are part of the applied files. The Jobs stay released."""
    apply = WAYS[way]
    job = _train("StatefulSet", apply, cluster, namespace, finisher, tmp_path)
    apply(cluster, job, namespace)
    eventually(lambda: len(running(cluster.client, namespace)) == 5, "the ps and the workers")
    assert not running(cluster.client, namespace, "chief")
    assert not running(cluster.client, namespace, "evaluator")


@each_upgrade
def test_stateful_sets_stay_released_in_an_upgrade(
    upgrade: Apply, cluster: ControlPlane, namespace: str, finisher: Finisher, tmp_path: Path
) -> None:
    """Test also a second upgrade, whose previous manifest has 0 replicas, and an upgrade after objects are deleted."""
    job = _train("StatefulSet", upgrade, cluster, namespace, finisher, tmp_path)
    for _ in range(2):
        upgrade(cluster, job, namespace)
        assert _replicas(cluster.client, namespace) == {"mnist-ps": 0, "mnist-worker": 0}
        assert _suspended(cluster.client, namespace)["mnist-evaluator"]
    cluster.client.delete("StatefulSet", "mnist-worker", namespace)
    cluster.client.delete("Job", "mnist-evaluator", namespace)
    eventually(lambda: "mnist-evaluator" not in _suspended(cluster.client, namespace), "the end of the evaluator")
    upgrade(cluster, job, namespace)
    assert _replicas(cluster.client, namespace) == {"mnist-ps": 0, "mnist-worker": 0}
    assert _suspended(cluster.client, namespace)["mnist-evaluator"]
    assert running(cluster.client, namespace) == []


@pytest.mark.parametrize(
    ("kind", "upgrade"),
    [
        pytest.param(*case, marks=[] if case in (("StatefulSet", "helm-4"), ("Job", "helm-4-client-side")) else nightly)
        for case in itertools.product(["StatefulSet", "Job"], UPGRADES)
    ],
)
def test_a_rollback_starts_the_tasks_of_its_revision(
    upgrade: str, kind: str, cluster: ControlPlane, namespace: str, finisher: Finisher, tmp_path: Path
) -> None:
    """Helm renders nothing in a rollback. Only with server-side apply does the finisher's `suspend` stay."""
    job = _train(kind, UPGRADES[upgrade], cluster, namespace, finisher, tmp_path)
    UPGRADES[upgrade](cluster, job, namespace)
    released = _suspended(cluster.client, namespace)
    assert released == {**dict.fromkeys(released, True), "mnist-chief": False, "mnist-finisher": False}
    assert not any(_replicas(cluster.client, namespace).values())
    program = oldest_helm_program() if upgrade == "helm-3.14" else helm_program()
    rollback: list[str | Path] = [program, "rollback", job.name, "1", "--namespace", namespace]
    Command(tuple(rollback), env={"KUBECONFIG": str(cluster.admin)}).run(timeout=600)
    assert _replicas(cluster.client, namespace) == ({} if kind == "Job" else {"mnist-ps": 2, "mnist-worker": 3})
    resumed = dict.fromkeys(released, False)
    assert _suspended(cluster.client, namespace) == (released if upgrade == "helm-4" else resumed)


@each_upgrade
def test_an_upgrade_of_a_run_that_is_not_released_changes_nothing(
    upgrade: Apply, cluster: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    """Test an upgrade while the run trains, and an upgrade between the end and the release."""
    job = write_job(JOB.replace("KIND", "StatefulSet"), tmp_path / "rendered")
    upgrade(cluster, job, namespace)
    eventually(lambda: len(running(cluster.client, namespace)) == 8, "all pods and the finisher")
    pods = _uids(cluster.client, namespace)
    upgrade(cluster, job, namespace)
    assert _replicas(cluster.client, namespace) == {"mnist-ps": 2, "mnist-worker": 3}
    (chief,) = running(cluster.client, namespace, "chief")
    end(cluster.client, chief)
    eventually(lambda: _is_complete(cluster.client, namespace), "the end of the run")
    upgrade(cluster, job, namespace)
    assert _replicas(cluster.client, namespace) == {"mnist-ps": 2, "mnist-worker": 3}
    assert not any(_suspended(cluster.client, namespace).values())
    assert _uids(cluster.client, namespace) == pods - {chief["metadata"]["uid"]}


@pytest.mark.parametrize("way", [pytest.param(way, marks=[] if way == "helm-4" else nightly) for way in HELMS])
def test_tasks_that_an_upgrade_starts_after_the_release_are_released_again(
    way: str,
    cluster: ControlPlane,
    namespace: str,
    finisher: Finisher,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Helm renders the chart before the end of the run, and applies the objects after the release.

    A post-renderer delays Helm between the two steps.
    """
    plugin = tmp_path / "plugins/wait"
    script = _write_post_renderer(plugin)
    monkeypatch.setenv("HELM_PLUGINS", str(plugin.parent))
    job = write_job(JOB.replace("KIND", "StatefulSet"), tmp_path / "rendered")
    UPGRADES[way](cluster, job, namespace)
    eventually(lambda: len(running(cluster.client, namespace)) == 8, "all pods and the finisher")
    process = finisher.run()
    upgrade = HELMS[way]("--post-renderer", str(script) if way == "helm-3.14" else "wait")
    with ThreadPoolExecutor() as pool:
        upgraded = pool.submit(upgrade, cluster, job, namespace)
        try:
            eventually((plugin / "rendered").exists, "the post-renderer")
            (chief,) = running(cluster.client, namespace, "chief")
            end(cluster.client, chief)
            eventually(lambda: RELEASED in process.tail(), "the release")
            assert _replicas(cluster.client, namespace) == {"mnist-ps": 0, "mnist-worker": 0}
        finally:
            (plugin / "released").touch()
        upgraded.result()
    assert not process.has_ended, "Helm needed more time than the finisher waits"
    eventually(lambda: set(_replicas(cluster.client, namespace).values()) == {0}, "the second release")
    # The installation, the release, the upgrade and the second release have changed the replicas.
    assert _generations(cluster.client, namespace) == {"mnist-ps": 4, "mnist-worker": 4}
    assert _suspended(cluster.client, namespace)["mnist-evaluator"]
    assert process.wait() == 0


def _write_post_renderer(folder: Path) -> Path:
    """Write a post-renderer that creates the file `rendered`, and waits for the file `released`; return its script."""
    folder.mkdir(parents=True)
    script = folder / "wait.sh"
    script.write_text(
        f"""#!/bin/sh
cat > {folder}/rendered
until [ -e {folder}/released ] || [ "$((waits += 1))" -gt 6000 ]; do sleep 0.1; done
cat {folder}/rendered
"""
    )
    script.chmod(0o755)
    (folder / "plugin.yaml").write_text(POST_RENDERER)
    return script


@pytest.mark.parametrize(("keep", "replicas"), [("false", 0), ("true", 1)])
def test_tensorboard_stays_released_in_an_upgrade_unless_it_is_kept(
    keep: str, replicas: int, cluster: ControlPlane, namespace: str, finisher: Finisher, tmp_path: Path
) -> None:
    """The upgrade creates a deleted Deployment with the same replicas."""
    text = JOB.replace("KIND", "StatefulSet").replace("  completion", f"{BOARD.replace('KEEP', keep)}  completion")
    job = write_job(text, tmp_path / "rendered")
    helm()(cluster, job, namespace)
    eventually(lambda: len(running(cluster.client, namespace)) == 9, "all pods, TensorBoard's and the finisher's")
    finisher.run()
    (chief,) = running(cluster.client, namespace, "chief")
    end(cluster.client, chief)
    finisher.finish()
    helm()(cluster, job, namespace)
    assert _boards(cluster.client, namespace) == {"mnist-tensorboard": replicas}
    cluster.client.delete("Deployment", "mnist-tensorboard", namespace)
    eventually(lambda: not _boards(cluster.client, namespace), "the end of the Deployment")
    helm()(cluster, job, namespace)
    assert _boards(cluster.client, namespace) == {"mnist-tensorboard": replicas}


def test_a_run_that_missed_its_start_stays_released_in_an_upgrade(
    cluster: ControlPlane, namespace: str, finisher: Finisher, tmp_path: Path
) -> None:
    """The finisher suspends the chief as well, so no Job has ended. The worker has no node."""
    text = JOB.replace("KIND", "StatefulSet").replace("replicas: 3", "replicas: 3, nodeSelector: {no: node}")
    job = write_job(f"{text}  startDeadline: 5\n", tmp_path / "rendered")
    helm()(cluster, job, namespace)
    eventually(lambda: running(cluster.client, namespace, "finisher"), "the finisher's pod")
    finisher.run()
    assert "has not started" in finisher.finish()
    helm()(cluster, job, namespace)
    assert _replicas(cluster.client, namespace) == {"mnist-ps": 0, "mnist-worker": 0}
    assert _suspended(cluster.client, namespace)["mnist-chief"]


def test_a_failed_run_that_keeps_its_tasks_keeps_them_in_an_upgrade(
    cluster: ControlPlane, namespace: str, finisher: Finisher, tmp_path: Path
) -> None:
    text = JOB.replace("KIND", "StatefulSet").replace("evaluatorGrace: 1", "onFailure: Keep")
    job = write_job(f"{text}  retries: 0\n", tmp_path / "rendered")
    helm()(cluster, job, namespace)
    eventually(lambda: len(running(cluster.client, namespace)) == 8, "all pods and the finisher")
    finisher.run()
    (chief,) = running(cluster.client, namespace, "chief")
    end(cluster.client, chief, exit_code=1)
    assert "no task is released" in finisher.finish()
    helm()(cluster, job, namespace)
    assert _replicas(cluster.client, namespace) == {"mnist-ps": 2, "mnist-worker": 3}


def test_a_new_run_of_a_release_trains_anew(
    cluster: ControlPlane, namespace: str, finisher: Finisher, tmp_path: Path
) -> None:
    """Set a new run as the notes of the chart describe. The upgrade removes the objects of the old run."""
    job = _train("StatefulSet", WAYS["helm-upgrade"], cluster, namespace, finisher, tmp_path)
    helm("--reset-then-reuse-values", "--set", "run=2")(cluster, job, namespace)
    eventually(lambda: len(running(cluster.client, namespace)) == 8, "all pods of the new run, and its finisher")
    assert {pod["metadata"]["labels"]["tfgen/run"] for pod in running(cluster.client, namespace)} == {"2"}
    assert {each["metadata"]["name"] for each in cluster.client.list("StatefulSet", namespace)} == {
        "mnist-2-ps",
        "mnist-2-worker",
    }


def _replicas(client: Client, namespace: str) -> dict[str, int]:
    """Return the replicas of each StatefulSet."""
    sets = client.list("StatefulSet", namespace)
    return {item["metadata"]["name"]: item["spec"]["replicas"] for item in sets}


def _generations(client: Client, namespace: str) -> dict[str, int]:
    """Return the generation of each StatefulSet. The generation increases with each change of the spec."""
    return {item["metadata"]["name"]: item["metadata"]["generation"] for item in client.list("StatefulSet", namespace)}


def _boards(client: Client, namespace: str) -> dict[str, int]:
    """Return the replicas of each Deployment."""
    return {item["metadata"]["name"]: item["spec"]["replicas"] for item in client.list("Deployment", namespace)}


def _uids(client: Client, namespace: str) -> set[str]:
    return {pod["metadata"]["uid"] for pod in running(client, namespace)}


def _is_complete(client: Client, namespace: str) -> bool:
    conditions = client.get("Job", "mnist-chief", namespace)["status"].get("conditions", ())
    return any((item["type"], item["status"]) == ("Complete", "True") for item in conditions)


def _suspended(client: Client, namespace: str) -> dict[str, bool]:
    """Return the field `suspend` of each Job."""
    jobs = client.list("Job", namespace)
    return {job["metadata"]["name"]: job["spec"].get("suspend", False) for job in jobs}
