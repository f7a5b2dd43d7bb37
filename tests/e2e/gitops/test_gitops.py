"""Tests of commits that Argo CD or Flux applies to a cluster: runs, reruns, releases, mistakes and ends."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.client import Object, eventually
from tests.e2e.finisher import Finisher, running
from tests.e2e.gitops.conftest import every_way
from tests.e2e.gitops.jobs import CLAIM, all_run, job, started
from tests.e2e.gitops.repository import HELM_RELEASE, JOB, Repository
from tests.e2e.kubelet import end
from tfgen import cli

GANG = "scheduling.volcano.sh/v1beta1/PodGroup"


@every_way("argocd-chart")
def test_a_commit_becomes_running_pods(repository: Repository) -> None:
    """The job has a claim that its first pod binds, so no wave may wait for the claim."""
    started(repository, storage=CLAIM)
    all_run(repository)


@pytest.mark.parametrize("repository", ["argocd", pytest.param("flux", marks=pytest.mark.nightly)], indirect=True)
def test_a_gang_starts_whose_claim_waits_for_its_first_pod(repository: Repository) -> None:
    """Use Kubernetes' own scheduler. The Application is Synced, because Argo CD 3.6 knows `schedulingGroup`."""
    started(repository, storage=CLAIM, gang={"scheduler": "kubernetes", "apiVersion": "v1beta1"})
    all_run(repository)


def test_the_gang_is_there_before_its_pods(repository: Repository) -> None:
    """A PodGroup and a ControllerRevision stay unchanged, so their resource versions show the order of creation."""
    started(repository, gang={"scheduler": "volcano"})
    gang = repository.there(GANG, "mnist")

    def revisions() -> list[Any]:
        return repository.cluster.client.list("ControllerRevision", repository.namespace)

    eventually(lambda: len(revisions()) == 2, "both StatefulSets' first look at themselves")
    order = [int(each["metadata"]["resourceVersion"]) for each in (gang, *revisions())]
    assert min(order) == order[0]


@every_way("argocd", "flux")
def test_a_rerun_makes_the_new_run_and_prunes_the_old(repository: Repository) -> None:
    started(repository, storage=CLAIM)
    claim = repository.there("PersistentVolumeClaim", "mnist-model")["metadata"]["uid"]
    assert repository.tfgen("rerun", "jobs/mnist/job.yaml") == cli.OK
    repository.applied(repository.commit())
    for kind, name in (("StatefulSet", "ps"), ("StatefulSet", "worker"), (JOB, "chief"), (JOB, "finisher")):
        repository.there(kind, f"mnist-2-{name}")
        repository.gone(kind, f"mnist-{name}")
    assert repository.there("PersistentVolumeClaim", "mnist-model")["metadata"]["uid"] == claim


@every_way("argocd", "flux")
def test_a_rerun_after_a_reverted_rerun_makes_a_run_with_a_new_name(repository: Repository) -> None:
    started(repository)
    rerun = ("rerun", "jobs/mnist/job.yaml", "--env", "prod", "--commit", "--push")
    assert repository.tfgen(*rerun) == cli.OK
    repository.there("StatefulSet", "mnist-2-worker")
    repository.git("revert", "--no-edit", "HEAD")
    repository.applied(repository.push_commits())
    repository.gone("StatefulSet", "mnist-2-worker")
    assert repository.tfgen(*rerun) == cli.OK
    repository.there("StatefulSet", "mnist-3-worker")
    repository.gone("StatefulSet", "mnist-worker")
    assert repository.find("StatefulSet", "mnist-2-worker") is None


