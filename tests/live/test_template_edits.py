"""Tests of `live.template_edits` with the recorded pods of a real cluster, which have the defaults of the API server.

The recordings are older than the current hash, so the tests give the recorded templates the hash of job.yaml.
"""

from __future__ import annotations

import string
from pathlib import Path
from typing import Any

import pytest

from tests.support.recorded_run import read_recorded, read_run
from tfgen import data_path
from tfgen.kubernetes import keys
from tfgen.kubernetes.object import identity
from tfgen.live.run import DeclaredRun, Snapshot
from tfgen.live.run_state import state_of_run
from tfgen.live.tasks import ROLE_LABEL, pod_templates, role_of
from tfgen.live.template_edits import template_edits
from tfgen.report.status import as_text, rows

HERE = Path(__file__).parent
SUCCEEDED = HERE / "succeeded"
CASES = sorted(path.parent for path in HERE.glob("*/cluster.json"))
IMAGE, OTHER = "registry.example.com/mnist:1", "registry.example.com/mnist:2"
WORKERS = ("apps/v1", "StatefulSet", "mnist-worker")


def recorded(case: Path) -> tuple[DeclaredRun, Snapshot]:
    """Return a run, and a recorded snapshot with the hashes of the rendered pod templates."""
    snapshot, environment, _ = read_recorded(case / "cluster.json")
    run = read_run(case / "job.yaml", environment)
    hashes = {
        data_path.at(template, ROLE_LABEL): template["metadata"]["labels"].get(keys.POD_TEMPLATE_HASH)
        for item in run.rendered
        for template in pod_templates(item)
    }
    for template in (*snapshot.pods, *(part for item in snapshot.objects.values() for part in pod_templates(item))):
        value = hashes.get(data_path.at(template, ROLE_LABEL))
        if value:
            template["metadata"]["labels"][keys.POD_TEMPLATE_HASH] = value
    return run, snapshot


def lines(run: DeclaredRun, snapshot: Snapshot) -> list[str]:
    return [*map(str, template_edits(run, snapshot))]


def containers(snapshot: Snapshot, role: str) -> list[Any]:
    return [pod["spec"]["containers"] for pod in snapshot.pods if role_of(pod) == role]


def template(snapshot: Snapshot) -> Any:
    return snapshot.objects[WORKERS]["spec"]["template"]["spec"]


def rendered_container(run: DeclaredRun) -> Any:
    rendered = next(item for item in run.rendered if identity(item) == WORKERS)
    return rendered["spec"]["template"]["spec"]["containers"][0]


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_recorded_run_has_no_edit(case: Path) -> None:
    """The API server added the defaults, the volume of the token, and tolerations."""
    assert lines(*recorded(case)) == []


def test_kubectl_set_image_of_a_stateful_set() -> None:
    run, snapshot = recorded(SUCCEEDED)
    template(snapshot)["containers"][0]["image"] = OTHER
    (first, *_), *_ = containers(snapshot, "worker")
    first["image"] = OTHER  # Kubernetes has replaced the first pod
    assert lines(run, snapshot) == [
        f'worker: StatefulSet mnist-worker: image of the container tensorflow is "{OTHER}", and job.yaml renders '
        f'"{IMAGE}"; to keep the image, set it in job.yaml with a new run; to undo the edit, apply the job again'
    ]
    state = state_of_run(run, snapshot, "ml")
    text = as_text(state, read_recorded(SUCCEEDED / "cluster.json")[2])
    assert text.count("differs:  worker: StatefulSet mnist-worker: image of the container tensorflow") == 1
    assert rows([state])[0]["templateEdits"] == [
        {
            "role": "worker",
            "owners": ["StatefulSet mnist-worker"],
            "container": "tensorflow",
            "field": "image",
            "found": OTHER,
            "expected": IMAGE,
            "onlyInPods": False,
        }
    ]


