"""Tests of the comparison of a job's files with its rendered files: the cause and the position of each difference."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest

from tests.support.small_job import JOB
from tfgen import __version__
from tfgen.check.files import Base, FileComparison, compare_files
from tfgen.check.jobs import check
from tfgen.job.facts import name_of
from tfgen.report.problems import as_text
from tfgen.targets.render import render
from tfgen.text.document import Document
from tfgen.tree.plan import WriteRequest
from tfgen.tree.write import apply, plan_write

SERVICE = "overlays/mnist/base/service.yaml"
PROD = "overlays/mnist/prod/kustomization.yaml"


def documents(text: str = JOB) -> list[Document]:
    checked = check(text, "job.yaml")
    assert as_text(checked.problems) == ""
    return list(checked.documents)


@pytest.fixture
def out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Render the job into the current folder, and return the folder."""
    monkeypatch.chdir(tmp_path)
    write()
    return tmp_path


COMMITTED = Base(committed=frozenset({"mnist"}), revision="HEAD")
"""The rendered files of the job are the same as in HEAD."""

NOTHING_COMMITTED = Base()


def write(text: str = JOB, base: Base = NOTHING_COMMITTED) -> tuple[str, ...]:
    """Write the rendered files, and return the names of the jobs whose committed files tfgen kept."""
    renderings = [render(document.data) for document in documents(text)]
    return tuple(
        apply(
            plan_write(WriteRequest(Path(), renderings, find_committed=lambda _: frozenset(base.committed)))
        ).kept_jobs
    )


def found(text: str = JOB, base: Base = COMMITTED) -> FileComparison:
    jobs = documents(text)
    names = {name_of(job): job.place(("metadata", "name")) for job in jobs}
    return compare_files(names, plan_write(WriteRequest(Path(), [render(job.data) for job in jobs])), base)


def counted(text: str) -> str:
    """Return a text without its number of files, which these tests ignore."""
    return re.sub(r"\d+ files", "N files", text)


def edit_ledger(**changes: object) -> None:
    path = Path(".tfgen/mnist.json")
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **changes}), encoding="utf-8")


def edit(path: str, old: str, new: str) -> None:
    text = Path(path).read_text(encoding="utf-8")
    assert old in text
    Path(path).write_text(text.replace(old, new), encoding="utf-8")


def test_what_was_rendered_has_no_drift(out: Path) -> None:
    assert found() == FileComparison((), ())


def test_a_job_that_was_never_rendered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert counted(as_text(found().problems)) == (
        "job.yaml:3:18: mnist was never rendered: N files would change, the first at charts/mnist/.helmignore:1; "
        "run tfgen render job.yaml [not-rendered]\n"
    )


def test_a_ledger_that_is_gone(out: Path) -> None:
    """Each file equals the rendered file, but without the ledger the next render cannot recognize the job's files."""
    Path(".tfgen/mnist.json").unlink()
    assert as_text(found().problems) == (
        "job.yaml:3:18: .tfgen/mnist.json, the ledger of mnist, is missing; run tfgen render job.yaml [not-rendered]\n"
    )


def test_a_job_without_a_ledger_beside_one_that_has_it(out: Path) -> None:
    (problem,) = found(JOB.replace("{name: mnist}", "{name: other}")).problems
    assert counted(str(problem)) == (
        "job.yaml:3:18: other was never rendered: N files would change, the first at charts/other/.helmignore:1; "
        "run tfgen render job.yaml [not-rendered]"
    )


def test_a_changed_job_is_one_problem_at_its_name(out: Path) -> None:
    edited = found(JOB.replace("replicas: 4", "replicas: 5"))
    assert counted(as_text(edited.problems)) == (
        "job.yaml:3:18: mnist was changed after its last render: N files would change, the first at "
        "charts/mnist/Chart.yaml:6; run tfgen render job.yaml [not-rendered]\n"
    )
    assert edited.notes == ()


def test_an_output_that_is_asked_for_no_longer_is_removed_and_check_says_so(out: Path) -> None:
    overlays_alone = JOB.replace("spec:", "spec:\n  outputs: [overlays]")
    charts = [path for path in Path("charts").rglob("*") if path.is_file()]
    assert as_text(found(overlays_alone).problems) == (
        f"job.yaml:3:18: mnist was changed after its last render: {len(charts)} files would change "
        f"({len(charts)} would be removed), the first at charts/mnist/.helmignore:1; run tfgen render "
        "job.yaml [not-rendered]\n"
    )
    write(overlays_alone)
    assert not Path("charts").exists()
    assert Path(PROD).exists()
    assert found(overlays_alone) == FileComparison((), ())


def test_a_hand_edit_is_said_at_its_line(out: Path) -> None:
    line = Path(PROD).read_text(encoding="utf-8").splitlines().index("  count: 4") + 1
    edit(PROD, "count: 4", "count: 7")
    assert as_text(found().problems) == (
        f'{PROD}:{line}:1: found "  count: 7" where tfgen renders "  count: 4"; '
        "change job.yaml instead, or discard the edit: tfgen render --force job.yaml [hand-edited]\n"
    )


def test_lines_past_the_end(out: Path) -> None:
    edit(SERVICE, "  - name: tensorflow\n    port: 2222\n    protocol: TCP\n    targetPort: tensorflow\n", "")
    (problem,) = found().problems
    assert '"" where tfgen renders "  - name: tensorflow"' in problem.message
    Path(SERVICE).write_text("", encoding="utf-8")
    (problem,) = found().problems
    assert '"" where tfgen renders "# Generated by tfgen.' in problem.message


