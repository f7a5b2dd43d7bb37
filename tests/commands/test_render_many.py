"""Many jobs in one command: memory does not grow with the number of jobs, and tfgen writes all files or none."""

from __future__ import annotations

import gc
import json
import re
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.repository import commit_all, git, tfgen
from tfgen import cli, workers
from tfgen.check.checked import CheckedFile
from tfgen.check.jobs import Checker
from tfgen.check.manifests import Manifest, read_foreign_manifests
from tfgen.commands import commit as commit_command
from tfgen.commands import render
from tfgen.git.command import Git
from tfgen.graph import graph
from tfgen.job.sources import Source
from tfgen.pipeline import check as pipeline_check
from tfgen.pipeline import render as pipeline_render
from tfgen.text.document import Document
from tfgen.tree import cache, write
from tfgen.tree import ledger as ledgers
from tfgen.tree import plan as planning
from tfgen.tree.files import FileTree
from tfgen.tree.ledger import Ledger, Ledgers
from tfgen.tree.plan import FileChange, JobPlan, WritePlan
from tfgen.tree.staging import Rendering, unstaged

pytestmark = pytest.mark.long

JOB = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {{name: {name}}}
spec:
  image: ml.example.org/mnist:1.4.0
  roles: {{ps: {{}}, chief: {{}}, worker: {{replicas: {workers}}}}}
"""
GITOPS = "  gitops: {repository: https://git.internal/ml/jobs.git, rendered: {branch: rendered}, argocd: {}}\n"


@pytest.fixture
def frozen() -> Iterator[None]:
    """Exclude the objects of earlier tests from the counts, because the collector would visit a million of them."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cache, "folder", lambda: tmp_path / "cache")
    monkeypatch.setattr(planning, "MANY_SMALL", workers.MANY)  # tests with few jobs then run in several processes
    (tmp_path / "jobs").mkdir()
    return tmp_path


def write_jobs(*numbers: int, workers: int = 2, fields: str = "") -> None:
    for number in numbers:
        text = JOB.format(name=f"j{number:03}", workers=workers) + fields
        Path(f"jobs/{number:03}.yaml").write_text(text, encoding="utf-8")


def remove_jobs() -> None:
    for path in Path("jobs").iterdir():
        path.unlink()


def written() -> dict[str, str]:
    """Return the rendered files and the ledgers."""
    folders = ("charts", "overlays", ".tfgen")
    return {
        str(path): path.read_text(encoding="utf-8")
        for name in folders
        for path in sorted(Path(name).rglob("*"))
        if path.is_file()
    }


KEPT = (Document, FileChange, FileTree, JobPlan, Ledger, Rendering)
"""Classes of the largest objects of a job: each such object in memory retains a hundred kilobytes."""


def object_counts() -> Counter[str]:
    """Count the objects of each class in memory."""
    gc.collect()
    return Counter(type(thing).__name__ for thing in gc.get_objects() if isinstance(thing, KEPT))


def noting(step: Callable[..., Any], of_runs: list[list[Counter[str]]]) -> Callable[..., Any]:
    """Return `step` with a record of the objects in memory before and after each call."""

    def noted(*arguments: Any, **named: Any) -> Any:
        of_runs[-1].append(object_counts())
        result = step(*arguments, **named)
        of_runs[-1].append(object_counts())
        return result

    return noted


def assert_as_much_for_many(of_runs: list[list[Counter[str]]]) -> None:
    """Check that a run with 12 jobs needs about as much memory at each point as a run with 3 jobs."""
    few, many_jobs = ([counter - of_runs[0][0] for counter in run] for run in of_runs)
    for before, after in zip(few, many_jobs, strict=True):
        assert after.total() - before.total() < 9, (before, after)


@pytest.mark.usefixtures("frozen")
def test_what_is_in_memory_does_not_grow_with_the_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_processors", lambda: 1)
    monkeypatch.setattr(ledgers, "_MOST", 2)  # number of ledgers in memory
    of_runs: list[list[Counter[str]]] = []
    for name in ("plan_write", "apply"):
        monkeypatch.setattr(render, name, noting(getattr(render, name), of_runs))
    for many in (3, 12):
        write_jobs(*range(many))
        of_runs.append([])
        tfgen("render", "jobs")
        write_jobs(*range(many), workers=3)  # the second render has ledgers, and files on disk
        tfgen("render", "jobs")
    assert {len(run) for run in of_runs} == {8}
    assert_as_much_for_many(of_runs)


