"""Tests of work in other processes: the results, their order and the errors are the same as in one process."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.tools import ROOT
from tfgen import workers
from tfgen.errors import UsageError
from tfgen.workers import MANY, map_items


def squared(number: int) -> int:
    return number * number


def refused(number: int) -> int:
    if number in (7, 15):
        raise UsageError(f"{number} is refused")
    return number


def process(_: int) -> int:
    return os.getpid()


def slow(_: int) -> int:
    # A single write, because two writes could mix the lines of two workers.
    os.write(1, f"{os.getpid()}\n".encode())
    time.sleep(60)
    return 0


@pytest.mark.parametrize("many", [0, 1, MANY - 1, MANY, 5 * MANY])
def test_the_results_are_in_order(many: int) -> None:
    assert [*map_items(squared, range(many))] == [number * number for number in range(many)]


@pytest.mark.parametrize("many", [MANY - 1, 5 * MANY])
def test_the_first_error_is_raised(many: int) -> None:
    with pytest.raises(UsageError, match="7 is refused"):
        [*map_items(refused, range(many))]


def test_few_items_stay_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_processors", lambda: 2)
    assert set(map_items(process, range(MANY - 1))) == {os.getpid()}


def test_one_processor_does_it_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_processors", lambda: 1)
    assert set(map_items(process, range(5 * MANY))) == {os.getpid()}


def test_a_process_is_given_what_is_alike_as_far_as_each_has_its_shares() -> None:
    def sizes(alike: Callable[[int], object] | None) -> list[int]:
        return [len(batch) for batch in workers._batches(range(80), alike, 2)]

    assert sizes(lambda number: number // 8) == [8] * 10
    assert sizes(lambda number: number // 3) == [6] * 13 + [2]
    assert sizes(lambda _: "all") == [10] * 8
    assert sizes(lambda number: number) == sizes(None) == [4] * 20


def placed(number: int) -> tuple[int, int]:
    return number, os.getpid()


@pytest.mark.skipif(sys.platform != "linux", reason="there are workers on Linux alone")
def test_what_is_alike_comes_from_one_process_and_all_in_order() -> None:
    mapped = program("placed", alike="lambda number: number // 5")
    run = subprocess.run([sys.executable, "-c", mapped], cwd=ROOT, capture_output=True, text=True, check=True)
    numbers, processes = zip(*ast.literal_eval(run.stdout), strict=True)
    assert numbers == tuple(range(len(numbers)))
    assert {len({*processes[start : start + 5]}) for start in numbers[::5]} == {1}


def first_refused(number: int) -> int:
    if number == 0:
        raise UsageError("0 is refused")
    print(number, flush=True)
    time.sleep(1)
    return number


@pytest.mark.skipif(sys.platform != "linux", reason="there are workers on Linux alone")
def test_an_error_does_not_wait_for_what_the_processes_were_given() -> None:
    refused = program("first_refused", alike="lambda _: 'all'")
    run = subprocess.run([sys.executable, "-c", refused], cwd=ROOT, capture_output=True, text=True)
    assert "0 is refused" in run.stderr
    assert len(run.stdout.split()) <= 4  # at most two items per worker; the whole batches have ten items or more


def killed(number: int) -> int:
    if number == MANY:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


@pytest.mark.skipif(sys.platform != "linux", reason="there are workers on Linux alone")
def test_a_worker_that_is_killed_is_an_error_with_a_cure() -> None:
    # The process is separate, because tfgen starts no workers in a process with threads, such as the process of a test.
    run = subprocess.run([sys.executable, "-c", program("killed")], cwd=ROOT, capture_output=True, text=True)
    assert "TfgenError: the system killed a worker process" in run.stderr
    assert "run the command again" in run.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="there are workers on Linux alone")
def test_workers_end_with_a_parent_that_is_killed() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", program("slow")], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout
        numbers = [int(parent.stdout.readline()) for _ in range(2)]
        assert len({*numbers}) == 2
        parent.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 10
    while (left := [number for number in numbers if is_running(number)]) and time.monotonic() < deadline:
        time.sleep(0.05)
    for number in left:
        os.kill(number, signal.SIGKILL)
    assert not left


def program(function: str, alike: str = "None") -> str:
    """Return a program in which two workers call a function of this module and print the results."""
    return (
        f"from tests.ground.test_workers import {function}; from tfgen import workers; "
        f"workers._processors = lambda: 2; print([*workers.map_items({function}, range(2 * workers.MANY), {alike})])"
    )


def is_running(process_id: int) -> bool:
    """Test whether a process still runs and is not a zombie."""
    stat = Path(f"/proc/{process_id}/stat")
    return stat.exists() and stat.read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
