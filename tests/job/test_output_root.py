"""Tests of the output folder, which depends on the job file and not on the current folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.repository import JOB, OTHER, git, tfgen
from tfgen.job.sources import root_above

DEFAULTS = "apiVersion: tfgen/v1alpha1\nkind: Defaults\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder, which is empty."""
    monkeypatch.chdir(tmp_path)
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
    folder: Path, monkeypatch: pytest.MonkeyPatch, here: str
) -> None:
    git("init", "--quiet", "repository")
    write("repository/jobs/mnist.yaml")
    Path("repository/elsewhere").mkdir()
    monkeypatch.chdir(Path("repository", here))
    job = str(folder / "repository" / "jobs" / "mnist.yaml")
    assert "mnist was never rendered" in tfgen("check", job, code=1).out
    tfgen("render", job)
    tfgen("check", job)
    tfgen("commit", job)
    monkeypatch.chdir(folder)
    assert rendered() == ["repository"]
    monkeypatch.chdir("/")
    tfgen("rm", job)
    assert not (folder / "repository" / "charts").exists()


def test_a_project_of_a_monorepo_and_a_submodule_from_outside() -> None:
    git("init", "--quiet", ".")
    write("project/tfgen.yaml", f"{DEFAULTS}root: true\nspec: {{labels: {{team: ads}}}}\n")
    write("tfgen.yaml", f"{DEFAULTS}spec: {{labels: {{platform: a}}}}\n")
    write("project/jobs/mnist.yaml")
    git("init", "--quiet", "module")
    write("module/jobs/mnist.yaml")
    for path in ("project", "module"):
        tfgen("render", path)
        tfgen("check", path)
    assert rendered() == ["module", "project"]
    printed = tfgen("explain", "project/jobs/mnist.yaml", "--origin").out
    labels = [line.split()[0] for line in printed.splitlines() if line.startswith("spec.labels")]
    assert labels == ["spec.labels.team"]


def test_jobs_of_two_places_are_not_mixed() -> None:
    for name, text in (("one", JOB), ("two", OTHER)):
        git("init", "--quiet", name)
        write(f"{name}/job.yaml", text)
    printed = tfgen("render", ".", code=2).err
    assert printed == (
        "tfgen: error: the jobs have different folders for charts/ and overlays/: one for jobs in one and two for jobs "
        "in two; pass only jobs with the same folder, or set --out\n"
    )
    tfgen("render", ".", "--out", "all")
    assert rendered() == ["all"]


def test_a_job_that_is_nowhere_has_no_place(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    write("mnist.yaml")
    for here in ("/", str(folder / "other")):
        Path(here).mkdir(exist_ok=True)
        monkeypatch.chdir(here)
        printed = tfgen("render", str(folder / "mnist.yaml"), code=2).err
        assert printed == (
            f"tfgen: error: {folder}: the folder is in no git repository and not below the working directory, so tfgen "
            "cannot choose a folder for charts/ and overlays/; set --out, or add a tfgen.yaml with root: true to the "
            "folder\n"
        )
    assert not Path("/charts").exists()


def test_a_ledger_that_is_gone_is_missed() -> None:
    git("init", "--quiet", ".")
    write("jobs/mnist.yaml")
    tfgen("render", "jobs")
    Path(".tfgen/mnist.json").unlink()
    Path(".tfgen").rmdir()
    assert ".tfgen/mnist.json, the ledger of mnist, is missing; run tfgen render" in tfgen("check", "jobs", code=1).out
