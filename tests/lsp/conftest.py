"""Fixtures with one language server for each module, and a folder with a repository for each test."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.support.editor import Editor, editor
from tests.support.marked import marked
from tfgen.check.fixes import Analysis, analyse
from tfgen.lsp.places import Cursor, find_key
from tfgen.lsp.session import OpenFiles


class Desk(NamedTuple):
    """An editor with an open folder, and the repository of a test in this folder."""

    editor: Editor
    root: Path
    name: str
    run: Callable[[Coroutine[Any, Any, Any]], Any]

    def file(self, name: str) -> str:
        """Return the path of a file of the repository, relative to the open folder."""
        return f"{self.name}/{name}"


@pytest.fixture(scope="module")
def connected(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Editor, Path, asyncio.Runner]]:
    root = tmp_path_factory.mktemp("workspace")
    with asyncio.Runner() as runner:
        context = editor(root)
        yield runner.run(context.__aenter__()), root, runner
        runner.run(context.__aexit__(None, None, None))


class Opened(NamedTuple):
    """A file with a cursor, as the server knows the file."""

    analysis: Analysis
    cursor: Cursor | None


Open = Callable[..., Opened]


@pytest.fixture
def open_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Open:
    """Return a function that opens a text with a mark, in a folder with a tfgen.yaml."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()

    def opened(marked_text: str, defaults: str, file: str = "job.yaml") -> Opened:
        files = OpenFiles()
        files.update("tfgen.yaml", defaults)
        text, position = marked(marked_text)
        files.update(file, text)
        return Opened(analyse(files.source(file)), find_key(text, position))

    return opened


@pytest.fixture
def desk(connected: tuple[Editor, Path, asyncio.Runner]) -> Desk:
    opened, root, runner = connected
    name = f"repository-{len([*root.iterdir()])}"
    for folder in (".git", "jobs"):
        (root / name / folder).mkdir(parents=True)
    return Desk(opened, root, name, runner.run)
