"""The pod of a task: one template for every role and every workload.

The pod of each role is built for the controller of the role. `alternatives.join_alternatives` joins the pods to one
template, so that the chart contains the common parts once. The parts of it take the role's name and its own values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

from tfgen.graph.alternatives import join_alternatives, with_common_order
from tfgen.graph.fill import Filler, Scope, cached_by_values, evaluate
from tfgen.graph.holes import (
    ABSENT,
    Bound,
    Call,
    Comment,
    Default,
    Expression,
    Items,
    Key,
    Let,
    Named,
    Node,
    Parameter,
    Splice,
    Sum,
    Value,
    When,
    call,
    if_set,
    plain_mapping,
)
from tfgen.graph.interning import intern_node
from tfgen.graph.objects import (
    cluster_spec,
    code,
    eci,
    environment,
    labels,
    names,
    placement,
    pod_template_hash,
    resources,
    run_lock,
    security,
    service_account,
    storage,
)
from tfgen.graph.objects.names import CONTAINER, PORT_NAME
from tfgen.graph.objects.pod_spec import pod_spec
from tfgen.graph.objects.values import ROLE, ROLE_VALUES, role_or_job_value, role_value, value
from tfgen.graph.reads import Steps, reads_of_call, used_names
from tfgen.graph.schedulers import GANGS
from tfgen.graph.schedulers.gang import Binding
from tfgen.graph.shape import cached_by_shape
from tfgen.job.training_job import Role, RoleName, Structure
from tfgen.kubernetes import keys
from tfgen.kubernetes.merge import KUBECTL, merge
from tfgen.record import EMPTY, Record

GRACE_SERVING: Final = 5
GRACE: Final = 30  # Kubernetes' default
_GRACE_REASON: Final = Comment(
    "TensorFlow's Server.join ignores SIGTERM: a task that only serves is waited for in vain."
)

_Lets: TypeAlias = Sequence[tuple[Bound, Expression]]
"""What a part names, each by what was named before it."""

_SHARED: Final[_Lets] = (
    (resources.LIMITS, resources.limits()),
    (resources.DEVICES, resources.devices()),
    (Bound(resources.GPUS.name, "boolean"), resources.has_gpus()),
    (run_lock.LOCKED, run_lock.locked()),
)
_LABELS: Final[_Lets] = (
    (labels.POD_LABELS, labels.pod_labels()),
    (labels.POD_ANNOTATIONS, labels.pod_annotations()),
)
_REQUESTS: Final[_Lets] = ((resources.REQUESTS, resources.requests()),)
_ENV: Final[_Lets] = ((environment.ENV, environment.env()),)

_ARGUMENTS: Final[Mapping[str, Node]] = {
    ROLE.name: ROLE,
    ROLE_VALUES.name: ROLE_VALUES,
    resources.LIMITS.name: resources.LIMITS,
    resources.CPU_LIMIT.name: Bound(resources.LIMITS.name, "quantity", "cpu"),
    resources.GPUS.name: Bound(resources.GPUS.name, "boolean"),
    run_lock.LOCKED.name: run_lock.LOCKED,
}
"""What a part of a pod's spec is given there, by the name of its parameter."""

_ARGUMENTS_WITHIN: Final[Mapping[str, Node]] = {
    **_ARGUMENTS,
    resources.LIMITS.name: Parameter(resources.LIMITS.name, "map"),
    resources.CPU_LIMIT.name: Parameter(resources.LIMITS.name, "quantity", "cpu"),
    resources.GPUS.name: resources.GPUS,
}
"""The same in the main container, which is such a part itself."""

_WHERE: Final = ("nodeName", "nodeSelector", "tolerations", "affinity", "topologySpreadConstraints")
"""The fields of a pod's spec that say where it may run, one after the other."""


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
    fields: Mapping[Key, Node]
    sets_tf_config: bool = False
    binds_gang: bool = False
    port_name: str = PORT_NAME
    publishes_unready: bool = True


class Pods(Record):
    """The pods of a job's roles, as parts that are given a role.

    Attributes:
        labels: those of a pod.
        annotations: those of a pod.
        spec: its spec.
        template: the whole PodTemplateSpec; its parameters are a role's, and the hash where it has one.
    """

    labels: Named
    annotations: Named
    spec: Named
    template: Named

    def of(self, role: RoleName) -> Node:
        """The pod template of a role, for an object that has several."""
        return call_for_role(self.template, role)


def call_for_role(part: Named, role: RoleName) -> Node:
    """A part of a role's pod."""
    return call(part, **_only(part, arguments(role)))


