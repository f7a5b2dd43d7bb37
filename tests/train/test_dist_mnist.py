"""A real training of examples/dist-mnist: chief, parameter servers, workers and an evaluator as local processes."""

from __future__ import annotations

import importlib.util
import re
import signal
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.sessions import run_session, training_sessions
from tests.support.tools import ROOT
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
SAVED = r"INFO step (\d+):"


@dataclass(frozen=True)
class Trained:
    """Result of a training, and of its next start, which loses a worker and a ps.

    Attributes:
        model_dir: the folder of the model.
        first: the log of the first chief.
        survived: the log of the second chief before the loss of the ps.
        second: the log of the second chief.
        code: the exit code of the second chief.
        evaluated: the log of the evaluator, which starts with the second chief.
        exit_codes: the exit codes after SIGTERM of the tasks that the test did not kill.
    """

    model_dir: Path
    first: str
    survived: str
    second: str
    code: int
    evaluated: str
    exit_codes: dict[str, int]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """Run the session of the README, and start the tasks again, with one more ps and with an evaluator.

    The tasks start only two times, because each start of TensorFlow takes seconds of a processor.
    """
    folder = tmp_path_factory.mktemp("readme")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TF_CPP_MIN_LOG_LEVEL", "3")
        (session,) = training_sessions("README.md")
        run_session(session, ROOT, folder)
    (model_dir,) = folder.glob("*/volumes/model")
    (first,) = (path.read_text(encoding="utf-8") for path in folder.glob("*/logs/chief-0.log"))

    grown = {**rendered_cluster(), "ps": ["a:2222", "b:2222"], "evaluator": ["c:2222"]}
    with local_cluster(tmp_path_factory.mktemp("grown"), model_dir, grown) as cluster:
        cluster.wait_for_line(rf"INFO step {STEPS + 100}:", "chief", timeout=TIMEOUT)
        cluster.kill("worker", 1)
        # A closure of the lost worker runs a second time, so the number of the step may be 801.
        cluster.wait_for_line(rf"INFO step {STEPS // 100 + 2}\d\d:", "chief", timeout=TIMEOUT)
        survived = cluster.log("chief")
        cluster.kill("ps", 1)
        code = cluster.wait("chief", timeout=TIMEOUT)
        second = cluster.log("chief")
        last = re.findall(SAVED, second)[-1]
        cluster.wait_for_line(rf"step {last}: accuracy", "evaluator", timeout=TIMEOUT)
        exit_codes = cluster.stop()
        return Trained(model_dir, first, survived, second, code, cluster.log("evaluator"), exit_codes)


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
    # Each start writes a file, and a folder lists its files in any order.
    assert sorted(loss) == [int(step) for step in re.findall(SAVED, trained.first + trained.second)]
    assert loss[STEPS] < loss[100] / 3
    assert final_accuracy(trained.first) > GOOD


def test_exports_a_model_as_good(tf: ModuleType, program: ModuleType, trained: Trained) -> None:
    predict = tf.saved_model.load(str(trained.model_dir / "export" / str(STEPS))).signatures["serving_default"]
    assert program.accuracy(lambda images: predict(images=images)["probabilities"]) == pytest.approx(
        final_accuracy(trained.first), abs=0.001
    )


def test_the_next_start_resumes_with_another_number_of_ps(trained: Trained) -> None:
    """A checkpoint does not depend on how variables are partitioned."""
    assert re.search(rf"resumed from \S+/ckpt-{STEPS} at step {STEPS}\n", trained.second)
    assert re.search(r"variable dense1/part_1\S* .* on /job:ps/replica:0/task:[01]/", trained.second)


def test_a_lost_worker_is_survived(trained: Trained) -> None:
    assert re.findall(r"INFO step (\d)", trained.survived)[:2] == ["7", "8"]
    assert trained.survived.count("resumed from") == 1


def test_a_lost_ps_ends_the_chief(trained: Trained) -> None:
    assert trained.code == 1
    assert "lost a parameter server" in trained.second


def test_keeps_the_last_checkpoints(tf: ModuleType, trained: Trained) -> None:
    saved = re.findall(SAVED, trained.first + trained.second)
    folder = trained.model_dir / "checkpoints"
    assert tf.train.latest_checkpoint(str(folder)) == str(folder / f"ckpt-{saved[-1]}")
    assert {path.name for path in folder.glob("*.index")} == {f"ckpt-{step}.index" for step in saved[-5:]}


def test_servers_end_at_sigterm(trained: Trained) -> None:
    """Servers without the handler in train.py run forever, and end only by SIGKILL."""
    assert trained.exit_codes == {"ps-0": 0, "worker-0": 0, "evaluator-0": 0}


def test_the_evaluator_follows(tf: ModuleType, program: ModuleType, trained: Trained) -> None:
    """A slow evaluator skips checkpoints, but never the last checkpoint."""
    written = {int(step): float(share) for step, share in re.findall(EVALUATED, trained.evaluated)}
    model, last = program.load(tf.train.latest_checkpoint(str(trained.model_dir / "checkpoints")))
    assert written[last] == pytest.approx(program.accuracy(model), abs=0.001)
    accuracy = scalars(tf, trained.model_dir / "logs" / "eval", "accuracy")
    assert {step: round(share, 4) for step, share in accuracy.items()} == written
    assert scalars(tf, trained.model_dir / "logs" / "train", "loss").keys() >= written.keys()
