"""Tests that a folder of generated files replaces only its earlier version."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tfgen.errors import TfgenError, UsageError
from tfgen.tree.folder import write_folder

FILES = [("index.html", b"mark"), ("jobs/a.html", b"a")]
MARK = ("index.html", "mark")


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_an_earlier_version_is_replaced(tmp_path: Path) -> None:
    site = tmp_path / "deep" / "site"
    assert write_folder(site, [*FILES, ("old.html", b"old")], mark=MARK) == 3
    assert write_folder(site, FILES, mark=MARK) == 2
    assert contents(tmp_path) == {f"deep/site/{path}": content for path, content in FILES}


def test_an_empty_folder_is_filled(tmp_path: Path) -> None:
    write_folder(tmp_path, FILES, mark=MARK)
    assert contents(tmp_path) == dict(FILES)


@pytest.mark.parametrize("name", ["notes.txt", "index.html"])
def test_a_folder_with_other_files_is_unchanged(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match="did not write this folder"):
        write_folder(tmp_path, FILES, mark=MARK)
    assert contents(tmp_path) == {name: b"mine"}


def test_a_failed_rename_leaves_the_earlier_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site, rename = tmp_path / "site", Path.rename
    write_folder(site, FILES, mark=MARK)

    def failing(path: Path, target: Path) -> Path:
        if path.name == "new":
            raise OSError(5, "Input/output error")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(TfgenError):
        write_folder(site, [("index.html", b"newer")], mark=MARK)
    assert contents(tmp_path) == {f"site/{path}": content for path, content in FILES}


def test_a_failure_leaves_the_earlier_version(tmp_path: Path) -> None:
    def failing() -> Iterator[tuple[str, bytes]]:
        yield "index.html", b"new"
        raise RuntimeError

    site = tmp_path / "site"
    write_folder(site, FILES, mark=MARK)
    with pytest.raises(RuntimeError):
        write_folder(site, failing(), mark=MARK)
    assert contents(tmp_path) == {f"site/{path}": content for path, content in FILES}
