"""Tests of planning and writing on a real disk: the owner of a file, conflicts, and messages."""

from __future__ import annotations

import json
import os
import shutil
import socket
import threading
from collections.abc import Mapping, Set
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tfgen import __version__, disk_file
from tfgen.errors import TfgenError
from tfgen.tree import folder as output_folder
from tfgen.tree import ledger
from tfgen.tree.files import FileTree, FileTreeError, digest_of
from tfgen.tree.folder import OutputFolder
from tfgen.tree.ledger import LEDGER_FOLDER, unlisted_files
from tfgen.tree.plan import ConflictsError, WritePlan, WriteRequest
from tfgen.tree.staging import Rendering
from tfgen.tree.write import apply, digest_of_ledger, find_unchanged, plan_write, read_ledgers

INPUT = "0" * 64


@pytest.fixture(autouse=True)
def any_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow every path in every job. test_ledger.py tests the paths that a job may have."""
    monkeypatch.setattr(ledger, "is_place_of", lambda _job, _path: True)


def job(name: str, /, files: dict[str, str]) -> Rendering:
    return Rendering(name, FileTree(files), INPUT)


def render(out: Path, *jobs: Rendering, force: bool = False) -> WritePlan:
    return apply(plan_write(WriteRequest(out, jobs, force=force)))


def files(out: Path) -> dict[str, str]:
    """Return the text of every file below `out`, except ledgers."""
    return {
        path.relative_to(out).as_posix(): path.read_bytes().decode()
        for path in sorted(out.rglob("*"))
        if path.is_file() and LEDGER_FOLDER not in path.parts
    }


def conflicts(out: Path, *jobs: Rendering, force: bool = False) -> list[str]:
    """Return the conflicts of a render, and check that the render leaves the disk unchanged."""
    before = {path: path.lstat().st_mtime_ns for path in out.rglob("*")}
    plan = plan_write(WriteRequest(out, jobs, force=force))
    with pytest.raises(ConflictsError) as error:
        apply(plan)
    assert {path: path.lstat().st_mtime_ns for path in out.rglob("*")} == before
    told = [str(conflict) for conflict in plan.conflicts]
    assert str(error.value).splitlines() == ["nothing was written:", *told]
    return told


def test_a_job_is_unchanged_until_its_ledger_or_one_of_its_files_is_another(tmp_path: Path) -> None:
    first, second = job("a", {"charts/a/Chart.yaml": "a\n"}), job("b", {"charts/b/Chart.yaml": "b\n"})
    ledgers = {(item.job, digest_of_ledger(tmp_path, item)) for item in (first, second)}
    assert find_unchanged(tmp_path, ledgers) == set()
    render(tmp_path, first, second)
    assert find_unchanged(tmp_path, ledgers) == ledgers
    assert find_unchanged(tmp_path, {("a", INPUT)}) == set()
    (tmp_path / "charts/a/Chart.yaml").write_text("c\n")
    assert {name for name, _ in find_unchanged(tmp_path, ledgers)} == {"b"}


# Renders without conflicts.


def test_a_first_render_makes_the_files_and_the_ledger(tmp_path: Path) -> None:
    out = tmp_path / "not" / "there"
    plan = render(out, job("mnist", {"charts/mnist/Chart.yaml": "a\n", "overlays/é.yaml": "é\n"}))
    assert plan.created == ["charts/mnist/Chart.yaml", "overlays/é.yaml"]
    assert files(out) == {"charts/mnist/Chart.yaml": "a\n", "overlays/é.yaml": "é\n"}
    assert json.loads((out / ".tfgen/mnist.json").read_text()) == {
        "files": {
            # printf 'a\n' | sha256sum, printf 'é\n' | sha256sum
            "charts/mnist/Chart.yaml": "87428fc522803d31065e7bce3cf03fe475096631e5e07bbd7a0fde60c4cf25c7",
            "overlays/é.yaml": "edd3a863872a04239eb29ad4bc12fc892b3d4ae57cc7e786a3697816f8e141c2",
        },
        "input": INPUT,
        "tool": __version__,
        "version": 1,
    }
    assert [path.name for path in (out / ".tfgen").iterdir()] == ["mnist.json"]  # no lock file and no temporary file


def test_a_second_render_of_the_same_touches_nothing(tmp_path: Path) -> None:
    mnist = job("mnist", {"a/b": "1\n", "a/c": "2\n"})
    render(tmp_path, mnist)
    before = {path: path.stat().st_ctime_ns for path in tmp_path.rglob("*")}
    plan = render(tmp_path, mnist)
    assert plan.is_done
    assert tuple(plan.unchanged()) == ("a/b", "a/c")
    assert {path: path.stat().st_ctime_ns for path in tmp_path.rglob("*")} == before


def test_a_render_changes_creates_and_removes_and_leaves_the_rest(tmp_path: Path) -> None:
    render(tmp_path, job("mnist", {"same": "1\n", "old/x/gone": "1\n", "old/stays": "1\n", "edit": "1\n"}))
    (tmp_path / "mine.txt").write_text("mine\n")
    plan = render(tmp_path, job("mnist", {"same": "1\n", "old/stays": "1\n", "edit": "2\n", "new/y": "3\n"}))
    assert (plan.created, plan.changed, tuple(plan.unchanged()), plan.removed) == (
        ["new/y"],
        ["edit"],
        ("old/stays", "same"),
        ["old/x/gone"],
    )
    assert files(tmp_path) == {
        "edit": "2\n",
        "mine.txt": "mine\n",
        "new/y": "3\n",
        "old/stays": "1\n",
        "same": "1\n",
    }
    assert not (tmp_path / "old/x").exists()


def test_a_folder_with_anything_of_the_users_stays(tmp_path: Path) -> None:
    render(tmp_path, job("mnist", {"a/b/c": "1\n"}))
    (tmp_path / "a/.gitkeep").touch()
    render(tmp_path, job("mnist", {"z": "1\n"}))
    assert files(tmp_path) == {"a/.gitkeep": "", "z": "1\n"}
    assert not (tmp_path / "a/b").exists()


def test_an_empty_tree_takes_the_job_away(tmp_path: Path) -> None:
    render(tmp_path, job("mnist", {"a/b": "1\n"}), job("other", {"a/c": "1\n"}))
    render(tmp_path, job("mnist", {}))
    assert files(tmp_path) == {"a/c": "1\n"}
    assert list(read_ledgers(tmp_path)) == ["other"]


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o277])
def test_the_mode_is_the_same_under_each_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        render(tmp_path, job("mnist", {"b": "1\n"}))
    finally:
        os.umask(before)
    assert [(tmp_path / name).stat().st_mode & 0o7777 for name in ("b", ".tfgen/mnist.json")] == [0o644] * 2


def test_each_pass_opens_each_folder_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def noted(name: str, *, within: int | None = None) -> int:
        descriptor = disk_file.open_folder(name, within=within)
        opened.append(name)
        return descriptor

    monkeypatch.setattr(output_folder, "open_folder", noted)
    render(tmp_path, job("mnist", {f"a/b/{folder}/{name}": "1\n" for folder in "cd" for name in "xyz"}))
    passes = ("staged", "staged files synced", "prepared", "renamed from", "renamed to", "synced")
    assert {name: opened.count(name) for name in "abcd"} == dict.fromkeys("abcd", len(passes))
    descriptors = len([*Path("/proc/self/fd").iterdir()])
    render(tmp_path, job("mnist", {"a/b/c/x": "2\n"}))
    assert len([*Path("/proc/self/fd").iterdir()]) == descriptors


# Files of the user.


def test_a_file_of_the_ledger_that_was_deleted_is_made_again(tmp_path: Path) -> None:
    mnist = job("mnist", {"a/b": "1\n"})
    render(tmp_path, mnist)
    (tmp_path / "a/b").unlink()
    (tmp_path / "a").rmdir()
    assert render(tmp_path, mnist).created == ["a/b"]


def test_a_foreign_file_with_the_right_content_is_taken_over(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1\n")
    assert tuple(render(tmp_path, job("mnist", {"a": "1\n"})).unchanged()) == ("a",)
    assert render(tmp_path, job("mnist", {"a": "2\n"})).changed == ["a"]


def test_files_without_their_ledger_are_taken_over(tmp_path: Path) -> None:
    mnist = job("mnist", {"a": "1\n", "b": "1\n"})
    render(tmp_path, mnist)
    (tmp_path / ".tfgen/mnist.json").unlink()
    render(tmp_path, mnist)
    assert read_ledgers(tmp_path)["mnist"].files == {"a": digest_of("1\n"), "b": digest_of("1\n")}


def test_all_that_is_the_users_stops_all_jobs_and_says_what_would_be_lost(tmp_path: Path) -> None:
    render(tmp_path, job("mnist", {"edited": "1\n2\n3\n", "stale": "1\n", "cut": "1\n2\n"}))
    (tmp_path / "edited").write_text("1\n  mine: 5\n3\n3\nand this\n")
    (tmp_path / "stale").write_text("1\nmine\n")
    (tmp_path / "cut").write_text("1\n")
    (tmp_path / "foreign").write_bytes(b"\xff\xfe\n")
    jobs = (
        job("mnist", {"edited": "1\n2\n3\n4\n", "cut": "1\n2\n", "foreign": "1\n"}),
        job("other", {"fine": "1\n"}),
    )
    assert conflicts(tmp_path, *jobs) == [
        "cut: the file was edited by hand; --force replaces the file, and no line is lost, "
        "but lines that were deleted or moved come back",
        "edited: the file was edited by hand; --force replaces the file, and line 2 'mine: 5' and 2 more lines are "
        "lost",
        "foreign: tfgen did not write the file; --force replaces the file, and line 1 '\ufffd\ufffd' is lost",
        "stale: the file was edited by hand, and the job no longer renders the file; --force removes the file, "
        "and line 1 '1' and 1 more line are lost",
    ]
    plan = render(tmp_path, *jobs, force=True)
    assert [conflict.describe_past() for conflict in plan.lost] == [
        "cut: the file was edited by hand; replaced, and no line was lost, "
        "but lines that were deleted or moved came back",
        "edited: the file was edited by hand; replaced, and line 2 'mine: 5' and 2 more lines were lost",
        "foreign: tfgen did not write the file; replaced, and line 1 '\ufffd\ufffd' was lost",
        "stale: the file was edited by hand, and the job no longer renders the file; removed, and line 1 '1' and 1 "
        "more line were lost",
    ]
    assert files(tmp_path) == {"cut": "1\n2\n", "edited": "1\n2\n3\n4\n", "fine": "1\n", "foreign": "1\n"}


def test_an_edit_that_is_what_is_rendered_now_is_no_conflict(tmp_path: Path) -> None:
    render(tmp_path, job("mnist", {"a": "1\n"}))
    (tmp_path / "a").write_text("2\n")
    assert tuple(render(tmp_path, job("mnist", {"a": "2\n"})).unchanged()) == ("a",)


def test_an_edit_between_plan_and_apply_is_not_lost(tmp_path: Path) -> None:
    render(tmp_path, job("mnist", {"a": "1\n", "b": "1\n", "c": "1\n"}))
    plan = plan_write(WriteRequest(tmp_path, [job("mnist", {"a": "2\n", "d": "2\n"})]))
    for name in "bd":
        (tmp_path / name).write_text("mine\n")
    with pytest.raises(TfgenError, match="d: another program changed the file while tfgen ran"):
        apply(plan)
    assert files(tmp_path) == {"a": "2\n", "b": "mine\n", "c": "1\n", "d": "mine\n"}
    assert [path.split(":")[0] for path in conflicts(tmp_path, job("mnist", {"a": "2\n", "d": "2\n"}))] == [
        "b",
        "d",
    ]


def test_a_folder_of_the_jobs_own_that_is_lost_between_plan_and_apply_is_not_made_of_what_changes_alone(
    tmp_path: Path,
) -> None:
    render(tmp_path, job("mnist", {"charts/mnist/a": "1\n", "charts/mnist/b": "1\n"}))
    plan = plan_write(WriteRequest(tmp_path, [job("mnist", {"charts/mnist/a": "2\n", "charts/mnist/b": "1\n"})]))
    shutil.rmtree(tmp_path / "charts")
    with pytest.raises(TfgenError, match="charts/mnist/a: another program changed the file while tfgen ran"):
        apply(plan)
    assert files(tmp_path) == {}
    render(tmp_path, job("mnist", {"charts/mnist/a": "2\n", "charts/mnist/b": "1\n"}))
    assert files(tmp_path) == {"charts/mnist/a": "2\n", "charts/mnist/b": "1\n"}


@pytest.mark.parametrize("is_link", [False, True])
def test_what_is_put_in_the_place_of_a_staged_folder_is_left_as_it_is(
    tmp_path: Path, outside: Path, monkeypatch: pytest.MonkeyPatch, is_link: bool
) -> None:
    own, replace = tmp_path / "charts/mnist", OutputFolder.replace

    def replaced(folder: OutputFolder, staged: str, digests: Mapping[str, str | None], new: Set[str]) -> None:
        own.symlink_to(outside) if is_link else (own.mkdir(), (own / "mine").write_text("mine\n"))
        replace(folder, staged, digests, new)

    plan = plan_write(WriteRequest(tmp_path, [job("mnist", {"charts/mnist/a": "1\n", "charts/mnist/b/c": "1\n"})]))
    monkeypatch.setattr(OutputFolder, "replace", replaced)
    with pytest.raises(
        TfgenError,
        match=r"^charts/mnist: another program created the folder while tfgen ran; tfgen kept the folder; run the ",
    ):
        apply(plan)
    assert [*own.parent.iterdir()] == [own]
    assert files(outside) == {"b": "precious\n"}
    assert files(own) == ({"b": "precious\n"} if is_link else {"mine": "mine\n"})


# Files of another job.


def test_a_file_of_another_job_is_not_taken_even_by_force(tmp_path: Path) -> None:
    render(tmp_path, job("mnist", {"a": "1\n"}))
    for other in (job("other", {"a": "1\n"}), job("other", {"A": "2\n"})):
        said = f"{next(iter(other.tree.files))}: the file belongs to the job mnist (.tfgen/mnist.json)"
        assert conflicts(tmp_path, other) == [said]
        assert conflicts(tmp_path, other, force=True) == [said]
        # The conflict remains if mnist removes the file in the same run, because the order of the jobs must not matter.
        assert conflicts(tmp_path, job("mnist", {}), other, force=True) == [said]


def test_a_file_in_two_ledgers_is_not_removed_by_one_of_them(tmp_path: Path) -> None:
    render(tmp_path, job("mnist", {"a": "1\n", "b": "1\n"}))
    text = (tmp_path / ".tfgen/mnist.json").read_text()
    (tmp_path / ".tfgen/copy.json").write_text(text)
    render(tmp_path, job("copy", {}))
    assert files(tmp_path) == {"a": "1\n", "b": "1\n"}
    assert list(read_ledgers(tmp_path)) == ["mnist"]


EMPTY_FILE = "overlays/flux/eu/.gitkeep"


@pytest.mark.parametrize("of_earlier_tfgen", [False, True])
def test_the_folder_of_a_tool_stays_without_its_last_job(tmp_path: Path, of_earlier_tfgen: bool) -> None:
    """An earlier tfgen wrote no empty file. Both jobs are removed in one write."""

    def delivered(name: str) -> Rendering:
        empty = {} if of_earlier_tfgen else {EMPTY_FILE: ""}
        tree = FileTree({f"overlays/flux/eu/{name}-prod.yaml": "1\n", **empty})
        return Rendering(name, tree, INPUT, shared=frozenset({EMPTY_FILE}))

    render(tmp_path, delivered("mnist"), delivered("other"))
    plan = render(tmp_path, job("mnist", {}), job("other", {}))
    assert plan.created == ([EMPTY_FILE] if of_earlier_tfgen else [])
    assert files(tmp_path) == {EMPTY_FILE: ""}
    assert list(read_ledgers(tmp_path)) == []
    assert unlisted_files(files(tmp_path), read_ledgers(tmp_path)) == []
    render(tmp_path, delivered("later"))
    assert files(tmp_path) == {EMPTY_FILE: "", "overlays/flux/eu/later-prod.yaml": "1\n"}


def test_two_jobs_of_one_run_cannot_have_one_path_or_one_name(tmp_path: Path) -> None:
    with pytest.raises(FileTreeError, match="a: written by both job x and job y"):
        plan_write(WriteRequest(tmp_path, [job("x", {"a": "1"}), job("y", {"a": "2"})]))
    with pytest.raises(TfgenError, match="'X' and 'x' are two jobs with the same ledger"):
        plan_write(WriteRequest(tmp_path, [job("x", {"a": "1"}), job("X", {"b": "1"})]))
    with pytest.raises(TfgenError, match="'x' and 'x' are two jobs with the same ledger"):
        plan_write(WriteRequest(tmp_path, [job("x", {"a": "1"}), job("x", {"b": "1"})]))


@pytest.mark.parametrize("name", ["", "..", "../x", "a/b", ".hidden", "a\0"])
def test_a_name_that_would_put_its_ledger_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(TfgenError, match="is not a valid name of a job"):
        plan_write(WriteRequest(tmp_path, [job(name, {})]))


def test_all_broken_ledgers_are_told_at_once(tmp_path: Path) -> None:
    render(tmp_path, job("mnist", {"a": "1\n"}))
    for name in ("x", "y"):
        (tmp_path / f".tfgen/{name}.json").write_text("<<<<<<< HEAD\n")
    with pytest.raises(TfgenError, match=r"(?s)\.tfgen/x\.json: not JSON.*\.tfgen/y\.json: not JSON"):
        plan_write(WriteRequest(tmp_path, [job("mnist", {"a": "1\n"})]))


# Paths that are not free.


@pytest.fixture
def outside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with one file, which no render may reach."""
    folder = tmp_path_factory.mktemp("outside")
    (folder / "b").write_text("precious\n")
    return folder


