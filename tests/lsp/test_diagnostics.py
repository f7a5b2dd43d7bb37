"""Tests that an editor shows the problems of `tfgen check`, also for text that is not saved."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lsprotocol import types

from tests.lsp.conftest import Desk
from tfgen import cli

JOB = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  image: ml.example.org/mnist:latest
  strategy: MultiWorkerMirrored
  roles:
    worker: {replica: 4, resources: {cpu: 2 cores}}
"""
VALID = JOB.replace("replica:", "replicas:").replace("2 cores", "2").replace("latest", "1.4.0")
DEFAULTS = "apiVersion: tfgen/v1alpha1\nkind: Defaults\n"
CREDENTIAL = f"{VALID}  env: {{DATA: 'https://me:hunter2@data.ml.internal'}}\n"
SEVERITY = {types.DiagnosticSeverity.Error: "error", types.DiagnosticSeverity.Warning: "warning"}


def checked(
    root: Path, jobs: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> list[dict[str, object]]:
    """Return the problems of `tfgen check` in a folder, without the problems of rendered files."""
    monkeypatch.chdir(root)
    cli.run(["check", jobs, "--no-files", "--format", "json"])
    rows: list[dict[str, object]] = json.loads(capsys.readouterr().out)["problems"]
    return rows


def row(file: str, diagnostic: types.Diagnostic) -> dict[str, object]:
    assert diagnostic.source == "tfgen"
    return {
        "file": file,
        "line": diagnostic.range.start.line + 1,
        "column": diagnostic.range.start.character + 1,
        "message": diagnostic.message,
        "rule": diagnostic.code,
        "severity": SEVERITY[diagnostic.severity or types.DiagnosticSeverity.Hint],
    }


@pytest.mark.parametrize(
    ("job", "defaults"),
    [
        (JOB, DEFAULTS),
        (VALID.replace("1.4.0", "latest"), DEFAULTS),
        (VALID.replace("1.4.0", "latest"), f"{DEFAULTS}rules: {{latest-tag: {{severity: error}}}}\n"),
        (CREDENTIAL, DEFAULTS),
        (CREDENTIAL, f"{DEFAULTS}rules: {{credential: {{severity: warning}}}}\n"),
        (f"{VALID}  port: 3000\n", f"{DEFAULTS}spec: {{port: 2000}}\nenforce: [spec.port]\n"),
        (VALID.replace("worker: {", "worker: {{"), DEFAULTS),
        (VALID, f"{DEFAULTS}spek: {{}}\n"),
    ],
    ids=["schema", "warning", "severity", "credential", "severity of an error", "enforced", "syntax", "defaults"],
)
def test_the_problems_are_those_of_check(
    job: str, defaults: str, desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = desk.root / desk.name / "jobs" / "job.yaml"
    (desk.root / desk.name / "tfgen.yaml").write_text(defaults)
    path.write_text(job)
    expected = checked(desk.root, desk.file("jobs"), monkeypatch, capsys)
    (file,) = {str(problem["file"]) for problem in expected}
    path.write_text("not the text in the editor")

    async def talk() -> list[types.Diagnostic]:
        desk.editor.open(desk.file("jobs/job.yaml"), job)
        return await desk.editor.diagnostics(file)

    assert [row(file, diagnostic) for diagnostic in desk.run(talk())] == expected


def test_an_edit_is_checked_without_a_save(desk: Desk) -> None:
    file = desk.file("jobs/job.yaml")

    async def talk() -> None:
        desk.editor.open(file, JOB)
        first = await desk.editor.diagnostics(file)
        assert [diagnostic.code for diagnostic in first] == ["latest-tag", "unknown-key", "quantity"]
        assert first[1].range == types.Range(types.Position(7, 13), types.Position(7, 20))
        desk.editor.change(file, VALID)
        assert await desk.editor.diagnostics(file) == []

    desk.run(talk())


def test_a_check_of_another_file_publishes_no_problems_of_the_text_before_an_edit(desk: Desk) -> None:
    """A hover checks the other file while the edit of the first file waits for the end of the typing."""
    file, other = desk.file("jobs/job.yaml"), desk.file("others/job.yaml")

    async def talk() -> None:
        desk.editor.open(file, JOB)
        assert len(await desk.editor.diagnostics(file)) == 3
        desk.editor.change(file, VALID)
        desk.editor.open(other, VALID)
        await desk.editor.hover(other, types.Position(4, 4))
        assert await desk.editor.diagnostics(file) == []

    desk.run(talk())


def test_an_edit_of_the_defaults_checks_the_open_jobs(desk: Desk) -> None:
    file, defaults = desk.file("jobs/job.yaml"), desk.file("tfgen.yaml")

    async def talk() -> None:
        desk.editor.open(file, f"{VALID}  port: 3000\n")
        assert await desk.editor.diagnostics(file) == []
        desk.editor.open(defaults, DEFAULTS)
        assert await desk.editor.diagnostics(file) == []
        desk.editor.change(defaults, f"{DEFAULTS}spec: {{port: 2000}}\nenforce: [spec.port]\n")
        (problem,) = await desk.editor.diagnostics(file)
        assert problem.message == f"spec.port: found 3000, but {defaults}:4:11 enforces 2000; remove the key"
        desk.editor.close(defaults)
        assert await desk.editor.diagnostics(file) == []

    desk.run(talk())


def test_the_objects_are_checked_after_a_longer_pause(desk: Desk) -> None:
    """Only the check of the objects sees the registry of an image in podTemplate."""
    file, defaults = desk.file("jobs/job.yaml"), desk.file("tfgen.yaml")
    (desk.root / defaults).write_text(f"{DEFAULTS}enforce: [registry]\nregistry: ml.example.org\n")
    container = "{name: exporter, image: docker.io/exporter:1.0.0}"

    async def talk() -> None:
        desk.editor.open(file, f"{VALID}  podTemplate: {{spec: {{containers: [{container}]}}}}\n")
        assert await desk.editor.diagnostics(file) == []
        assert await desk.editor.hover(file, types.Position(4, 4))
        problems = await desk.editor.diagnostics(file)
        assert {(item.code, item.range.start.line) for item in problems} == {("enforced", 8), ("second-container", 8)}
        desk.editor.change(file, VALID)
        assert await desk.editor.diagnostics(file) == []

    desk.run(talk())


def test_a_change_of_defaults_on_disk_checks_the_open_jobs(desk: Desk) -> None:
    file, defaults = desk.file("jobs/job.yaml"), desk.file("tfgen.yaml")

    async def talk() -> None:
        desk.editor.open(file, f"{VALID}  port: 3000\n")
        assert await desk.editor.diagnostics(file) == []
        (desk.root / defaults).write_text(f"{DEFAULTS}spec: {{port: 2000}}\nenforce: [spec.port]\n")
        desk.editor.changed_on_disk(defaults)
        (problem,) = await desk.editor.diagnostics(file)
        assert problem.code == "enforced"

    desk.run(talk())


def test_the_editor_is_asked_to_watch_the_defaults(desk: Desk) -> None:
    assert [registration.method for registration in desk.editor.registered] == ["workspace/didChangeWatchedFiles"]


def test_columns_are_in_units_of_utf_16(desk: Desk) -> None:
    file = desk.file("jobs/job.yaml")
    job = VALID.replace("{replicas: 4", '{args: ["\N{GRINNING FACE}"], replica: 4')

    async def talk() -> None:
        desk.editor.open(file, job)
        (problem,) = await desk.editor.diagnostics(file)
        before, _, _ = job.split("\n")[7].partition("replica:")
        assert problem.range.start.character == len(before.encode("utf-16-le")) // 2

    desk.run(talk())


def test_a_closed_file_has_no_problems(desk: Desk) -> None:
    file = desk.file("jobs/job.yaml")

    async def talk() -> None:
        desk.editor.open(file, JOB)
        assert await desk.editor.diagnostics(file)
        desk.editor.close(file)
        assert await desk.editor.diagnostics(file) == []

    desk.run(talk())


def test_yaml_of_another_program_is_left_alone(desk: Desk) -> None:
    service, file = desk.file("service.yaml"), desk.file("jobs/job.yaml")

    async def talk() -> None:
        desk.editor.open(service, "apiVersion: v1\nkind: Service\n")
        desk.editor.open(file, JOB)
        assert await desk.editor.diagnostics(file)
        assert service not in desk.editor.names

    desk.run(talk())


def test_defaults_that_cannot_be_read_are_reported(desk: Desk) -> None:
    file = desk.file("jobs/job.yaml")
    (desk.root / desk.name / "tfgen.yaml").mkdir()

    async def talk() -> str:
        desk.editor.open(file, JOB)
        return await desk.editor.message()

    assert desk.run(talk()).startswith(f"{desk.file('tfgen.yaml')} is a folder, where tfgen needs a file")
