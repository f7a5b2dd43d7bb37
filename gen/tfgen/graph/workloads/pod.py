"""The pod of a task: one template for every role and every workload."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from tfgen.graph.holes import ABSENT, Default, Expression, Items, Let, Named, Node, Splice, Sum, Value, When, given
from tfgen.graph.objects import (
    cluster_spec,
    code,
    eci,
    environment,
    labels,
    names,
    placement,
    resources,
    run_lock,
    security,
    storage,
)
from tfgen.graph.objects.names import CONTAINER, PORT_NAME
from tfgen.graph.objects.values import ROLE, own, own_or_job, value
from tfgen.graph.schedulers import GANGS
from tfgen.graph.schedulers.gang import Binding
from tfgen.graph.workloads.pod_template import merge
from tfgen.job.training_job import Role, RoleName, Structure
from tfgen.kubernetes import keys
from tfgen.record import Record

# ``Server.join`` ignores SIGTERM, so a role that only serves is waited for in vain; 30 s is Kubernetes' default.
GRACE_SERVING: Final = 5
GRACE: Final = 30


class Controller(Record):
    """What a role's pods have of the controller that makes them.

    Attributes:
        index_label: the label in which it puts the pod's index.
        fields: what it asks for in the pod: a restart policy, the subdomain.
        tells_cluster: whether it tells the task of its cluster; else the pod's variables do.
        binds_gang: whether it binds the pod to its gang; else the pod's annotations do.
        port_name: the name by which it knows TensorFlow's port.
        names_unready: whether a pod has its name before it is ready; else it must be so from its start.
    """

    index_label: str
    fields: Mapping[str, Node]
    tells_cluster: bool = False
    binds_gang: bool = False
    port_name: str = PORT_NAME
    names_unready: bool = True


def part(structure: Structure, role: Role, controller: Controller) -> Named:
    """The pod template of a role as a part of its own, to be told by its hash, or for an object that has several."""
    made = document(structure, role.name, template(structure, role, controller))
    return Named(f"{role.name}.pod", f"The pods of the {role.name} tasks.", made, file="pods")


def bindings(structure: Structure, role: RoleName) -> tuple[tuple[str, Expression], ...]:
    """What a role's pod template names; a later one may name those before it."""
    return (
        (ROLE, Value(f"roles.{role}", "map")),
        (resources.REQUESTS.name, resources.requests(role)),
        (resources.LIMITS.name, resources.limits(role)),
        (resources.DEVICES.name, resources.devices()),
        (environment.ENV.name, environment.env(role)),
        (labels.POD_LABELS.name, labels.pod_labels(role)),
        (labels.POD_ANNOTATIONS.name, labels.pod_annotations(role)),
        (run_lock.LOCKED.name, run_lock.locked(role)),
        (placement.NODE_SELECTOR.name, placement.node_selector(structure, role)),
    )


def document(structure: Structure, role: RoleName, workload: Node) -> Node:
    """A role's object, with everything bound that its pod template names."""
    for name, expression in reversed(bindings(structure, role)):
        workload = Let(name, expression, workload)
    return workload


def template(structure: Structure, role: Role, controller: Controller) -> Node:
    """The pod template of a role, for the controller that makes the pods."""
    name = role.name
    gang = GANGS[structure.gang].pod(name) if structure.gang and not controller.binds_gang else Binding()
    pod: dict[Any, Node] = {
        "metadata": {"labels": _pod_labels(structure, name, gang), "annotations": _pod_annotations(structure, gang)},
        "spec": {
            **gang.spec,
            "priorityClassName": given(own_or_job(name, "priorityClassName")),
            "runtimeClassName": given(own_or_job(name, "runtimeClassName")),
            "serviceAccountName": given(own_or_job(name, "serviceAccountName")),
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            **controller.fields,
            "activeDeadlineSeconds": _deadline() if name == structure.ends else ABSENT,
            "terminationGracePeriodSeconds": Default(
                own(name, "terminationGracePeriodSeconds"), GRACE_SERVING if role.serves else GRACE
            ),
            "securityContext": security.of_pod(structure.profile),
            "nodeName": given(own(name, "nodeName")),
            "nodeSelector": placement.NODE_SELECTOR,
            "tolerations": placement.tolerations(structure, name),
            "affinity": placement.affinity(name),
            "topologySpreadConstraints": own_or_job(name, "topologySpreadConstraints"),
            "imagePullSecrets": value("imagePullSecrets"),
            "initContainers": _beside(structure, role, controller),
            "containers": [_container(structure, role, controller)],
            "volumes": [*storage.volumes(name), *code.volumes(structure)],
        },
    }
    made: Node = pod
    for over in (structure.pod_template, role.pod_template):
        made = merge(made, _secured(made, over, security.of_container(structure.profile)))
    return _with_cluster_names(made)


