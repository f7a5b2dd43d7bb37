"""A job that is retired in an environment, and files that several jobs share."""

from __future__ import annotations

import errno
import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.support.tools import kustomize_build
from tfgen import cli
from tfgen.change.comparison import Pair
from tfgen.change.new_run import find_new_runs
from tfgen.check.jobs import check
from tfgen.commands.git.message import job_changes
from tfgen.graph.built import plain_objects
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
    subprocess.run(["git", "init", "--quiet"], check=True)
    for name in ("a", "b"):
        write(tmp_path, name)
    assert cli.run(["render", "jobs"]) == 0
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
    assert cli.run(["render", "jobs"]) == cli.OK
    assert not [path for path in on_disk(repo) if "/b/" in path or path == ".tfgen/b.json"]


def test_a_retired_job_leaves_its_claims() -> None:
    (document,) = check(RETIRED + CLAIM, "job.yaml").documents
    assert [item["kind"] for item in plain_objects(document.data, "prod")] == ["PersistentVolumeClaim"]
    assert "StatefulSet" in {item["kind"] for item in plain_objects(document.data)}


@pytest.mark.parametrize(("claim", "left"), [(CLAIM, ["PersistentVolumeClaim"]), ("", [])])
def test_kustomize_builds_what_is_left(repo: Path, claim: str, left: list[str]) -> None:
    write(repo, "a", RETIRED + claim)
    assert cli.run(["render", "jobs"]) == 0
    built = kustomize_build(repo / "overlays" / "a" / "prod")
    assert [line.removeprefix("kind: ") for line in built.splitlines() if line.startswith("kind: ")] == left
    assert not (repo / "charts" / "a" / "values-prod.yaml").exists()
    assert (repo / "overlays" / "argocd" / "a-prod.yaml").exists()


def test_a_chart_that_is_retired_is_followed_by_the_overlay(repo: Path) -> None:
    chart = JOB.replace("argocd:", "source: Chart, argocd:")
    for text, kind in ((chart, "HelmRelease"), (chart.replace("prod: {}", "prod: {enabled: false}"), "Kustomization")):
        write(repo, "a", text)
        assert cli.run(["render", "jobs"]) == 0
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
        assert cli.run(["render", f"jobs/{name}"]) == 0
        assert shared & on_disk(repo) == left