def test_a_file_that_is_gone(out: Path) -> None:
    Path(SERVICE).unlink()
    assert as_text(found().problems) == (
        f"{SERVICE}:1:1: the file is missing; to restore the file: tfgen render job.yaml [hand-edited]\n"
    )


def test_a_hand_edit_beside_a_changed_job_is_told_from_it(out: Path) -> None:
    edit(SERVICE, "port: 2222", "port: 2223")
    problems = found(JOB.replace("replicas: 4", "replicas: 5")).problems
    assert [(problem.file, problem.rule) for problem in problems] == [
        ("job.yaml", "not-rendered"),
        (SERVICE, "hand-edited"),
    ]


def test_an_edit_that_is_what_the_job_now_says_is_none(out: Path) -> None:
    """After a merge of branches, the files can be up to date while the ledger is not."""
    edit(PROD, "count: 4", "count: 5")
    problems = found(JOB.replace("replicas: 4", "replicas: 5")).problems
    assert [problem.rule for problem in problems] == ["not-rendered"]


def test_an_edited_file_that_is_rendered_no_longer(out: Path) -> None:
    edit("charts/mnist/values-prod.yaml", "4", "5")
    problems = found(JOB.replace("  environments: {prod: {roles: {worker: {replicas: 4}}}}\n", "")).problems
    assert "charts/mnist/values-prod.yaml:1:1: the file was edited by hand, but the job no longer renders the file" in (
        as_text(problems)
    )


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"tool": "0.0.1"}, "the version of tfgen changed from 0.0.1 to "),
        ({"defaults": "a" * 64}, "the defaults of the job changed"),
        ({}, ".tfgen/mnist.json lists the files of a different build of this version"),
    ],
)
def test_what_only_another_tfgen_or_other_defaults_change_is_a_note(
    out: Path, changes: dict[str, str], why: str
) -> None:
    # The ledger lists the digest of the edited file, as if another tfgen had rendered the file.
    edit(SERVICE, "port: 2222", "port: 2223")
    ledger = json.loads(Path(".tfgen/mnist.json").read_text(encoding="utf-8"))
    ledger["files"][SERVICE] = hashlib.sha256(Path(SERVICE).read_bytes()).hexdigest()
    edit_ledger(files=ledger["files"], **changes)
    problems, (note,) = found().problems, found().notes
    assert problems == ()
    assert note.startswith(f"mnist keeps its committed files until the job changes: {why}")
    assert f"1 file would change, the first at {SERVICE}:22; to render the job now: tfgen render --upgrade " in note

    kept = write(base=COMMITTED)
    assert kept == (("mnist",) if changes else ())
    assert ("port: 2223" in Path(SERVICE).read_text(encoding="utf-8")) == bool(kept)
    assert write() == ()
    assert found() == FileComparison((), ())


def test_a_file_that_is_not_committed_is_what_this_tfgen_renders(out: Path) -> None:
    edit(SERVICE, "port: 2222", "port: 2223")
    ledger = json.loads(Path(".tfgen/mnist.json").read_text(encoding="utf-8"))
    digest = hashlib.sha256(Path(SERVICE).read_bytes()).hexdigest()
    edit_ledger(files={**ledger["files"], SERVICE: digest}, tool="0.0.1")
    assert as_text(found(base=Base(revision="main")).problems) == (
        f'{SERVICE}:22:1: found "    port: 2223" where tfgen {__version__} renders "    port: 2222"; the job differs '
        "from main, so its files must equal the files that this version of tfgen renders (the ledger names tfgen "
        "0.0.1); run: tfgen render --upgrade job.yaml [not-reproduced]\n"
    )
    assert found(base=COMMITTED).problems == ()


def test_many_files_that_differ_are_counted(out: Path) -> None:
    ledger = json.loads(Path(".tfgen/mnist.json").read_text(encoding="utf-8"))
    digests = dict(ledger["files"])
    for path in sorted(digests)[:12]:
        Path(path).write_text("# forged\n", encoding="utf-8")
        digests[path] = hashlib.sha256(b"# forged\n").hexdigest()
    edit_ledger(files=digests)
    problems = found(base=NOTHING_COMMITTED).problems
    assert [problem.file for problem in problems] == [*sorted(digests)[:11]]
    assert problems[-1].message.startswith(
        "2 more files of mnist differ from the render of this version; the files of the job must equal "
    )


def test_a_changed_job_is_rendered_by_the_tfgen_of_now(out: Path) -> None:
    edit_ledger(tool="0.0.1")
    assert write(JOB.replace("replicas: 4", "replicas: 5"), COMMITTED) == ()
    assert found(JOB.replace("replicas: 4", "replicas: 5")) == FileComparison((), ())


def test_a_render_that_came_to_no_end(out: Path) -> None:
    ledger = json.loads(Path(".tfgen/mnist.json").read_text(encoding="utf-8"))
    edit_ledger(input="", unfinished={SERVICE: ledger["files"][SERVICE]})
    Path(SERVICE).unlink()
    (problem,) = found().problems
    assert problem.rule == "not-rendered"
    assert problem.message.startswith(
        "the files of mnist are from a merge, or from a render that was interrupted: 1 file would change"
    )


def test_what_no_render_could_write(out: Path) -> None:
    Path(SERVICE).unlink()
    Path(SERVICE).mkdir()
    assert "tfgen cannot write overlays/mnist/base/service.yaml: " in as_text(found().problems)


def test_nothing_is_written(out: Path) -> None:
    edit(PROD, "count: 4", "count: 7")
    before = {path: path.lstat().st_mtime_ns for path in out.rglob("*")}
    found(JOB.replace("replicas: 4", "replicas: 5"))
    assert {path: path.lstat().st_mtime_ns for path in out.rglob("*")} == before
