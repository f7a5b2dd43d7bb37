"""Runs that overlap, on real containers: the run lock lets one run at a time write to a folder."""

from __future__ import annotations

from tests.e2e.client import eventually
from tests.e2e.node.node_job import COUNTING, PATIENCE
from tests.e2e.node.test_dist_mnist import MakeJob

LOCK = "lock-model"


def test_a_run_waits_for_the_one_before_it_and_goes_on_in_its_folder(job: MakeJob) -> None:
    training = job("single-gpu", {**COUNTING, "run": "2"})
    training.apply()
    training.wait_for_line("^step 100$", "chief")

    # `tfgen rerun --resume` makes these changes to the environment.
    training.render({"args": ["--steps=50"], "run": "3", "resumeFrom": "2"})
    training.apply()
    training.wait_for_line("waiting for run 2, which writes to this volume", "chief", container=LOCK)
    pod = training.pods("chief")[0]
    assert pod["status"]["containerStatuses"][0]["started"] is False
    assert training.log("chief") == ""

    # A GitOps tool prunes the first run in this way. The run ends at SIGTERM, and releases the lock.
    training.kubectl("delete", "job", "single-gpu-2-chief", "--wait=false")
    assert training.wait_for_end() == "Complete"
    assert "locked" in training.log("chief", container=LOCK)
    saved = (training.folders["model"] / "2" / "step").read_text(encoding="utf-8")
    assert int(saved) >= 100
    assert training.log("chief") == f"starts at step {saved}\ndone: step {saved}\n"
    eventually(lambda: not training.pods(run="2"), "the end of the first run's pods", PATIENCE)