def test_a_shared_file_is_changed_by_any_that_has_it(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = repo / "overlays" / "argocd" / "patches" / "argocd-cm.yaml"
    text = path.read_text(encoding="utf-8")
    path.write_text("# as an earlier tfgen wrote it, for both jobs\n", encoding="utf-8")
    for ledger in (repo / ".tfgen").glob("*.json"):
        earlier = ledger.read_text(encoding="utf-8")
        digest = next(line.split('"')[3] for line in earlier.splitlines() if "argocd-cm" in line)
        ledger.write_text(earlier.replace(digest, digest_of(path.read_text())), encoding="utf-8")
    assert cli.run(["render", "jobs/a"]) == 0
    assert path.read_text(encoding="utf-8") == text
    path.write_text(f"{text}# by hand\n", encoding="utf-8")
    capsys.readouterr()
    assert cli.run(["render", "jobs/a"]) == 1
    assert "argocd-cm.yaml: the file was edited by hand" in capsys.readouterr().err


# -- removed jobs --------------------------------------------------------------------------------------------------


def of_job(folder: Path, name: str) -> set[str]:
    """Return the files that belong to one job only."""
    return {path for path in on_disk(folder) if f"/{name}/" in path or f"/{name}-prod" in path or f"/{name}.js" in path}


def commit(folder: Path) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    subprocess.run(["git", "-C", folder, "add", "--all"], check=True)
    subprocess.run(["git", "-C", folder, *identity, "commit", "--quiet", "--message=x"], check=True)


def test_rendering_a_folder_takes_away_what_is_gone_from_it(repo: Path) -> None:
    second_job = write(repo / "elsewhere", "c")
    assert cli.run(["render", "elsewhere"]) == 0
    second_job.unlink()
    (repo / "jobs" / "a" / "job.yaml").unlink()
    assert cli.run(["render", "jobs"]) == 0
    assert of_job(repo, "a") == set()
    assert len(of_job(repo, "b")) > 10
    assert len(of_job(repo, "c")) > 10  # the render did not read elsewhere
    (repo / "jobs" / "b" / "job.yaml").unlink()
    assert cli.run(["render", "jobs"]) == 0
    assert of_job(repo, "b") == set()
    assert cli.run(["render", "jobs"]) == cli.USAGE


def test_a_job_that_is_renamed_leaves_nothing_behind(repo: Path) -> None:
    (repo / "jobs" / "a" / "job.yaml").write_text(JOB.replace("NAME", "z"), encoding="utf-8")
    assert cli.run(["render", "jobs/a/job.yaml"]) == 0
    assert of_job(repo, "a") == {"jobs/a/job.yaml"}
    assert len(of_job(repo, "z")) > 10


def test_what_was_edited_by_hand_is_not_taken_away(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repo / "charts" / "a" / "Chart.yaml").write_text("mine: true\n", encoding="utf-8")
    (repo / "jobs" / "a" / "job.yaml").unlink()
    assert cli.run(["render", "jobs"]) == 1
    assert "no longer renders the file; --force removes the file" in capsys.readouterr().err
    assert len(of_job(repo, "a")) > 10


def test_rm_takes_a_job_away_that_git_can_give_back(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["rm", "jobs/a/job.yaml"]) == cli.USAGE
    assert "commit the file, or add --force to delete the text" in capsys.readouterr().err
    commit(repo)
    assert cli.run(["rm", "jobs/a/job.yaml"]) == 0
    assert of_job(repo, "a") == set()
    (repo / "jobs" / "b" / "job.yaml").unlink()
    assert cli.run(["rm", "b"]) == 0
    assert of_job(repo, "b") == set()
    assert cli.run(["rm", "b"]) == cli.USAGE


def test_rm_by_name_wants_the_jobs_file_gone(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the job file, the next render would write the files again. Until then, the cluster would lack the job."""
    commit(repo)
    before = on_disk(repo)
    assert cli.run(["rm", "a"]) == cli.USAGE
    output = capsys.readouterr().err
    assert "a: jobs/a/job.yaml has the job, so the next render would write the files again" in output
    assert "tfgen rm jobs/a/job.yaml" in output
    assert cli.run(["rm", "a", "--out", "."]) == cli.USAGE
    assert on_disk(repo) == before
    assert cli.run(["rm", "a", "--force"]) == 0
    assert of_job(repo, "a") == {"jobs/a/job.yaml"}


def test_rm_by_name_looks_around_an_output_folder_too(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["render", "jobs/a", "--out", "deploy"]) == 0
    capsys.readouterr()
    assert cli.run(["rm", "a", "--out", "deploy"]) == cli.USAGE
    assert "jobs/a/job.yaml has the job" in capsys.readouterr().err


def test_rm_of_a_folder(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["rm", "jobs/a"]) == cli.USAGE
    assert "jobs/a: this is a folder, not a job file, and no rendered job has this name" in capsys.readouterr().err


def test_rm_takes_what_init_made_and_leaves_what_is_anothers(repo: Path) -> None:
    for name in ("new", "kept", "edited"):
        assert cli.run(["init", name, "--out", "jobs"]) == 0
    (repo / "jobs" / "kept" / "train.py").write_text("", encoding="utf-8")
    (repo / "jobs" / "new" / "job.schema.json").write_text(editor_schema(), encoding="utf-8")
    (repo / "jobs" / "edited" / "job.schema.json").write_text("{}", encoding="utf-8")
    for name in ("new", "kept", "edited"):
        assert cli.run(["rm", f"jobs/{name}/job.yaml", "--force"]) == 0
    assert not (repo / "jobs" / "new").exists()
    assert of_job(repo, "kept") == {"jobs/kept/train.py"}
    assert of_job(repo, "edited") == {"jobs/edited/job.schema.json"}
    assert (repo / "schemas" / "job.schema.json").exists()  # other jobs of the repository share the schema


def test_rm_leaves_no_empty_folders(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit(repo)
    assert cli.run(["rm", "jobs/a/job.yaml"]) == 0
    assert [path.name for path in (repo / "jobs").iterdir()] == ["b"]
    monkeypatch.chdir(repo / "jobs" / "b")
    assert cli.run(["rm", "job.yaml"]) == 0
    assert (repo / "jobs" / "b").is_dir()  # the current folder remains
    monkeypatch.chdir(repo)
    write(repo, "c")
    (repo / "jobs" / "b").rmdir()
    assert cli.run(["rm", "jobs/c/job.yaml", "--force"]) == 0
    assert not (repo / "jobs").exists()
    assert repo.is_dir()


def test_rm_prints_the_files_that_stay(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    commit(repo)
    for path in ("charts/a/notes/owner.md", "overlays/a/extra.yaml"):
        (repo / path).parent.mkdir(parents=True, exist_ok=True)
        (repo / path).write_text("{}\n", encoding="utf-8")
    capsys.readouterr()
    assert cli.run(["rm", "jobs/a/job.yaml"]) == 0
    stay = "charts/a/notes/owner.md, overlays/a/extra.yaml"
    assert f"\nfiles that remain, because tfgen did not write them: {stay}\n" in capsys.readouterr().out
    assert cli.run(["rm", "jobs/b/job.yaml", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["remaining"] == []


def test_rm_with_an_environment_retires_the_job_there(repo: Path) -> None:
    path = repo / "jobs" / "a" / "job.yaml"
    assert cli.run(["rm", "jobs/a/job.yaml", "--env", "prod"]) == 0
    assert path.read_text(encoding="utf-8") == RETIRED.replace("NAME", "a")
    assert cli.run(["rm", "jobs/a/job.yaml", "--env", "pord"]) == cli.USAGE
    assert cli.run(["rm", "a", "--env", "prod"]) == cli.USAGE


def test_retiring_twice_says_so(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        text = (repo / "jobs" / "a" / "job.yaml").read_text(encoding="utf-8")
        capsys.readouterr()
        assert cli.run(["rm", "jobs/a/job.yaml", "--env", "prod"]) == 0
    assert capsys.readouterr().out == "jobs/a/job.yaml: already retired in prod\n"
    assert (repo / "jobs" / "a" / "job.yaml").read_text(encoding="utf-8") == text
    assert cli.run(["rm", "jobs/a/job.yaml", "--env", "prod", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"retired": "prod", "changed": False, "ends": []}


def test_a_name_and_an_environment_want_the_jobs_file(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["rm", "a", "--env", "prod"]) == cli.USAGE
    message = "a: the file does not exist, and --env needs a job file; the job a is in jobs/a/job.yaml"
    assert message in capsys.readouterr().err
    assert cli.run(["rm", "z", "--env", "prod"]) == cli.USAGE
    assert capsys.readouterr().err.endswith("--env needs a job file\n")


def test_no_run_is_raised_where_a_job_is_retired(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(repo, "a", RETIRED)
    assert cli.run(["rerun", "jobs/a/job.yaml", "--env", "prod"]) == cli.USAGE
    assert "jobs/a/job.yaml:8:34: the job is retired in prod (enabled: false)" in capsys.readouterr().err
    assert path.read_text(encoding="utf-8") == RETIRED.replace("NAME", "a")


def test_the_commit_says_retired() -> None:
    assert change_words(JOB, RETIRED) == ["retired"]
    assert change_words(RETIRED, JOB) == ["no longer retired"]
    two = JOB.replace("{prod: {}}", "{dev: {namespace: dev}, prod: {}}")
    assert change_words(two, two.replace("prod: {}", "prod: {enabled: false}")) == ["retired in prod"]


def change_words(before: str, after: str) -> list[str]:
    (was,), (now,) = (check(text, "job.yaml").documents for text in (before, after))
    return job_changes(Pair(was, now))
