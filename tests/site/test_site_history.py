"""Tests of the sentences with which the site describes the history of a job."""

from __future__ import annotations

import pytest

from tfgen.git.history import Revision
from tfgen.site.read_jobs import Change, Requests, changes, difference, first_by_environment, total

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


def test_a_change_belongs_to_the_environment_whose_line_changed() -> None:
    before = {"spec": {"image": "a:1", "environments": {"dev": {"retries": 1}, "prod": {"retries": 1}}}}
    after = {"spec": {"image": "a:1", "environments": {"dev": {"retries": 1}, "prod": {"retries": 2}}}}
    first = first_by_environment(before, after)
    assert first == {"prod": "spec.environments.prod.retries was 1 and is 2"}
    change = Change("c", "2026-03-01", (), first)
    assert change.of("dev") is None
    shared = Change("c", "2026-03-01", (), first_by_environment({"spec": {"image": "a:1"}}, {"spec": {"image": "a:2"}}))
    assert shared.of("dev") == shared.of("prod") == 'spec.image was "a:1" and is "a:2"'


def test_an_amount_that_nobody_sets_is_no_zero() -> None:
    nothing = Requests(pods=1, cpu=None, memory=None, storage=None, gpus={})
    assert total([nothing, nothing]).cpu is None
    assert total([nothing, nothing.replaced(cpu=2)]).cpu == 2
