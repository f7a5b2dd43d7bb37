"""Answers of the server to the requests of an editor."""

from __future__ import annotations

from lsprotocol import types

from tests.lsp.conftest import Desk
from tests.lsp.test_hover import DEFAULTS, JOB
from tests.support.marked import marked
from tfgen.commands.explain import explain
from tfgen.problems import Position


def at(position: Position) -> types.Position:
    return types.Position(position.line - 1, position.column - 1)


def test_hover_and_definition_see_the_text_in_the_editor(desk: Desk) -> None:
    file, defaults = desk.file("jobs/job.yaml"), desk.file("tfgen.yaml")
    text, position = marked(JOB.replace("scheduler: volcano", "scheduler: volcano, que|ue: research"))

    async def talk() -> None:
        desk.editor.open(defaults, DEFAULTS)
        desk.editor.open(file, JOB)
        desk.editor.change(file, text)
        assert await desk.editor.hover(file, at(position)) == f"```text\n{explain('spec.gang.queue')}```"
        assert await desk.editor.definition(file, at(position)) == [(defaults, 5, 10)]
        assert await desk.editor.hover(file, types.Position(90, 0)) is None
        assert await desk.editor.definition(file, types.Position(90, 0)) == []

    desk.run(talk())