def test_a_link_in_the_way_is_an_error_and_is_not_followed(tmp_path: Path, outside: Path) -> None:
    (tmp_path / "charts").symlink_to(outside)
    (tmp_path / "file").symlink_to(outside / "b")
    (tmp_path / "dangling").symlink_to(outside / "c")
    mnist = job("mnist", {"charts/b": "1\n", "charts/x/y": "1\n", "file": "1\n", "dangling": "1\n"})
    expected = [
        "charts/b: charts is a symbolic link, where tfgen needs a folder",
        "charts/x/y: charts is a symbolic link, where tfgen needs a folder",
        "dangling: dangling is a symbolic link, where tfgen needs a file",
        "file: file is a symbolic link, where tfgen needs a file",
    ]
    assert conflicts(tmp_path, mnist) == expected
    assert conflicts(tmp_path, mnist, force=True) == expected
    assert files(outside) == {"b": "precious\n"}


def test_a_link_where_a_stale_file_was_is_not_followed(tmp_path: Path, outside: Path) -> None:
    render(tmp_path, job("mnist", {"charts/b": "precious\n"}))
    (tmp_path / "charts/b").unlink()
    (tmp_path / "charts").rmdir()
    (tmp_path / "charts").symlink_to(outside)
    render(tmp_path, job("mnist", {"a": "1\n"}), force=True)
    assert files(outside) == {"b": "precious\n"}
    assert (tmp_path / "charts").is_symlink()


