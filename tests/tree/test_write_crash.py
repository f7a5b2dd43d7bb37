"""Tests of a writer whose disk fails, or that is killed, at each single step, and of a killed writer process."""

from __future__ import annotations

import errno
import json
import math
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tfgen import disk_file
from tfgen.errors import TfgenError
from tfgen.tree import folder as output_folder
from tfgen.tree import ledger
from tfgen.tree.files import FileTree
from tfgen.tree.ledger import LEDGER_FOLDER
from tfgen.tree.plan import ConflictsError, WriteRequest
from tfgen.tree.staging import Rendering, Staging
from tfgen.tree.write import apply, plan_write

pytestmark = pytest.mark.long

STEPS = ("open", "write", "fchmod", "fsync", "replace", "unlink", "mkdir", "rmdir", "rmtree")
"""The calls that change the disk, or order its changes. A call of `open` counts only if the call creates a file."""


@pytest.fixture(autouse=True, scope="module")
def any_place() -> Iterator[None]:
    """Allow every path in every job. test_ledger.py tests the paths that a job may have."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ledger, "is_place_of", lambda _job, _path: True)
        yield


class KilledError(BaseException):
    """Error that simulates a kill. The writer has no handler for the error."""


class FailingOs:
    """Replacement of `os` for the writer. `fail` receives the number of each step, and raises an error or returns."""

    def __init__(self, fail: Callable[[int], None]) -> None:
        self.fail = fail
        self.trace: list[str] = []

    def __getattr__(self, name: str) -> Any:
        call = shutil.rmtree if name == "rmtree" else getattr(os, name)
        if name not in STEPS:
            return call

        def step(*args: Any, **kwargs: Any) -> Any:
            if name == "open" and not args[1] & os.O_CREAT:
                return call(*args, **kwargs)
            named = [str(arg) for arg in args[:2] if isinstance(arg, str)]
            self.trace.append(" ".join([name, *named]))
            try:
                self.fail(len(self.trace))
            except BaseException:
                if name == "write":
                    call(args[0], bytes(args[1])[: len(args[1]) // 2])
                raise
            # These tests cannot see the effect of a sync, and a sync takes nearly all of their time.
            return None if name == "fsync" else call(*args, **kwargs)

        return step


def dies_at(step: int) -> Callable[[int], None]:
    def fail(now: int) -> None:
        if now >= step:
            raise KilledError

    return fail


def fails_at(step: int, *, times: float = 1) -> Callable[[int], None]:
    def fail(now: int) -> None:
        if step <= now < step + times:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    return fail


def never(_: int) -> None:
    pass


def render(
    out: Path, tree: dict[str, str], fail: Callable[[int], None] = never, *, job: str = "mnist", force: bool = False
) -> list[str]:
    """Render with failures, and return the steps of the writer."""
    trace, error = render_or_error(out, tree, fail, job=job, force=force)
    if error:
        raise error
    return trace


def render_or_error(
    out: Path, tree: dict[str, str], fail: Callable[[int], None], *, job: str = "mnist", force: bool = False
) -> tuple[list[str], TfgenError | None]:
    failing = FailingOs(fail)
    with pytest.MonkeyPatch.context() as patch:
        plan = plan_write(WriteRequest(out, [Rendering(job, FileTree(tree), "0" * 64)], force=force))
        for module in (output_folder, disk_file):
            patch.setattr(module, "os", failing)
        patch.setattr(Staging, "__exit__", leave_if_killed)
        patch.setattr(shutil, "rmtree", failing.rmtree)
        try:
            apply(plan)
        except TfgenError as error:
            return failing.trace, error
    return failing.trace, None


def leave_if_killed(staging: Staging, error_type: type[BaseException] | None, *error: object) -> None:
    """Leave the staging folder of a killed process on disk. The system releases the lock on the folder."""
    if error_type is KilledError:
        if staging._folder:
            os.close(staging._lock)
        return
    leave(staging, error_type, *error)


leave = Staging.__exit__


def everything(out: Path) -> dict[str, str | None]:
    """Return the text of each file below `out`, with ledgers and temporary files, and None for each folder."""
    return {
        path.relative_to(out).as_posix(): None if path.is_dir() else path.read_bytes().decode()
        for path in out.rglob("*")
    }


def files(out: Path) -> dict[str, str]:
    return {
        path: text
        for path, text in everything(out).items()
        if text is not None and not path.startswith(LEDGER_FOLDER + "/")
    }


OLD = {"same": "1\n", "changed": "old\n", "gone/x/y": "old\n", "d/gone": "old\n", "d/changed": "old " * 99}
OWN = {"charts/mnist/Chart.yaml": "new\n", "charts/mnist/templates/x": "new " * 99}
"""Files in the job's own folder, which does not exist before the render."""
NEW = {"same": "1\n", "changed": "new\n", "made/x/y": "new\n", "d/made": "new\n", "d/changed": "new " * 99, **OWN}
THIRD = {"same": "3\n", "changed": "3\n", "third/x": "3\n", "d/gone": "3\n"}
MINE = {"d/mine": "mine\n", "made/mine": "mine\n"}