@pytest.mark.usefixtures("frozen")
def test_what_a_check_has_in_memory_does_not_grow_with_the_jobs(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setattr(workers, "_processors", lambda: 1)
    monkeypatch.setattr(ledgers, "_MOST", 2)
    git("init", "--quiet", "--initial-branch=main")
    Path(".gitignore").write_text("cache/\n", encoding="utf-8")
    of_runs: list[list[Counter[str]]] = []
    for name in ("compare", "compare_overlays", "compare_files"):
        monkeypatch.setattr(pipeline_check, name, noting(getattr(pipeline_check, name), of_runs))
    for many in (3, 12):
        write_jobs(*range(many))
        of_runs.append([])
        tfgen("check", "jobs", code=cli.PROBLEMS)  # no file is rendered yet
        tfgen("render", "jobs")
        commit_all()
        (folder / "cache").rename(folder / f".known-{many}")
        tfgen("check", "jobs")
        write_jobs(*range(many), workers=3)
        tfgen("check", "jobs", code=cli.PROBLEMS)  # each job differs from the size of its run
    assert {len(run) for run in of_runs} == {18}
    assert_as_much_for_many(of_runs)


def counting(calls: Counter[str], name: str, step: Callable[..., Any]) -> Callable[..., Any]:
    """Return `step` with a count of its calls under `name`."""

    def counted(*arguments: Any, **named: Any) -> Any:
        calls[name] += 1
        return step(*arguments, **named)

    return counted


LIMITS = """\
apiVersion: tfgen/v1alpha1
kind: Defaults
limits: {environments: {prod: {replicas: 8}}}
"""


def test_a_job_is_built_once_also_where_a_sum_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: Counter[str] = Counter()
    monkeypatch.setattr(pipeline_render, "build", counting(calls, "build", graph.build))
    Path("tfgen.yaml").write_text(LIMITS, encoding="utf-8")
    write_jobs(1, 2, 3, fields="  environments: {prod: {}}\n")
    assert "request 15 tasks, but the limit is 8" in tfgen("check", "jobs", code=cli.PROBLEMS).out
    assert calls["build"] == 3


@pytest.mark.parametrize("is_elsewhere", [False, True])
def test_a_commit_checks_each_file_once(monkeypatch: pytest.MonkeyPatch, is_elsewhere: bool) -> None:
    checked: list[str] = []

    def check(checker: Checker, source: Source) -> CheckedFile:
        checked.append(source.file)
        return check_file(checker, source)

    check_file = Checker.check
    monkeypatch.setattr(Checker, "check", check)
    git("init", "--quiet", "--initial-branch=main")
    Path(".gitignore").write_text("cache/\n", encoding="utf-8")
    commit_all()
    write_jobs(1, 2, fields=GITOPS if is_elsewhere else "")
    tfgen("commit", "jobs")
    assert checked == ["jobs/001.yaml", "jobs/002.yaml"]


def test_a_commit_looks_for_manifests_of_others_once(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    def read(out: Path, ledgers: Ledgers) -> tuple[Manifest, ...]:
        with (folder / "cache" / "calls").open("a", encoding="utf-8") as calls:  # one file for all processes
            calls.write("read\n")
        return read_foreign_manifests(out, ledgers)

    monkeypatch.setattr(workers, "_processors", lambda: 2)
    monkeypatch.setattr(commit_command, "read_foreign_manifests", read)
    git("init", "--quiet", "--initial-branch=main")
    Path(".gitignore").write_text("cache/\n", encoding="utf-8")
    commit_all()
    Path("cache").mkdir()
    write_jobs(*range(workers.MANY))
    tfgen("commit", "jobs")
    assert Path("cache/calls").read_text(encoding="utf-8") == "read\n"


def test_a_commit_asks_git_and_reads_ledgers_as_often_for_many_jobs_as_for_few(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: Counter[str] = Counter()
    monkeypatch.setattr(Git, "done", counting(calls, "git", Git.done))
    monkeypatch.setattr(Ledgers, "__init__", counting(calls, "ledgers", Ledgers.__init__))
    git("init", "--quiet", "--initial-branch=main")
    Path(".gitignore").write_text("cache/\n", encoding="utf-8")
    commit_all()
    of_runs = []
    for numbers in ([1], [2, 3], range(4, 8)):
        write_jobs(*numbers)
        calls.clear()
        tfgen("commit", "jobs")
        of_runs.append(+calls)
    _, few, many = of_runs
    assert few.keys() == {"git", "ledgers"}
    assert few == many


@pytest.mark.long
def test_a_further_job_takes_a_few_kilobytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory per job is small for new, changed and unchanged jobs, and for long job files."""
    comment = "# a long comment\n" * 1_000
    sizes: list[int] = []

    def noted(*arguments: Any, **named: Any) -> Any:
        plan = write.apply(*arguments, **named)
        gc.collect()
        sizes.append(tracemalloc.get_traced_memory()[0])
        return plan

    monkeypatch.setattr(workers, "_processors", lambda: 1)
    monkeypatch.setattr(render, "apply", noted)
    few, many = 10, 35
    tracemalloc.start()
    try:
        for out, number in (("warm", many), ("few", few), ("many", many)):
            remove_jobs()
            write_jobs(*range(number), fields=comment)
            tfgen("render", "jobs", "--out", out)
        for out, number in (("many", many), ("few", few)):
            remove_jobs()
            write_jobs(*range(number), workers=3, fields=comment)
            tfgen("render", "jobs", "--out", out)  # this render has ledgers, and files on disk
            tfgen("render", "jobs", "--out", out)
    finally:
        tracemalloc.stop()
    _, few_first, many_first, many_changed, many_again, few_changed, few_again = sizes
    of_all = {
        "first": many_first - few_first,
        "changed": many_changed - few_changed,
        "again": many_again - few_again,
    }
    of_a_job = {name: size / (many - few) for name, size in of_all.items()}
    assert max(of_a_job.values()) < 5_000, of_a_job  # the goal of docs/performance.md


def test_as_many_processes_as_one_write_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    write_jobs(*range(workers.MANY + 5))
    results = []
    for processes in (1, 2):
        monkeypatch.setattr(workers, "_processors", lambda processes=processes: processes)
        tfgen("render", "jobs", "--force")
        results.append(written())
        for path in results[-1]:
            Path(path).unlink()
    assert results[0] == results[1]
    assert len([path for path in results[0] if path.startswith(".tfgen/")]) == workers.MANY + 5


def test_jobs_of_one_structure_are_rendered_one_after_another_and_written_in_their_order() -> None:
    tracked: list[str] = []

    def track(items: Iterable[tuple[str, Any]], _many: int) -> Iterator[tuple[str, Any]]:
        for name, file in items:
            tracked.append(name)
            yield name, file

    for number in range(6):
        write_jobs(number, workers=number + 1)
    for number in (1, 4):
        with Path(f"jobs/{number:03}.yaml").open("a") as job:
            job.write(f"  tensorboard: {{logDir: /logs/{number}}}\n")
    with render.render_paths([Path("jobs")], None, track=track) as done:
        assert tracked == [f"jobs/{number:03}.yaml" for number in (0, 2, 3, 5, 1, 4)]
        assert done.plan
        assert [rendering.job for rendering in map(unstaged, done.plan.request.renderings)] == [
            f"j{number:03}" for number in range(6)
        ]


def test_a_long_word_in_a_file_takes_no_time() -> None:
    """A file may contain a model or an image in base64. A pattern with quadratic time would take hours."""
    assert pipeline_render._KEYS.findall("a-b: c\n'd': [e.f: 1]\n" + "x" * 1_000_000) == ["a-b:", "d':", "f:"]


def test_as_many_processes_as_one_say_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    write_jobs(*range(0, workers.MANY, 2))
    write_jobs(
        *range(1, workers.MANY, 2), fields="  tensorboard: {logDir: /logs}  # tfgen: ignore latest-tag it stays\n"
    )
    write_jobs(3, workers=0)
    Path("jobs/005.yaml").write_text(JOB.format(name="j004", workers=2), encoding="utf-8")
    printed = []
    for processes in (1, 2):
        monkeypatch.setattr(workers, "_processors", lambda processes=processes: processes)
        printed.append(tfgen("check", "jobs", code=cli.PROBLEMS))
    assert printed[0] == printed[1]
    rules = Counter(line.rpartition("[")[2] for line in printed[0].out.splitlines())
    assert rules == {
        "not-rendered]": workers.MANY - 2,
        "unused-ignore]": workers.MANY // 2 - 2,
        "tensorboard-log-dir]": workers.MANY // 2 - 2,
        "out-of-range]": 1,
        "duplicate-job]": 1,
    }


def test_as_many_processes_as_one_show_the_same_differences(monkeypatch: pytest.MonkeyPatch) -> None:
    write_jobs(*range(workers.MANY + 5))
    git("init", "--quiet", "--initial-branch=main")
    commit_all()
    write_jobs(*range(workers.MANY), fields="  env: {NEW: variable}\n")
    printed = []
    for processes in (1, 2):
        monkeypatch.setattr(workers, "_processors", lambda processes=processes: processes)
        printed.append(tfgen("diff", "jobs", "--format", "json"))
    assert printed[0] == printed[1]
    assert [job["job"] for job in json.loads(printed[0].out)["jobs"]] == [f"j{n:03}" for n in range(workers.MANY)]


@pytest.mark.parametrize("processes", [1, 2])
def test_one_error_among_many_jobs_and_nothing_is_written(
    processes: int, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    monkeypatch.setattr(workers, "_processors", lambda: processes)
    write_jobs(*range(workers.MANY + 5))
    job = Path("jobs/013.yaml")
    job.write_text(job.read_text(encoding="utf-8").replace("replicas", "replica"), encoding="utf-8")
    printed = tfgen("render", "jobs", code=cli.PROBLEMS).err
    assert printed == (
        'jobs/013.yaml:6:39: unknown key "replica" in spec.roles.worker; did you mean "replicas"? [unknown-key]\n'
    )
    assert {path.name for path in folder.iterdir()} - {"cache"} == {"jobs"}


def test_jobs_that_clash_are_told_though_no_document_of_theirs_is_kept(folder: Path) -> None:
    write_jobs(*range(3))
    job = Path("jobs/001.yaml")
    job.write_text(job.read_text(encoding="utf-8").replace("j001", "j000"), encoding="utf-8")
    assert "jobs/001.yaml:3:18: " in tfgen("render", "jobs", code=cli.PROBLEMS).err
    assert {path.name for path in folder.iterdir()} - {"cache"} == {"jobs"}


def test_a_second_render_writes_what_changed_alone() -> None:
    write_jobs(*range(3))
    tfgen("render", "jobs")
    write_jobs(1, workers=5)
    Path("jobs/002.yaml").unlink()
    lines = tfgen("render", "jobs").out.splitlines()
    assert {line.split()[0] for line in lines[:-1]} == {"changed", "removed"}
    assert {line.split()[1].split("/")[1] for line in lines if line.startswith("changed")} == {"j001"}
    assert {line.split()[1].split("/")[1] for line in lines if line.startswith("removed")} == {"j002"}
    assert not Path("charts/j002").exists()
    assert "\nversion: 1.1." in Path("charts/j001/Chart.yaml").read_text(encoding="utf-8")


def apply_and_rewrite_ledgers(plan: WritePlan) -> WritePlan:
    """Apply the plan, then change the ledgers as another tfgen process could do after the lock is released."""
    carried_out = write.apply(plan)
    for path in Path(".tfgen").glob("*.json"):
        path.write_text(path.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    return carried_out


@pytest.mark.parametrize("changed", [(), (2,)])
def test_a_ledger_that_another_tfgen_writes_once_all_is_written_is_no_matter(
    monkeypatch: pytest.MonkeyPatch, changed: tuple[int, ...]
) -> None:
    write_jobs(1, 2)
    tfgen("render", "jobs")
    every = set(written()) - {".tfgen/j001.json", ".tfgen/j002.json"}
    write_jobs(*changed, workers=3)
    monkeypatch.setattr(render, "apply", apply_and_rewrite_ledgers)
    files = json.loads(tfgen("render", "jobs", "--format", "json").out)
    assert bool(files["changed"]) == bool(changed)
    assert {*files["changed"], *files["unchanged"]} == every


def test_a_job_is_said_to_be_kept_though_another_tfgen_writes_its_ledger_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledgers, "_MOST", 0)  # ledgers leave memory, as with many jobs
    write_jobs(1)
    tfgen("render", "jobs")
    ledger = Path(".tfgen/j001.json")
    ledger.write_text(re.sub('"tool": ".*"', '"tool": "0.0.1"', ledger.read_text(encoding="utf-8")), encoding="utf-8")
    git("init", "--quiet")
    commit_all()
    monkeypatch.setattr(render, "apply", apply_and_rewrite_ledgers)
    assert "kept: the files of j001, rendered by tfgen 0.0.1" in tfgen("render", "jobs").err
