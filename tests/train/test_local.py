"""Examples train with `tfgen local`, as a user runs the examples on a laptop."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.local_job import run
from tests.support.sessions import TUTORIAL, run_session, training_sessions, whole_session
from tests.support.tools import ROOT

EXAMPLES = ROOT / "examples"
OF_DIST_MNIST = ("--workdir", str(EXAMPLES / "dist-mnist"))
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3"}
TIMEOUT = 600


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("example", "options", "task", "done"),
    [
        ("single-gpu", [], "chief-0", r"done: step \d+, accuracy (0\.9\d+|1\.0+)"),
        ("tf1-flags", [], "worker-0", r"done: step \d+, \d+ of them here, loss 0\.0\d+"),
        (
            "ps-evaluator",
            [*OF_DIST_MNIST, "--set", "completion.evaluatorGrace=20"],
            "evaluator-0",
            r"step 600: accuracy 0\.9\d+",
        ),
    ],
)
def test_an_example_trains(tmp_path: Path, example: str, options: list[str], task: str, done: str) -> None:
    job = tmp_path / "job.yaml"
    job.write_bytes((EXAMPLES / example / "job.yaml").read_bytes())
    code = [] if "--workdir" in options else ["--workdir", str(EXAMPLES / example)]
    # On a busy machine, TensorFlow's native code crashes in one of some hundred starts, so the task has one retry.
    ran = run(job, "--env", "dev", "--retries", "1", *code, *options, env=QUIET, timeout=TIMEOUT)
    assert ran.code == 0, ran
    assert any(re.search(done, line) for line in ran.lines[task]), ran.lines[task]


@pytest.mark.nightly
def test_workers_in_step_resume_after_one_is_killed(tmp_path: Path) -> None:
    """The other workers fail as well, and all workers start again, like in their Jobs.

    The number of steps is so high that a fast machine still trains when the worker is killed.
    """
    job = tmp_path / "job.yaml"
    job.write_bytes((EXAMPLES / "mirrored-cifar" / "job.yaml").read_bytes())
    options = ["--env", "dev", "--workdir", str(EXAMPLES / "mirrored-cifar"), "--fail", "worker=1@25s"]
    ran = run(job, *options, "--set", "args=[--steps=2500]", env=QUIET, timeout=TIMEOUT)
    assert ran.code == 0, ran
    assert "tfgen: killed after 25 s" in ran.lines["worker-1"]
    lines = "\n".join(ran.lines["worker-0"])
    assert "lost a worker" in lines
    assert re.search(r"done: step 2500, accuracy (0\.9\d+|1\.0+),", lines)


def test_the_pages_with_a_training_are_those_whose_sessions_run() -> None:
    """test_dist_mnist.py runs the session of the README."""
    pages = (path.relative_to(ROOT).as_posix() for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")))
    assert {page for page in pages if training_sessions(page)} == {"README.md", f"docs/{TUTORIAL}"}


@pytest.mark.nightly
def test_the_tutorial_trains_on_a_laptop(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    page = (ROOT / "docs" / TUTORIAL).read_text(encoding="utf-8")
    run_session(whole_session(page, "training"), tmp_path, tmp_path_factory.mktemp("temporary"))
