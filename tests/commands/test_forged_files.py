"""Rendered files that a pull request changes. The ledger of the pull request proves nothing about the files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.repository import JOB, commit_all, copy_repository, git, run_tfgen, tfgen, write
from tfgen import __version__, cli
from tfgen.targets.kustomize.overlays import kustomize
from tfgen.tree import cache

pytestmark = pytest.mark.long

WORKER = "overlays/NAME/base/worker.yaml"

LEDGER_FORGERIES: dict[str, dict[str, str]] = {
    "the digest alone": {},
    "the version": {"tool": "0.0.9"},
    "the defaults": {"defaults": "0" * 64},
    "the version and the defaults": {"tool": "0.0.9", "defaults": "0" * 64},
}


def forge(name: str, **changes: str) -> str:
    """Change the image of a job's workers, and list the new content in the job's ledger."""
    path = WORKER.replace("NAME", name)
    text = Path(path).read_text(encoding="utf-8")
    forged = text.replace("image: mnist:1", "image: evil:1").replace("    spec:\n", "    spec:\n      hostPID: true\n")
    assert forged.count("evil") == forged.count("hostPID") == 1
    write(path, forged)
    list_file(name, path, **changes)
    return path


def list_file(name: str, path: str, **changes: str) -> None:
    """List the content of a file in the ledger of a job."""
    ledger = Path(f".tfgen/{name}.json")
    data = json.loads(ledger.read_text(encoding="utf-8"))
    data["files"][path] = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    write(ledger, json.dumps({**data, **changes}))


def job(name: str, fields: str = "") -> str:
    return JOB.replace("mnist}", f"{name}}}") + "  outputs: [overlays]\n" + fields


def new_job() -> str:
    write("jobs/new.yaml", job("new"))
    return "new"


def edited_job() -> str:
    write("jobs/mnist.yaml", job("mnist", "  retries: 7\n"))
    return "mnist"


def untouched_job() -> str:
    return "mnist"


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a repository with one job that is rendered and committed to main, and check out the branch `change`."""
    root = tmp_path / "repository"
    copy_repository(_rendered_job, root)
    monkeypatch.chdir(root)
    monkeypatch.setattr(cache, "folder", lambda: tmp_path / "cache")
    return root


def _rendered_job() -> None:
    write("jobs/mnist.yaml", job("mnist"))
    tfgen("render", "jobs")
    commit_all()
    git("switch", "--quiet", "--create", "change")


def checked(*arguments: str) -> tuple[int, str, str]:
    return run_tfgen("check", "jobs", *arguments)


@pytest.mark.parametrize("change", [new_job, edited_job, untouched_job])
def test_a_forged_file_of_a_pull_request_is_an_error_that_names_the_file(change: Callable[[], str]) -> None:
    name = change()
    tfgen("render", "jobs")
    commit_all()
    for ledger in LEDGER_FORGERIES.values():
        path = forge(name, **ledger)
        commit_all()
        for arguments in (("--against", "main"), ("--against", "main", "--changed"), ("--verify",)):
            code, out, _ = checked(*arguments)
            assert code == cli.PROBLEMS, (ledger, arguments)
            (line,) = (line for line in out.splitlines() if line.startswith(path))
            assert "hostPID: true" in line
            assert line.endswith(f"; run: tfgen render --upgrade jobs/{name}.yaml [not-reproduced]")
        tfgen("render", "jobs")
        assert "evil" in Path(path).read_text(encoding="utf-8") or not ledger
        tfgen("render", "jobs", "--upgrade")
        assert checked("--against", "main")[:2] == (cli.OK, "")
        commit_all()


@pytest.mark.parametrize("change", [new_job, edited_job, untouched_job])
def test_the_next_render_replaces_a_forged_file_that_is_not_committed(change: Callable[[], str]) -> None:
    name = change()
    tfgen("render", "jobs")
    for ledger in LEDGER_FORGERIES.values():
        path = forge(name, **ledger)
        code, out, _ = checked()
        assert code == cli.PROBLEMS
        assert path in [line.partition(":")[0] for line in out.splitlines()]
        tfgen("render", "jobs")
        assert "evil" not in Path(path).read_text(encoding="utf-8")
        assert checked()[0] == cli.OK


