"""Tests that a folder of generated files replaces only its earlier version."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tfgen.errors import TfgenError, UsageError
from tfgen.tree.folder import replace_folder

FILES = [("index.html", "mark"), ("jobs/a.html", "a")]


def contents(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_an_earlier_version_is_replaced(tmp_path: Path) -> None:
    site = tmp_path / "deep" / "site"
    assert replace_folder(site, [*FILES, ("old.html", "old")], "index.html", "mark") == 3
    assert replace_folder(site, FILES, "index.html", "mark") == 2
    assert contents(tmp_path) == {f"deep/site/{path}": text for path, text in FILES}


def test_an_empty_folder_is_filled(tmp_path: Path) -> None:
    replace_folder(tmp_path, FILES, "index.html", "mark")
    assert contents(tmp_path) == dict(FILES)


@pytest.mark.parametrize("name", ["notes.txt", "index.html"])
def test_a_folder_with_other_files_is_unchanged(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match="did not write this folder"):
        replace_folder(tmp_path, FILES, "index.html", "mark")
    assert contents(tmp_path) == {name: "mine"}


def test_a_failed_rename_leaves_the_earlier_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site, rename = tmp_path / "site", Path.rename
    replace_folder(site, FILES, "index.html", "mark")

    def failing(path: Path, target: Path) -> Path:
        if path.name == "new":
            raise OSError(5, "Input/output error")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(TfgenError):
        replace_folder(site, [("index.html", "newer")], "index.html", "mark")
    assert contents(tmp_path) == {f"site/{path}": text for path, text in FILES}


def test_a_failure_leaves_the_earlier_version(tmp_path: Path) -> None:
    def failing() -> Iterator[tuple[str, str]]:
        yield "index.html", "new"
        raise RuntimeError

    site = tmp_path / "site"
    replace_folder(site, FILES, "index.html", "mark")
    with pytest.raises(RuntimeError):
        replace_folder(site, failing(), "index.html", "mark")
    assert contents(tmp_path) == {f"site/{path}": text for path, text in FILES}