def test_an_image_of_pods_alone() -> None:
    """An edit of the pods, or a webhook that replaces the registry. The template has the image of job.yaml."""
    run, snapshot = recorded(SUCCEEDED)
    for main, *_ in containers(snapshot, "worker"):
        main["image"] = f"mirror.{IMAGE}"
    (line,) = lines(run, snapshot)
    assert line.startswith("worker: worker-0, worker-1")
    assert line.endswith(f'renders "{IMAGE}"; an admission webhook or an edit of the pods changed the value')


def test_other_fields_of_a_template() -> None:
    run, snapshot = recorded(SUCCEEDED)
    main = template(snapshot)["containers"][0]
    rendered_container(run)["args"] = ["--steps=9"]
    main["args"] = ["--steps=1"]
    main["command"] = ["sh"]  # tfgen renders no command
    main["env"] = [variable for variable in main["env"] if variable["name"] != "TF_CONFIG"]
    main["env"].append({"name": "ADDED", "value": "by a policy"})
    main["resources"]["limits"]["memory"] = "9Gi"
    del main["resources"]["limits"]["nvidia.com/gpu"]
    assert {edit.field: edit.found for edit in template_edits(run, snapshot)} == {
        "args": ["--steps=1"],
        "env.TF_CONFIG": None,
        "resources.limits.memory": "9Gi",
        "resources.limits.nvidia.com/gpu": None,
    }


def test_a_changed_value_that_may_be_a_secret_is_not_shown() -> None:
    run, snapshot = recorded(SUCCEEDED)
    variable = next(item for item in template(snapshot)["containers"][0]["env"] if "value" in item)
    variable["value"] = f"ghp_{string.ascii_letters[35::-1]}"
    (edit,) = template_edits(run, snapshot)
    assert edit.field == f"env.{variable['name']}"
    assert edit.found == "(hidden)"


def test_a_word_of_a_command_that_may_be_a_secret_is_not_shown() -> None:
    run, snapshot = recorded(SUCCEEDED)
    rendered_container(run)["args"] = ["--steps=9"]
    template(snapshot)["containers"][0]["args"] = ["--steps=1", "--password=hunter2"]
    (edit,) = template_edits(run, snapshot)
    assert edit.found == ["--steps=1", "(hidden)"]


def test_a_sidecar_of_a_webhook_is_no_edit() -> None:
    run, snapshot = recorded(SUCCEEDED)
    proxy = {"name": "istio-proxy", "image": "istio/proxyv2:1.29.0", "args": ["proxy"]}
    for pod in snapshot.pods:
        pod["spec"]["containers"].insert(0, proxy)
        pod["spec"].setdefault("initContainers", []).append({**proxy, "name": "istio-init"})
        pod["spec"].setdefault("volumes", []).append({"name": "istio-data", "emptyDir": {}})
        pod["spec"].setdefault("tolerations", []).append({"key": "mesh", "operator": "Exists"})
        pod["spec"]["containers"][1].setdefault("env", []).append({"name": "ISTIO", "value": "1"})
    assert lines(run, snapshot) == []


def test_a_template_with_another_hash_is_not_compared() -> None:
    """After a change of job.yaml without a new run, the cluster has the earlier template with the earlier hash."""
    run, snapshot = recorded(SUCCEEDED)
    template(snapshot)["containers"][0]["image"] = OTHER
    labels = snapshot.objects[WORKERS]["spec"]["template"]["metadata"]["labels"]
    labels[keys.POD_TEMPLATE_HASH] = "earlier"
    assert lines(run, snapshot) == []


def test_equal_amounts_in_other_notations_are_no_edit() -> None:
    run, snapshot = recorded(SUCCEEDED)
    main = template(snapshot)["containers"][0]
    rendered_container(run)["resources"] = {"requests": {"cpu": "1500m", "memory": "1Gi"}}
    main["resources"] = {"requests": {"cpu": "1.5", "memory": "1024Mi", "ephemeral-storage": "1Gi"}}
    assert lines(run, snapshot) == []
