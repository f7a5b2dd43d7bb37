"""The files of a profile, and the tasks without a trace."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tfgen.commands import profile
from tfgen.commands.profile import write_profile
from tfgen.errors import TfgenError
from tfgen.live.connection import Access

TIME = datetime(2026, 11, 26, 14, 10, 18)


def test_the_files_are_in_the_layout_of_tensorboard(tmp_path: Path) -> None:
    folder = write_profile(tmp_path / "trace", {"worker-1.xplane.pb": b"x"}, TIME)
    assert folder == tmp_path / "trace/plugins/profile/2026_11_26_14_10_18"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [folder / "worker-1.xplane.pb"]
    with pytest.raises(TfgenError, match="the folder exists"):
        write_profile(tmp_path / "trace", {"worker-2.xplane.pb": b"x"}, TIME)


def test_a_failed_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_path: Path, _data: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", fail)
    with pytest.raises(TfgenError, match="No space left on device"):
        write_profile(tmp_path, {"worker-1.xplane.pb": b"x"}, TIME)
    assert [*(tmp_path / "plugins/profile").iterdir()] == []


NOTHING: Any = None
REQUEST = ("worker", (0, 1), 5)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """Return the set of the tasks that have no pod. A trace of worker-1 fails."""
    missing: set[int] = set()

    def task_pod(_pods: object, _namespace: str, _run: object, role: str, index: int) -> str:
        if index in missing:
            raise TfgenError(f"{role}-{index} does not run")
        return f"{role}-{index}"

    def trace_tasks(_access: Access, pods: list[str], _seconds: int) -> list[dict[str, bytes] | TfgenError]:
        return [TfgenError(f"{pod}: lost") if pod == "worker-1" else {f"{pod}.xplane.pb": b""} for pod in pods]

    monkeypatch.setattr(profile, "run_pods", lambda *_: [])
    monkeypatch.setattr(profile, "task_pod", task_pod)
    monkeypatch.setattr(profile, "trace_tasks", trace_tasks)
    return missing


@pytest.mark.parametrize("missing", [[], [1]])
def test_a_task_without_a_trace_is_a_failure(missing: list[int], cluster: set[int]) -> None:
    cluster |= {*missing}
    traces = profile.profile_run(NOTHING, Access(namespace="ml"), NOTHING, *REQUEST)
    failure = "worker-1 does not run" if missing else "worker-1: lost"
    assert traces == ({"worker-0.xplane.pb": b""}, [failure])


def test_no_trace_at_all_is_an_error(cluster: set[int]) -> None:
    cluster.add(0)
    with pytest.raises(TfgenError, match=r"^worker-0 does not run$"):
        profile.profile_run(NOTHING, Access(namespace="ml"), NOTHING, *REQUEST)
