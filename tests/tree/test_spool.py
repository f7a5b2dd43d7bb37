"""Tests of values in the spool: all processes read the values unchanged, and no file remains."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tfgen.errors import TfgenError
from tfgen.tree import spool as spool_module
from tfgen.tree.file_tree import FileTree, digest_of
from tfgen.tree.rendering import Rendering
from tfgen.tree.spool import Spool, Spooled


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[Spool]:
    with Spool(tmp_path / "not" / "there") as opened:
        yield opened


def test_values_are_read_one_by_one_in_their_order(spool: Spool) -> None:
    values = Spooled(spool.store({"number": number, "text": "é" * number}) for number in range(5))
    assert len(values) == 5
    assert [value["number"] for value in values] == [0, 1, 2, 3, 4]
    assert values[-1] == {"number": 4, "text": "éééé"}
    assert [*values[1:3]] == [{"number": 1, "text": "é"}, {"number": 2, "text": "éé"}]


def test_a_value_is_another_one_each_time(spool: Spool) -> None:
    (value,) = Spooled([spool.store([])])
    value.append(1)
    assert [*Spooled([spool.store([])])] == [[]]


def test_no_file_is_to_be_seen_while_it_is_open_or_after(tmp_path: Path) -> None:
    with Spool(tmp_path) as spool:
        spool.store("x" * 10_000)
        assert [*tmp_path.iterdir()] == []
    assert [*tmp_path.iterdir()] == []


def test_what_other_processes_put_there_does_not_overlap(spool: Spool) -> None:
    processes, values = 4, 50
    reader, writer = os.pipe()
    for process in range(processes):
        if os.fork() == 0:
            slots = [spool.store(f"{process} {number} " * 300) for number in range(values)]
            os.write(writer, ("".join(f"{process} {n} {s.start} {s.length}\n" for n, s in enumerate(slots))).encode())
            os._exit(0)
    os.close(writer)
    for _ in range(processes):
        os.wait()
    with os.fdopen(reader) as lines:
        rows = [[int(word) for word in line.split()] for line in lines]
    own = spool.store("own")
    assert len(rows) == processes * values
    for process, number, start, length in rows:
        assert own._replace(start=start, length=length).read() == f"{process} {number} " * 300
    assert own.read() == "own"


def test_that_it_is_given_up_is_known_to_all_and_spoils_no_value(spool: Spool) -> None:
    slot = spool.store("value")
    assert not spool.is_given_up()
    child = os.fork()
    if child == 0:
        spool.give_up()
        os._exit(0)
    os.waitpid(child, 0)
    assert spool.is_given_up()
    assert slot.read() == "value"


def test_a_full_disk_is_an_error_that_names_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with Spool(tmp_path) as spool:
        monkeypatch.setattr(os, "pwrite", full)
        with pytest.raises(TfgenError, match=f"{tmp_path}: No space left on device"):
            spool.store("x")


@pytest.mark.parametrize("writable", ["temporary files", "nothing"])
def test_over_a_folder_that_takes_no_file_it_is_where_temporary_files_are_or_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writable: str
) -> None:
    def refuse(folder: Path) -> int:
        if folder == tmp_path or writable == "nothing":
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        return real(folder)

    real = spool_module._open_in
    monkeypatch.setattr(spool_module, "_open_in", refuse)
    with Spool(tmp_path) as spool:
        assert spool.store("x").read() == "x"


@pytest.mark.skipif(sys.platform != "linux", reason="other systems make no file without a name")
def test_a_folder_that_is_watched_for_changes_has_none(tmp_path: Path) -> None:
    before = tmp_path.stat().st_mtime_ns
    with Spool(tmp_path) as spool:
        spool.store("x")
    assert tmp_path.stat().st_mtime_ns == before


@pytest.mark.parametrize("has_nameless", [True, False])
def test_where_the_system_makes_no_file_without_a_name_it_is_unlinked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_nameless: bool
) -> None:
    if not has_nameless:
        monkeypatch.setattr(os, "O_TMPFILE", os.O_DIRECTORY, raising=False)  # the value on a system without O_TMPFILE
    with Spool(tmp_path) as spool:
        assert [*tmp_path.iterdir()] == []
        assert spool.store("x").read() == "x"


def test_a_spooled_rendering_says_what_the_rendering_says(spool: Spool) -> None:
    rendering = Rendering("mnist", FileTree({"b": "2\n", "a": "é\n"}), "0" * 64)
    for spooled in (rendering.spooled(spool), spool.store(rendering.spooled(spool)).read()):
        assert dict(spooled.tree.files) == {"a": "é\n", "b": "2\n"}
        assert [*spooled.tree.files] == ["a", "b"]
        assert "c" not in spooled.tree.files
        assert spooled.ledger("1") == rendering.ledger("1")
        changed = spooled.tree.with_text("a", "other\n")
        assert changed == FileTree({"a": "other\n", "b": "2\n"})
        assert changed.digests == {"a": digest_of("other\n"), "b": digest_of("2\n")}
        assert spooled.tree == rendering.tree


def test_two_spools_one_after_the_other_do_not_mix(tmp_path: Path) -> None:
    for text in ("first\n", "other\n"):
        with Spool(tmp_path) as spool:
            assert FileTree({"a": text}).spooled(spool).files["a"] == text
