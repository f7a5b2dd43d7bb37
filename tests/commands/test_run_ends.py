"""The ends of runs, and the claims that remain: `tfgen commit` and `tfgen rm` print the lines of `tfgen diff`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.repository import clone_fixture, git, tfgen, write
from tfgen import cli
from tfgen.pipeline.read import find_removed_job

JOB = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: ads}
spec:
  image: registry.internal/ml/ads:1.4.0
  roles: {chief: {}, ps: {}, worker: {replicas: 2}}
  storage:
    model: {mountPath: /model, claim: {size: 20Gi}}
    data: {mountPath: /data, claim: {name: shared}}
  gitops: {repository: "https://git.internal/ml/jobs.git", argocd: {}}
  environments:
    dev: {namespace: ads-dev}
    prod: {namespace: ads}
"""
HEADER = "runs that end, and claims that remain:"
CLAIM = "    kept: PersistentVolumeClaim ads-model; to use the claim again, set claim: {name: ads-model}"
APPLICATION = (
    "    - Application ads-prod (overlays/argocd/ads-prod.yaml): the tool deletes the applied objects except claims"
)

CONTINUES = [
    "  if no tool prunes the folder of these objects, the runs continue; to end the runs:",
    "    kubectl delete application.argoproj.io ads-dev ads-prod --namespace argocd",
]
HAND_WRITTEN = [
    "  the job has no gitops, so a run continues until you delete the object that applies the run:",
    "    kubectl delete application.argoproj.io NAME --namespace argocd  # needs a finalizer of Argo CD",
    "    kubectl delete kustomization.kustomize.toolkit.fluxcd.io NAME --namespace flux-system  # needs prune: true",
    "    helm uninstall NAME",
]


@clone_fixture(autouse=True)
def clone() -> None:
    """Make a clone with the job, rendered, committed and pushed. The clone becomes the current folder."""
    write("jobs/ads.yaml", JOB)
    tfgen("render", "jobs")


def run(*arguments: str) -> list[str]:
    """Return the lines that a command prints on standard output."""
    return tfgen(*arguments).out.splitlines()


def ends(lines: list[str], title: str = HEADER) -> list[str]:
    return lines[lines.index(title) + 1 :]


def without_objects(lines: list[str]) -> list[str]:
    """Return the lines of `tfgen diff` for a removed job without its objects and its shared files."""
    start = lines.index("ads (jobs/ads.yaml)")
    kinds = ("    - Application", "    - namespace")
    return [
        line
        for line in lines[start:]
        if not line.startswith("    - ") or (line.startswith(kinds) and "which other jobs" not in line)
        if line != "    the same objects change as in dev"
    ]


def test_a_commit_prints_what_a_rename_ends() -> None:
    write("jobs/ads.yaml", JOB.replace("name: ads}", "name: adverts}"))
    diff = run("diff", "jobs")
    printed = ends(run("commit", "jobs"))
    assert printed == [*without_objects(diff), *CONTINUES]
    assert printed.count(CLAIM) == 2
    assert printed[-3] == APPLICATION
    assert "shared" not in "".join(printed)


@pytest.mark.parametrize("named", ["jobs/ads.yaml", "ads"])
@pytest.mark.parametrize("is_committed", [False, True])
def test_rm_prints_the_claims_that_stay(named: str, is_committed: bool) -> None:
    if named == "ads":
        Path("jobs/ads.yaml").unlink()
        if is_committed:
            git("commit", "--quiet", "--all", "--message=x")
    printed = ends(run("rm", named))
    assert printed[0] == "ads (jobs/ads.yaml)"
    assert printed.count(CLAIM) == 2
    assert APPLICATION in printed


def test_a_retired_environment() -> None:
    line = "  prod (retired): pods 5 -> 0, cpu 0.1 -> 0, memory 128Mi -> 0"
    assert line in ends(run("rm", "jobs/ads.yaml", "--env", "prod"), "runs that end:")
    assert ends(run("commit", "jobs"), "runs that end:") == ["ads (jobs/ads.yaml)", line]


def test_a_removed_volume_and_another_namespace() -> None:
    job = JOB.replace("model: {mount", "models: {mount").replace("ads-dev", "tests")
    write("jobs/ads.yaml", f'{job}  run: "2"\n')
    printed = ends(run("commit", "jobs"), "claims that remain:")
    assert printed.count(CLAIM) == 2
    assert '    ~ namespace: "ads-dev" -> "tests"' in printed


@pytest.mark.parametrize("edit", [("replicas: 2", "replicas: 3"), ("metadata:", "# why\nmetadata:"), ("20Gi", "30Gi")])
def test_a_change_that_ends_nothing(edit: tuple[str, str]) -> None:
    write("jobs/ads.yaml", f'{JOB.replace(*edit)}  run: "2"\n')
    printed = run("commit", "jobs")
    assert not [line for line in printed if line.startswith("runs that end") or line.endswith("claims that remain:")]