def test_a_link_put_there_between_plan_and_apply_is_not_followed(tmp_path: Path, outside: Path) -> None:
    (tmp_path / "charts").mkdir()
    plan = plan_write(WriteRequest(tmp_path, [job("mnist", {"charts/b": "1\n"})]))
    (tmp_path / "charts").rmdir()
    (tmp_path / "charts").symlink_to(outside)
    with pytest.raises(TfgenError, match="charts is a symbolic link"):
        apply(plan)
    assert files(outside) == {"b": "precious\n"}


def test_the_output_folder_itself_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    render(tmp_path / "link", job("mnist", {"a": "1\n"}))
    assert files(tmp_path / "real") == {"a": "1\n"}


def test_the_ledgers_folder_may_not_be_a_link(tmp_path: Path, outside: Path) -> None:
    (tmp_path / ".tfgen").symlink_to(outside)
    with pytest.raises(TfgenError, match=r"\.tfgen is a symbolic link"):
        plan_write(WriteRequest(tmp_path, [job("mnist", {"a": "1\n"})]))


def test_a_thing_of_the_wrong_kind_in_the_way_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the path of a socket has at most 107 bytes
    (tmp_path / "file").write_text("mine\n")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        mnist = job("mnist", {"file/x": "1\n", "folder": "1\n", "pipe": "1\n", "socket": "1\n"})
        expected = [
            "file/x: file is a file, where tfgen needs a folder",
            "folder: folder is a folder, where tfgen needs a file",
            "pipe: pipe is a device, pipe or socket, where tfgen needs a file",
            "socket: socket is a device, pipe or socket, where tfgen needs a file",
        ]
        assert conflicts(tmp_path, mnist) == expected
        assert conflicts(tmp_path, mnist, force=True) == expected


