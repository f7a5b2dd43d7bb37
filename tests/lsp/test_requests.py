"""Tests of the answers of the server to the requests of an editor."""

from __future__ import annotations

from lsprotocol import types

from tests.lsp.conftest import Desk
from tests.lsp.test_answers import DEFAULTS, JOB
from tests.support.marked import marked
from tfgen.errors import Position
from tfgen.schema.keys import explain


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


def test_completion_knows_the_names_of_the_last_text_that_parses(desk: Desk) -> None:
    file = desk.file("jobs/job.yaml")
    broken, position = marked(JOB.replace("dev: {gang", "dev: {ro|les: {gang"))
    inside, position_of_role = marked(JOB.replace("dev: {gang", "dev: {roles: {wor|, gang"))

    async def talk() -> None:
        desk.editor.open(file, JOB)
        desk.editor.change(file, broken)
        items = {item.label: item for item in await desk.editor.completion(file, at(position))}
        word = types.Range(types.Position(10, 10), types.Position(10, 15))
        assert items["roles"].text_edit == types.TextEdit(word, "roles"), "a colon follows already"
        desk.editor.change(file, inside)
        assert [item.label for item in await desk.editor.completion(file, at(position_of_role))] == ["worker"]

    desk.run(talk())


def test_completion_leaves_other_yaml_alone(desk: Desk) -> None:
    file = desk.file("service.yaml")

    async def talk() -> None:
        desk.editor.open(file, "kind: Service\nspec:\n  \n")
        assert await desk.editor.completion(file, types.Position(2, 2)) == []

    desk.run(talk())


def test_quick_fixes_are_edits_of_the_selected_lines(desk: Desk) -> None:
    file = desk.file("jobs/job.yaml")
    job = JOB.replace("{replicas: 4}", "{replica: 4, shm: 4g}")

    async def talk() -> None:
        desk.editor.open(file, job)
        line = types.Range(types.Position(7, 20), types.Position(7, 20))
        edits = await desk.editor.quick_fixes(file, line)
        assert [*edits] == ['Change to "replicas"', "Write 4Gi", "Write 4G"]
        rename = edits['Change to "replicas"']
        column = job.split("\n")[7].index("replica") + len("replica")
        assert rename == types.TextEdit(types.Range(types.Position(7, column), types.Position(7, column)), "s")
        assert await desk.editor.quick_fixes(file, types.Range(types.Position(0, 0), types.Position(5, 0))) == {}

    desk.run(talk())
