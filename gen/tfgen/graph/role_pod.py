"""The pod of a task, for all roles and all workload kinds.

tfgen builds the pod of each role, and joins these pods into a single named template (`alternatives.join_alternatives`).
So the chart contains the common parts of the pods once. The chart calls the named template for each role, with two
arguments: the name and the values of the role.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from tfgen import data_path
from tfgen.graph import cluster, naming, podspec, storage, supporting
from tfgen.graph import holes as h
from tfgen.graph.alternatives import join_alternatives, with_common_order
from tfgen.graph.fill import Scope, evaluate
from tfgen.graph.holes import Expression, Key, Node, call, if_set, plain_mapping, used_names
from tfgen.graph.naming import CONTAINER, PORT_NAME, ROLE, ROLE_VALUES, overridden, role_or_job_value, role_value, value
from tfgen.graph.podspec import pod_spec
from tfgen.graph.schedulers import GANGS, GangBinding
from tfgen.job.training_job import MAX_STRUCTURES, Role, RoleName, Structure
from tfgen.kubernetes import keys
from tfgen.kubernetes.merge import KUBECTL, merge
from tfgen.record import EMPTY, Record
from tfgen.schema.kinds import COPIED

GRACE_SERVING: Final = 5
GRACE: Final = 30  # the default of Kubernetes
_GRACE_REASON: Final = h.Comment(
    "TensorFlow's Server.join ignores SIGTERM, so a task that only serves would use its whole grace period."
)

_Lets: TypeAlias = Sequence[tuple[h.Bound, Expression]]
"""Pairs of a name and an expression, for the `Let` nodes of a named template. An expression may use earlier names."""

_LABELS: Final[_Lets] = (
    (naming.POD_LABELS, naming.pod_labels()),
    (naming.POD_ANNOTATIONS, naming.pod_annotations()),
)
_REQUESTS: Final[_Lets] = ((podspec.REQUESTS, podspec.requests()),)
_ENV: Final[_Lets] = ((podspec.ENV, podspec.env()),)

_ARGUMENTS: Final[Mapping[str, Node]] = {
    ROLE.name: ROLE,
    ROLE_VALUES.name: ROLE_VALUES,
    podspec.LIMITS.name: podspec.LIMITS,
    podspec.CPU_LIMIT.name: h.Bound(podspec.LIMITS.name, "quantity", "cpu"),
    podspec.GPUS.name: h.Bound(podspec.GPUS.name, "boolean"),
    storage.LOCKED.name: storage.LOCKED,
}
"""The arguments for a call of a named template in a PodSpec, by the name of the parameter."""

_CONTAINER_ARGUMENTS: Final[Mapping[str, Node]] = {
    **_ARGUMENTS,
    podspec.LIMITS.name: h.Parameter(podspec.LIMITS.name, "map"),
    podspec.CPU_LIMIT.name: h.Parameter(podspec.LIMITS.name, "quantity", "cpu"),
    podspec.GPUS.name: podspec.GPUS,
}
"""The arguments for a call of a named template inside the named template of the main container."""

_SCHEDULING_FIELDS: Final = ("nodeName", "nodeSelector", "tolerations", "affinity", "topologySpreadConstraints")
"""The fields of a PodSpec that place the pod on a node."""


class Controller(Record):
    """The controller of the pods of a role.

    Attributes:
        index_label: the label with which the controller tells a pod its index.
        fields: the fields that the controller requires in the PodSpec, such as the restart policy.
        sets_tf_config: whether the controller sets TF_CONFIG. If False, tfgen describes the cluster in variables of the
            container.
        binds_gang: whether the controller assigns the pod to the gang. If False, tfgen sets the labels for the gang.
        port_name: the name of TensorFlow's container port, which the controller may require.
        publishes_unready: whether the host name of a pod resolves before the pod is ready. If False, the pod must have
            no readiness probe, because the tasks look up their peers at the start.
    """

    index_label: str
    fields: Mapping[Key, Node]
    sets_tf_config: bool = False
    binds_gang: bool = False
    port_name: str = PORT_NAME
    publishes_unready: bool = True


class RolePods(Record):
    """The pods of all roles, as named templates of the chart. Each call of a named template passes the role.

    Attributes:
        labels: the labels of a pod.
        annotations: the annotations of a pod.
        spec: the spec of a pod.
        template: the PodTemplateSpec. If the pods have the hash of this template as a label, a call also passes the
            hash.
    """

    labels: h.NamedTemplate
    annotations: h.NamedTemplate
    spec: h.NamedTemplate
    template: h.NamedTemplate

    def for_role(self, role: RoleName) -> Node:
        """Return the pod template of a role."""
        return call_for_role(self.template, role)


def call_for_role(named_template: h.NamedTemplate, role: RoleName) -> Node:
    """Return a call of `named_template`, a template of `RolePods`, with the name and the values of the role `role`."""
    return _call(named_template, arguments(role))


def arguments(role: RoleName) -> dict[str, Node]:
    """Return the arguments for a call of a named template for `role`: the name of the role, and the values of the role.

    Example: {"role": "ps", "values": Value("roles.ps", "map")}.
    """
    return {ROLE.name: role, ROLE_VALUES.name: h.Value(f"roles.{role}", "map")}


def pods(structure: Structure, controller: Callable[[Role], Controller], *, has_hash: bool = False) -> RolePods:
    """Return the pods of a job.

    Args:
        structure: the job.
        controller: returns the controller of a role.
        has_hash: whether the pods have the hash of the template as a label.
    """
    templates: dict[str, Any] = {role.name: template(structure, role, controller(role)) for role in structure.roles}
    # The chart has a single list of containers for all roles, because Kubernetes ignores the order of containers.
    containers = with_common_order({name: pod["spec"]["containers"] for name, pod in templates.items()})
    ordered = {
        name: {**pod, "spec": {**pod["spec"], "containers": containers[name]}} for name, pod in templates.items()
    }
    joined: Any = join_alternatives(ordered, ROLE)
    metadata = joined["metadata"]
    spec = _named_template(
        "pod.spec",
        "The spec of a task's pod.",
        _with_named_templates(joined["spec"], structure),
        _shared_lets(structure),
    )
    metadata_templates = {
        field: _named_template(f"pod.{field}", f"The {field} of a task's pod.", metadata.get(field, {}), _LABELS)
        for field in ("labels", "annotations")
    }
    hash_label = podspec.HASH_LABEL if has_hash else EMPTY
    calls: dict[Key, Node] = {
        "labels": {h.Splice("labels"): _call(metadata_templates["labels"]), **hash_label},
        "annotations": _call(metadata_templates["annotations"]),
    }
    pod_template: Node = {
        "metadata": {key: calls.get(key, node) for key, node in metadata.items()},
        "spec": _call(spec),
    }
    doc = "The pod of a task, as a PodTemplateSpec."
    return RolePods(
        metadata_templates["labels"],
        metadata_templates["annotations"],
        spec,
        _named_template("pod", doc, pod_template),
    )


def _with_named_templates(spec: Mapping[Key, Node], structure: Structure) -> Node:
    """Move the scheduling fields, the volumes and the main container of a PodSpec into named templates."""
    lets = _scheduling_lets(structure)
    fields = {key: node for key, node in spec.items() if key in _SCHEDULING_FIELDS}
    scheduling = _named_template("pod.scheduling", "The placement of a task's pod.", fields, lets, "scheduling")
    divided: dict[Key, Node] = {}
    for key, node in spec.items():
        match key:
            case "containers" if isinstance(node, list):
                divided[key] = [_main_container(container) for container in node]
            case "volumes":
                volumes = _named_template("pod.volumes", "The volumes of a task's pod.", node, file="volumes")
                divided[key] = _call(volumes)
            case _ if key in fields:
                divided[h.Splice("scheduling")] = _call(scheduling)
            case _:
                divided[key] = node
    return divided


def _main_container(container: Node) -> Node:
    """Move the fields of the main container into named templates. Any other container remains unchanged."""
    if not isinstance(container, dict) or container.get("name") != CONTAINER:
        return container

    def part(name: str, noun: str, node: Node, lets: _Lets = (), file: str = "pod") -> Node:
        doc = f"The {noun} of a task's main container."
        return _call(_named_template(name, doc, node, lets, file), _CONTAINER_ARGUMENTS)

    divided: dict[Key, Node] = {}
    for key, node in container.items():
        if key == "resources":
            divided[h.Splice("resources")] = part("pod.resources", "resources", {"resources": node}, _REQUESTS)
        elif key == "env":
            divided[key] = part("pod.env", "variables", node, _ENV, "environment")
        elif key == "volumeMounts":
            divided[key] = part("pod.mounts", "mounts", node, file="volumes")
        elif key != "name":
            divided[key] = node
    doc = "The main container of a task, without its field name."
    return {"name": CONTAINER, h.Splice("container"): _call(_named_template("pod.container", doc, divided))}


def _named_template(name: str, doc: str, node: Node, lets: _Lets = (), file: str = "pod") -> h.NamedTemplate:
    """Return a named template for a part of the pod template, with the parameters that `node` uses.

    Args:
        name: the name of the named template.
        doc: the description of the named template.
        node: the content.
        lets: the names that `node` may use, and their expressions. The named template begins with a `Let` for each name
            that `node` does use.
        file: the file of the chart that defines the named template.
    """
    used = used_names(node)
    for bound, expression in reversed(lets):
        if (h.Bound, bound.name) in used:
            node = h.Let(bound.name, expression, node)
            used = used_names(expression) | used - {(h.Bound, bound.name)}
    names = (*_ARGUMENTS, podspec.HASH_PARAMETER.name)
    return h.NamedTemplate(name, doc, node, file, tuple(name for name in names if (h.Parameter, name) in used))


def _call(named_template: h.NamedTemplate, values: Mapping[str, Node] = _ARGUMENTS) -> Node:
    values = {**values, "hash": podspec.HASH_PARAMETER}
    return call(named_template, **{name: values[name] for name in named_template.parameters})


def role_scope(structure: Structure, scope: Scope, role: RoleName) -> Scope:
    """Return a copy of `scope` that can fill each node of a role's pod template.

    The copy has a value for each parameter of the pod template, and for each name that a `Let` in the template defines.
    """
    bound: dict[str, Any] = {**scope.bound}
    values = {name: evaluate(node, scope) for name, node in arguments(role).items()}
    # An expression may use the preceding names in its list, and all names in the preceding lists.
    for lets in (_shared_lets(structure), _REQUESTS, _LABELS, _ENV, _scheduling_lets(structure)):
        inner = Scope(scope.values, scope.release, scope.chart, bound, values)
        for name, expression in lets:
            bound[name.name] = evaluate(expression, inner)
        values = {name: evaluate(node, inner) for name, node in _ARGUMENTS.items()}
    return Scope(scope.values, scope.release, scope.chart, bound, values)


@functools.lru_cache(MAX_STRUCTURES)
def _shared_lets(structure: Structure) -> _Lets:
    return (
        (podspec.LIMITS, podspec.limits(structure)),
        (podspec.DEVICES, podspec.devices()),
        (h.Bound(podspec.GPUS.name, "boolean"), podspec.HAS_GPUS),
        (storage.LOCKED, storage.locked()),
    )


@functools.lru_cache(MAX_STRUCTURES)
def _scheduling_lets(structure: Structure) -> _Lets:
    return (
        (podspec.NODE_SELECTOR, podspec.node_selector(structure)),
        (podspec.AFFINITY, podspec.MERGED_AFFINITY),
    )


def template(structure: Structure, role: Role, controller: Controller) -> dict[str, Any]:
    """Return the pod template of a role, merged with `podTemplate` of the job and then of the role.

    A security context with tfgen's default values is a named template with these values.
    """
    profile = structure.profile
    pod: Any = generated_template(structure, role, controller)
    for over in (structure.pod_template, role.pod_template):
        pod = merge(pod, with_container_security(pod, over, podspec.container_context(profile)), KUBECTL)
    spec = dict(pod["spec"])
    for key in ("initContainers", "containers"):
        if isinstance(spec.get(key), list):
            containers = [podspec.with_own_claim(item, structure) for item in spec[key]]
            spec[key] = [
                {**item, "securityContext": podspec.container_context_template(profile)}
                if isinstance(item, dict) and item.get("securityContext") == podspec.container_context(profile)
                else item
                for item in containers
            ]
    if spec.get("securityContext") == podspec.pod_context(profile):
        spec["securityContext"] = podspec.pod_context_template(profile)
    if spec.get("hostNetwork") and "dnsPolicy" not in spec:
        # With this policy, a pod with `hostNetwork` can resolve the names of the other tasks:
        # https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/#pod-s-dns-policy
        spec["dnsPolicy"] = "ClusterFirstWithHostNet"
    return {**pod, "spec": spec}


def generated_template(structure: Structure, role: Role, controller: Controller) -> dict[str, Any]:
    """Return the pod template of a role before the merge of `podTemplate`."""
    binds = structure.gang and not controller.binds_gang
    gang = GANGS[structure.gang].binding_for(role.name) if structure.gang and binds else GangBinding()
    ends, deadline = role.name == structure.ends, value("deadline")
    locked = h.Sum(deadline, value("lockWait"))
    init_containers = _init_containers(structure, role, controller)
    return {
        "metadata": _pod_metadata(structure, gang),
        "spec": pod_spec(
            {
                **gang.spec,
                **{key: if_set(role_or_job_value(key)) for key in COPIED},
                "serviceAccountName": supporting.task_account(structure),
            },
            {
                **controller.fields,
                # The time includes init containers, such as the wait for a run lock.
                **(
                    {"activeDeadlineSeconds": h.When(deadline, h.When(storage.LOCKED, locked, deadline))}
                    if ends
                    else {}
                ),
                **({_GRACE_REASON: None} if any(peer.serves for peer in structure.roles) else {}),
                "terminationGracePeriodSeconds": overridden(
                    role_value("terminationGracePeriodSeconds"), GRACE_SERVING if role.serves else GRACE
                ),
            },
            {
                "securityContext": podspec.pod_context(structure.profile),
                "nodeName": if_set(role_value("nodeName")),
                "nodeSelector": podspec.NODE_SELECTOR,
                "tolerations": podspec.tolerations(structure),
                "affinity": podspec.affinity(),
                "topologySpreadConstraints": podspec.topology_spread_constraints(),
                **podspec.claims(structure, "resourceClaims", resourceClaimTemplateName=naming.workload(ROLE)),
                "imagePullSecrets": value("imagePullSecrets"),
                "volumes": [
                    *storage.volumes(structure),
                    *storage.code_volumes(structure),
                    *([storage.lock_volume()] if ends else []),
                ],
                **({"initContainers": init_containers} if init_containers else {}),
                "containers": [_container(structure, role, controller)],
            },
        ),
    }


def _pod_metadata(structure: Structure, gang: GangBinding) -> Node:
    return {
        "labels": {
            h.Splice("selector"): naming.role_selector(ROLE),
            keys.NAME: naming.NAME,
            keys.INSTANCE: naming.RELEASE,
            keys.COMPONENT: ROLE,
            **gang.labels,
            **supporting.eci_pod_labels(structure),
            h.Splice("labels"): naming.POD_LABELS,
        },
        naming.UNDISTURBED: None,
        "annotations": {
            **gang.annotations,
            **supporting.eci_pod_annotations(structure),
            h.Splice("annotations"): naming.POD_ANNOTATIONS,
        },
    }


def _container(structure: Structure, role: Role, controller: Controller) -> Node:
    has_cluster = structure.is_distributed and not controller.sets_tf_config
    # Only a Job requires the restart policy Never. The kubelet always restarts a container of a StatefulSet.
    is_job = controller.fields.get("restartPolicy") == "Never"
    arguments = role_or_job_value("args")
    probe: dict[Key, Node] = {"readinessProbe": {"tcpSocket": {"port": controller.port_name}}}
    return {
        "name": CONTAINER,
        "image": role_or_job_value("image"),
        "imagePullPolicy": if_set(role_or_job_value("imagePullPolicy")),
        "command": role_or_job_value("command"),
        "args": [h.Items(arguments), *cluster.FLAGS] if structure.legacy_flags else arguments,
        "workingDir": if_set(role_or_job_value("workingDir")),
        podspec.ENV_REASON: None,
        "env": podspec.variables(structure, role.name, index_label=controller.index_label, has_cluster=has_cluster),
        "envFrom": role_or_job_value("envFrom"),
        "ports": [_port({"name": controller.port_name, "containerPort": structure.port}), *map(_port, role.ports)],
        "resources": {
            "requests": podspec.REQUESTS,
            "limits": h.Parameter(podspec.LIMITS.name, "map"),
            **podspec.claims(structure, "claims"),
        },
        **(probe if role.serves and controller.publishes_unready else {}),
        **(supporting.RESTART_IN_PLACE if structure.in_place and is_job else {}),
        "securityContext": podspec.container_context(structure.profile),
        "volumeMounts": [*storage.mounts(), *storage.code_mounts(structure)],
    }


def _port(port: Mapping[str, Any]) -> Node:
    """Return a port of a container, with its protocol, because kustomize merges ports by their number and protocol."""
    return plain_mapping({**port, "protocol": port.get("protocol", "TCP")})


def _init_containers(structure: Structure, role: Role, controller: Controller) -> list[Node]:
    """Return the init containers: run locks, the container that fetches the code, and the containers of the user.

    Sidecars of Kubernetes are init containers with the restart policy `Always`. Sidecars do not prevent the completion
    of a Job: https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/.
    """
    context = podspec.container_context(structure.profile)
    init = [_with_security(container, context) for container in role.init_containers]
    sidecars = [{"restartPolicy": "Always", **_with_security(container, context)} for container in role.sidecars]
    name_first = [{"name": c.pop("name"), **c} for c in map(dict, sidecars)]
    ends = role.name == structure.ends
    locks = [storage.lock_containers(structure.profile, controller.index_label)] if ends else []
    return [*locks, *storage.code_init_containers(structure), *init, *name_first]


def _with_security(container: Mapping[str, Any], context: Mapping[Key, Node]) -> dict[Key, Node]:
    """Return a user's container with the security context of the job, overridden by the container's own settings."""
    return {
        **plain_mapping(container),
        "securityContext": merge(dict(context), container.get("securityContext") or {}, KUBECTL),
    }


def with_container_security(pod: Any, over: Mapping[str, Any], context: Mapping[Key, Node]) -> Mapping[str, Any]:
    """Return `over`, with the security context of the job in each container that `over` adds to `pod`.

    Args:
        pod: the generated pod template.
        over: the `podTemplate` of the user.
        context: the security context of a container.
    """
    spec = dict(over.get("spec") or {})
    for key in ("initContainers", "containers"):
        items = data_path.at(pod, ("spec", key))  # an earlier patch may have added a template without a spec
        present = [item["name"] for item in items if isinstance(item, dict)] if isinstance(items, list) else []
        if key in spec and spec[key] is not None:
            spec[key] = [
                item if item["name"] in present or "$patch" in item else _with_security(item, context)
                for item in spec[key]
            ]
    return {**over, "spec": spec} if spec else over