def arguments(role: RoleName) -> dict[str, Node]:
    """What tells a part of which role it is."""
    return {ROLE.name: role, ROLE_VALUES.name: Value(f"roles.{role}", "map")}


def pods(structure: Structure, controllers: Mapping[RoleName, Controller], *, has_hash: bool = False) -> Pods:
    """The pods of a job.

    Args:
        structure: the job.
        controllers: who makes each role's pods.
        has_hash: whether the template takes its own hash as a label.
    """
    templates: dict[str, Any] = {
        role.name: template(structure, role, controllers[role.name]) for role in structure.roles
    }
    # All roles have one list of containers in the chart; Kubernetes gives their order no meaning.
    containers = with_common_order({name: pod["spec"]["containers"] for name, pod in templates.items()})
    ordered = {
        name: {**pod, "spec": {**pod["spec"], "containers": containers[name]}} for name, pod in templates.items()
    }
    joined: Any = intern_node(join_alternatives(ordered, ROLE))
    metadata = joined["metadata"]
    spec = _part("pod.spec", "The spec of a task's pod.", _spec(joined["spec"], structure), _SHARED)
    parts = {
        field: _part(f"pod.{field}", f"The {field} of a task's pod.", metadata.get(field, {}), _LABELS)
        for field in ("labels", "annotations")
    }
    own_hash = pod_template_hash.LABEL if has_hash else EMPTY
    calls: dict[Key, Node] = {
        "labels": {Splice("labels"): _call(parts["labels"]), **own_hash},
        "annotations": _call(parts["annotations"]),
    }
    whole: Node = {
        "metadata": {key: calls.get(key, node) for key, node in metadata.items()},
        "spec": _call(spec),
    }
    doc = "The pod of a task: a PodTemplateSpec, whatever object makes it."
    return Pods(parts["labels"], parts["annotations"], spec, _part("pod", doc, whole, ()))


def _spec(spec: Mapping[Key, Node], structure: Structure) -> Node:
    """A pod's spec with its parts in their places."""
    lets = ((placement.NODE_SELECTOR, placement.node_selector(structure)),)
    where = {key: node for key, node in spec.items() if key in _WHERE}
    scheduling = _part("pod.scheduling", "Where a task's pod may run.", where, lets, "scheduling")
    divided: dict[Key, Node] = {}
    for key, node in spec.items():
        match key:
            case "containers" if isinstance(node, list):
                divided[key] = [_main_container(container) for container in node]
            case "volumes":
                divided[key] = _call(_part("pod.volumes", "The volumes of a task's pod.", node, (), "volumes"))
            case _ if key in where:
                divided[Splice("scheduling")] = _call(scheduling)
            case _:
                divided[key] = node
    return divided


def _main_container(container: Node) -> Node:
    """The main container, a part that has parts; any other as it is."""
    if not isinstance(container, dict) or container.get("name") != CONTAINER:
        return container
    env = _part("pod.env", "The variables of a task's main container.", container["env"], _ENV, "environment")
    mounts = _part("pod.mounts", "The mounts of a task's main container.", container["volumeMounts"], (), "volumes")
    of_resources: Node = {"resources": container["resources"]}
    amounts = _part("pod.resources", "The resources of a task's main container.", of_resources, _REQUESTS)
    divided: dict[Key, Node] = {}
    for key, node in container.items():
        if key == "resources":
            divided[Splice("resources")] = _call(amounts, _ARGUMENTS_WITHIN)
        elif key != "name":
            divided[key] = node
    doc = "A task's main container, but for its name."
    calls: dict[Key, Node] = {"env": _call(env, _ARGUMENTS_WITHIN), "volumeMounts": _call(mounts, _ARGUMENTS_WITHIN)}
    part = _part("pod.container", doc, {**divided, **calls}, ())
    return {"name": CONTAINER, Splice("container"): _call(part)}


def _part(name: str, doc: str, node: Node, lets: _Lets, file: str = "pod") -> Named:
    """A part with all that it names, and with those parameters that it has a use for."""
    for bound, expression in reversed(lets):
        if used_names(node, [bound]):
            node = Let(bound.name, expression, node)
    parameters = used_names(node, map(Parameter, (*_ARGUMENTS, pod_template_hash.PARAMETER.name)))
    return Named(name, doc, node, file, tuple(parameter.name for parameter in parameters))


def _call(part: Named, values: Mapping[str, Node] = _ARGUMENTS) -> Node:
    return call(part, **_only(part, {**values, "hash": pod_template_hash.PARAMETER}))


