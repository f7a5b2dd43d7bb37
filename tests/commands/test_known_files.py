"""Tests that the cached results of a file equal the results without a cache, in each state of the cache."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.command import Command
from tests.support.repository import commit_all, git, run_tfgen, tfgen, write
from tfgen import cli
from tfgen.check import source as check_module
from tfgen.tree import cache
from tfgen.tree.cache import folder

pytestmark = pytest.mark.long

JOB = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: NAME}
spec:
  image: mnist:latest
  roles: {chief: {}, ps: {}, worker: {replicas: 2}}
"""
"""The job has a warning, because its image tag can move."""

GITOPS = """\
  gitops: {repository: "https://git.example.com/ml.git", argocd: {}}
  environments: {dev: {namespace: ml-dev, priorityClasses: {low: {value: 1}}}}
"""
"""Two such jobs have another warning, because both render the one PriorityClass of their cluster."""

QUOTA = """\
apiVersion: v1
kind: ResourceQuota
metadata: {name: q, namespace: ml-dev}
spec: {hard: {requests.cpu: 4}}
"""

NEARER = "apiVersion: tfgen/v1alpha1\nkind: Defaults\nspec: {retries: 3}\n"

Edit = Callable[[Path], object]


def job(name: str, fields: str = "") -> str:
    return JOB.replace("NAME", name) + fields


def append(file: str, text: str) -> Edit:
    return lambda root: write(root / file, (root / file).read_text(encoding="utf-8") + text)


def replace(file: str, old: str, new: str) -> Edit:
    return lambda root: write(root / file, (root / file).read_text(encoding="utf-8").replace(old, new))


EDITS: dict[str, Edit] = {
    "nothing": lambda _: None,
    "the job's file": replace("jobs/a.yaml", "replicas: 2", "replicas: 3"),
    "a comment in the job's file": append("jobs/a.yaml", "# a comment\n"),
    "a comment that ignores the warning": replace(
        "jobs/a.yaml", "mnist:latest", "mnist:latest  # tfgen: ignore latest-tag it moves"
    ),
    "an error in the job's file": replace("jobs/a.yaml", "replicas: 2", "replica: 2"),
    "the defaults": append("tfgen.yaml", "spec: {retries: 3}\n"),
    "nearer defaults": lambda root: write(root / "jobs" / "tfgen.yaml", NEARER),
    "what a warning weighs": append("tfgen.yaml", "rules: {latest-tag: {severity: error}}\n"),
    "an error in the defaults": append("tfgen.yaml", "spec: {retry: 3}\n"),
    "a limit of a job": append("tfgen.yaml", "limits: {job: {replicas: 1}}\n"),
    "a limit of a sum": append("tfgen.yaml", "limits: {namespaces: {ml-dev: {replicas: 1}}}\n"),
    "a quota beside the jobs": lambda root: write(root / "k8s" / "quota.yaml", QUOTA),
    "a rendered file": append("charts/a/Chart.yaml", "# edited\n"),
    "a rendered file that is gone": lambda root: (root / "overlays/a/base/worker.yaml").unlink(),
    "a rendered file that is a link": lambda root: (
        (root / "overlays/a/base/worker.yaml").unlink(),
        (root / "overlays/a/base/worker.yaml").symlink_to("ps.yaml"),
    ),
    "line ends": lambda root: (root / "charts/a/Chart.yaml").write_bytes(
        (root / "charts/a/Chart.yaml").read_bytes().replace(b"\n", b"\r\n")
    ),
    "the ledger": replace(".tfgen/a.json", '"tool"', '"tool" '),
    "a ledger that is gone": lambda root: (root / ".tfgen/a.json").unlink(),
    "a ledger of an earlier tfgen": replace(".tfgen/a.json", '"tool": "', '"tool": "0.0.'),
    "a new job of the same name": lambda root: write(root / "jobs" / "c.yaml", job("a")),
    "a new job in the same cluster": lambda root: write(root / "jobs" / "c.yaml", job("c", GITOPS)),
    "a job in the same cluster, which ignores the clash": lambda root: ignored_clash(root),
    "a clash of jobs whose objects have a warning that is off": lambda root: clash_beside_a_warning_that_is_off(root),
    "a clash that was ignored, and is gone": lambda root: (ignored_clash(root), (root / "jobs/b.yaml").unlink()),
    "two committed jobs of one name": lambda root: namesakes(root),
    "a render that is refused, since a rendered file was edited": lambda root: refused(root),
    "another output folder": lambda root: cli.run(["render", "jobs", "--out", str(root / "out")]),
    "a chart that is not committed, of a job that is": lambda root: only_job_committed(root),
    "a job that is gone": lambda root: (root / "jobs/b.yaml").unlink(),
    "a job that has moved": lambda root: (root / "jobs/a.yaml").rename(root / "jobs/c.yaml"),
    "another commit": lambda root: (
        replace("jobs/a.yaml", "replicas: 2", "replicas: 3")(root),
        commit_all(),
        undo(root),
    ),
}


