"""Tests of the staging folder: all processes read the same texts, and nothing remains."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from tfgen.disk_file import temporary_name
from tfgen.errors import TfgenError
from tfgen.tree import ledger as ledger_module
from tfgen.tree.files import FileTree, digest_of
from tfgen.tree.folder import OutputFolder
from tfgen.tree.ledger import LEDGER_FOLDER
from tfgen.tree.plan import WriteRequest
from tfgen.tree.staging import Rendering, Staged, Staging, unstaged
from tfgen.tree.write import apply, plan_write

FILES = {"charts/mnist/b": "2\n", "charts/mnist/a": "é\n"}
MNIST = Rendering("mnist", FileTree(FILES), "0" * 64)


@pytest.fixture(autouse=True)
def temporary(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder for temporary files."""
    folder = tmp_path_factory.mktemp("temporary")
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


def staged_files(folder: Path) -> set[str]:
    """Return the names of the staged rendered files below a folder."""
    return {path.name for path in folder.rglob("*") if path.is_file() and path.suffix != ".pickle"}


@pytest.mark.parametrize("is_inside", [False, True])
def test_a_staged_rendering_has_the_texts_of_the_rendering(tmp_path: Path, is_inside: bool) -> None:
    with Staging(tmp_path, is_inside=is_inside) as staging:
        staged = staging.add(MNIST).read()
        assert dict(staged.tree.files) == FILES
        assert [*staged.tree.files] == sorted(FILES)
        assert "c" not in staged.tree.files
        assert staged.ledger() == MNIST.ledger()
        changed = staged.tree.with_text("charts/mnist/a", "other\n")
        assert changed.files["charts/mnist/a"] == "other\n"
        assert changed.files["charts/mnist/b"] == "2\n"
        assert changed.digests == {"charts/mnist/a": digest_of("other\n"), "charts/mnist/b": digest_of("2\n")}
    assert [*tmp_path.iterdir()] == []


def test_only_a_file_that_differs_from_the_disk_is_staged(tmp_path: Path, temporary: Path) -> None:
    (tmp_path / "charts/mnist").mkdir(parents=True)
    (tmp_path / "charts/mnist/b").write_text("2\n")
    with Staging(tmp_path, is_inside=False) as staging:
        staged = staging.add(MNIST)
        assert staged_files(temporary) == {"a"}
        assert dict(staged.read().tree.files) == FILES
        (tmp_path / "charts/mnist/b").write_text("mine\n")
        with pytest.raises(TfgenError, match="charts/mnist/b: another program changed the file while tfgen ran"):
            dict(staged.read().tree.files)


def test_a_folder_elsewhere_leaves_the_output_folder_unchanged(tmp_path: Path, temporary: Path) -> None:
    before = tmp_path.stat().st_mtime_ns
    with Staging(tmp_path, is_inside=False) as staging:
        staging.add(MNIST)
        assert staged_files(temporary) == {"a", "b"}
        assert tmp_path.stat().st_mtime_ns == before
    assert tmp_path.stat().st_mtime_ns == before
    assert [*temporary.iterdir()] == []


def test_without_a_value_there_is_no_folder(tmp_path: Path, temporary: Path) -> None:
    with Staging(tmp_path / "out", is_inside=True):
        assert [*tmp_path.iterdir()] == [*temporary.iterdir()] == []


def test_values_of_other_processes_can_be_read(tmp_path: Path) -> None:
    with Staging(tmp_path, is_inside=True) as staging:
        staging.begin()
        reader, writer = os.pipe()
        if os.fork() == 0:
            os.write(writer, staging.store("value").file.encode())
            os._exit(0)
        os.wait()
        staged: Staged[str] = Staged(os.read(reader, 1000).decode())
        assert [*map(unstaged, [staged, "other"])] == ["value", "other"]


def test_a_write_moves_the_staged_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_module, "is_place_of", lambda _job, _path: True)
    with Staging(tmp_path, is_inside=True) as staging:
        renderings = [staging.add(MNIST)]
        (inode,) = (path.stat().st_ino for path in (tmp_path / staging.place).rglob("b"))
        plan = apply(plan_write(WriteRequest(tmp_path, renderings, staging=staging)))
        assert (tmp_path / "charts/mnist/b").stat().st_ino == inode
        (job,) = plan.jobs
        assert isinstance(job.stored, Staged)
        assert job.plan.rendering.tree.files["charts/mnist/b"] == "2\n"
    assert {path.name for path in tmp_path.rglob("*")} == {".tfgen", "mnist.json", "charts", "mnist", "a", "b"}


def test_a_write_removes_the_folder_of_a_killed_process_and_of_no_other(tmp_path: Path) -> None:
    killed = tmp_path / LEDGER_FOLDER / temporary_name()
    (killed / "0/charts").mkdir(parents=True)
    with Staging(tmp_path, is_inside=True) as running:
        running.begin()
        with OutputFolder(tmp_path) as folder:
            assert folder.abandoned() == [f"{LEDGER_FOLDER}/{killed.name}"]
        apply(plan_write(WriteRequest(tmp_path, [MNIST])))
        assert not killed.exists()
        assert (tmp_path / running.place).is_dir()
    assert [path.name for path in (tmp_path / LEDGER_FOLDER).iterdir()] == ["mnist.json"]


def test_in_a_folder_without_write_access_the_files_are_staged_elsewhere(
    tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise TfgenError("Read-only file system")

    monkeypatch.setattr(OutputFolder, "locked", refuse)
    with Staging(tmp_path, is_inside=True) as staging:
        assert dict(staging.add(MNIST).read().tree.files) == FILES
        assert staged_files(temporary) == {"a", "b"}
        with pytest.raises(TfgenError, match="Read-only file system"):
            apply(plan_write(WriteRequest(tmp_path, [MNIST])))


def test_a_full_disk_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with Staging(tmp_path, is_inside=True) as staging:
        monkeypatch.setattr(Path, "write_bytes", full)
        with pytest.raises(TfgenError, match="No space left on device"):
            staging.store("x")
