"""Tests of the sentences with which the site describes the history of a job."""

from __future__ import annotations

import pytest

from tfgen.git.history import Revision
from tfgen.site.read_jobs import changes, difference

JOB = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {{name: mnist}}
spec:
  image: mnist:{image}
  roles: {{worker: {{replicas: {replicas}}}}}
"""


def revision(commit: str, image: int, replicas: int) -> Revision:
    return Revision(commit * 40, "2026-03-01", JOB.format(image=image, replicas=replicas).encode())


REVISIONS = [revision("c", 2, 8), revision("b", 2, 4), revision("a", 1, 4)]

REPLICAS = "spec.roles.worker.replicas was 4 and is 8"
IMAGE = 'spec.image was "mnist:1" and is "mnist:2"'


@pytest.mark.parametrize(
    ("revisions", "words"),
    [
        (REVISIONS, [REPLICAS, IMAGE, "the job is new"]),
        (REVISIONS[:2], [REPLICAS, "the job is new"]),
        ([*REVISIONS, REVISIONS[2]], [REPLICAS, IMAGE]),
        ([Revision("d" * 40, "2026-03-02", None), REVISIONS[2]], ["the job is removed", "the job is new"]),
        ([Revision("d" * 40, "2026-03-02", b"{"), REVISIONS[2]], ["the job is removed", "the job is new"]),
    ],
)
def test_changes_of_the_last_three_commits(revisions: list[Revision], words: list[str]) -> None:
    history = list(changes("job.yaml", "mnist", revisions, 3))
    assert [" ".join(change.words) for change in history] == words


def test_a_long_difference_is_cut() -> None:
    words = difference({}, {f"key{number}": number for number in range(10)})
    assert words[-1] == "and 2 more fields"
    assert len(words) == 9