def undo(root: Path) -> None:
    replace("jobs/a.yaml", "replicas: 3", "replicas: 2")(root)


def ignored_clash(root: Path) -> None:
    """Render and check a job that has the same PriorityClass as another job and ignores the warning."""
    text = job("c", GITOPS).removesuffix("\n") + "  # tfgen: ignore shared-object both have it alike\n"
    write(root / "jobs" / "c.yaml", text)
    assert cli.run(["render", "jobs"]) == cli.run(["check", "jobs"]) == cli.OK
    commit_all()


def clash_beside_a_warning_that_is_off(root: Path) -> None:
    quota = "{kind: ResourceQuota, apiVersion: v1, metadata: {name: shared}, spec: {hard: {requests.cpu: 4}}}"
    append("tfgen.yaml", 'rules: {namespace-quota: {severity: "off", reason: they are small}}\n')(root)
    for name in ("a", "b"):
        fields = f"  environments: {{dev: {{}}}}\n  objects: {{q: {quota}}}\n"
        write(root / "jobs" / f"{name}.yaml", job(f"{name}, namespace: ml-dev", fields))
    assert cli.run(["render", "jobs"]) == cli.run(["check", "jobs"]) == cli.OK


def namesakes(root: Path) -> None:
    """Commit a second job with the same name, as a merge of two branches does, and check both."""
    write(root / "jobs" / "c.yaml", job("a").replace("replicas: 2", "replicas: 5"))
    commit_all()
    tfgen("check", "jobs", code=cli.PROBLEMS)


def only_job_committed(root: Path) -> None:
    """Commit a job without overlays, whose objects have a warning."""
    write(root / "k8s" / "quota.yaml", QUOTA)
    write(root / "jobs" / "a.yaml", job("a, namespace: ml-dev", "  outputs: [charts]\n"))
    tfgen("render", "jobs")
    commit_all()
    replace("jobs/a.yaml", "replicas: 2", "replicas: 3")(root)
    commit_all()
    assert cli.run(["render", "jobs"]) == cli.run(["check", "jobs"]) == cli.OK


