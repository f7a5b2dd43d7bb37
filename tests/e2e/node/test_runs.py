"""Runs that overlap, on real containers: the run lock lets one run at a time write to a folder."""

from __future__ import annotations

import re

from tests.e2e.client import eventually
from tests.e2e.node.node_job import PATIENCE
from tests.e2e.node.test_dist_mnist import MakeJob

LOCK = "lock-model"


def test_a_run_waits_for_the_one_before_it_and_goes_on_in_its_folder(job: MakeJob) -> None:
    training = job("single-gpu", {"args": ["--steps=1000000"], "run": "2"})
    training.apply()
    training.wait_for_line("INFO step 1000:", "chief")

    # `tfgen rerun --resume` makes these changes to the environment.
    training.render({"args": ["--steps=600"], "run": "3", "resumeFrom": "2"})
    training.apply()
    training.wait_for_line("waiting for run 2, which writes to this volume", "chief", container=LOCK)
    pod = training.pods("chief")[0]
    assert pod["status"]["containerStatuses"][0]["started"] is False
    assert training.log("chief") == ""

    # A GitOps tool prunes the first run in this way. The run saves a checkpoint at SIGTERM, and releases the lock.
    training.kubectl("delete", "job", "single-gpu-2-chief", "--wait=false")
    assert training.wait_for_end() == "Complete"
    assert "locked" in training.log("chief", container=LOCK)
    resumed = re.search(r"resumed from (\S+)/ckpt-(\d+) at step (\d+)$", training.log("chief"), re.MULTILINE)
    assert resumed, training.log("chief")
    assert resumed[1] == "/model/checkpoints"
    assert resumed[2] == resumed[3]
    assert (training.folders["model"] / "2" / "checkpoints" / f"ckpt-{resumed[2]}.index").exists()
    eventually(lambda: not training.pods(run="2"), "the end of the first run's pods", PATIENCE)
