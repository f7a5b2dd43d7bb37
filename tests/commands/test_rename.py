"""``tfgen rename``: the name in the job file, the rendered files, and the claims that contain the data."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.support.repository import clone_fixture, commit_all, git, tfgen, write
from tfgen.errors import TfgenError
from tfgen.tree.plan import WritePlan

pytestmark = pytest.mark.long

JOB = """\
# The job of the team.
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata:
  name: ads   # short
  namespace: ml
spec:
  image: registry.internal/ml/ads:1.4.0
  roles: {chief: {}, ps: {}, worker: {replicas: 2}}
  storage:
    model: {mountPath: /model, claim: {size: 20Gi}}   # 20 runs
    data:
      mountPath: /data
      claim: {name: shared}
    logs: {mountPath: /logs, emptyDir: {}}
  environments:
    dev: {}
    test: {storage: {logs: {emptyDir: null, claim: {size: 1Gi}}}}
    prod: {run: "7", storage: {model: {claim: {size: 90Gi}}}}
"""
OTHER = JOB.replace("name: ads", "name: video")


@clone_fixture(autouse=True)
def clone() -> None:
    """Make a clone with two jobs, rendered, committed and pushed. The clone becomes the current folder."""
    write("jobs/ads.yaml", JOB)
    write("jobs/video.yaml", OTHER)
    tfgen("render", "jobs")


def run(*arguments: str, code: int = 0) -> str:
    return "".join(tfgen("rename", *arguments, code=code))


def text() -> str:
    return Path("jobs/ads.yaml").read_text(encoding="utf-8")


def claims(overlay: str) -> dict[str, str]:
    """Return the claim of each volume of the chief in a rendered base or overlay of the job adverts."""
    documents = yaml.safe_load_all(Path(f"overlays/adverts/{overlay}").read_text(encoding="utf-8"))
    (document,) = (item for item in documents if item)
    volumes = document["spec"]["template"]["spec"]["volumes"]
    return {
        item["name"]: item["persistentVolumeClaim"]["claimName"] for item in volumes if "persistentVolumeClaim" in item
    }


@pytest.mark.parametrize("named", ["jobs/ads.yaml", "ads"])
def test_a_renamed_job_is_rendered_and_can_be_committed(named: str) -> None:
    printed = run(named, "adverts")
    assert printed.startswith("jobs/ads.yaml: ads -> adverts\n")
    assert "kept: PersistentVolumeClaim ads-model; to use the claim again, set claim: {name: ads-model}\n" in printed
    assert printed.endswith("\nNext:\n\n  tfgen commit jobs/ads.yaml\n")
    assert text() == JOB.replace("name: ads", "name: adverts")
    assert not Path("charts/ads").exists()
    assert not Path("overlays/ads").exists()
    assert not Path(".tfgen/ads.json").exists()
    assert claims("base/chief.yaml")["model"] == "adverts-model"
    tfgen("commit", "jobs")
    assert git("status", "--porcelain") == ""
    tfgen("check", "jobs", "--verify")


def test_the_files_that_stay_are_printed() -> None:
    write("charts/ads/notes/owner.md", "ml\n")
    write("overlays/ads/extra.yaml", "{}\n")
    stay = ["charts/ads/notes/owner.md", "overlays/ads/extra.yaml"]
    printed = run("ads", "adverts")
    assert f"\nfiles that remain, because tfgen did not write them: {', '.join(stay)}\n" in printed
    assert sorted(str(path) for folder in ("charts/ads", "overlays/ads") for path in Path(folder).rglob("*.*")) == stay


def test_the_folder_of_the_job_file_is_printed() -> None:
    write("jobs/ads/job.yaml", JOB)
    Path("jobs/ads.yaml").unlink()
    tfgen("render", "jobs")
    printed = run("ads", "adverts")
    assert "\nthe job file remains in the folder jobs/ads\n" in printed
    assert "files that stay" not in printed
    printed = run("adverts", "video2", "--format", "json")
    assert json.loads(printed)["remaining"] == []


def test_the_data_stays_in_use() -> None:
    printed = run("ads", "adverts", "--keep-data")
    assert text() == (
        JOB.replace("name: ads", "name: adverts")
        .replace("claim: {size: 20Gi}", "claim: {name: ads-model}")
        .replace("{size: 1Gi}", "{name: ads-logs}")
        .replace(", storage: {model: {claim: {size: 90Gi}}}", "")
    )
    assert "\nexisting claims that the job still uses: ads-model, ads-logs\n" in printed
    assert printed.count("kept: PersistentVolumeClaim ads-model, in use by adverts\n") == 3
    assert "goes on with it" not in printed
    assert claims("base/chief.yaml") == {"data": "shared", "model": "ads-model"}
    assert not [*Path("overlays/adverts").rglob("claim-*")]
    for command in ("diff", "commit"):
        assert "kept: PersistentVolumeClaim ads-model, in use by adverts\n" in tfgen(command, "jobs").out
    tfgen("check", "jobs", "--verify")


def test_as_json() -> None:
    done = json.loads(run("jobs/ads.yaml", "adverts", "--keep-data", "--format", "json"))
    assert done["file"] == "jobs/ads.yaml"
    assert done["name"] == {"before": "ads", "after": "adverts"}
    assert done["claims"] == ["ads-model", "ads-logs"]
    assert [job["job"] for job in done["ends"]] == ["ads"]
    assert [start.partition(";")[0] for start in done["starts"]] == [*starts("dev"), *starts("prod"), *starts("test")]


def starts(environment: str, gpus: str = "0 GPUs") -> list[str]:
    return [f"jobs/ads.yaml: the change starts a run of adverts now ({gpus}) in {environment}"]


def test_the_runs_that_start_are_printed() -> None:
    job = JOB.replace("{replicas: 2}", "{replicas: 2, resources: {gpu: {count: 4}}}")
    job = job.replace('run: "7"', 'run: "8"').replace("  image:", '  run: "2"\n  image:')
    write("jobs/ads.yaml", job.replace("dev: {}", "dev: {enabled: false}"))
    tfgen("commit", "jobs")
    printed = run("ads", "adverts")
    lines = [
        f"{line}; for no run: tfgen rm jobs/ads.yaml --env {environment}"
        for environment in ("prod", "test")
        for line in starts(environment, "8 GPUs")
    ]
    assert [line for line in printed.splitlines() if "starts a run" in line] == lines
    for command in ("check", "commit"):
        notes = [line for line in tfgen(command, "jobs").err.splitlines() if "starts a run" in line]
        assert notes == [f"note: {line}" for line in lines]


def test_the_command_of_a_run_that_starts_stops_the_start() -> None:
    run("ads", "adverts")
    for environment in ("dev", "test", "prod"):
        tfgen("rm", "jobs/ads.yaml", "--env", environment)
    assert "starts a run" not in tfgen("commit", "jobs").err


def test_a_new_job_alone_is_no_renamed_job() -> None:
    write("jobs/new.yaml", JOB.replace("name: ads", "name: new"))
    assert "starts a run" not in tfgen("commit", "jobs").err


@pytest.mark.parametrize("options", [(), ("--keep-data",)])
def test_a_retired_job_starts_no_run(options: tuple[str, ...]) -> None:
    printed = run("ads", "adverts", "--retired", *options)
    assert "  prod (removed): pods 5 -> 0" in printed
    assert "starts a run" not in printed
    environments = yaml.safe_load(text())["spec"]["environments"]
    assert [environment["enabled"] for environment in environments.values()] == [False, False, False]
    assert "# The job of the team." in text()
    for environment in ("dev", "test", "prod"):
        overlay = Path(f"overlays/adverts/{environment}/kustomization.yaml").read_text(encoding="utf-8")
        assert "../base" not in overlay
    assert "starts a run" not in tfgen("commit", "jobs").err
    assert "run 7 -> 8 in prod" in tfgen("rerun", "jobs/ads.yaml", "--env", "prod", "--enable", "--commit").out


def test_a_job_without_environments_cannot_be_retired() -> None:
    write("jobs/ads.yaml", JOB.partition("  environments:")[0])
    message = "jobs/ads.yaml: --retired disables the job in each environment, but the job has no environments; add an "
    assert message in refused("ads", "adverts", "--retired")


def refused(*arguments: str, code: int = 2) -> str:
    """Return the output, and check that no file has changed."""
    before = git("status", "--porcelain"), text()
    printed = run(*arguments, code=code)
    assert (git("status", "--porcelain"), text()) == before
    return printed


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("My_Ads", "'My_Ads' is not a valid job name: lower-case letters"),
        ("My_Ads", "; write my-ads\n"),
        ("argocd", "'argocd' is not a valid job name: choose "),
        ("ads", "jobs/ads.yaml:5:9: the job has the name ads already"),
        ("video", "'video' is the name of a job in jobs/video.yaml; choose another name"),
    ],
)
def test_a_name_that_the_job_cannot_have(name: str, message: str) -> None:
    assert message in refused("jobs/ads.yaml", name)


@pytest.mark.parametrize("path", ["charts/video", "overlays/video", ".tfgen/video.json"])
def test_a_name_with_files_of_a_job_that_is_gone(path: str) -> None:
    Path("jobs/video.yaml").unlink()
    for place in {"charts/video", "overlays/video", ".tfgen/video.json"} - {path}:
        git("rm", "-r", "--quiet", place)
    commit_all()
    message = refused("jobs/ads.yaml", "video")
    assert f"'video': {path} exists already; choose another name" in message
    assert ": tfgen rm video" in message


def test_a_job_that_no_file_has() -> None:
    message = "adds: the file does not exist, and no file contains a job with this name; pass the path of the job file"
    assert message in refused("adds", "adverts")


def test_a_rendered_file_that_somebody_edited() -> None:
    write("overlays/ads/base/worker.yaml", "# mine\n")
    printed = refused("ads", "adverts", code=1)
    assert (
        "overlays/ads/base/worker.yaml: the file was edited by hand, and the job no longer renders the file" in printed
    )
    assert "tfgen render --force removes the file" in printed


def test_a_job_with_errors() -> None:
    write("jobs/ads.yaml", JOB.replace("replicas:", "replica:"))
    assert "[unknown-key]" in refused("jobs/ads.yaml", "adverts", code=1)


def test_the_defaults_of_a_new_claim_do_not_count_for_the_claim_that_stays() -> None:
    spec = "{storage: {model: {claim: {storageClass: nfs}}}}"
    write("tfgen.yaml", f"apiVersion: tfgen/v1alpha1\nkind: Defaults\nspec: {spec}\n")
    run("ads", "adverts", "--keep-data")
    assert "claim: {name: ads-model, storageClass: null}" in text()
    assert claims("base/chief.yaml")["model"] == "ads-model"


def test_one_of_several_jobs_in_a_file() -> None:
    Path("jobs/video.yaml").unlink()
    job_texts = f"{JOB}---\n{OTHER}"
    write("jobs/ads.yaml", job_texts)
    tfgen("render", "jobs")
    assert "found 2 jobs" in run("jobs/ads.yaml", "adverts", code=2)
    run("jobs/ads.yaml", "adverts", "--job", "video")
    assert text() == job_texts.replace("name: video", "name: adverts")
    run("ads", "commercials")
    assert text() == job_texts.replace("name: video", "name: adverts").replace("name: ads ", "name: commercials ")
    assert {path.name for path in Path(".tfgen").iterdir()} == {"adverts.json", "commercials.json"}


def test_a_job_that_was_never_rendered() -> None:
    write("jobs/new.yaml", JOB.replace("name: ads", "name: new"))
    printed = run("new", "newer")
    assert printed.endswith("\nNext:\n\n  tfgen render jobs/new.yaml\n")
    assert "runs that end" not in printed
    assert Path("jobs/new.yaml").read_text(encoding="utf-8") == JOB.replace("name: ads", "name: newer")
    assert not Path("charts/newer").exists()


def test_a_job_whose_rendered_files_are_in_another_branch() -> None:
    gitops = "{repository: 'https://git.internal/ml/jobs.git', rendered: {branch: rendered}, argocd: {}}"
    job = JOB.replace("name: ads", "name: new").replace("  environments:", f"  gitops: {gitops}\n  environments:")
    job = job.replace("dev: {}", "dev: {namespace: dev}").replace("test: {", "test: {namespace: test, ")
    write("jobs/new.yaml", job)
    printed = run("jobs/new.yaml", "newer")
    assert "  prod (removed): pods 5 -> 0" in printed
    assert printed.endswith("\nNext:\n\n  tfgen commit jobs/new.yaml\n")
    assert Path("jobs/new.yaml").read_text(encoding="utf-8") == job.replace("name: new", "name: newer")
    assert not Path("charts/newer").exists()


def test_a_disk_that_fails_leaves_the_job_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: WritePlan) -> WritePlan:
        raise TfgenError("No space left on device")

    monkeypatch.setattr("tfgen.commands.render.apply", fail)
    assert "No space left on device" in refused("ads", "adverts", code=3)