def _only(part: Named, values: Mapping[str, Node]) -> dict[str, Node]:
    return {name: values[name] for name in part.parameters}


def role_scope(structure: Structure, scope: Scope, role: RoleName) -> Scope:
    """A scope in which all is bound that a role's pod template names, in whichever of its parts."""
    bound, given_ = _role_binders(structure)[role](scope)
    return Scope(scope.values, scope.release, scope.chart, bound, given_, scope.cache)


def reads_in_role(structure: Structure, role: RoleName, nodes: Sequence[Node] = ()) -> tuple[Steps, ...]:
    """Which values are read to fill some nodes in such a scope: those of the nodes, and of all that is bound there."""
    expressions = [expression for lets in _lets(structure) for _, expression in lets]
    whole = Named("", "", [*expressions, *nodes], parameters=(ROLE.name, ROLE_VALUES.name))
    return reads_of_call(Call(whole, tuple(arguments(role).items())))


@cached_by_shape
def _role_binders(structure: Structure) -> Mapping[RoleName, Filler]:
    """What makes the names that are bound for a role, and the arguments of its parts."""
    lets = _lets(structure)
    return {
        role.name: cached_by_values(reads_in_role(structure, role.name), partial(_bind, lets, role.name))
        for role in structure.roles
    }


def _lets(structure: Structure) -> Sequence[_Lets]:
    """All that the parts of a role's pod name."""
    return (_SHARED, _REQUESTS, _LABELS, _ENV, ((placement.NODE_SELECTOR, placement.node_selector(structure)),))


def _bind(all_lets: Sequence[_Lets], role: RoleName, scope: Scope) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    given_ = {name: evaluate(node, scope) for name, node in arguments(role).items()}
    names: dict[str, Any] = {**scope.bound}
    for lets in all_lets:
        inner = Scope(scope.values, scope.release, scope.chart, names, given_, scope.cache)
        for bound, expression in lets:
            names[bound.name] = evaluate(expression, inner)
        given_ = {name: evaluate(node, inner) for name, node in _ARGUMENTS.items()}
    return names, given_


def template(structure: Structure, role: Role, controller: Controller) -> dict[str, Any]:
    """The pod template of a role, for the controller that makes the pods: as a podTemplate leaves it."""
    pod: Any = generated_template(structure, role, controller)
    for over in (structure.pod_template, role.pod_template):
        pod = merge(pod, with_container_security(pod, over, security.container_context(structure.profile)), KUBECTL)
    return _with_security_parts(_with_cluster_names(pod), structure)


def generated_template(structure: Structure, role: Role, controller: Controller) -> dict[str, Any]:
    """The pod template of a role before a podTemplate is merged over it."""
    binds = structure.gang and not controller.binds_gang
    gang = GANGS[structure.gang].pod(role.name) if structure.gang and binds else Binding()
    return {
        "metadata": {"labels": _pod_labels(structure, gang), "annotations": _pod_annotations(structure, gang)},
        "spec": pod_spec(
            scheduler=gang.spec,
            priority=if_set(role_or_job_value("priorityClassName")),
            runtime_class=if_set(role_or_job_value("runtimeClassName")),
            account=service_account.task_account(structure),
            ending={
                **controller.fields,
                **({"activeDeadlineSeconds": _deadline()} if role.name == structure.ends else {}),
                **({_GRACE_REASON: None} if any(other.serves for other in structure.roles) else {}),
                "terminationGracePeriodSeconds": Default(
                    role_value("terminationGracePeriodSeconds"), GRACE_SERVING if role.serves else GRACE
                ),
            },
            security_context=security.pod_context(structure.profile),
            scheduling={
                "nodeName": if_set(role_value("nodeName")),
                "nodeSelector": placement.NODE_SELECTOR,
                "tolerations": placement.tolerations(structure),
                "affinity": placement.affinity(),
                "topologySpreadConstraints": role_or_job_value("topologySpreadConstraints"),
            },
            pull_secrets=value("imagePullSecrets"),
            init_containers=_beside(structure, role, controller),
            containers=[_container(structure, role, controller)],
            volumes=[
                *storage.volumes(structure),
                *code.volumes(structure),
                *([run_lock.volume()] if role.name == structure.ends else []),
            ],
        ),
    }


def _with_security_parts(pod: dict[str, Any], structure: Structure) -> dict[str, Any]:
    """A pod whose security contexts are the chart's parts, where nothing else is said of them."""
    own_pod, own_container = security.pod_context(structure.profile), security.container_context(structure.profile)
    spec = dict(pod["spec"])
    if spec.get("securityContext") == own_pod:
        spec["securityContext"] = security.pod_part(structure.profile)
    for key in ("initContainers", "containers"):
        if isinstance(spec.get(key), list):
            spec[key] = [
                {**item, "securityContext": security.container_part(structure.profile)}
                if isinstance(item, dict) and item.get("securityContext") == own_container
                else item
                for item in spec[key]
            ]
    return {**pod, "spec": spec}


