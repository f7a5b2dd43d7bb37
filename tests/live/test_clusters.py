"""`tfgen wait` after the end of a run, with a finisher that works and with a finisher that does not work."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.recorded_run import read_recorded, read_run
from tfgen.errors import TfgenError
from tfgen.live import clusters
from tfgen.live.clusters import Clusters
from tfgen.live.run import Snapshot
from tfgen.live.run_state import RunState, state_of_run
from tfgen.report.status import as_line

FOLDER = Path(__file__).parents[1] / "live" / "succeeded"
RUN = read_run(FOLDER / "job.yaml", None)
HELD, _, _ = read_recorded(FOLDER / "cluster.json")
FINISHER, CHIEF = ("batch/v1", "Job", "mnist-finisher"), ("batch/v1", "Job", "mnist-chief")


def with_finisher(snapshot: Snapshot, condition: str) -> Snapshot:
    item = HELD.objects[FINISHER] | {"status": {"conditions": [{"type": condition, "status": "True"}]}}
    return snapshot.replaced(objects={**snapshot.objects, FINISHER: item})


def without_pods(*roles: str) -> Snapshot:
    return HELD.replaced(pods=[pod for pod in HELD.pods if pod["metadata"]["labels"]["tfgen/role"] not in roles])


@pytest.fixture
def follow(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the states that `tfgen wait` reads from snapshots. The last snapshot repeats. A look takes 2 seconds."""
    clock = SimpleNamespace(now=1000.0)
    fake = SimpleNamespace(
        monotonic=lambda: clock.now, sleep=lambda seconds: setattr(clock, "now", clock.now + seconds)
    )
    monkeypatch.setattr(clusters, "time", fake)

    def run(*snapshots: Snapshot, deadline: float | None = None) -> list[RunState]:
        def states() -> Iterator[RunState]:
            for snapshot in snapshots:
                yield state_of_run(RUN, snapshot, "ml")
            while True:
                yield state_of_run(RUN, snapshots[-1], "ml")

        looks = states()
        monkeypatch.setattr(clusters, "read_states", lambda *_, **__: (next(looks),))
        connections: Any = Clusters
        return list(clusters.follow_run(connections, RUN, 8, None if deadline is None else 1000 + deadline))

    return run


def test_a_run_is_looked_at_until_its_finisher_has_released_it(follow: Any) -> None:
    ended, released = follow(HELD, with_finisher(without_pods("ps", "worker"), "Complete"))
    assert (ended.unreleased, ended.is_stuck) == (("ps", "worker"), False)
    assert (released.unreleased, released.is_stuck) == ((), False)


def test_a_finisher_that_frees_no_node_is_stuck_after_a_minute(follow: Any) -> None:
    *states, last = follow(HELD)
    assert last.is_stuck
    assert not any(state.is_stuck for state in states)
    assert 30 <= len(states) <= 32


def test_each_freed_node_gives_a_finisher_another_minute(follow: Any) -> None:
    assert len(follow(*[HELD] * 20, without_pods("ps"))) > 50


@pytest.mark.parametrize(
    "objects",
    [
        with_finisher(HELD, "Failed"),
        HELD.replaced(objects={key: item for key, item in HELD.objects.items() if key != FINISHER}),
    ],
    ids=["failed", "deleted"],
)
def test_a_finisher_that_has_failed_or_is_gone_is_stuck_at_once(follow: Any, objects: Snapshot) -> None:
    (state,) = follow(objects)
    assert state.is_stuck


def test_a_finisher_that_left_tasks_on_purpose_is_not_stuck(follow: Any) -> None:
    (state,) = follow(with_finisher(HELD, "Complete"))
    assert (state.unreleased, state.is_stuck) == (("ps", "worker"), False)


def test_the_time_that_the_user_has_ends_the_looks_at_a_release(follow: Any) -> None:
    with pytest.raises(
        TfgenError, match=r"^mnist: Succeeded, but the finisher has not released ps and worker after 8 s$"
    ):
        follow(HELD, deadline=8)


def test_a_run_that_goes_on_is_named_after_the_time_that_the_user_has(follow: Any) -> None:
    running = HELD.replaced(objects={**HELD.objects, CHIEF: HELD.objects[CHIEF] | {"status": {"active": 1}}})
    with pytest.raises(TfgenError, match=r"^mnist: still Partial after 8 s$"):
        follow(running, deadline=8)


RUNNING = HELD.replaced(objects={**HELD.objects, CHIEF: HELD.objects[CHIEF] | {"status": {"active": 1}}})
WITHOUT_CHIEF = RUNNING.replaced(objects={key: item for key, item in RUNNING.objects.items() if key != CHIEF})


def test_a_run_without_its_chief_s_job_is_deleted_at_the_second_look(follow: Any) -> None:
    """Argo CD may replace an object: it deletes the object and creates a new one."""
    states = follow(RUNNING, WITHOUT_CHIEF, RUNNING, WITHOUT_CHIEF, WITHOUT_CHIEF)
    assert [state.is_deleted for state in states] == [False, False, False, False, True]
    assert states[-1].phase == "Partial"
    missing = "chief: Missing: the cluster has no Job mnist-chief"
    assert f"{as_line(states[-1])}".startswith("mnist: Partial, 6/7 ready, worker-3: Unschedulable")
    assert missing in as_line(states[-1])
    assert as_line(states[-1]).endswith(", the run was deleted")


def test_a_deleted_namespace_has_no_run(follow: Any) -> None:
    states = follow(Snapshot(), RUNNING, Snapshot())
    assert [(state.phase, state.is_deleted) for state in states] == [
        ("Absent", False),
        ("Partial", False),
        ("Absent", True),
    ]
    assert as_line(states[-1]) == "mnist: Absent, the run was deleted"