def test_an_output_folder_that_is_a_file_or_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine\n")
    with pytest.raises(TfgenError, match="file: Not a directory"):
        plan_write(WriteRequest(tmp_path / "file", [job("mnist", {"a": "1\n"})]))
    with pytest.raises(TfgenError, match="file/out: Not a directory"):
        plan_write(WriteRequest(tmp_path / "file" / "out", [job("mnist", {"a": "1\n"})]))


# Several writers at once.


def test_a_folder_that_another_tfgen_writes_to_is_waited_for_in_vain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output_folder, "LOCK_WAIT_S", 0.1)
    mnist = job("mnist", {"a": "1\n"})
    plan = plan_write(WriteRequest(tmp_path, [mnist]))
    with OutputFolder(tmp_path) as folder, folder.locked():
        for blocked in (lambda: plan_write(WriteRequest(tmp_path, [mnist])), lambda: apply(plan)):
            with pytest.raises(TfgenError, match=r"another tfgen process has used this folder for 0\.1 s"):
                blocked()
    assert files(apply(plan).out) == {"a": "1\n"}


def test_a_plan_that_another_tfgen_overtook_is_made_anew(tmp_path: Path) -> None:
    first, second = (plan_write(WriteRequest(tmp_path, [job("mnist", {"a": text})])) for text in ("1\n", "2\n"))
    taken = plan_write(WriteRequest(tmp_path, [job("other", {"a": "3\n"})]))
    assert apply(first).created == ["a"]
    assert apply(second).changed == ["a"]
    with pytest.raises(ConflictsError, match="a: the file belongs to the job mnist"):
        apply(taken)
    assert files(tmp_path) == {"a": "2\n"}


