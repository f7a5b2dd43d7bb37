"""Tests of the description of a picture, which tfgen reads from a job's objects, and which all formats share."""

from __future__ import annotations

from typing import Any

import pytest

from tfgen.errors import UsageError
from tfgen.pictures.describe import describe
from tfgen.pictures.picture import Panel, Tasks, Volume
from tfgen.text.document import Document

JOB: dict[str, Any] = {
    "apiVersion": "tfgen/v1alpha1",
    "kind": "TrainingJob",
    "metadata": {"name": "mnist", "namespace": "ml"},
    "spec": {
        "image": "registry.example.com/mnist:1",
        "roles": {
            "chief": {"resources": {"cpu": 2, "memory": "4Gi"}},
            "ps": {"replicas": 2},
            "worker": {"replicas": 4, "resources": {"gpu": {"count": 1, "product": "NVIDIA-T4"}}},
        },
        "storage": {"model": {"mountPath": "/model", "for": ["chief"], "claim": {"size": "20Gi"}}},
        "gang": {"scheduler": "volcano", "queue": "research"},
    },
}


def job(**spec: Any) -> Document:
    return Document.without_places("job.yaml", {**JOB, "spec": {**JOB["spec"], **spec}})


def panel(**spec: Any) -> Panel:
    (only,) = describe(job(**spec), None).panels
    return only


def test_a_panel_has_the_facts_of_the_objects() -> None:
    assert panel() == Panel(
        title="mnist",
        facts=("namespace ml",),
        gang="gang of 7 pods in queue research, started together (scheduling.volcano.sh)",
        tasks=(
            Tasks(
                role="chief",
                count=1,
                devices="",
                resources="2 CPU, 4Gi memory",
                controller="Job mnist-chief",
                hosts="mnist-chief-0.mnist:2222",
                start="starts with the gang",
                in_gang=True,
                ends=True,
                mounts={"model": "/model"},
            ),
            Tasks(
                role="ps",
                count=2,
                devices="",
                resources="",
                controller="StatefulSet mnist-ps",
                hosts="mnist-ps-{0..1}.mnist:2222",
                start="starts with the gang",
                in_gang=True,
                ends=False,
                mounts={},
            ),
            Tasks(
                role="worker",
                count=4,
                devices="1 NVIDIA-T4",
                resources="",
                controller="StatefulSet mnist-worker",
                hosts="mnist-worker-{0..3}.mnist:2222",
                start="starts with the gang",
                in_gang=True,
                ends=False,
                mounts={},
            ),
        ),
        volumes=(Volume("model", "claim mnist-model, 20Gi, ReadWriteMany", is_kept=True),),
        notes=(
            ("end", "when chief-0 exits, the finisher stops ps and worker"),
            ("ingress", "tasks: from tasks of this run"),
        ),
    )


def test_each_environment_is_a_panel() -> None:
    document = job(environments={"dev": {"roles": {"worker": {"replicas": 1}}}, "prod": {"run": "2"}})
    dev, prod = describe(document, None).panels
    assert [tasks.count for tasks in dev.tasks] == [1, 2, 1]
    assert prod.facts == ("namespace ml", "run 2")
    assert describe(document, "prod").panels == (prod,)
    with pytest.raises(UsageError):
        describe(document, "staging")


def test_a_retired_environment_shows_its_claims_alone() -> None:
    (off,) = describe(job(environments={"prod": {"enabled": False}}), None).panels
    assert off.facts == ("retired: the job does not run here", "namespace ml")
    assert off.tasks == ()
    assert [volume.name for volume in off.volumes] == ["mnist-model"]


@pytest.mark.parametrize(
    ("spec", "gang"),
    [
        (
            {"gang": {"scheduler": "kueue", "queue": "lab"}, "workload": {"kind": "Job"}},
            "queue lab, all pods admitted together (kueue.x-k8s.io)",
        ),
        ({"workload": {"kind": "VolcanoJob"}}, "gang of 7 pods in queue research, started together (batch.volcano.sh)"),
    ],
    ids=["kueue", "volcano-job"],
)
def test_a_gang_without_a_pod_group_is_shown(spec: dict[str, Any], gang: str) -> None:
    assert panel(**spec).gang == gang


def test_the_start_order_is_shown() -> None:
    ordered = panel(gang={"scheduler": "kueue"}, workload={"kind": "JobSet", "jobSet": {"startOrder": "PsFirst"}})
    starts = {tasks.role: tasks.start for tasks in ordered.tasks}
    assert starts["worker"] == "starts after ps"
    assert starts["ps"] != "starts after ps"
    with_evaluator = panel(roles={**JOB["spec"]["roles"], "evaluator": {}})
    assert with_evaluator.tasks[-1].start == "starts outside the gang"


def test_the_network_is_shown() -> None:
    assert ("ingress", "no network policy: every pod of the cluster reaches the tasks") in panel(
        network={"policy": "Off"}
    ).notes
    limited = panel(network={"egress": {"limited": True}}).notes
    assert ("egress", "tasks: to tasks of this run; to any address on port 53") in limited


def test_the_delivery_is_shown() -> None:
    document = job(
        environments={"prod": {"namespace": "ml"}},
        gitops={"repository": "https://git.example.com/jobs.git", "argocd": {}},
    )
    (prod,) = describe(document, None).panels
    assert prod.notes[-1] == (
        "delivery",
        "Argo CD applies overlays/mnist/prod of https://git.example.com/jobs.git, branch main",
    )
