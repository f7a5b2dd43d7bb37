"""A job that is retired in an environment, and files that several jobs share."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from tests.support.repository import commit_all, git, tfgen
from tests.support.tools import kustomize_build
from tfgen import cli
from tfgen.change.comparison import Pair
from tfgen.change.new_run import find_new_runs
from tfgen.check.jobs import check
from tfgen.commands.git.message import job_changes
from tfgen.graph.graph import plain_objects
from tfgen.schema.editor_schema import editor_schema
from tfgen.tree.files import digest_of

pytestmark = pytest.mark.long

JOB = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: NAME, namespace: ml}
spec:
  image: registry.example.com/ml/mnist:1.4.0
  roles: {chief: {}, ps: {}, worker: {}}
  gitops: {repository: "https://git.example.com/ml/jobs.git", argocd: {}, flux: {}}
  environments: {prod: {}}
"""
CLAIM = "  storage: {model: {mountPath: /model, claim: {size: 1Gi}}}\n"
RETIRED = JOB.replace("prod: {}", "prod: {enabled: false}")


def on_disk(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def write(folder: Path, name: str, text: str = JOB) -> Path:
    path = folder / "jobs" / name / "job.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.replace("NAME", name), encoding="utf-8")
    return path


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a repository with the rendered jobs a and b."""
    monkeypatch.chdir(tmp_path)
    git("init", "--quiet")
    for name in ("a", "b"):
        write(tmp_path, name)
    tfgen("render", "jobs")
    return tmp_path


def test_a_removal_that_is_cut_short_is_gone_on_with(
    repo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (repo / "jobs" / "b" / "job.yaml").unlink()
    unlink, removed = os.unlink, []

    def fails_at_the_sixth(name: str, *, dir_fd: int | None = None) -> None:
        if len(removed) == 5:
            raise OSError(errno.EIO, "Input/output error")
        unlink(name, dir_fd=dir_fd)
        removed.append(name)

    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", fails_at_the_sixth)
        assert cli.run(["render", "jobs"]) == cli.FAILED
    assert "Input/output error" in capsys.readouterr().err
    assert any("/b/" in path for path in on_disk(repo))
    tfgen("render", "jobs")
    assert not [path for path in on_disk(repo) if "/b/" in path or path == ".tfgen/b.json"]


def test_a_retired_job_leaves_its_claims() -> None:
    (document,) = check(RETIRED + CLAIM, "job.yaml").documents
    assert [item["kind"] for item in plain_objects(document.data, "prod")] == ["PersistentVolumeClaim"]
    assert "StatefulSet" in {item["kind"] for item in plain_objects(document.data)}


@pytest.mark.parametrize(("claim", "left"), [(CLAIM, ["PersistentVolumeClaim"]), ("", [])])
def test_kustomize_builds_what_is_left(repo: Path, claim: str, left: list[str]) -> None:
    write(repo, "a", RETIRED + claim)
    tfgen("render", "jobs")
    built = kustomize_build(repo / "overlays" / "a" / "prod")
    assert [line.removeprefix("kind: ") for line in built.splitlines() if line.startswith("kind: ")] == left
    assert not (repo / "charts" / "a" / "values-prod.yaml").exists()
    assert (repo / "overlays" / "argocd" / "a-prod.yaml").exists()


def test_a_chart_that_is_retired_is_followed_by_the_overlay(repo: Path) -> None:
    chart = JOB.replace("argocd:", "source: Chart, argocd:")
    for text, kind in ((chart, "HelmRelease"), (chart.replace("prod: {}", "prod: {enabled: false}"), "Kustomization")):
        write(repo, "a", text)
        tfgen("render", "jobs")
        assert f"kind: {kind}\n" in (repo / "overlays" / "flux" / "a-prod.yaml").read_text(encoding="utf-8")


def test_retiring_and_coming_back_ask_for_no_new_run() -> None:
    (running,), (retired,) = (check(text, "job.yaml").documents for text in (JOB, RETIRED))
    assert [*find_new_runs(running, retired)] == []
    assert [*find_new_runs(retired, running)] == []


def test_a_shared_file_goes_with_the_last_that_has_it(repo: Path) -> None:
    shared = {"overlays/argocd/patches/argocd-cm.yaml", "overlays/flux/namespace-ml.yaml"}
    assert shared <= on_disk(repo)
    for name, left in (("a", shared), ("b", set())):
        write(repo, name, JOB.replace(", argocd: {}, flux: {}}", ", argocd: {}}").replace("  gitops", "  #gitops"))
        tfgen("render", f"jobs/{name}")
        assert shared & on_disk(repo) == left


def test_a_shared_file_is_changed_by_any_that_has_it(repo: Path) -> None:
    path = repo / "overlays" / "argocd" / "patches" / "argocd-cm.yaml"
    text = path.read_text(encoding="utf-8")
    path.write_text("# as an earlier tfgen wrote it, for both jobs\n", encoding="utf-8")
    for ledger in (repo / ".tfgen").glob("*.json"):
        earlier = ledger.read_text(encoding="utf-8")
        digest = next(line.split('"')[3] for line in earlier.splitlines() if "argocd-cm" in line)
        ledger.write_text(earlier.replace(digest, digest_of(path.read_text())), encoding="utf-8")
    tfgen("render", "jobs/a")
    assert path.read_text(encoding="utf-8") == text
    path.write_text(f"{text}# by hand\n", encoding="utf-8")
    assert "argocd-cm.yaml: the file was edited by hand" in tfgen("render", "jobs/a", code=1).err


# -- removed jobs --------------------------------------------------------------------------------------------------


def of_job(folder: Path, name: str) -> set[str]:
    """Return the files that belong to one job only."""
    return {path for path in on_disk(folder) if f"/{name}/" in path or f"/{name}-prod" in path or f"/{name}.js" in path}


def test_rendering_a_folder_takes_away_what_is_gone_from_it(repo: Path) -> None:
    second_job = write(repo / "elsewhere", "c")
    tfgen("render", "elsewhere")
    second_job.unlink()
    (repo / "jobs" / "a" / "job.yaml").unlink()
    tfgen("render", "jobs")
    assert of_job(repo, "a") == set()
    assert len(of_job(repo, "b")) > 10
    assert len(of_job(repo, "c")) > 10  # the render did not read elsewhere
    (repo / "jobs" / "b" / "job.yaml").unlink()
    tfgen("render", "jobs")
    assert of_job(repo, "b") == set()
    tfgen("render", "jobs", code=cli.USAGE)


def test_a_job_that_is_renamed_leaves_nothing_behind(repo: Path) -> None:
    (repo / "jobs" / "a" / "job.yaml").write_text(JOB.replace("NAME", "z"), encoding="utf-8")
    tfgen("render", "jobs/a/job.yaml")
    assert of_job(repo, "a") == {"jobs/a/job.yaml"}
    assert len(of_job(repo, "z")) > 10


def test_what_was_edited_by_hand_is_not_taken_away(repo: Path) -> None:
    (repo / "charts" / "a" / "Chart.yaml").write_text("mine: true\n", encoding="utf-8")
    (repo / "jobs" / "a" / "job.yaml").unlink()
    assert "no longer renders the file; --force removes the file" in tfgen("render", "jobs", code=1).err
    assert len(of_job(repo, "a")) > 10


def test_rm_takes_a_job_away_that_git_can_give_back(repo: Path) -> None:
    assert "commit the file, or add --force to delete the text" in tfgen("rm", "jobs/a/job.yaml", code=cli.USAGE).err
    commit_all()
    tfgen("rm", "jobs/a/job.yaml")
    assert of_job(repo, "a") == set()
    (repo / "jobs" / "b" / "job.yaml").unlink()
    tfgen("rm", "b")
    assert of_job(repo, "b") == set()
    tfgen("rm", "b", code=cli.USAGE)


def test_rm_by_name_wants_the_jobs_file_gone(repo: Path) -> None:
    """With the job file, the next render would write the files again. Until then, the cluster would lack the job."""
    commit_all()
    before = on_disk(repo)
    output = tfgen("rm", "a", code=cli.USAGE).err
    assert "a: jobs/a/job.yaml has the job, so the next render would write the files again" in output
    assert "tfgen rm jobs/a/job.yaml" in output
    tfgen("rm", "a", "--out", ".", code=cli.USAGE)
    assert on_disk(repo) == before
    tfgen("rm", "a", "--force")
    assert of_job(repo, "a") == {"jobs/a/job.yaml"}


def test_rm_by_name_looks_around_an_output_folder_too(repo: Path) -> None:
    tfgen("render", "jobs/a", "--out", "deploy")
    assert "jobs/a/job.yaml has the job" in tfgen("rm", "a", "--out", "deploy", code=cli.USAGE).err


def test_rm_of_a_folder(repo: Path) -> None:
    printed = tfgen("rm", "jobs/a", code=cli.USAGE).err
    assert "jobs/a: this is a folder, not a job file, and no rendered job has this name" in printed


def test_rm_takes_what_init_made_and_leaves_what_is_anothers(repo: Path) -> None:
    for name in ("new", "kept", "edited"):
        tfgen("init", name, "--out", "jobs")
    (repo / "jobs" / "kept" / "train.py").write_text("", encoding="utf-8")
    (repo / "jobs" / "new" / "job.schema.json").write_text(editor_schema(), encoding="utf-8")
    (repo / "jobs" / "edited" / "job.schema.json").write_text("{}", encoding="utf-8")
    for name in ("new", "kept", "edited"):
        tfgen("rm", f"jobs/{name}/job.yaml", "--force")
    assert not (repo / "jobs" / "new").exists()
    assert of_job(repo, "kept") == {"jobs/kept/train.py"}
    assert of_job(repo, "edited") == {"jobs/edited/job.schema.json"}
    assert (repo / "schemas" / "job.schema.json").exists()  # other jobs of the repository share the schema


def test_rm_leaves_no_empty_folders(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit_all()
    tfgen("rm", "jobs/a/job.yaml")
    assert [path.name for path in (repo / "jobs").iterdir()] == ["b"]
    monkeypatch.chdir(repo / "jobs" / "b")
    tfgen("rm", "job.yaml")
    assert (repo / "jobs" / "b").is_dir()  # the current folder remains
    monkeypatch.chdir(repo)
    write(repo, "c")
    (repo / "jobs" / "b").rmdir()
    tfgen("rm", "jobs/c/job.yaml", "--force")
    assert not (repo / "jobs").exists()
    assert repo.is_dir()


def test_rm_prints_the_files_that_stay(repo: Path) -> None:
    commit_all()
    for path in ("charts/a/notes/owner.md", "overlays/a/extra.yaml"):
        (repo / path).parent.mkdir(parents=True, exist_ok=True)
        (repo / path).write_text("{}\n", encoding="utf-8")
    stay = "charts/a/notes/owner.md, overlays/a/extra.yaml"
    printed = tfgen("rm", "jobs/a/job.yaml").out
    assert f"\nfiles that remain, because tfgen did not write them: {stay}\n" in printed
    assert json.loads(tfgen("rm", "jobs/b/job.yaml", "--format", "json").out)["remaining"] == []


def test_rm_with_an_environment_retires_the_job_there(repo: Path) -> None:
    path = repo / "jobs" / "a" / "job.yaml"
    tfgen("rm", "jobs/a/job.yaml", "--env", "prod")
    assert path.read_text(encoding="utf-8") == RETIRED.replace("NAME", "a")
    tfgen("rm", "jobs/a/job.yaml", "--env", "pord", code=cli.USAGE)
    tfgen("rm", "a", "--env", "prod", code=cli.USAGE)


def test_retiring_twice_says_so(repo: Path) -> None:
    for _ in range(2):
        text = (repo / "jobs" / "a" / "job.yaml").read_text(encoding="utf-8")
        printed = tfgen("rm", "jobs/a/job.yaml", "--env", "prod").out
    assert printed == "jobs/a/job.yaml: already retired in prod\n"
    assert (repo / "jobs" / "a" / "job.yaml").read_text(encoding="utf-8") == text
    printed = tfgen("rm", "jobs/a/job.yaml", "--env", "prod", "--format", "json").out
    assert json.loads(printed) == {"retired": "prod", "changed": False, "ends": []}


def test_a_name_and_an_environment_want_the_jobs_file(repo: Path) -> None:
    printed = tfgen("rm", "a", "--env", "prod", code=cli.USAGE).err
    message = "a: the file does not exist, and --env needs a job file; the job a is in jobs/a/job.yaml"
    assert message in printed
    assert tfgen("rm", "z", "--env", "prod", code=cli.USAGE).err.endswith("--env needs a job file\n")


def test_no_run_is_raised_where_a_job_is_retired(repo: Path) -> None:
    path = write(repo, "a", RETIRED)
    printed = tfgen("rerun", "jobs/a/job.yaml", "--env", "prod", code=cli.USAGE).err
    assert "jobs/a/job.yaml:8:34: the job is retired in prod (enabled: false)" in printed
    assert path.read_text(encoding="utf-8") == RETIRED.replace("NAME", "a")


def test_the_commit_says_retired() -> None:
    assert change_words(JOB, RETIRED) == ["retired"]
    assert change_words(RETIRED, JOB) == ["no longer retired"]
    two = JOB.replace("{prod: {}}", "{dev: {namespace: dev}, prod: {}}")
    assert change_words(two, two.replace("prod: {}", "prod: {enabled: false}")) == ["retired in prod"]


def change_words(before: str, after: str) -> list[str]:
    (was,), (now,) = (check(text, "job.yaml").documents for text in (before, after))
    return job_changes(Pair(was, now))