def start(out: Path) -> None:
    render(out, OLD)
    for path, text in MINE.items():
        (out / path).parent.mkdir(exist_ok=True)
        (out / path).write_text(text)


@pytest.mark.parametrize("after", [OLD, NEW, THIRD, {}], ids=["old", "new", "third", "none"])
def test_killed_at_any_step_the_next_run_mends_it(tmp_path: Path, after: dict[str, str]) -> None:
    for step in count(1):
        out = tmp_path / str(step)
        out.mkdir()
        start(out)
        try:
            render(out, NEW, dies_at(step))
        except KilledError:
            found = files(out)
            for path in OLD.keys() | NEW.keys():
                assert found.get(path) in (OLD.get(path), NEW.get(path)), (step, path)
            assert {path: found[path] for path in MINE} == MINE, step
            assert OWN.keys() & found.keys() in (set(), OWN.keys()), (step, "the folder is not whole")
            render(out, after)
            assert files(out) == after | MINE, step
            straight = tmp_path / "straight" / str(step)
            straight.mkdir(parents=True)
            start(straight)
            render(straight, after)
            # The comparison includes the ledger, the folders and temporary files.
            assert everything(out) == everything(straight), step
        else:
            assert files(out) == NEW | MINE
            assert step > 30, "the steps were not counted"
            return


@pytest.mark.parametrize("times", [1, 2, math.inf], ids=["once", "in the clean-up too", "from then on"])
def test_a_disk_that_fails_at_any_step_is_an_error_and_the_next_run_mends_it(tmp_path: Path, times: float) -> None:
    for step in count(1):
        out = tmp_path / str(step)
        out.mkdir()
        start(out)
        before = everything(out)
        trace, error = render_or_error(out, NEW, fails_at(step, times=times))
        if len(trace) < step:
            assert step > 30, "the steps were not counted"
            return
        if error:
            assert str(error).endswith(": No space left on device")
        if times == 1 and not any(is_replaced_file(taken) for taken in trace):
            assert error
            assert everything(out) == before, f"step {step} left something half-written"
        assert files(out).items() >= MINE.items()
        render(out, NEW)
        assert files(out) == NEW | MINE
        assert not [path for path in everything(out) if path.endswith(".tmp")]


@pytest.mark.parametrize("full_from", range(1, 7))
def test_a_full_disk_keeps_nothing_temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, full_from: int) -> None:
    """The disk refuses the staged files of the old ledgers too, but allows the removal of files."""
    start(tmp_path)
    mine = files(tmp_path)
    write, numbers = output_folder.write_temporary, count(1)

    def write_in_part(*args: Any, **named: Any) -> None:
        write(*args, **named)
        if next(numbers) >= full_from:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(output_folder, "write_temporary", write_in_part)
    with pytest.raises(TfgenError, match="No space left on device"):
        render(tmp_path, NEW)
    assert not [path for path in everything(tmp_path) if path.endswith(".tmp")]
    assert files(tmp_path) == mine