def _with_cluster_names(pod: Any) -> Node:
    """A pod that finds its peers by name in its node's network, too, unless the user says how it is to find them.

    https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/#pod-s-dns-policy
    """
    spec = pod["spec"]
    if not spec.get("hostNetwork") or "dnsPolicy" in spec:
        return cast("Node", pod)
    return {**pod, "spec": {**spec, "dnsPolicy": "ClusterFirstWithHostNet"}}


def _deadline() -> Node:
    """The pod's deadline, inside its role's document: it counts init containers too, and so the wait for a lock."""
    deadline = value("deadline")
    return When(deadline, When(run_lock.LOCKED, Sum((deadline, value("lockWait"))), deadline))


def _pod_labels(structure: Structure, role: RoleName, gang: Binding) -> Node:
    return {
        Splice("selector"): labels.role_selector(role),
        keys.NAME: names.CHART,
        keys.INSTANCE: names.RELEASE,
        keys.COMPONENT: role,
        **gang.labels,
        **eci.pod_labels(structure),
        Splice("labels"): labels.POD_LABELS,
    }


def _pod_annotations(structure: Structure, gang: Binding) -> Node:
    return {**gang.annotations, **eci.pod_annotations(structure), Splice("annotations"): labels.POD_ANNOTATIONS}


def _container(structure: Structure, role: Role, controller: Controller) -> Node:
    name, told = role.name, structure.is_distributed and not controller.tells_cluster
    flags = cluster_spec.flags(name) if structure.legacy_flags else []
    probe: dict[str, Node] = {"readinessProbe": {"tcpSocket": {"port": controller.port_name}}}
    return {
        "name": CONTAINER,
        "image": own_or_job(name, "image"),
        "imagePullPolicy": given(own_or_job(name, "imagePullPolicy")),
        "command": own_or_job(name, "command"),
        "args": [Items(own_or_job(name, "args")), *flags] if flags else own_or_job(name, "args"),
        "workingDir": given(own_or_job(name, "workingDir")),
        "env": environment.variables(structure, name, index_label=controller.index_label, told=told),
        "envFrom": own_or_job(name, "envFrom"),
        "ports": [{"name": controller.port_name, "containerPort": structure.port}, *role.ports],
        "resources": resources.resources(),
        **(probe if role.serves and controller.names_unready else {}),
        "securityContext": security.of_container(structure.profile),
        "volumeMounts": [*storage.mounts(name), *code.mounts(structure)],
    }


def _beside(structure: Structure, role: Role, controller: Controller) -> Node:
    """What fetches the code, the init containers, and the sidecars as Kubernetes has them: init containers that go on.

    https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/: they do not keep a Job from completing.
    """
    own = security.of_container(structure.profile)
    init = [_with_security(container, own) for container in role.init_containers]
    sidecars = [{"restartPolicy": "Always", **_with_security(container, own)} for container in role.sidecars]
    named = [{"name": c.pop("name"), **c} for c in map(dict, sidecars)]
    ends = role.name == structure.ends
    locks = [run_lock.containers(role.name, structure.profile, controller.index_label)] if ends else []
    return [*locks, *code.init_containers(structure), *init, *named] or ABSENT


def _with_security(container: Mapping[str, Any], own: Mapping[str, Node]) -> dict[str, Node]:
    """A user's container, meeting the job's profile in whatever it does not say itself."""
    return {**container, "securityContext": merge(dict(own), container.get("securityContext") or {})}


def _secured(pod: Any, over: Mapping[str, Any], own: Mapping[str, Node]) -> Mapping[str, Any]:
    """A user's pod template, whose containers that the pod does not have yet meet the job's profile, too."""
    spec = dict(over.get("spec") or {})
    for key in ("initContainers", "containers"):
        there = pod["spec"].get(key)
        known = {each["name"] for each in there if isinstance(each, dict)} if isinstance(there, list) else set()
        if key in spec and spec[key] is not None:
            spec[key] = [
                each if each["name"] in known or "$patch" in each else _with_security(each, own) for each in spec[key]
            ]
    return {**over, "spec": spec} if spec else over