@every_way("argocd", "flux")
def test_what_is_released_stays_released_and_nothing_runs_again(repository: Repository) -> None:
    """Push a commit without a job, a commit of another job, and a commit of this job that its run can apply."""
    started(repository)
    chief = repository.there(JOB, "mnist-chief")["metadata"]["uid"]
    end_chief(repository)
    for role in ("ps", "worker"):
        repository.scale(f"mnist-{role}", 0)

    def stays(commit: str) -> None:
        repository.applied(commit)
        for role in ("ps", "worker"):
            assert repository.there("StatefulSet", f"mnist-{role}")["spec"]["replicas"] == 0
        assert repository.there(JOB, "mnist-chief")["metadata"]["uid"] == chief

    (repository.folder / "README.md").write_text("What we train.\n", encoding="utf-8")
    stays(repository.push("Write a page"))
    repository.write({**job(), "metadata": {"name": "other"}})
    stays(repository.commit())
    repository.write(job(retries=30))
    stays(repository.commit())
    # Beside many other tests, the Job still had the old number here once, so the test waits.
    eventually(lambda: repository.there(JOB, "mnist-chief")["spec"]["backoffLimit"] == 30, "the new number of retries")


def end_chief(repository: Repository) -> None:
    """End the pod of the chief with success, and wait until its Job is Complete."""
    client, namespace = repository.cluster.client, repository.namespace
    (chief,) = eventually(lambda: running(client, namespace, "chief"), "the chief's pod")
    end(client, chief)

    def is_complete() -> bool:
        conditions = repository.there(JOB, "mnist-chief")["status"].get("conditions", ())
        return any((item["type"], item["status"]) == ("Complete", "True") for item in conditions)

    eventually(is_complete, "the end of the run")


@pytest.mark.parametrize("repository", ["argocd"], indirect=True)
@pytest.mark.parametrize(
    ("kind", "exit_code", "health"),
    [
        ("StatefulSet", 0, "Healthy"),
        ("Job", 1, "Degraded"),
        pytest.param("StatefulSet", 1, "Degraded", marks=pytest.mark.nightly),
        pytest.param("Job", 0, "Healthy", marks=pytest.mark.nightly),
    ],
)
def test_argo_cd_calls_a_job_that_is_released_what_its_end_was(
    repository: Repository, tmp_path: Path, kind: str, exit_code: int, health: str
) -> None:
    """The health is not Suspended, although the finisher has suspended Jobs, because nothing will resume these Jobs."""
    roles = {"chief": {}, "ps": {}, "worker": {"replicas": 2}, "evaluator": {}}
    started(repository, roles=roles, workload={"kind": kind}, completion={"evaluatorGrace": 0}, retries=0)
    client, namespace = repository.cluster.client, repository.namespace
    eventually(lambda: len(running(client, namespace)) == 6, "all pods and the finisher's")
    finisher = Finisher(repository.cluster, namespace, tmp_path / "finisher")
    finisher.run()
    (chief,) = running(client, namespace, "chief")
    end(client, chief, exit_code)
    finisher.finish()
    assert repository.there(JOB, "mnist-evaluator")["spec"]["suspend"]
    eventually(lambda: repository.state()["health"]["status"] == health, f"an Application that is {health}")
    assert repository.state()["sync"]["status"] == "Synced"


@pytest.mark.parametrize("repository", ["flux-chart"], indirect=True)
@pytest.mark.parametrize("kind", ["StatefulSet", pytest.param(JOB, marks=pytest.mark.nightly)])
def test_an_upgrade_of_a_release_starts_nothing_of_a_finished_run(repository: Repository, kind: str) -> None:
    """helm-controller lets the chart read the cluster. Both upgrades change the release, and no pod."""
    workload = {"workload": {"kind": kind.rpartition("/")[2]}}
    started(repository, **workload)
    repository.there(kind, "mnist-ps")
    end_chief(repository)
    if kind == JOB:
        repository.suspend("mnist-ps")
    else:
        repository.scale("mnist-ps", 0)
    generation = repository.there(kind, "mnist-ps")["metadata"]["generation"]
    repository.write(job(network={"policy": "Off"}, **workload))
    repository.applied(repository.commit())
    repository.gone("NetworkPolicy", "mnist")
    repository.write(job(**workload))
    repository.applied(repository.commit())
    repository.there("NetworkPolicy", "mnist")
    ps = repository.there(kind, "mnist-ps")
    assert ps["spec"]["suspend"] if kind == JOB else ps["spec"]["replicas"] == 0
    assert ps["metadata"]["generation"] == generation


