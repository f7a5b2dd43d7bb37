"""A real training of examples/dist-mnist: chief, parameter servers and workers as local processes."""

from __future__ import annotations

import importlib.util
import re
import shutil
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.local_cluster import LocalCluster, tf_config
from tests.support.training import (
    GOOD,
    PROGRAM,
    STEPS,
    TIMEOUT,
    final_accuracy,
    local_cluster,
    rendered_cluster,
    scalars,
)

EVALUATED = r"INFO step (\d+): accuracy ([\d.]+)\n"


@dataclass(frozen=True)
class Trained:
    """Result of a training without failures."""

    model_dir: Path
    chief_log: str
    exit_codes: dict[str, int]
    """The exit codes after SIGTERM of the tasks that still run at the end of the chief."""


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    folder = tmp_path_factory.mktemp("trained")
    with local_cluster(folder, folder / "model") as cluster:
        assert cluster.wait("chief", timeout=TIMEOUT) == 0
        exit_codes = cluster.stop()
        return Trained(folder / "model", cluster.log("chief"), exit_codes)


@pytest.fixture(scope="module")
def program() -> ModuleType:
    """Import train.py, which blocks SIGTERM, and restore the signal mask."""
    spec = importlib.util.spec_from_file_location("dist_mnist_train", PROGRAM)
    module = importlib.util.module_from_spec(spec)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    try:
        spec.loader.exec_module(module)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    return module


def test_resolver_reads_every_task(tf: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    training = rendered_cluster()
    whole = {**training, "evaluator": ["dist-mnist-evaluator-0.dist-mnist:2222"]}
    for role, hosts in whole.items():
        for index in range(len(hosts)):
            monkeypatch.setenv("TF_CONFIG", tf_config(whole, role, index))
            resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
            assert (resolver.task_type, resolver.task_id) == (role, index)
            assert resolver.cluster_spec().as_dict() == (whole if role == "evaluator" else training)


def test_digits_are_the_same_every_time(tf: ModuleType, program: ModuleType) -> None:
    first, again, other = (
        [(image.numpy().tobytes(), int(label)) for image, label in program.digits(tf.data.Dataset.range(20), split)]
        for split in (program.TEST_SPLIT, program.TEST_SPLIT, program.TRAINING_SPLIT)
    )
    assert first == again
    assert [label for _, label in first] == [*range(10)] * 2
    assert not {image for image, _ in first} & {image for image, _ in other}


def test_trains(tf: ModuleType, trained: Trained) -> None:
    loss = scalars(tf, trained.model_dir / "logs" / "train", "loss")
    assert list(loss) == [100, 200, 300, 400, 500, 600]
    assert loss[600] < loss[100] / 3
    assert final_accuracy(trained.chief_log) > GOOD


def test_exports_a_model_as_good(tf: ModuleType, program: ModuleType, trained: Trained) -> None:
    predict = tf.saved_model.load(str(trained.model_dir / "export" / str(STEPS))).signatures["serving_default"]
    assert program.accuracy(lambda images: predict(images=images)["probabilities"]) == pytest.approx(
        final_accuracy(trained.chief_log), abs=0.001
    )


def test_keeps_the_last_checkpoints(tf: ModuleType, trained: Trained) -> None:
    folder = trained.model_dir / "checkpoints"
    assert tf.train.latest_checkpoint(str(folder)) == str(folder / "ckpt-600")
    assert sorted(path.name for path in folder.glob("*.index")) == [f"ckpt-{n}.index" for n in range(200, 601, 100)]


def test_servers_end_at_sigterm(trained: Trained) -> None:
    """Servers without the handler in train.py run forever, and end only by SIGKILL."""
    assert trained.exit_codes == {"ps-0": 0, "worker-0": 0, "worker-1": 0}


def test_second_start_resumes_and_the_evaluator_follows(tf: ModuleType, trained: Trained, tmp_path: Path) -> None:
    """The second start has one more ps: a checkpoint does not depend on how variables are partitioned."""
    shutil.copytree(trained.model_dir, tmp_path / "model")
    grown = {**rendered_cluster(), "ps": ["a:2222", "b:2222"], "worker": ["c:2222"], "evaluator": ["d:2222"]}
    with local_cluster(tmp_path, tmp_path / "model", STEPS + 100, grown) as cluster:
        assert cluster.wait("chief", timeout=TIMEOUT) == 0
        log = cluster.log("chief")
        assert re.search(r"resumed from \S+/ckpt-600 at step 600\n", log)
        assert re.findall(r"INFO step (\d+):", log) == ["700"]
        assert re.search(r"variable dense1/part_1\S* .* on /job:ps/replica:0/task:[01]/", log)
        assert final_accuracy(log) > GOOD
        cluster.wait_for_line(r"step 700: accuracy", "evaluator", timeout=TIMEOUT)
        assert cluster.stop() == {"ps-0": 0, "ps-1": 0, "worker-0": 0, "evaluator-0": 0}
        written = {int(step): float(share) for step, share in re.findall(EVALUATED, cluster.log("evaluator"))}

    # A slow evaluator skips checkpoints, but never the last checkpoint.
    assert written[700] == pytest.approx(final_accuracy(log), abs=0.001)
    accuracy = scalars(tf, tmp_path / "model" / "logs" / "eval", "accuracy")
    assert {step: round(share, 4) for step, share in accuracy.items()} == written
    assert scalars(tf, tmp_path / "model" / "logs" / "train", "loss").keys() >= written.keys()


def start_until_done(cluster: LocalCluster, starts: int = 20) -> int:
    """Start the chief until it succeeds, at most `starts` times, like its Job. Return the last exit code.

    When the next chief starts, a worker's channel to the lost ps may still wait for its next try (gRPC's connection
    back-off). Then this chief also loses the ps.
    """
    for _ in range(starts):
        cluster.start("chief")
        code = cluster.wait("chief", timeout=TIMEOUT)
        if code != 1:
            break
        time.sleep(5)
    return code


def test_a_lost_worker_is_survived_and_a_lost_ps_ends_the_chief_whose_next_start_resumes(
    tmp_path: Path,
) -> None:
    with local_cluster(tmp_path, tmp_path / "model") as cluster:
        cluster.wait_for_line(r"INFO step 100:", "chief", timeout=TIMEOUT)
        cluster.kill("worker", 1)
        # A closure of the lost worker runs a second time, so the number of the step may be 301.
        cluster.wait_for_line(r"INFO step 3\d\d:", "chief", timeout=TIMEOUT)
        assert "resumed from" not in cluster.log("chief")
        cluster.kill("ps")
        assert cluster.wait("chief", timeout=TIMEOUT) == 1
        assert "lost a parameter server" in cluster.log("chief")
        cluster.start("worker", 1)
        cluster.start("ps")
        assert start_until_done(cluster) == 0
        resumed = int(re.search(r"resumed from \S+ at step (\d+)\n", cluster.log("chief"))[1])
        assert 300 <= resumed < STEPS
        assert final_accuracy(cluster.log("chief")) > GOOD