def test_the_ends_as_json() -> None:
    write("jobs/ads.yaml", JOB.replace("name: ads}", "name: adverts}"))
    (job,) = json.loads("\n".join(run("commit", "jobs", "--format", "json")))["ends"]
    assert job["job"] == "ads"
    assert [environment["environment"] for environment in job["environments"]] == ["dev", "prod"]
    assert json.loads("\n".join(run("rm", "jobs/ads.yaml", "--format", "json")))["ends"][0]["job"] == "adverts"


def kustomizations(effect: str) -> list[str]:
    return [f"    - Kustomization ads-{name} (overlays/flux/ads-{name}.yaml): {effect}" for name in ("dev", "prod")]


@pytest.mark.parametrize(
    ("gitops", "lines"),
    [
        ("", HAND_WRITTEN),
        (
            "flux: {prune: true}",
            [
                *kustomizations("the tool deletes the applied objects except claims"),
                CONTINUES[0],
                "    kubectl delete kustomization.kustomize.toolkit.fluxcd.io ads-dev ads-prod --namespace flux-system",
            ],
        ),
        ("flux: {prune: false}", kustomizations("the tool keeps the applied objects, because prune is false")),
    ],
    ids=["none", "flux", "keeping"],
)
@pytest.mark.parametrize("command", ["rm", "commit"])
def test_the_words_fit_the_delivery_of_the_job(command: str, gitops: str, lines: list[str]) -> None:
    text = JOB.replace("argocd: {}", gitops) if gitops else re.sub("  gitops:.*\n", "", JOB)
    write("jobs/ads.yaml", text)
    run("commit", "jobs")
    if command == "commit":
        Path("jobs/ads.yaml").unlink()
    printed = run(*(("commit", "jobs") if command == "commit" else ("rm", "jobs/ads.yaml")))
    title = HEADER if gitops else "runs that leave git, but continue, and claims that remain:"
    end = printed.index(DELETION) if command == "rm" else len(printed)
    assert printed[printed.index(title) + 1] == "ads (jobs/ads.yaml)"
    assert printed[end - len(lines) : end] == lines


KEPT = "overlays/argocd/.gitkeep"


@pytest.mark.parametrize("of_earlier_tfgen", [False, True])
@pytest.mark.parametrize("command", ["rm", "commit"])
def test_the_folder_of_argo_cd_stays_in_git_without_the_last_job(command: str, of_earlier_tfgen: bool) -> None:
    """An earlier tfgen wrote no empty file into the folder."""
    if of_earlier_tfgen:
        ledger = Path(".tfgen/ads.json")
        lines = ledger.read_text().splitlines(keepends=True)
        ledger.write_text("".join(line for line in lines if KEPT not in line))
        Path(KEPT).unlink()
        git("commit", "--quiet", "--all", "--message=render by an earlier tfgen")
    Path("jobs/ads.yaml").unlink() if command == "commit" else run("rm", "jobs/ads.yaml")
    run("commit", "jobs")
    assert git("ls-files").splitlines() == [KEPT]
    assert git("status", "--porcelain") == ""
    for folder in ("jobs", "."):  # CI checks the pull request, and later the branch
        tfgen("check", folder, "--against", "HEAD~1")
        tfgen("check", folder)
        tfgen("render", folder)
        assert run("diff", folder, "--against", "HEAD~1")[0] == "ads (jobs/ads.yaml)"
    assert git("status", "--porcelain") == ""
    write("jobs/later.yaml", JOB.replace("name: ads}", "name: later}"))
    run("commit", "jobs")
    assert KEPT in Path(".tfgen/later.json").read_text()


DELETION = "a run that tfgen apply started continues; to end the run:"


def test_rm_prints_how_to_end_a_run_that_apply_started() -> None:
    lines = run("rm", "jobs/ads.yaml", "--env", "dev")
    assert lines[lines.index(DELETION) + 1] == "  tfgen delete jobs/ads.yaml --env dev"
    git("commit", "--quiet", "--all", "--message=retire")
    lines = run("rm", "jobs/ads.yaml")
    assert lines[lines.index(DELETION) + 1 :] == ["  tfgen delete ads --env dev", "  tfgen delete ads --env prod"]


@pytest.mark.parametrize("is_committed", [False, True])
def test_a_removed_job_is_found_by_its_name(is_committed: bool) -> None:
    run("rm", "jobs/ads.yaml")
    if is_committed:
        git("commit", "--quiet", "--all", "--message=remove")
    document = find_removed_job("ads", Path())
    assert document.data["spec"]["image"] == "registry.internal/ml/ads:1.4.0"
    assert [*document.data["spec"]["environments"]] == ["dev", "prod"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ads", "ads: jobs/ads.yaml has the job; pass the path of the file"),
        ("bids", "bids: the file does not exist, and git has no removed job with this name"),
        ("../ads", "../ads: the file does not exist, and git has no removed job with this name"),
    ],
)
@pytest.mark.parametrize("command", ["status", "delete"])
def test_a_name_of_no_removed_job_is_an_error(command: str, name: str, message: str) -> None:
    pytest.importorskip("kubernetes", reason="needs the kubernetes client: pip install kubernetes")
    assert message in tfgen(command, name, code=cli.USAGE).err