def test_a_first_render_that_fails_leaves_nothing(tmp_path: Path) -> None:
    trace, error = render_or_error(tmp_path, NEW, fails_at(12))
    assert error
    assert not any(is_replaced_file(step) for step in trace)
    assert everything(tmp_path) == {}


@pytest.mark.parametrize("tree", [{"a": "new\n", "b": "new\n"}, {}], ids=["replaced", "removed"])
def test_force_that_is_killed_takes_no_more_than_it_took(tmp_path: Path, tree: dict[str, str]) -> None:
    """A killed `--force` leaves the remaining files of the user in place until the next `--force`."""
    for step in count(1):
        out = tmp_path / str(step)
        out.mkdir()
        render(out, {"a": "old\n", "b": "old\n"})
        (out / "b").write_text("mine\n")
        try:
            render(out, tree, dies_at(step), force=True)
        except KilledError:
            if files(out).get("b") == "mine\n":
                with pytest.raises(ConflictsError, match="b: the file was edited by hand"):
                    render(out, tree)
                render(out, tree, force=True)
            else:
                render(out, tree)
            assert files(out) == tree
        else:
            assert step > 10, "the steps were not counted"
            return


def is_replaced_file(step: str) -> bool:
    return step.startswith("replace ") and not step.endswith(" mnist.json")


def test_each_step_is_on_the_medium_before_the_next(tmp_path: Path) -> None:
    render(tmp_path, {"changed": "old\n", "a/gone": "old\n"})
    file = ("open", "fchmod", "write")
    place_ledger = [
        "replace mnist.json mnist.json",
        "fsync",  # the output folder
        "fsync",  # .tfgen
    ]
    steps = render(
        tmp_path, {"changed": "new\n", "b/made": "new\n", "charts/mnist/x": "new\n", "charts/mnist/y": "new\n"}
    )
    assert [re.sub("^open .*", "open", step) for step in steps] == [
        # The staging folder.
        *("mkdir 0", *file),
        *("mkdir b", *file),
        *("mkdir charts", "mkdir mnist", *file, *file),
        *("mkdir final", *file),
        *("mkdir intents", *file),
        *("mkdir old", *file),
        *("fsync",) * 7,
        # The output folder.
        *place_ledger,  # the ledger with the intended files
        "mkdir b",
        "mkdir charts",
        "replace mnist mnist",  # the whole new folder
        "replace changed changed",
        "replace made made",
        "unlink gone",
        "rmdir a",
        "fsync",  # the output folder
        "fsync",  # b
        "fsync",  # charts
        "fsync",  # charts/mnist
        *place_ledger,  # the final ledger
    ]


# A killed writer process.

WRITER = """\
import sys
from pathlib import Path
from tfgen.tree.files import FileTree
from tfgen.tree.plan import WriteRequest
from tfgen.tree.staging import Rendering, Staging
from tfgen.tree.write import apply, plan_write

print("ready", flush=True)
for turn in range(1_000_000):
    text = "odd\\n" if turn % 2 else "even\\n"
    own = {f"charts/mnist/{text.strip()}/{n}": text for n in range(9)}
    files = own | {f"charts/mnist/both/{n}": text * 999 for n in range(9)}
    apply(plan_write(WriteRequest(Path(sys.argv[1]), [Rendering("mnist", FileTree(files), "0" * 64)])))
"""


