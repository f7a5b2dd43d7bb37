"""The files of a profile, and the comparison of the tasks."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.support.tools import ROOT
from tfgen.commands import profile
from tfgen.commands.profile import task_profiles, write_profile
from tfgen.errors import TfgenError
from tfgen.report.profile import as_table, rows

TIME = datetime(2026, 11, 26, 14, 10, 18)
TRACES = ROOT / "tests" / "live" / "traces"


def traces() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in TRACES.iterdir()}


def test_the_slowest_of_several_tasks_is_marked() -> None:
    lines = as_table(task_profiles(traces())).splitlines()
    assert lines[0].split() == ["TASK", "STEPS", "STEP", "ACTIVE"]
    assert [(line.split()[0], line.split()[-1]) for line in lines[1:]] == [("worker-0", "ms"), ("worker-1", "slowest")]


def test_a_single_task_is_not_the_slowest() -> None:
    (profile,) = task_profiles({"worker-1.xplane.pb": traces()["worker-1.xplane.pb"]})
    assert not profile.is_slowest


def test_tasks_are_in_the_order_of_their_indexes() -> None:
    files = {f"worker-{index}.xplane.pb": b"" for index in (10, 9)}
    assert [row["task"] for row in rows(task_profiles(files))] == ["worker-9", "worker-10"]
    assert as_table(task_profiles(files)).splitlines()[1].split() == ["worker-9", "0"]


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


@pytest.mark.parametrize("failed", [[1], [0, 1]])
def test_a_task_without_a_trace_is_a_failure(failed: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    def trace(_api: object, _namespace: str, pod: int, _seconds: int) -> dict[str, bytes]:
        if pod in failed:
            raise TfgenError(f"worker-{pod} does not run")
        return {f"worker-{pod}.xplane.pb": b""}

    monkeypatch.setattr(profile, "task_pod", lambda _api, _namespace, _run, _role, index: index)
    monkeypatch.setattr(profile, "trace_task", trace)
    nothing: Any = None
    request = profile.TraceRequest("worker", (0, 1), 5)
    if len(failed) == 2:
        with pytest.raises(TfgenError, match=r"^worker-0 does not run$"):
            profile.profile_run(nothing, "ml", nothing, request)
        return
    traces = profile.profile_run(nothing, "ml", nothing, request)
    assert traces == profile.Traces({"worker-0.xplane.pb": b""}, ("worker-1 does not run",))
