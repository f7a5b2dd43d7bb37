"""Tests of the ledgers of all jobs: tfgen reads a ledger again at each access, and refuses a changed ledger."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfgen.errors import TfgenError
from tfgen.tree.files import FileTree, digest_of
from tfgen.tree.ledger import Ledger, Ledgers
from tfgen.tree.plan import WriteRequest
from tfgen.tree.staging import Rendering
from tfgen.tree.write import apply, plan_write, read_ledgers

SHARED = "overlays/argocd/applicationset-dev.yaml"


def render(out: Path, *jobs: str) -> None:
    files = {job: {f"charts/{job}/Chart.yaml": f"{job}\n", SHARED: "all\n"} for job in jobs}
    shared = frozenset({SHARED})
    apply(
        plan_write(WriteRequest(out, [Rendering(job, FileTree(files[job]), "0" * 64, shared=shared) for job in jobs]))
    )


def test_each_is_as_it_was_written(tmp_path: Path) -> None:
    render(tmp_path, "a", "b", "c")
    now = read_ledgers(tmp_path)
    assert {job: dict(ledger.files) for job, ledger in now.items()} == {
        job: {f"charts/{job}/Chart.yaml": digest_of(f"{job}\n"), SHARED: digest_of("all\n")} for job in "abc"
    }
    assert now == read_ledgers(tmp_path)
    assert "d" not in now
    assert now.get("d") is None


def test_what_several_jobs_have_is_known_by_all_of_them(tmp_path: Path) -> None:
    render(tmp_path, "a", "b")
    now = read_ledgers(tmp_path)
    assert now.owners(SHARED) == ("a", "b")
    assert now.owners("charts/a/Chart.yaml") == ()  # no other job can have this file


def test_a_changed_file_that_many_jobs_share_needs_few_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = [f"job-{number}" for number in range(40)]
    render(tmp_path, *jobs)
    reads: list[str] = []
    read = Ledgers._read_again

    def counted(ledgers: Ledgers, job: str) -> Ledger:
        reads.append(job)
        return read(ledgers, job)

    monkeypatch.setattr(Ledgers, "_read_again", counted)
    trees = {job: FileTree({f"charts/{job}/Chart.yaml": f"{job}\n", SHARED: "new\n"}) for job in jobs}
    plan_write(
        WriteRequest(
            tmp_path, [Rendering(job, tree, "1" * 64, shared=frozenset({SHARED})) for job, tree in trees.items()]
        )
    )
    assert len(reads) <= 4 * len(jobs)  # a read of all ledgers for each job would be 1,600 reads


def test_a_shared_file_goes_with_the_last_job_that_has_it(tmp_path: Path) -> None:
    render(tmp_path, "a", "b")
    apply(plan_write(WriteRequest(tmp_path, [Rendering("a", FileTree({}), "")])))
    assert (tmp_path / SHARED).exists()
    apply(plan_write(WriteRequest(tmp_path, [Rendering("b", FileTree({}), "")])))
    assert not (tmp_path / SHARED).exists()


def test_one_that_was_changed_meanwhile_is_never_taken_for_the_one_before(tmp_path: Path) -> None:
    render(tmp_path, "a", "b")
    before = read_ledgers(tmp_path)
    path = tmp_path / ".tfgen" / "b.json"
    path.write_text(path.read_text().replace('"tool": "', '"tool": "9.'))
    assert before != read_ledgers(tmp_path)
    with pytest.raises(TfgenError, match=r"\.tfgen/b\.json: another program changed the ledger while tfgen ran"):
        before["b"]
