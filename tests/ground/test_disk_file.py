"""Tests of the replacement of a file in a hostile folder, and of each command that replaces a file."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.repository import tfgen
from tfgen import cli, disk_file
from tfgen.commands.init import NewFile, add_files
from tfgen.disk_file import replace_file
from tfgen.errors import TfgenError

JOB = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  image: registry.example.com/ml/mnist:1.4.0
  roles: {chief: {}, ps: {}, worker: {}}
  environments: {prod: {}}
"""
COMMANDS = {
    "rerun": ["rerun", "job.yaml"],
    "rm --env": ["rm", "job.yaml", "--env", "prod"],
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder, which has a job. No command may change the file `victim` in the parent folder."""
    (tmp_path / "victim").write_text("precious\n")
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs/job.yaml").write_text(JOB)
    monkeypatch.chdir(tmp_path / "jobs")
    return tmp_path / "jobs"


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
@pytest.mark.parametrize("neighbour", ["link", "fifo", "file"])
def test_no_name_beside_the_file_is_in_the_way(folder: Path, arguments: list[str], neighbour: str) -> None:
    beside = folder / ".job.yaml.tfgen"
    match neighbour:
        case "link":
            beside.symlink_to("../victim")
        case "fifo":
            os.mkfifo(beside)
        case _:
            beside.write_text("mine\n")
    before = beside.lstat()
    tfgen(*arguments)
    assert (folder / "job.yaml").read_text() != JOB
    assert not (folder / "job.yaml").is_symlink()
    assert (folder.parent / "victim").read_text() == "precious\n"
    assert (beside.lstat().st_mode, beside.lstat().st_ino, beside.lstat().st_size) == (
        before.st_mode,
        before.st_ino,
        before.st_size,
    )
    assert {path.name for path in folder.iterdir()} == {"job.yaml", ".job.yaml.tfgen"}


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
def test_a_file_may_have_the_longest_name(folder: Path, arguments: list[str]) -> None:
    name = "j" * 250 + ".yaml"  # 255 bytes, NAME_MAX
    (folder / "job.yaml").rename(folder / name)
    tfgen(*([name if each == "job.yaml" else each for each in arguments]))
    assert (folder / name).read_text() != JOB
    assert [path.name for path in folder.iterdir()] == [name]


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
def test_a_link_stays_one_and_the_mode_stays(folder: Path, arguments: list[str]) -> None:
    (folder / "real").mkdir()
    (folder / "job.yaml").rename(folder / "real/job.yaml").chmod(0o640)
    (folder / "job.yaml").symlink_to("real/job.yaml")
    tfgen(*arguments)
    assert (folder / "job.yaml").readlink() == Path("real/job.yaml")
    assert (folder / "real/job.yaml").read_text() != JOB
    assert (folder / "real/job.yaml").stat().st_mode & 0o7777 == 0o640


def test_a_pipe_is_no_file_to_write_to(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reader, writer = os.pipe()
    os.write(writer, JOB.encode())
    os.close(writer)
    try:
        assert cli.run(["rerun", f"/dev/fd/{reader}"]) == cli.FAILED
    finally:
        os.close(reader)
    assert capsys.readouterr().err == (
        f"tfgen: error: /dev/fd/{reader} is a device, pipe or socket, where tfgen needs a file\n"
    )


def test_an_edit_meanwhile_is_not_lost(folder: Path) -> None:
    file = folder / "job.yaml"
    file.write_text("mine\n")
    with pytest.raises(TfgenError, match=r"job\.yaml: another program changed the file while tfgen ran; tfgen "):
        replace_file(file, JOB.encode(), b"new\n")
    assert file.read_text() == "mine\n"


def fail_on_replace(*_: object, **__: object) -> None:
    raise OSError(errno.EROFS, os.strerror(errno.EROFS))


def fail_on_write(*_: object) -> int:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize(
    ("step", "fail", "says"),
    [("write", fail_on_write, "No space left on device"), ("replace", fail_on_replace, "Read-only file system")],
)
def test_a_disk_that_fails_leaves_the_file_and_nothing_beside_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch, step: str, fail: Callable[..., object], says: str
) -> None:
    monkeypatch.setattr(disk_file.os, step, fail)
    with pytest.raises(TfgenError) as error:
        replace_file(folder / "job.yaml", JOB.encode(), b"new\n")
    assert str(error.value) == f"{folder}/job.yaml: {says}"
    monkeypatch.undo()
    assert {path.name: path.read_text() for path in folder.iterdir()} == {"job.yaml": JOB}


# New files, by `tfgen init`.


def test_new_files_follow_no_link_and_are_all_or_none(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    out = tmp_path / "out"
    out.mkdir()
    (out / "schemas").symlink_to("../outside")
    with pytest.raises(TfgenError) as error:
        add_files(out, [NewFile("a/b", "1\n"), NewFile("schemas/c", "1\n")])
    assert str(error.value) == f"{out}/schemas is a symbolic link, where tfgen needs a folder"
    assert [path.name for path in out.iterdir()] == ["schemas"]
    assert not [*(tmp_path / "outside").iterdir()]


def test_a_dangling_link_is_in_the_way_of_all_new_files(tmp_path: Path) -> None:
    (tmp_path / "b").symlink_to("nowhere")
    with pytest.raises(TfgenError) as error:
        add_files(tmp_path, [NewFile("a", "1\n"), NewFile("b", "1\n")])
    assert str(error.value) == f"{tmp_path}/b is a symbolic link, where tfgen needs a file"
    assert [path.name for path in tmp_path.iterdir()] == ["b"]
