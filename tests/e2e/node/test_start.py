"""Jobs that do not start: where nobody has an image, or no node has room, the finisher frees the rest in time."""

from __future__ import annotations

import calendar
import re
import time

import pytest

from tests.e2e.node.conftest import GPUS
from tests.e2e.node.node_job import NodeJob, merge
from tests.e2e.node.test_dist_mnist import ENVIRONMENT, GPU, MakeJob

IMAGE = "registry.example.com/ml/dist-mnist:1.4.0"
MISSPELT = "registry.example.com/ml/dist-minst:1.4.0"
DEADLINE = 60

CASES = {
    "of-the-chief-alone": {"roles": {"chief": {"image": MISSPELT}}},
    "of-all-and-the-finisher-has-its-own": {"image": MISSPELT, "completion": {"image": IMAGE}},
}


@pytest.mark.parametrize("more", CASES.values(), ids=CASES)
def test_an_image_that_cannot_be_pulled_releases_the_gpus(job: MakeJob, more: object) -> None:
    training = job("dist-mnist", late(more, workers=2))
    training.apply()
    assert_released_in_time(training)


def test_a_worker_without_a_node_releases_the_gpus_of_the_others(job: MakeJob) -> None:
    """The chief runs meanwhile, and waits for it."""
    training = job("dist-mnist", late({}, workers=GPUS + 1))
    training.apply()
    training.pod("chief")
    assert_released_in_time(training)
    # On a slow machine there may be more that has not started.
    assert re.search(r"for want of .*statefulsets/dist-mnist-worker", training.log("finisher", container="finisher"))


def late(more: object, workers: int) -> object:
    """The environment of a job with a deadline for its start, and a GPU for each worker."""
    asked = {"startDeadline": DEADLINE, "roles": {"worker": {"replicas": workers, **GPU}}}
    return merge(merge(ENVIRONMENT, asked), more)


def assert_released_in_time(training: NodeJob) -> None:
    """No pod of the job is left, and the finisher was done within 5 s of the deadline."""
    training.wait_for_line("all tasks are released", "finisher", container="finisher")
    log = training.log("finisher", container="finisher")
    made = seconds(training.object("Job", "chief")["metadata"]["creationTimestamp"])
    late_by = seconds(log.splitlines()[-1][:20]) - made - DEADLINE
    assert 0 <= late_by <= 5, log
    training.wait_until_released()
    assert (training.replicas("ps"), training.replicas("worker")) == (0, 0)
    assert training.object("Job", "chief")["spec"]["suspend"] is True


def seconds(timestamp: str) -> float:
    """A timestamp of Kubernetes in seconds since 1970."""
    return calendar.timegm(time.strptime(timestamp, "%Y-%m-%dT%H:%M:%SZ"))
