"""Flux's substitution of variables, for users who apply the overlays by their own Kustomization with substitution.

https://fluxcd.io/flux/components/kustomize/kustomizations/#post-build-variable-substitution
"""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tests.e2e.client import eventually
from tests.e2e.gitops.jobs import job
from tests.e2e.gitops.repository import GIT_REPOSITORY, KUSTOMIZATION, Repository
from tests.support.tools import kustomize_build

SHELL = {"command": ["sh", "-c"], "args": ["python train.py --epochs=${EPOCHS} --host=$$(HOSTNAME)"]}
ROLES = {"chief": SHELL, "ps": {}, "worker": {}}
VALUES = {"EPOCHS": "their own", "TF_CLUSTER": "their own", "TASK_INDEX": "their own", "HOME": "their own"}


def applied_by_another(repository: Repository, **spec: Any) -> dict[tuple[str, str], Any]:
    """Return the objects of the overlay in a Kustomization with variables, by kind and name."""
    repository.write(job(**spec))
    repository.commit()
    repository.cluster.client.create(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": repository.namespace}}
    )
    client, name = repository.cluster.client, "theirs-prod"
    client.apply(repository.of_tool(GIT_REPOSITORY, name, repository.source()))
    kustomization = {
        "interval": "2s",
        "path": "./overlays/mnist/prod",
        "prune": True,
        "targetNamespace": repository.namespace,
        "sourceRef": {"kind": "GitRepository", "name": name},
        "postBuild": {"substitute": VALUES},
    }
    client.apply(repository.of_tool(KUSTOMIZATION, name, kustomization))
    eventually(lambda: repository.revision("theirs"), "the Kustomization of theirs")
    objects = [*yaml.safe_load_all(kustomize_build(repository.folder / "overlays" / "mnist" / "prod"))]
    found = {}
    for each in objects:
        kind, named = each["kind"], each["metadata"]["name"]
        live = repository.there(f"{each['apiVersion']}/{kind}", named)
        found[kind, named] = (each, live)
    return found


def content(obj: dict[str, Any]) -> Any:
    """Return the data of a ConfigMap, or the command and the variables of the first container."""
    if obj["kind"] == "ConfigMap":
        return obj["data"]
    if "template" not in obj.get("spec", {}):
        return None
    (container, *_) = obj["spec"]["template"]["spec"]["containers"]
    env = {each["name"]: each.get("value", "") for each in container["env"]}
    return container.get("command"), container.get("args"), env


@pytest.mark.parametrize("repository", ["flux"], indirect=True)
def test_only_a_jobs_own_text_has_variables_of_flux(repository: Repository) -> None:
    """Test the finisher's program, the cluster and TF_CONFIG, which contain `$(...)` for Kubernetes.

    In the text of the job, Flux replaces `${EPOCHS}`, and reduces `$$` to `$`, which Kubernetes then expands.
    """
    found = applied_by_another(repository, roles=ROLES)
    _, chief = found.pop(("Job", "mnist-chief"))
    assert content(chief)[1] == ["python train.py --epochs=their own --host=$(HOSTNAME)"]
    assert {("ConfigMap", "mnist"), ("StatefulSet", "mnist-ps"), ("Job", "mnist-finisher")} <= {*found}
    for written, live in found.values():
        assert content(live) == content(written)


@pytest.mark.parametrize("repository", ["flux"], indirect=True)
def test_the_annotation_keeps_a_jobs_own_text_from_flux(repository: Repository) -> None:
    annotations = {"kustomize.toolkit.fluxcd.io/substitute": "disabled"}
    written, live = applied_by_another(repository, roles=ROLES, annotations=annotations)["Job", "mnist-chief"]
    assert content(live) == content(written)
