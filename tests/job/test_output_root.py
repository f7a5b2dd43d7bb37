"""Tests of the output folder, which depends on the job file and not on the current folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import git_author
from tests.support.checked_repository import JOB, OTHER, git
from tfgen import cli
from tfgen.job.sources import root_above

Printed = pytest.CaptureFixture[str]

DEFAULTS = "apiVersion: tfgen/v1alpha1\nkind: Defaults\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder, which is empty."""
    monkeypatch.chdir(tmp_path)
    for name, value in git_author.VARIABLES.items():
        monkeypatch.setenv(name, value)
    return tmp_path


def write(path: str, text: str = JOB) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text, encoding="utf-8")


def rendered() -> list[str]:
    """Return the folders with a ledger, relative to the current folder."""
    return sorted(str(path.parent.parent) for path in Path().rglob(".tfgen/mnist.json"))


@pytest.mark.parametrize(
    ("files", "root"),
    [
        pytest.param((".git/", "teams/ads/job.yaml"), ".", id="a repository"),
        pytest.param((".git/", "teams/.git/", "teams/ads/job.yaml"), "teams", id="a submodule"),
        pytest.param((".git/", "teams/.git", "teams/ads/job.yaml"), "teams", id="a worktree's .git is a file"),
        pytest.param((".git/", "teams/tfgen.yaml", "teams/ads/job.yaml"), ".", id="defaults alone are no root"),
        pytest.param((".git/", "teams/root", "teams/ads/job.yaml"), "teams", id="root: true"),
        pytest.param(
            (".git/", ".tfgen/", "teams/.tfgen/", "teams/ads/job.yaml"), ".", id="what was rendered once is none"
        ),
        pytest.param(("teams/.tfgen/", "tfgen.yaml", "teams/ads/job.yaml"), "teams", id="outside: what was rendered"),
        pytest.param(("tfgen.yaml", "teams/tfgen.yaml", "teams/ads/job.yaml"), ".", id="outside: the topmost defaults"),
        pytest.param(("teams/ads/job.yaml",), ".", id="outside of all: the working directory"),
    ],
)
def test_the_root_of_a_job(files: tuple[str, ...], root: str) -> None:
    for name in files:
        if name.endswith("/"):
            Path(name).mkdir(parents=True)
        elif name.endswith("root"):
            write(name.replace("root", "tfgen.yaml"), f"{DEFAULTS}root: true\n")
        else:
            write(name, DEFAULTS)
    assert root_above(Path("teams/ads")) == Path(root).resolve()


@pytest.mark.parametrize("here", [".", "jobs", "/", "elsewhere"])
def test_a_repositorys_files_are_in_it_from_everywhere(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Printed, here: str
) -> None:
    git("init", "--quiet", "repository")
    write("repository/jobs/mnist.yaml")
    Path("repository/elsewhere").mkdir()
    monkeypatch.chdir(Path("repository", here))
    job = str(folder / "repository" / "jobs" / "mnist.yaml")
    assert cli.run(["check", job]) == 1
    assert "mnist was never rendered" in capsys.readouterr().out
    assert cli.run(["render", job]) == 0
    assert cli.run(["check", job]) == 0
    assert cli.run(["commit", job]) == 0
    monkeypatch.chdir(folder)
    assert rendered() == ["repository"]
    monkeypatch.chdir("/")
    assert cli.run(["rm", job]) == 0
    assert not (folder / "repository" / "charts").exists()


def test_a_project_of_a_monorepo_and_a_submodule_from_outside(capsys: Printed) -> None:
    git("init", "--quiet", ".")
    write("project/tfgen.yaml", f"{DEFAULTS}root: true\nspec: {{labels: {{team: ads}}}}\n")
    write("tfgen.yaml", f"{DEFAULTS}spec: {{labels: {{platform: a}}}}\n")
    write("project/jobs/mnist.yaml")
    git("init", "--quiet", "module")
    write("module/jobs/mnist.yaml")
    for path in ("project", "module"):
        assert cli.run(["render", path]) == 0
        assert cli.run(["check", path]) == 0
    assert rendered() == ["module", "project"]
    capsys.readouterr()
    assert cli.run(["explain", "project/jobs/mnist.yaml", "--origin"]) == 0
    labels = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line.startswith("spec.labels")]
    assert labels == ["spec.labels.team"]


def test_jobs_of_two_places_are_not_mixed(capsys: Printed) -> None:
    for name, text in (("one", JOB), ("two", OTHER)):
        git("init", "--quiet", name)
        write(f"{name}/job.yaml", text)
    assert cli.run(["render", "."]) == 2
    assert capsys.readouterr().err == (
        "tfgen: error: the jobs have different folders for charts/ and overlays/: one for jobs in one and two for jobs "
        "in two; pass only jobs with the same folder, or set --out\n"
    )
    assert cli.run(["render", ".", "--out", "all"]) == 0
    assert rendered() == ["all"]


def test_a_job_that_is_nowhere_has_no_place(monkeypatch: pytest.MonkeyPatch, folder: Path, capsys: Printed) -> None:
    write("mnist.yaml")
    for here in ("/", str(folder / "other")):
        Path(here).mkdir(exist_ok=True)
        monkeypatch.chdir(here)
        assert cli.run(["render", str(folder / "mnist.yaml")]) == 2
        assert capsys.readouterr().err == (
            f"tfgen: error: {folder}: the folder is in no git repository and not below the working directory, so tfgen "
            "cannot choose a folder for charts/ and overlays/; set --out, or add a tfgen.yaml with root: true to the "
            "folder\n"
        )
    assert not Path("/charts").exists()


def test_a_ledger_that_is_gone_is_missed(capsys: Printed) -> None:
    git("init", "--quiet", ".")
    write("jobs/mnist.yaml")
    assert cli.run(["render", "jobs"]) == 0
    Path(".tfgen/mnist.json").unlink()
    Path(".tfgen").rmdir()
    capsys.readouterr()
    assert cli.run(["check", "jobs"]) == 1
    assert ".tfgen/mnist.json, the ledger of mnist, is missing; run tfgen render" in capsys.readouterr().out