def test_writers_at_once_leave_a_whole_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The lock has no queue: on a slow disk, a writer can wait for the others for a long time.
    monkeypatch.setattr(output_folder, "LOCK_WAIT_S", 600.0)
    start = threading.Barrier(6)
    render(tmp_path, job("shared", {"shared/x": "first\n"}))

    def work(number: int) -> None:
        start.wait()
        for turn in range(10):
            own = job(f"job{number}", {f"own/{number}/{name}": f"{turn}\n" for name in "abc"})
            shared = job("shared", {f"shared/{name}": f"{number} {turn}\n" for name in "xyz"[: 1 + turn % 3]})
            render(tmp_path, own, shared)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, range(6)))
    on_disk = files(tmp_path)
    assert {path: text for path, text in on_disk.items() if path.startswith("own/")} == {
        f"own/{number}/{name}": "9\n" for number in range(6) for name in "abc"
    }
    assert len({text for path, text in on_disk.items() if path.startswith("shared/")}) == 1
    assert {path for ledger in read_ledgers(tmp_path).values() for path in ledger.files} == on_disk.keys()


# Many files: tfgen syncs the whole disk instead of each file.


@pytest.fixture
def batches_are_large(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    syncs: list[None] = []
    monkeypatch.setattr(output_folder, "SYNC_EACH_UP_TO", 0)
    monkeypatch.setattr(os, "sync", lambda: syncs.append(None))
    monkeypatch.setattr(os, "fsync", lambda _: pytest.fail("synced one by one"))
    return syncs


def test_a_large_batch_is_synced_at_once(tmp_path: Path, batches_are_large: list[None]) -> None:
    render(tmp_path, job("mnist", {f"a/{number}": "1\n" for number in range(5)}))
    assert len(files(tmp_path)) == 5
    assert len(batches_are_large) == 4  # all staged, intents renamed, files renamed, ledgers renamed


@pytest.mark.parametrize(
    ("source", "has_job", "is_refused"),
    [("jobs/copy.yaml", True, True), ("jobs/copy.yaml", False, False), ("jobs/mnist.yaml", True, False)],
    ids=["copy", "moved file", "same file"],
)
def test_the_ledger_of_a_job_file_that_still_has_the_job_is_not_taken_over(
    tmp_path: Path, source: str, has_job: bool, is_refused: bool
) -> None:
    asked: list[tuple[str, str]] = []

    def still_has_job(job: str, file: str) -> bool:
        asked.append((job, file))
        return has_job

    render(tmp_path, job("mnist", {"a": "1\n"}).replaced(source="jobs/mnist.yaml"))
    plan = plan_write(
        WriteRequest(tmp_path, [job("mnist", {"a": "1\n"}).replaced(source=source)], has_job=still_has_job, force=True)
    )
    assert [conflict.path for conflict in plan.conflicts] == ([".tfgen/mnist.json"] if is_refused else [])
    assert asked == ([] if source == "jobs/mnist.yaml" else [("mnist", "jobs/mnist.yaml")])