def _with_cluster_names(pod: Any) -> Any:
    """A pod that finds its peers by name in its node's network, too, unless the user says how it is to find them.

    https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/#pod-s-dns-policy
    """
    spec = pod["spec"]
    if not spec.get("hostNetwork") or "dnsPolicy" in spec:
        return pod
    return {**pod, "spec": {**spec, "dnsPolicy": "ClusterFirstWithHostNet"}}


def _deadline() -> Node:
    """The pod's deadline: it counts init containers too, and so the wait for a lock."""
    deadline = value("deadline")
    return When(deadline, When(run_lock.LOCKED, Sum((deadline, value("lockWait"))), deadline))


def _pod_labels(structure: Structure, gang: Binding) -> Node:
    return {
        Splice("selector"): labels.role_selector(ROLE),
        keys.NAME: names.NAME,
        keys.INSTANCE: names.RELEASE,
        keys.COMPONENT: ROLE,
        **gang.labels,
        **eci.pod_labels(structure),
        Splice("labels"): labels.POD_LABELS,
    }


def _pod_annotations(structure: Structure, gang: Binding) -> Node:
    return {**gang.annotations, **eci.pod_annotations(structure), Splice("annotations"): labels.POD_ANNOTATIONS}


def _container(structure: Structure, role: Role, controller: Controller) -> Node:
    told = structure.is_distributed and not controller.sets_tf_config
    flags = cluster_spec.flags() if structure.legacy_flags else []
    probe: dict[Key, Node] = {"readinessProbe": {"tcpSocket": {"port": controller.port_name}}}
    return {
        "name": CONTAINER,
        "image": role_or_job_value("image"),
        "imagePullPolicy": if_set(role_or_job_value("imagePullPolicy")),
        "command": role_or_job_value("command"),
        "args": [Items(role_or_job_value("args")), *flags] if flags else role_or_job_value("args"),
        "workingDir": if_set(role_or_job_value("workingDir")),
        environment.ORDER: None,
        "env": environment.variables(structure, role.name, index_label=controller.index_label, told=told),
        "envFrom": role_or_job_value("envFrom"),
        "ports": [{"name": controller.port_name, "containerPort": structure.port}, *map(plain_mapping, role.ports)],
        "resources": {"requests": resources.REQUESTS, "limits": Parameter(resources.LIMITS.name, "map")},
        **(probe if role.serves and controller.publishes_unready else {}),
        "securityContext": security.container_context(structure.profile),
        "volumeMounts": [*storage.mounts(), *code.mounts(structure)],
    }


def _beside(structure: Structure, role: Role, controller: Controller) -> Node:
    """What fetches the code, the init containers, and the sidecars as Kubernetes has them: init containers that go on.

    https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/: they do not keep a Job from completing.
    """
    context = security.container_context(structure.profile)
    init = [_with_security(container, context) for container in role.init_containers]
    sidecars = [{"restartPolicy": "Always", **_with_security(container, context)} for container in role.sidecars]
    named = [{"name": c.pop("name"), **c} for c in map(dict, sidecars)]
    ends = role.name == structure.ends
    locks = [run_lock.containers(structure.profile, controller.index_label)] if ends else []
    return [*locks, *code.init_containers(structure), *init, *named] or ABSENT


def _with_security(container: Mapping[str, Any], context: Mapping[Key, Node]) -> dict[Key, Node]:
    """A user's container, meeting the job's profile in whatever it does not say itself."""
    return {
        **plain_mapping(container),
        "securityContext": merge(dict(context), container.get("securityContext") or {}, KUBECTL),
    }


def with_container_security(pod: Any, over: Mapping[str, Any], context: Mapping[Key, Node]) -> Mapping[str, Any]:
    """A user's pod template, whose containers that the pod does not have yet meet the job's profile, too."""
    spec = dict(over.get("spec") or {})
    for key in ("initContainers", "containers"):
        there = pod["spec"].get(key)
        known = [item["name"] for item in there if isinstance(item, dict)] if isinstance(there, list) else []
        if key in spec and spec[key] is not None:
            spec[key] = [
                item if item["name"] in known or "$patch" in item else _with_security(item, context)
                for item in spec[key]
            ]
    return {**over, "spec": spec} if spec else over