def test_a_writer_that_is_really_killed_leaves_what_the_next_one_mends(tmp_path: Path) -> None:
    (tmp_path / "charts/mnist/both").mkdir(parents=True)
    (tmp_path / "charts/mnist/both/mine").write_text("mine\n")
    unfinished = 0
    delays = random.Random(0)
    for _ in range(12):
        with subprocess.Popen([sys.executable, "-c", WRITER, tmp_path], stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "ready\n"
            while not (tmp_path / ".tfgen/mnist.json").exists():
                assert writer.poll() is None, "the writer met a conflict"
                time.sleep(0.01)
            time.sleep(0.05 + delays.random() * 0.1)
            assert writer.poll() is None, "the writer met a conflict"
            writer.send_signal(signal.SIGKILL)
        unfinished += "unfinished" in (tmp_path / ".tfgen/mnist.json").read_text()
        found = files(tmp_path)
        assert found.pop("charts/mnist/both/mine") == "mine\n"
        allowed = {"odd\n", "even\n", "odd\n" * 999, "even\n" * 999}
        assert {text for path, text in found.items() if not path.endswith(".tmp")} <= allowed
    assert unfinished, "no kill met a writer at work"
    render(tmp_path, {"charts/mnist/both/1": "last\n"})
    assert files(tmp_path) == {"charts/mnist/both/1": "last\n", "charts/mnist/both/mine": "mine\n"}


# Any order of renders, kills, edits and deletions.

PATHS = ["a", "f/b", "f/c", "f/g/d", "h/e", "charts/any/i", "charts/any/j/k"]
JOBS = ["one", "two"]
trees = st.dictionaries(st.sampled_from(PATHS), st.sampled_from(["1\n", "2\n", "3\n" * 99]))


class UsersAndRenders(RuleBasedStateMachine):
    """A model of the writer of each file. A render without force changes no file of the user.

    Only files of the user and of other jobs stop a render.
    """

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.out = Path(self.folder.name)
        self.users: dict[str, str] = {}
        self.owned: dict[str, set[str]] = {job: set() for job in JOBS}
        self.edits = count()

    def teardown(self) -> None:
        self.folder.cleanup()

    @rule(path=st.sampled_from(PATHS))
    def user_writes(self, path: str) -> None:
        self.users[path] = f"user {next(self.edits)}\n"
        (self.out / path).parent.mkdir(parents=True, exist_ok=True)
        (self.out / path).write_text(self.users[path])

    @rule(path=st.sampled_from(PATHS))
    def user_deletes(self, path: str) -> None:
        self.users.pop(path, None)
        (self.out / path).unlink(missing_ok=True)

    @rule(job=st.sampled_from(JOBS), tree=trees, force=st.booleans())
    def render(self, job: str, tree: dict[str, str], force: bool) -> None:
        before = everything(self.out)
        (other,) = set(JOBS) - {job}
        stops = self.owned[other] & tree.keys()
        if not force:
            stops |= self.users.keys() & (tree.keys() | self.owned[job])
        met: set[str] = set()
        try:
            render(self.out, tree, job=job, force=force)
        except ConflictsError as error:
            met = {conflict.path for conflict in error.conflicts}
        assert met == stops
        if stops:
            assert everything(self.out) == before
            return
        for path in tree.keys() | self.owned[job]:
            self.users.pop(path, None)
        others = {path: before[path] for path in PATHS if path in before and path not in self.owned[job]}
        assert {path: text for path, text in files(self.out).items() if path in PATHS} == others | tree
        self.owned[job] = set(tree)

    @rule(job=st.sampled_from(JOBS), tree=trees, step=st.integers(1, 60))
    def render_is_killed(self, job: str, tree: dict[str, str], step: int) -> None:
        try:
            render(self.out, tree, dies_at(step), job=job)
        except ConflictsError:
            return
        except KilledError:
            file = self.out / LEDGER_FOLDER / f"{job}.json"
            written = json.loads(file.read_text()) if file.exists() else {"files": {}}
            after = {*written["files"], *written.get("unfinished", {})}
            assert after in (self.owned[job], self.owned[job] | tree.keys(), tree.keys())
            self.owned[job] = after
        else:
            self.owned[job] = set(tree)

    @invariant()
    def nothing_of_the_users_is_lost(self) -> None:
        assert {path: text for path, text in files(self.out).items() if path in self.users} == self.users


UsersAndRenders.TestCase.settings = settings(max_examples=100, stateful_step_count=20, deadline=None)
TestUsersAndRenders = UsersAndRenders.TestCase