def refused(root: Path) -> None:
    """Change a job, so that a render refuses to overwrite an edited file. Then restore the edited file."""
    append("charts/a/values.yaml", "edited: 1\n")(root)
    replace("jobs/a.yaml", "replicas: 2", "replicas: 3")(root)
    tfgen("render", "jobs", code=cli.PROBLEMS)
    git("checkout", "--quiet", "--", "charts/a/values.yaml")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder with `repository` and `cache`, and a copy of each in `saved`.

    The repository has three jobs that are rendered and committed. Two jobs use a GitOps tool, and share a file. The
    cache has an entry for each job.
    """
    place = tmp_path_factory.mktemp("place")
    root = place / "repository"
    root.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        patch.setattr(cache, "folder", lambda: place / "cache")
        git("init", "--quiet", "--template=", "--initial-branch=main")
        write(root / "jobs" / "a.yaml", job("a"))
        write(root / "jobs" / "b.yaml", job("b", GITOPS))
        write(root / "jobs" / "d.yaml", job("d", GITOPS.replace("dev: {", "prod: {cluster: far, ")))
        write(root / "tfgen.yaml", "apiVersion: tfgen/v1alpha1\nkind: Defaults\nregistry: registry.example.com\n")
        tfgen("render", "jobs")
        commit_all()
        tfgen("check", "jobs")
        git("gc", "--quiet")  # one pack is cheaper to copy than a folder for each object
    for name in ("repository", "cache"):
        shutil.copytree(place / name, place / "saved" / name, symlinks=True)
    return place


@pytest.fixture
def repository(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Restore the repository and the cache of `place` from their copies."""
    for name in ("repository", "cache"):
        shutil.rmtree(place / name, ignore_errors=True)
        shutil.copytree(place / "saved" / name, place / name, symlinks=True)
    monkeypatch.chdir(place / "repository")
    monkeypatch.setattr(cache, "folder", lambda: place / "cache")
    return place / "repository"


@pytest.fixture
def entries(repository: Path) -> Path:
    """Return the cache, which has an entry for each job of the repository."""
    return repository.with_name("cache")


COMMANDS = (
    ["check", "jobs"],
    ["check", "jobs", "--changed", "--format", "json"],
    ["render", "--stdout", "jobs"],
    ["render", "--stdout", "--env", "dev", "jobs/b.yaml"],
)