@pytest.mark.parametrize("repository", ["flux-chart"], indirect=True)
def test_every_content_of_a_chart_is_a_release_of_its_own(repository: Repository) -> None:
    """Each content has its own version after a revert, and after a merge that keeps one side's rendered files."""
    started(repository, retries=10)
    repository.git("branch", "theirs")

    def released(commit: str, retries: int) -> str:
        def has_retries() -> bool:
            return bool(repository.there(JOB, "mnist-chief")["spec"]["backoffLimit"] == retries)

        eventually(has_retries, f"the release of {retries} retries")
        repository.applied(commit)
        return str(repository.state()["history"][0]["chartVersion"])

    repository.write(job(retries=20))
    versions = [released(repository.commit(), 20)]
    repository.git("revert", "--no-edit", "HEAD")
    repository.write(job(retries=30))
    versions.append(released(repository.commit(), 30))
    repository.git("switch", "--quiet", "theirs")
    repository.write(job(retries=40))
    assert repository.tfgen("commit", "jobs") == cli.OK
    repository.git("switch", "--quiet", "main")
    repository.git("merge", "--quiet", "--strategy-option=theirs", "--no-edit", "theirs")
    versions.append(released(repository.push_commits(), 40))
    assert [version.split(".")[1] for version in versions] == ["1", "1", "1"]
    assert len({*versions}) == 3


