"""The health of custom kinds in Argo CD, from tfgen's checks in Lua.

No operator runs: each status is the text that the operator of the kind would write. The kinds' definitions accept any
content.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.e2e.client import Object, eventually
from tests.e2e.custom_kinds import stand_in
from tests.e2e.gitops.jobs import job
from tests.e2e.gitops.repository import APPLICATION, Repository
from tfgen.graph.graph import plain_objects


def condition(kind: str) -> dict[str, Any]:
    return {"conditions": [{"type": kind, "status": "True", "message": f"it is {kind}"}]}


def phase(name: str) -> dict[str, Any]:
    return {"state": {"phase": name}}


# For each kind: the spec that renders the kind, and each status with its expected health.
GANG = {"gang": {"scheduler": "volcano"}}
KINDS: Mapping[str, tuple[Mapping[str, Any], list[tuple[Mapping[str, Any], str, str]]]] = {
    "scheduling.volcano.sh/v1beta1/PodGroup": (
        GANG,
        [({}, "Healthy", "waits for its pods"), ({"phase": "Running"}, "Healthy", "is Running")],
    ),
    "kubeflow.org/v1/TFJob": (
        {"workload": {"kind": "TFJob"}},
        [
            ({}, "Progressing", "waits for the operator"),
            (condition("Running"), "Progressing", "it is Running"),
            (condition("Suspended"), "Suspended", "it is Suspended"),
            (condition("Failed"), "Degraded", "it is Failed"),
            (condition("Succeeded"), "Healthy", "it is Succeeded"),
        ],
    ),
    "batch.volcano.sh/v1alpha1/Job": (
        {"workload": {"kind": "VolcanoJob"}, **GANG},
        [
            ({}, "Progressing", "waits for Volcano"),
            (phase("Running"), "Progressing", "Running"),
            (phase("Aborted"), "Suspended", "Aborted"),
            (phase("Failed"), "Degraded", "Failed"),
            (phase("Completed"), "Healthy", "Completed"),
        ],
    ),
    "jobset.x-k8s.io/v1alpha2/JobSet": (
        {"workload": {"kind": "JobSet"}},
        [
            ({}, "Progressing", "is running"),
            (condition("Suspended"), "Suspended", "it is Suspended"),
            (condition("Failed"), "Degraded", "it is Failed"),
            (condition("Completed"), "Healthy", "it is Completed"),
        ],
    ),
}


@pytest.mark.parametrize("repository", ["argocd"], indirect=True)
def test_argo_cd_tells_the_health_of_each_custom_kind(repository: Repository) -> None:
    client = repository.cluster.client
    made = {kind: _object(kind, spec) for kind, (spec, _) in KINDS.items()}
    for kind, obj in made.items():
        group, version, name = kind.split("/")
        if not client.serves(f"{group}/{version}", name):
            definition = stand_in(group, name, [version])
            unapproved = {"api-approved.kubernetes.io": "unapproved, for tests"}
            definition["metadata"]["annotations"] = unapproved
            repository.cluster.install([definition])
        path = repository.folder / "kinds" / f"{name}-{group}.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(obj), encoding="utf-8")  # JSON is YAML
    repository.push("Four kinds")
    source = {"repoURL": repository.url, "targetRevision": "main", "path": "kinds"}
    destination = {"server": "https://kubernetes.default.svc", "namespace": repository.namespace}
    policy = {"automated": {}, "syncOptions": ["CreateNamespace=true"]}
    spec = {"project": "default", "source": source, "destination": destination, "syncPolicy": policy}
    client.apply(repository.of_tool(APPLICATION, "kinds-prod", spec))
    for kind, obj in made.items():
        repository.there(kind, obj["metadata"]["name"])
    for steps in itertools.zip_longest(*(steps for _, steps in KINDS.values())):
        wanted = {}
        for kind, (status, health, message) in ((kind, step) for kind, step in zip(KINDS, steps, strict=True) if step):
            name = made[kind]["metadata"]["name"]
            client.patch(kind, name, repository.namespace, {"status": status}, subresource="status")
            wanted[kind] = {"status": health, "message": message}

        def is_shown(wanted: Mapping[str, Mapping[str, str]] = wanted) -> bool:
            return {kind: _health(repository, kind) for kind in wanted} == wanted

        eventually(is_shown, str(wanted))


def _object(kind: str, spec: Mapping[str, Any]) -> Object:
    """Return the object of a kind that a job renders."""
    version, _, name = kind.rpartition("/")
    (found,) = (each for each in plain_objects(job(**spec)) if (each["apiVersion"], each["kind"]) == (version, name))
    return dict(found)


def _health(repository: Repository, kind: str) -> Mapping[str, Any] | None:
    group, version, name = kind.split("/")
    for each in repository.state("kinds").get("resources", ()):
        if (each.get("group"), each["version"], each["kind"]) == (group, version, name):
            return {key: value for key, value in each.get("health", {}).items() if key in ("status", "message")}
    return None