def test_what_the_cache_knows_of_a_job_accepts_no_forged_ledger() -> None:
    """The cache contains the ledger of the job, because the job was rendered and checked."""
    new_job()
    assert cli.run(["render", "jobs"]) == cli.run(["check", "jobs"]) == cli.OK
    commit_all()
    assert checked()[0] == checked("--against", "main")[0] == cli.OK
    forge("new", tool="0.0.9")
    commit_all()
    assert checked("--against", "main")[0] == cli.PROBLEMS
    assert checked("--against", "main", "--changed")[0] == cli.PROBLEMS


def test_a_forgery_that_is_committed_is_seen_by_verify_alone() -> None:
    """A comparison with the commit of the forgery shows no difference."""
    path = forge("mnist", tool="0.0.9")
    commit_all()
    code, out, err = checked()
    assert (code, out) == (cli.OK, "")
    assert "note: mnist keeps its committed files until the job changes: the version of tfgen changed from 0.0.9" in err
    code, out, _ = checked("--verify")
    assert code == cli.PROBLEMS
    assert out.startswith(path)


def test_a_ledger_that_lists_one_more_file_is_an_error_at_that_file() -> None:
    path = "overlays/mnist/base/extra.yaml"
    write(path, "apiVersion: v1\nkind: Secret\nmetadata: {name: extra}\n")
    list_file("mnist", path, tool="0.0.9")
    commit_all()
    code, out, _ = checked("--against", "main")
    assert code == cli.PROBLEMS
    assert out.startswith(f"{path}:1:1: this version of tfgen does not render the file; ")


@pytest.mark.parametrize("ledger", [{"tool": "0.0.9"}, {"defaults": "0" * 64}])
def test_a_ledger_alone_that_is_forged_is_an_error(ledger: dict[str, str]) -> None:
    """The files are correct, but a later pull request could use the claims of the ledger."""
    name = new_job()
    tfgen("render", "jobs")
    list_file(name, WORKER.replace("NAME", name), **ledger)
    commit_all()
    code, out, _ = checked("--against", "main")
    assert code == cli.PROBLEMS
    assert out.startswith(".tfgen/new.json:1:1: the ledger differs from the ledger that tfgen ")


def test_a_pull_request_that_another_tfgen_rendered_is_told_to_render_again(monkeypatch: pytest.MonkeyPatch) -> None:
    new_job()
    with monkeypatch.context() as patch:
        for module in ("tfgen.tree.cache", "tfgen.tree.staging", "tfgen.check.files"):
            patch.setattr(f"{module}.__version__", "9.9.9")
        patch.setattr("tfgen.targets.render.kustomize", with_a_comment)
        tfgen("render", "jobs/new.yaml")
        commit_all()
        assert checked("--against", "main")[0] == cli.OK
    code, out, _ = checked("--against", "main")
    assert code == cli.PROBLEMS
    assert out == (
        f'overlays/new/base/worker.yaml:1:1: found "# by tfgen 9.9.9" where tfgen {__version__} renders "# Generated '
        "by tfgen. Edit the job file that .tfgen/new....; "
        "the job differs from main, so its files must equal the files that this version of tfgen renders (the ledger "
        "names tfgen 9.9.9); run: tfgen render --upgrade jobs/new.yaml [not-reproduced]\n"
    )


def with_a_comment(*arguments: Any) -> dict[str, str]:
    """Render overlays like another version of tfgen."""
    files = kustomize(*arguments)
    path = WORKER.replace("NAME", "new")
    return {**files, path: f"# by tfgen 9.9.9\n{files[path]}"} if path in files else files


def test_verify_takes_no_option_that_leaves_files_out() -> None:
    for option in ("--changed", "--no-files"):
        assert checked("--verify", option)[0] == cli.USAGE


def test_outside_of_git_each_job_is_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write("jobs/new.yaml", job("new"))
    tfgen("render", "jobs")
    path = forge("new", tool="0.0.9")
    code, out, _ = checked()
    assert code == cli.PROBLEMS
    assert out.startswith(path)


# -- guard rails on committed files --------------------------------------------------------------------------------

