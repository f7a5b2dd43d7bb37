"""Jobs that do not start in time: at their deadline, all their pods and GPUs are released."""

from __future__ import annotations

import calendar
import re
import time
from collections.abc import Mapping

from tests.e2e.finisher import RELEASED
from tests.e2e.node.conftest import GPUS
from tests.e2e.node.node_job import COUNTING, NodeJob, merge
from tests.e2e.node.test_dist_mnist import ENVIRONMENT, GPU, MakeJob

IMAGE = "registry.example.com/ml/dist-mnist:1.4.0"
MISSPELT = "registry.example.com/ml/dist-minst:1.4.0"
DEADLINE = 45


CASES: Mapping[str, object] = {
    "of-the-chief": {"roles": {"chief": {"image": MISSPELT}}},
    "of-all": {"image": MISSPELT, "completion": {"image": IMAGE}},
}
"""Images that cannot be pulled. The image of the finisher is valid."""


def test_jobs_that_do_not_start_in_time_release_their_gpus(job: MakeJob) -> None:
    """All jobs wait for the same minute: for an image, or for a node for a worker."""
    without_node = job("dist-mnist", late({}, workers=GPUS + 1))
    jobs = [without_node, *(job("dist-mnist", late(more, workers=2), name=name) for name, more in CASES.items())]
    for training in jobs:
        training.apply()
    # The chief runs, and waits for the worker.
    without_node.pod("chief")
    for training in jobs:
        assert_released_in_time(training)
    # On a slow machine, the log may list more objects that have not started.
    log = without_node.log("finisher", container="finisher")
    assert re.search(r"for want of .*statefulsets/dist-mnist-worker", log)


def late(more: object, workers: int) -> object:
    """Return the environment of a job with a deadline for its start, and a GPU for each worker."""
    asked = {**COUNTING, "startDeadline": DEADLINE, "roles": {"worker": {"replicas": workers, **GPU}}}
    return merge(merge(ENVIRONMENT, asked), more)


def assert_released_in_time(training: NodeJob) -> None:
    """Test that the job has no task, and that the finisher released the job within 5 s of the deadline."""
    training.wait_for_line(RELEASED, "finisher", container="finisher")
    log = training.log("finisher", container="finisher")
    made = seconds(training.object("Job", "chief")["metadata"]["creationTimestamp"])
    released = next(line for line in log.splitlines() if RELEASED in line)
    late_by = seconds(released[:20]) - made - DEADLINE
    assert 0 <= late_by <= 5, log
    training.wait_until_released()
    assert (training.replicas("ps"), training.replicas("worker")) == (0, 0)
    assert training.object("Job", "chief")["spec"]["suspend"] is True


def seconds(timestamp: str) -> float:
    """Convert a timestamp of Kubernetes to seconds since 1970."""
    return calendar.timegm(time.strptime(timestamp, "%Y-%m-%dT%H:%M:%SZ"))