def run(root: Path, entries: Path | None, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Return the output of the commands and the final files. The commands use the cache `entries`, or no cache."""
    monkeypatch.setattr(cache, "folder", lambda: entries)
    commands = (*COMMANDS, ["render", "jobs", "--format", "json"], ["render", "jobs", "--upgrade", "--force"])
    results = [(command, *run_tfgen(*command)) for command in commands]
    return [*results, {path: path.read_bytes() for path in files(root)}]


def files(root: Path) -> Iterator[Path]:
    return (path for path in sorted(root.rglob("*")) if path.is_file() and ".git" not in path.parts)


@pytest.mark.long
@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_all_is_said_and_written_as_without_the_cache(
    edit: Edit, repository: Path, entries: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit(repository)
    before = tmp_path / "before"
    shutil.copytree(repository, before, symlinks=True)
    with_cache = run(repository, entries, monkeypatch)
    shutil.rmtree(repository)
    shutil.copytree(before, repository, symlinks=True)
    os.chdir(repository)
    assert run(repository, None, monkeypatch) == with_cache


SHARED = """\
  environments: {dev: {}}
  objects:
    x: {apiVersion: v1, kind: ConfigMap, metadata: {name: shared}, data: {k: v}}
"""


def test_of_unchanged_jobs_only_what_they_do_to_each_other_is_said(
    repository: Path, entries: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An earlier check cached both jobs, and printed the warning of each job."""
    (repository / "jobs" / "d.yaml").unlink()
    for name in ("a", "b"):
        write(repository / "jobs" / f"{name}.yaml", job(f"{name}, namespace: ml-dev", SHARED))
    write(repository / "k8s" / "quota.yaml", QUOTA)
    tfgen("render", "jobs")
    commit_all()
    for name in ("a", "b"):
        assert "[namespace-quota]" in tfgen("check", f"jobs/{name}.yaml").out
    for used in (entries, None):
        monkeypatch.setattr(cache, "folder", lambda used=used: used)
        out = tfgen("check", "jobs", "--changed").out
        assert "[shared-object]" in out
        assert "[namespace-quota]" not in out


def test_what_is_known_is_not_read_again(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_module, "parse_source", lambda *_: pytest.fail("a file was read"))
    assert cli.run(["check", "jobs"]) == cli.run(["render", "jobs"]) == cli.OK
    append("jobs/a.yaml", "# a comment\n")(repository)
    with pytest.raises(pytest.fail.Exception):
        cli.run(["check", "jobs", "--debug"])


def test_another_tfgen_is_noticed(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("tfgen.tree.cache", "tfgen.tree.staging", "tfgen.check.files"):
        monkeypatch.setattr(f"{module}.__version__", "9.9.9")
    cache._build.cache_clear()
    try:
        assert "kept: the files of a, rendered by tfgen" in run_tfgen("render", "jobs")[2]
    finally:
        cache._build.cache_clear()


DAMAGES: dict[str, Callable[[Path], object]] = {
    "cut": lambda entry: entry.write_bytes(entry.read_bytes()[:-9]),
    "empty": lambda entry: entry.write_bytes(b""),
    "no text": lambda entry: entry.write_bytes(b"\xff\x00\n{}"),
    "another's": lambda entry: entry.write_bytes(
        next(path for path in sorted(entry.parents[1].glob("*/*")) if path != entry).read_bytes()
    ),
    "a folder": lambda entry: (entry.unlink(), entry.mkdir()),
}


def sealed(content: object) -> Callable[[Path], object]:
    """Write other content with a valid checksum, as a user or another program may do."""

    def write_content(entry: Path) -> None:
        body = json.dumps(content).encode()
        seal = hashlib.sha256((entry.parent.name + entry.name).encode() + body).hexdigest()
        entry.write_bytes(f"{seal}\n".encode() + body)

    return write_content


PARTS = {"rule_problems": [], "object_problems": [], "unused": [], "records": [], "ledgers": {}, "jobs": "[]"}
SHAPES: list[object] = [[], {}, "text", 1, True, [[]], *({**PARTS, key: 1} for key in PARTS)]
SHAPES += [{**PARTS, "rule_problems": [[]]}, {**PARTS, "records": [["job"]]}, {**PARTS, "ledgers": ["a"]}]
DAMAGES |= {f"another shape: {json.dumps(content)}": sealed(content) for content in SHAPES}


@pytest.fixture(scope="module")
def results() -> dict[Path, list[object]]:
    """Results of the commands without a cache, by the repository."""
    return {}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_an_entry_that_is_not_whole_is_made_anew(
    damage: Callable[[Path], object],
    repository: Path,
    entries: Path,
    results: dict[Path, list[object]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for entry in sorted(entries.glob("*/*")):
        damage(entry)
    with_broken_cache = run(repository, entries, monkeypatch)
    # The commands change no file here, so the results without a cache are the same for each damage.
    if repository not in results:
        results[repository] = run(repository, None, monkeypatch)
    assert results[repository] == with_broken_cache


def test_a_disk_that_takes_no_entry_is_no_error(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run(repository, None, monkeypatch)
    write(tmp_path / "file", "")
    monkeypatch.setattr(cache, "folder", lambda: tmp_path / "file")
    assert [(command, *run_tfgen(*command)) for command in COMMANDS] == whole[: len(COMMANDS)]
    assert stat.S_ISREG((tmp_path / "file").stat().st_mode)


def test_entries_lie_in_the_users_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert folder() == tmp_path / "cache" / "tfgen" / "jobs"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert folder() == tmp_path / ".cache" / "tfgen" / "jobs"


def test_without_a_folder_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "folder", lambda: None)
    cache.store_results({"ab1": 1})
    assert cache.cached_result("ab1") is None


def test_git_sees_no_entry(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "folder", lambda: repository / "cache")
    tfgen("check", "jobs")
    assert [*(repository / "cache").glob("*/*")]
    assert Command(("git", "status", "--porcelain")).run() == ""


def test_the_oldest_entries_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "folder", lambda: tmp_path)
    monkeypatch.setattr(cache, "MOST", 3)
    keys = [f"ab{number}" for number in range(5)]
    for age, key in enumerate(keys):
        cache.store_results({key: age})
        os.utime(tmp_path / "ab" / key[2:], ns=(age, age))
    assert [key for key in keys if cache.cached_result(key) is not None] == keys[-3:]