DEFAULTS = "apiVersion: tfgen/v1alpha1\nkind: Defaults\n"


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        (
            "registry: old.example.org\n",
            "registry: new.example.org\nenforce: [registry]\n",
            'jobs/mnist.yaml:3:18: the image "old.example.org/mnist:1" is not in the registry new.example.org, which',
        ),
        ("spec: {retries: 1}\n", "limits: {job: {replicas: 6}}\n", "jobs/mnist.yaml:6:49: the job requests 7 tasks, "),
        ("spec: {retries: 1}\n", "limits: {environments: {dev: {replicas: 6}}}\n", "tfgen.yaml:3:41: the jobs in the "),
    ],
)
def test_guard_rails_look_at_the_committed_overlays_of_a_job_that_stays(before: str, after: str, problem: str) -> None:
    """The changed guard rail allows the objects that this tfgen renders, but not the committed objects."""
    environments = "  environments: {dev: {}}\n"
    write("tfgen.yaml", f"{DEFAULTS}{before}")
    write("jobs/mnist.yaml", job("mnist", environments))
    tfgen("render", "jobs")
    replicas_4(WORKER.replace("NAME", "mnist"))
    git("commit", "--quiet", "--all", "--message=as an earlier tfgen rendered it")
    commit_all()
    git("branch", "--force", "main")
    write("tfgen.yaml", f"{DEFAULTS}{after}")
    commit_all()
    code, out, err = checked("--against", "main")
    assert code == cli.PROBLEMS, err
    (line,) = out.splitlines()
    assert line.startswith(problem)
    assert "note: mnist keeps its committed files until the job changes" in err


def test_an_enforced_profile_counts_for_the_committed_pods_of_a_job_that_stays() -> None:
    write("tfgen.yaml", DEFAULTS)
    tfgen("render", "jobs")
    forge("mnist", tool="0.0.9")
    commit_all()
    git("branch", "--force", "main")
    assert checked("--against", "main")[0] == cli.OK
    write("tfgen.yaml", f"{DEFAULTS}enforce: [spec.security]\n")
    commit_all()
    code, out, _ = checked("--against", "main")
    assert code == cli.PROBLEMS
    assert out == (
        "jobs/mnist.yaml:3:18: StatefulSet mnist-worker: spec.template.spec.hostPID: hostPID: true needs the profile "
        "privileged, but tfgen.yaml:3:11 enforces restricted; the value is in the committed "
        "files of overlays/mnist [enforced]\n"
    )


def replicas_4(path: str) -> None:
    """Set the replicas of the committed workers to 4 in place of 2, as if an earlier tfgen had rendered the file."""
    text = Path(path).read_text(encoding="utf-8")
    assert "replicas: 2" in text
    write(path, text.replace("replicas: 2", "replicas: 4"))
    list_file("mnist", path, tool="0.0.9")


# -- jobs that the check does not read -----------------------------------------------------------------------------


def ghost(source: str) -> None:
    """Commit a ledger and its rendered file for a job that is not in a file below jobs/."""
    path = "overlays/ghost/prod/kustomization.yaml"
    write(path, "resources: []\n")
    digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    ledger = {"files": {path: digest}, "input": "0" * 64, "tool": "0.1.0", "version": 1, "source": source}
    write(".tfgen/ghost.json", json.dumps(ledger))
    commit_all()


@pytest.mark.parametrize("source", ["", "elsewhere/ghost.yaml", "README.md"])
def test_a_ledger_of_a_job_that_no_file_has_is_an_error(source: str) -> None:
    write("README.md", "ghost\n")
    ghost(source)
    for arguments in (("--against", "main"), ("--against", "main", "--changed"), ("--verify",)):
        code, out, _ = checked(*arguments)
        assert code == cli.PROBLEMS
        assert out.startswith(".tfgen/ghost.json:1:1: no file of the repository has the job ghost, and ")
    git("branch", "--force", "main")
    assert checked("--against", "main")[0] == cli.OK


def test_a_changed_job_that_the_check_is_not_given_is_an_error() -> None:
    write("elsewhere/ghost.yaml", job("ghost"))
    ghost("elsewhere/ghost.yaml")
    code, out, _ = checked("--against", "main")
    assert code == cli.PROBLEMS
    assert out.startswith(
        ".tfgen/ghost.json:1:1: elsewhere/ghost.yaml has the job ghost, and the files that the ledger lists differ "
        "from main"
    )
    tfgen("render", "elsewhere", "--force")
    assert checked("elsewhere", "--against", "main")[0] == cli.OK


def test_files_beside_a_job_that_is_rendered_into_another_branch_are_an_error() -> None:
    """The check never compares the job with these files."""
    gitops = '  gitops: {repository: "https://git.example.org/ml.git", rendered: {branch: rendered}}\n'
    write("jobs/ghost.yaml", job("ghost", gitops))
    ghost("jobs/ghost.yaml")
    code, out, _ = checked("--against", "main")
    assert code == cli.PROBLEMS
    assert (
        ".tfgen/ghost.json:1:1: the rendered files of ghost belong to the branch rendered (gitops.rendered), and "
        in out
    )
