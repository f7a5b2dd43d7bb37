"""The pod of a task: one template for every role and every workload."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tfgen import cluster_spec
from tfgen.holes import ABSENT, Default, Hole, Items, Let, Node, Splice, Value, given
from tfgen.job import Role, RoleName, Structure
from tfgen.objects import code, environment, labels, names, placement, resources, run_lock, security, storage
from tfgen.objects.pod_template import merge
from tfgen.objects.values import ROLE, own, own_or_job, value
from tfgen.schedulers import GANGS

CONTAINER: Final = "tensorflow"  # the name that the TFJob operator asks for, so that tools find it
PORT_NAME: Final = "tensorflow"

# ``Server.join`` ignores SIGTERM, so a role that only serves is waited for in vain; 30 s is Kubernetes' default.
GRACE_SERVING: Final = 5
GRACE: Final = 30


def document(role: RoleName, workload: Node) -> Node:
    """A role's object, with everything bound that its pod template names; the first in the list is bound first."""
    bindings: list[tuple[str, Hole]] = [
        (ROLE, Value(f"roles.{role}", "map")),
        (resources.REQUESTS.name, resources.requests(role)),
        (resources.LIMITS.name, resources.limits(role)),
        (environment.ENV.name, environment.env(role)),
        (labels.POD_LABELS.name, labels.pod_labels(role)),
        (labels.POD_ANNOTATIONS.name, labels.pod_annotations(role)),
        (run_lock.LOCKED.name, run_lock.locked(role)),
        (placement.NODE_SELECTOR.name, placement.node_selector(role)),
    ]
    for name, expression in reversed(bindings):
        workload = Let(name, expression, workload)
    return workload


def template(structure: Structure, role: Role, *, index_label: str, restart: Mapping[str, Node]) -> Node:
    """The pod template of a role.

    Args:
        structure: the job.
        role: the role.
        index_label: the label in which the pod's controller puts its index.
        restart: what the controller asks for: a restart policy and, of a Job, the subdomain.
    """
    name, gang = role.name, GANGS[structure.gang] if structure.gang else None
    pod: dict[Any, Node] = {
        "metadata": {"labels": _pod_labels(name), "annotations": _pod_annotations(structure, name)},
        "spec": {
            "schedulerName": gang.pod_scheduler() if gang else ABSENT,
            "priorityClassName": given(own_or_job(name, "priorityClassName")),
            "runtimeClassName": given(own_or_job(name, "runtimeClassName")),
            "serviceAccountName": given(own_or_job(name, "serviceAccountName")),
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            **restart,
            "activeDeadlineSeconds": given(value("deadline")) if name == structure.ends else ABSENT,
            "terminationGracePeriodSeconds": Default(
                own(name, "terminationGracePeriodSeconds"), GRACE_SERVING if role.serves else GRACE
            ),
            "securityContext": security.of_pod(structure.profile),
            "nodeName": given(own(name, "nodeName")),
            "nodeSelector": placement.NODE_SELECTOR,
            "tolerations": placement.tolerations(name),
            "affinity": placement.affinity(name),
            "topologySpreadConstraints": own_or_job(name, "topologySpreadConstraints"),
            "imagePullSecrets": value("imagePullSecrets"),
            "initContainers": _beside(structure, role),
            "containers": [_container(structure, role, index_label)],
            "volumes": [*storage.volumes(name), *code.volumes(structure)],
        },
    }
    return merge(merge(pod, structure.pod_template), role.pod_template)


def _pod_labels(role: RoleName) -> Node:
    return {
        Splice("selector"): labels.role_selector(role),
        labels.NAME: names.CHART,
        labels.INSTANCE: names.RELEASE,
        labels.COMPONENT: role,
        Splice("labels"): labels.POD_LABELS,
    }


def _pod_annotations(structure: Structure, role: RoleName) -> Node:
    binding = GANGS[structure.gang].pod_annotations(role) if structure.gang else {}
    return {**binding, Splice("annotations"): labels.POD_ANNOTATIONS}


def _container(structure: Structure, role: Role, index_label: str) -> Node:
    name = role.name
    flags = cluster_spec.flags(name) if structure.legacy_flags else []
    probe: dict[str, Node] = {"readinessProbe": {"tcpSocket": {"port": PORT_NAME}}} if role.serves else {}
    return {
        "name": CONTAINER,
        "image": own_or_job(name, "image"),
        "imagePullPolicy": given(own_or_job(name, "imagePullPolicy")),
        "command": own_or_job(name, "command"),
        "args": [Items(own_or_job(name, "args")), *flags] if flags else own_or_job(name, "args"),
        "workingDir": given(own_or_job(name, "workingDir")),
        "env": environment.variables(structure, name, index_label=index_label),
        "envFrom": own_or_job(name, "envFrom"),
        "ports": [{"name": PORT_NAME, "containerPort": structure.port}, *role.ports],
        "resources": resources.resources(),
        **probe,
        "securityContext": security.of_container(structure.profile),
        "volumeMounts": [*storage.mounts(name), *code.mounts(structure)],
    }


def _beside(structure: Structure, role: Role) -> Node:
    """What fetches the code, the init containers, and the sidecars as Kubernetes has them: init containers that go on.

    https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/: they do not keep a Job from completing.
    """
    own = security.of_container(structure.profile)
    init = [_with_security(container, own) for container in role.init_containers]
    sidecars = [{"restartPolicy": "Always", **_with_security(container, own)} for container in role.sidecars]
    named = [{"name": c.pop("name"), **c} for c in map(dict, sidecars)]
    locks = [run_lock.containers(role.name, structure.profile)] if role.name == structure.ends else []
    return [*locks, *code.init_containers(structure), *init, *named] or ABSENT


def _with_security(container: Mapping[str, Any], own: Mapping[str, Node]) -> dict[str, Node]:
    """A user's container, meeting the job's profile in whatever it does not say itself."""
    return {**container, "securityContext": {**own, **container.get("securityContext", {})}}