@pytest.mark.parametrize("repository", ["flux-chart"], indirect=True)
def test_an_environments_values_come_with_their_chart(repository: Repository) -> None:
    """The values must not arrive before the chart: the new run would start with the image of the previous run."""
    started(repository)
    generation = (repository.kept() or {})["metadata"]["generation"]
    repository.suspend_sources(True)
    environments = {"prod": {"run": "2"}}
    repository.write(job(image="registry.example.com/ml/mnist:1.5.0", environments=environments))
    commit = repository.commit()
    eventually(lambda: repository.root_revision() == commit, "Flux's own objects of the commit")
    assert (repository.kept() or {})["metadata"]["generation"] == generation
    repository.suspend_sources(False)
    repository.applied(commit)
    (container,) = repository.there("StatefulSet", "mnist-2-ps")["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "registry.example.com/ml/mnist:1.5.0"
    # Flux records a Helm release after its objects exist.
    eventually(lambda: len(repository.state()["history"]) > 1, "the release of the commit")
    assert len(repository.state()["history"]) == 2


# Kubernetes 1.37 names the selector, and earlier versions name the fields that may change.
REFUSED = "(?:updates to statefulset spec for fields other than|field is immutable)"
MISSING = "PodGroup mnist: The Kubernetes API could not find version"


def _mistakes() -> list[object]:
    """Return the ways, the commits that `tfgen check` forbids, and the reasons in `tfgen status`."""
    changed = {"image": "registry.example.com/ml/mnist:1.5.0"}
    missing = {"gang": {"scheduler": "kube-batch"}}
    reasons = {
        "argocd": "SyncFailed: Job mnist-chief: .* field is immutable; Argo CD could not apply [0-9] more objects",
        "flux": f"ReconciliationFailed: StatefulSet/.* {REFUSED}",
        "flux-chart": r"UpgradeFailed: .*: the Job mnist-\w+ cannot change while its run lasts: set a new run",
    }
    return [
        *(pytest.param(way, changed, reason, id=f"{way}-job-changed") for way, reason in reasons.items()),
        *(
            pytest.param(way, changed, reasons["argocd"], id=f"{way}-job-changed", marks=pytest.mark.nightly)
            for way in ("argocd-chart", "applicationset")
        ),
        pytest.param("argocd", missing, f"SyncFailed: {MISSING}", id="argocd-kind-missing", marks=pytest.mark.nightly),
        pytest.param("flux", missing, reasons["flux"], id="flux-kind-missing"),
    ]


@pytest.mark.parametrize(("repository", "mistake", "reason"), _mistakes(), indirect=["repository"])
def test_a_bad_commit_changes_no_pod_and_is_mended_by_the_next(
    repository: Repository, mistake: dict[str, Any], reason: str
) -> None:
    """The tool may apply other objects of the bad commit, but no StatefulSet changes.

    `tfgen status` shows the reason: with RetryOnFailure, the condition Ready of a HelmRelease is only the time of the
    next try.
    """
    started(repository)
    before = _stateful_sets(repository)
    repository.write(job(**mistake))
    assert repository.tfgen("render", "jobs") == cli.OK
    repository.push("Do what check forbids")
    eventually(repository.has_failed, "the failure")
    assert _stateful_sets(repository) == before
    why = f"^why: +{repository.way.kind.rpartition('/')[2]} mnist-prod: {reason}"
    # Between two tries, the controller shows no reason.
    eventually(lambda: re.search(why, repository.status(), re.M), "the reason in the status")
    repository.write(job(retries=30))
    assert repository.tfgen("render", "jobs") == cli.OK
    repository.applied(repository.push("Take it back"))
    assert repository.there(JOB, "mnist-chief")["spec"]["backoffLimit"] == 30
    assert "why: " not in repository.status()


@pytest.mark.parametrize("repository", ["flux-chart"], indirect=True)
def test_a_revert_of_a_bad_commit_is_applied(repository: Repository) -> None:
    """The revert restores the chart of the installed release, so Helm has nothing to do.

    Since version 1.5, helm-controller then clears the error. Version 1.4 clears the error after the forced upgrade of
    docs/operations.md.
    """
    started(repository)
    before, version = _stateful_sets(repository), repository.state()["lastAttemptedRevision"]
    repository.write(job(image="registry.example.com/ml/mnist:1.5.0"))
    assert repository.tfgen("render", "jobs") == cli.OK
    repository.push("Do what check forbids")
    eventually(repository.has_failed, "the failure")
    repository.git("revert", "--no-edit", "HEAD")
    commit = repository.push_commits()
    eventually(lambda: repository.state()["lastAttemptedRevision"] == version, "the chart of the revert")
    repository.force_upgrade()
    repository.applied(commit)
    assert _stateful_sets(repository) == before


@every_way("argocd", "flux")
def test_a_released_object_that_somebody_deletes_comes_back(repository: Repository) -> None:
    """The table of docs/runs.md, "After the end"."""
    started(repository)
    client, namespace = repository.cluster.client, repository.namespace
    end_chief(repository)
    repository.scale("mnist-ps", 0)
    (finisher,) = running(client, namespace, "finisher")
    end(client, finisher)
    eventually(lambda: repository.there(JOB, "mnist-finisher")["status"].get("completionTime"), "the finisher's end")
    client.delete("StatefulSet", "mnist-ps", namespace)
    eventually(lambda: running(client, namespace, "ps"), "the ps")
    assert "why:      ps: CreatedAgain: StatefulSet mnist-ps was created again" in repository.status()
    client.delete(JOB, "mnist-chief", namespace)
    eventually(lambda: running(client, namespace, "chief"), "the second run of the chief")
    assert "why:      chief: CreatedAgain: Job mnist-chief was created again" in repository.status()
    assert repository.tfgen("release", *repository.live_arguments()) == cli.OK
    eventually(lambda: not running(client, namespace), "the release")
    assert "CreatedAgain" not in repository.status()


@pytest.mark.parametrize("repository", ["argocd"], indirect=True)
def test_an_application_is_healthy_after_tfgen_release(repository: Repository) -> None:
    """The chief has not ended, so the finisher would wait until its end: the command also stops the finisher."""
    started(repository)
    client, namespace = repository.cluster.client, repository.namespace
    eventually(lambda: len(running(client, namespace)) == 5, "all pods and the finisher's")
    assert repository.tfgen("release", *repository.live_arguments()) == cli.OK
    eventually(lambda: not running(client, namespace), "the end of all pods")
    eventually(lambda: repository.state()["health"]["status"] == "Healthy", "an Application that is Healthy")
    assert repository.state()["sync"]["status"] == "Synced"
    printed = repository.status()
    assert ": Suspended for " in printed
    assert "finisher: Suspended\n" in printed


@pytest.mark.parametrize(
    ("repository", "reason"),
    [("argocd", "ComparisonError: .*invalid Kustomization"), ("flux", "BuildFailed: .*[Kk]ustomiz")],
    indirect=["repository"],
)
def test_status_shows_that_the_tool_cannot_read_the_files(repository: Repository, reason: str) -> None:
    started(repository)
    (repository.folder / "overlays/mnist/prod/kustomization.yaml").write_text("resources: 7\n", encoding="utf-8")
    repository.push("Break the overlay")
    kind = repository.way.kind.rpartition("/")[2]
    eventually(lambda: re.search(f"why: +{kind} mnist-prod: {reason}", repository.status()), "the reason")


def _stateful_sets(repository: Repository) -> dict[str, tuple[int, Object]]:
    """Return the requested replicas and the generation of each StatefulSet."""
    return {
        item["metadata"]["name"]: (item["metadata"]["generation"], item["spec"])
        for item in repository.cluster.client.list("StatefulSet", repository.namespace)
    }


@every_way("argocd", "flux")
def test_a_job_that_is_gone_is_pruned_but_for_its_claim(repository: Repository) -> None:
    """Remove a job, and then the last job, whose removal leaves an empty folder to the tool."""
    repository.write({**job(), "metadata": {"name": "other"}})
    started(repository, storage=CLAIM)
    repository.there("PersistentVolumeClaim", "mnist-model")
    assert repository.tfgen("rm", "jobs/mnist/job.yaml") == cli.OK
    repository.commit()
    for kind, name in (("StatefulSet", "mnist-ps"), (JOB, "mnist-chief"), ("ConfigMap", "mnist")):
        repository.gone(kind, name)
    eventually(lambda: repository.kept() is None, "the end of what kept mnist")
    assert repository.there("StatefulSet", "other-ps")
    assert repository.tfgen("rm", "jobs/other/job.yaml") == cli.OK
    repository.commit()
    repository.gone("StatefulSet", "other-ps")
    eventually(lambda: repository.kept("other") is None, "the end of what kept the last job")
    claim = repository.there("PersistentVolumeClaim", "mnist-model")
    assert "deletionTimestamp" not in claim["metadata"]
    repository.write({**job(), "metadata": {"name": "later"}})
    repository.commit()
    repository.there("StatefulSet", "later-ps")


@every_way("argocd", "flux")
def test_a_retired_job_runs_nothing_and_keeps_its_claim(repository: Repository) -> None:
    started(repository, storage=CLAIM)
    assert repository.tfgen("rm", "jobs/mnist/job.yaml", "--env", "prod") == cli.OK
    repository.commit()
    for kind, name in (("StatefulSet", "mnist-ps"), (JOB, "mnist-chief")):
        repository.gone(kind, name)
    assert "deletionTimestamp" not in repository.there("PersistentVolumeClaim", "mnist-model")["metadata"]


@every_way("argocd", "flux")
def test_a_job_that_is_renamed_as_retired_starts_with_its_next_run(repository: Repository) -> None:
    started(repository, storage=CLAIM)
    assert repository.tfgen("rename", "jobs/mnist/job.yaml", "digits", "--keep-data", "--retired") == cli.OK
    commit = repository.commit()
    for kind, name in (("StatefulSet", "mnist-ps"), ("StatefulSet", "mnist-worker"), (JOB, "mnist-chief")):
        repository.gone(kind, name)
    if repository.way.kind != HELM_RELEASE:  # a Kustomization applies what remains of a retired job
        repository.applied(commit, "digits")
    names = [item["metadata"]["name"] for item in repository.cluster.client.list("StatefulSet", repository.namespace)]
    assert names == []
    assert "deletionTimestamp" not in repository.there("PersistentVolumeClaim", "mnist-model")["metadata"]
    rerun = ("rerun", "jobs/mnist/job.yaml", "--env", "prod", "--enable", "--commit", "--push")
    assert repository.tfgen(*rerun) == cli.OK
    spec = repository.there(JOB, "digits-2-chief")["spec"]["template"]["spec"]
    claims = [
        volume["persistentVolumeClaim"]["claimName"] for volume in spec["volumes"] if "persistentVolumeClaim" in volume
    ]
    assert claims == ["mnist-model"]
