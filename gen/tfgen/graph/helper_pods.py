"""The objects and pods beside the tasks: the finisher, TensorBoard, and the test of ``helm test``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Literal, TypeAlias

from tfgen.graph import cluster, naming, podspec, programs, storage, supporting
from tfgen.graph import holes as h
from tfgen.graph.fill import Template
from tfgen.graph.holes import ABSENT, Key, Node, if_set
from tfgen.graph.naming import value, value_for_role
from tfgen.graph.podspec import HASH_LABEL, HASH_PARAMETER, hashed, pod_spec
from tfgen.job.training_job import RoleName, Structure
from tfgen.kubernetes import keys
from tfgen.record import Record

# -- finisher ----------------------------------------------------------------------------------------------------------


# The role label of the finisher's pod, by which a network policy allows traffic to the API server.
FINISHER: Final = "finisher"
_FOLDER: Final = "/finisher"
_FILE: Final = "finisher.py"

_FINISHER_PROGRAM: Final = programs.file("finisher")
_FINISHER_DATA: Final = naming.data("finisher", _FINISHER_PROGRAM.text)
_START_DEADLINE: Final = value("startDeadline")
_IMAGE: Final = value("completion.image")
NOTIFY: Final = value("completion.notify.secretKeyRef.name")


Kind: TypeAlias = Literal["jobs", "statefulsets"]
"""The resource name of a role's controller in RBAC rules."""


class FinisherPlan(Record):
    """The tasks that the finisher waits for and releases.

    Attributes:
        ends: the role whose Job ends the run.
        starts: the roles whose pods must start before the start deadline, with the resource names of their controllers.
            Example: ``(("statefulsets", "ps"), ("jobs", "worker"))``.
        start_with: the number of pods that must start before the start deadline, with the condition for this number, as
            in `When(test, number)`. If the condition is false, or if `start_with` is `ABSENT`, all pods must start.
        scale: the roles whose StatefulSets the finisher scales to 0.
        suspend: the roles whose Jobs the finisher suspends. The Job of the evaluator gets a grace period first.
        board: the name of TensorBoard's Deployment, which the finisher scales to 0, with the condition under which the
            finisher releases TensorBoard; None for a job without TensorBoard.
    """

    ends: RoleName
    starts: tuple[tuple[Kind, RoleName], ...] = ()
    start_with: h.When | h.Absent = ABSENT
    scale: tuple[RoleName, ...] = ()
    suspend: tuple[RoleName, ...] = ()
    board: h.When | None = None

    @property
    def releases(self) -> bool:
        """True if the finisher scales down or suspends objects at the end of the run."""
        return bool(self.scale or self.suspend or self.board is not None)


def finisher(structure: Structure, plan: FinisherPlan) -> tuple[Template, ...]:
    """Return the objects of the finisher, in the order in which they must be applied."""
    return (
        *supporting.rbac_templates(FINISHER, naming.FINISHER, _finisher_rules(plan)),
        Template(f"{FINISHER}-configmap", finisher_config_map()),
        Template(FINISHER, _finisher_job(structure, plan)),
        Template(
            f"{FINISHER}-networkpolicy",
            supporting.api_server_policy(naming.FINISHER, FINISHER, h.When(NOTIFY, supporting.WEBHOOK)),
        ),
    )


def _finisher_rules(plan: FinisherPlan) -> list[Node]:
    """Return the RBAC rules with the permissions that the finisher needs. Each rule names the permitted objects.

    A rule without object names would grant access to all objects, so the result does not contain such a rule.
    https://kubernetes.io/docs/reference/access-authn-authz/rbac/#referring-to-resources
    """
    # The program patches the Job to note the start, and to suspend a Job that misses the start deadline.
    verbs: list[Node] = ["get", h.When(_START_DEADLINE, "patch")]
    needed: list[Node] = [_rule("batch", "jobs", [naming.workload(plan.ends)], verbs)]
    if plan.suspend:
        needed.append(_rule("batch", "jobs", [*map(naming.workload, plan.suspend)], ["get", "patch"]))
    for group, resource in (("batch", "jobs"), ("apps", "statefulsets")):
        changed = (plan.ends, *plan.suspend)
        only_read: list[Node] = [
            naming.workload(name) for kind, name in plan.starts if kind == resource and name not in changed
        ]
        if only_read:
            needed.append(h.When(_START_DEADLINE, _rule(group, resource, only_read, ["get"])))
    if plan.scale:
        needed.append(_rule("apps", "statefulsets/scale", [*map(naming.workload, plan.scale)], ["patch"]))
    if plan.board is not None:
        needed.append(h.When(plan.board.test, _rule("apps", "deployments/scale", [plan.board.if_true], ["patch"])))
    return needed


def _rule(group: str, resource: str, resource_names: list[Node], verbs: list[Node]) -> Node:
    return {"apiGroups": [group], "resources": [resource], "resourceNames": resource_names, "verbs": verbs}


def finisher_config_map() -> Node:
    """Return the ConfigMap with the program of the finisher."""
    return naming.immutable_config_map(_FINISHER_DATA, {_FILE: _FINISHER_PROGRAM})


def _finisher_job(structure: Structure, plan: FinisherPlan) -> Node:
    """Return the Job of the finisher, which has no deadline and practically no limit of retries."""
    spec: dict[Key, Node] = {
        "completions": 1,
        h.Comment("The Job retries after at most ten minutes, so this number of retries lasts for months."): None,
        "backoffLimit": 10_000,
        "podReplacementPolicy": "Failed",
        supporting.NO_FAILURE: None,
        "podFailurePolicy": supporting.failure_policy(),
    }
    return hashed(
        _finisher_pod_template(structure, plan),
        {},
        lambda pod: naming.kubernetes_object("batch/v1", "Job", naming.FINISHER, {"spec": {**spec, "template": pod}}),
    )


def _finisher_pod_template(structure: Structure, plan: FinisherPlan) -> h.NamedTemplate:
    """Return the pod of the finisher. An autoscaler may evict the pod, because an eviction loses no work."""
    labels: Node = {
        h.Splice("selector"): naming.RUN_SELECTOR,
        keys.ROLE: FINISHER,
        keys.NAME: naming.NAME,
        keys.INSTANCE: naming.RELEASE,
        keys.COMPONENT: FINISHER,
        h.Splice("labels"): naming.POD_LABELS,
        **HASH_LABEL,
    }
    spec = h.NamedTemplate(
        f"{FINISHER}.podSpec", "The spec of the finisher's pod.", _finisher_pod(structure, plan), file=FINISHER
    )
    template: Node = {"metadata": {"labels": labels, "annotations": naming.POD_ANNOTATIONS}, "spec": spec}
    annotations = h.Merged((h.MapOf({keys.LINKERD_INJECT: "disabled"}), value("annotations")))
    template = h.Let(naming.POD_ANNOTATIONS.name, annotations, template)
    template = h.Let(
        naming.POD_LABELS.name, h.Merged((h.MapOf({keys.ISTIO_INJECT: "false"}), value("labels"))), template
    )
    return h.NamedTemplate(
        f"{FINISHER}.pod", "The pod of the finisher.", template, file=FINISHER, parameters=(HASH_PARAMETER.name,)
    )


def _finisher_pod(structure: Structure, plan: FinisherPlan) -> Node:
    """Return the spec of the finisher's pod, which has the image and the placement of a task."""
    return pod_spec(
        {"priorityClassName": if_set(value("priorityClassName")), "serviceAccountName": naming.FINISHER},
        {"restartPolicy": "Never"},
        {
            "securityContext": podspec.pod_context_template(structure.profile),
            **podspec.job_scheduling(),
            "imagePullSecrets": value("imagePullSecrets"),
            "volumes": [{"name": FINISHER, "configMap": {"name": _FINISHER_DATA}}],
            "containers": [
                {
                    "name": FINISHER,
                    h.Splice("image"): _image_with_policy(structure, plan),
                    h.Comment(
                        "Option -I isolates Python: PYTHON* variables of the image and "
                        "modules of the user have no effect."
                    ): None,
                    "command": ["python3", "-I", "-u", f"{_FOLDER}/{_FILE}"],
                    "args": _finisher_arguments(plan),
                    "env": [podspec.NO_GPUS, h.When(NOTIFY, _webhook_address())],
                    "resources": podspec.helper_resources("helpers"),
                    "securityContext": podspec.container_context_template(structure.profile),
                    "volumeMounts": [{"name": FINISHER, "mountPath": _FOLDER, "readOnly": True}],
                }
            ],
        },
        needs_token=True,
    )


def _webhook_address() -> Node:
    """Return the variable with the webhook's address from a Secret. The finisher also starts without the Secret."""
    secret: Node = {
        "name": NOTIFY,
        "key": value("completion.notify.secretKeyRef.key"),
        h.Comment("Without the Secret the finisher releases the tasks and sends no notification."): None,
        "optional": True,
    }
    return {"name": "NOTIFY_ADDRESS", "valueFrom": {"secretKeyRef": secret}}


def finisher_image(structure: Structure, plan: FinisherPlan) -> h.When:
    """Return the image of the finisher: `completion.image`, or the image of a role.

    By default, the role is the role that ends the run. If the job has a start deadline, and no other role has the image
    of this role, the result is the image of another role. So the finisher can release the run after the start deadline,
    even if the kubelet cannot pull the image of the role that ends the run.
    """
    return _choose_image(structure, plan, _IMAGE, lambda role: value_for_role(role, "image"))


def _image_with_policy(structure: Structure, plan: FinisherPlan) -> h.When:
    """Return the image and the pull policy of the finisher. The image of a role comes with the role's pull policy."""

    def of_role(role: RoleName) -> Node:
        policy = if_set(value_for_role(role, "imagePullPolicy"))
        return {"image": value_for_role(role, "image"), "imagePullPolicy": policy}

    finisher_image: Node = {"image": _IMAGE, "imagePullPolicy": if_set(value("imagePullPolicy"))}
    return _choose_image(structure, plan, finisher_image, of_role)


def _choose_image(
    structure: Structure, plan: FinisherPlan, finisher_image: Node, of_role: Callable[[RoleName], Node]
) -> h.When:
    peers = [role.name for role in structure.roles if role.name != plan.ends]
    if not peers:
        return h.When(_IMAGE, finisher_image, of_role(plan.ends))
    image = value_for_role(plan.ends, "image")
    is_unique = h.AllOf((_START_DEADLINE, *(h.Not(h.Equal(value_for_role(peer, "image"), image)) for peer in peers)))
    return h.When(_IMAGE, finisher_image, h.When(is_unique, of_role(peers[0]), of_role(plan.ends)))


def _finisher_arguments(plan: FinisherPlan) -> list[Node]:
    """Return the arguments of the program. Each list item contains the flag and its value, as in `--name=value`."""
    board, pods = plan.board, plan.start_with
    grace = h.Text(("--grace-for=", naming.workload("evaluator"), "=", value("completion.evaluatorGrace")))
    return [
        h.Text(("--ends=", naming.workload(plan.ends))),
        *(h.Text(("--scale=statefulsets/", naming.workload(name))) for name in plan.scale),
        *([h.When(board.test, h.Text(("--scale=deployments/", board.if_true)))] if board is not None else []),
        *(h.Text(("--suspend=", naming.workload(name))) for name in plan.suspend),
        *([grace] if "evaluator" in plan.suspend else []),
        *([h.Text(("--on-failure=", value("completion.onFailure")))] if plan.releases else []),
        *(h.When(_START_DEADLINE, h.Text((f"--starts={kind}/", naming.workload(name)))) for kind, name in plan.starts),
        *(
            [h.When(h.AllOf((_START_DEADLINE, pods.test)), h.Text(("--start-with=", pods.if_true)))]
            if isinstance(pods, h.When)
            else []
        ),
        h.When(_START_DEADLINE, h.Text(("--start-deadline=", _START_DEADLINE))),
        h.When(NOTIFY, h.Text(("--job=", naming.JOB))),
        h.When(NOTIFY, h.Text(("--run=", value("run")))),
    ]


# -- TensorBoard -------------------------------------------------------------------------------------------------------
#
# A Deployment that reads the logs of all runs, a Service, and a network policy.
#
# TensorBoard belongs to the job, and shows the metrics of all runs. TensorBoard's pod has no labels of a run, so no
# selector of a run or of a workload matches the pod.


TENSORBOARD: Final = storage.READER
"""The name of TensorBoard in the role label of the pod and in the container name."""

_BOARD_PORT: Final = "http"
_BOARD_ENABLED: Final = value("tensorboard.enabled")

_BOARD_KEPT: Final = value("tensorboard.keep")
RELEASED_BOARD: Final = h.When(h.AllOf((_BOARD_ENABLED, h.Not(_BOARD_KEPT))), naming.TENSORBOARD)
"""The name of TensorBoard's Deployment, with the condition under which the finisher releases TensorBoard."""

# With half a CPU, the import of TensorFlow takes one or two minutes.
_BOARD_START: Final[Mapping[Key, Node]] = {"periodSeconds": 5, "failureThreshold": 60}


def _board_amounts(bound: str) -> h.Merged:
    """Return the map of TensorBoard's resource `requests` or `limits`."""
    amounts = h.MapOf({name: value(f"tensorboard.resources.{name}") for name in ("cpu", "memory")})
    return h.Merged((amounts, value(f"tensorboard.resources.{bound}")))


def _board_selector() -> dict[Key, Node]:
    return {keys.JOB: naming.JOB, keys.ROLE: TENSORBOARD}


def tensorboard(structure: Structure, port: int) -> tuple[Template, ...]:
    """Return the templates of TensorBoard. The chart prints the objects only if TensorBoard is enabled.

    The network policy allows ingress from the configured clients, and blocks egress.
    """
    labels: dict[Key, Node] = {keys.COMPONENT: TENSORBOARD}
    service_spec: Node = {
        "type": "ClusterIP",
        "selector": _board_selector(),
        "ports": [{"name": _BOARD_PORT, "port": port, "protocol": "TCP", "targetPort": _BOARD_PORT}],
    }
    service = naming.kubernetes_object("v1", "Service", naming.TENSORBOARD, {"spec": service_spec}, labels=labels)
    readers = value("tensorboard.readers")
    ingress: Node = {
        "ports": [{"port": port, "protocol": "TCP"}],
        "from": h.When(readers, h.NotEmpty(readers), [{"podSelector": {}}]),
    }
    policy_spec: dict[Key, Node] = {
        "podSelector": {"matchLabels": _board_selector()},
        "ingress": [ingress],
        "policyTypes": supporting.policy_types(),
    }
    policy = supporting.network_policy(naming.TENSORBOARD, policy_spec, {}, labels)
    return (
        Template(f"{TENSORBOARD}-service", h.When(_BOARD_ENABLED, service)),
        Template(f"{TENSORBOARD}-networkpolicy", h.When(h.AllOf((_BOARD_ENABLED, supporting.ISOLATED)), policy)),
        Template(TENSORBOARD, _board_deployment(structure, port)),
    )


def _board_deployment(structure: Structure, port: int) -> Node:
    ignored_replicas: dict[Key, Node] = {
        key: None if isinstance(key, h.Comment) else h.When(h.Not(_BOARD_KEPT), node)
        for key, node in naming.IGNORED_REPLICAS.items()
    }
    spec: Node = {
        "replicas": 1,
        h.Comment("A second pod could not mount a volume that only one node may mount."): None,
        "strategy": {"type": "Recreate"},
        "selector": {"matchLabels": _board_selector()},
        "template": {
            "metadata": {
                "labels": {
                    **_board_selector(),
                    keys.NAME: naming.NAME,
                    keys.INSTANCE: naming.RELEASE,
                    keys.COMPONENT: TENSORBOARD,
                    h.Splice("labels"): value("labels"),
                },
                "annotations": value("annotations"),
            },
            "spec": _board_pod(structure, port),
        },
    }
    deployment = naming.kubernetes_object(
        "apps/v1", "Deployment", naming.TENSORBOARD, {"spec": spec}, ignored_replicas, {keys.COMPONENT: TENSORBOARD}
    )
    limited = h.Let(podspec.LIMITS.name, _board_amounts("limits"), h.When(_BOARD_ENABLED, deployment))
    return h.Let(podspec.REQUESTS.name, _board_amounts("requests"), limited)


def _board_pod(structure: Structure, port: int) -> Node:
    return pod_spec(
        {},
        {},
        {
            "securityContext": podspec.pod_context_template(structure.profile),
            "nodeSelector": value("nodeSelector"),
            "tolerations": podspec.job_tolerations(),
            "imagePullSecrets": value("imagePullSecrets"),
            "volumes": storage.reader_volumes(structure),
            "containers": [
                {
                    "name": TENSORBOARD,
                    "image": h.Default(value("tensorboard.image"), value("image")),
                    "imagePullPolicy": if_set(value("imagePullPolicy")),
                    "command": ["tensorboard"],
                    # https://github.com/tensorflow/tensorboard/blob/master/tensorboard/plugins/core/core_plugin.py
                    "args": ["--logdir", value("tensorboard.logDir"), "--bind_all", "--port", str(port)],
                    "env": [podspec.HOME, podspec.NO_GPUS],
                    "ports": [{"name": _BOARD_PORT, "containerPort": port, "protocol": "TCP"}],
                    "resources": {"requests": podspec.REQUESTS, "limits": podspec.LIMITS},
                    "startupProbe": {**_board_probe(), **_BOARD_START},
                    "readinessProbe": _board_probe(),
                    "livenessProbe": {**_board_probe(), "periodSeconds": 30},
                    "securityContext": podspec.container_context_template(structure.profile),
                    "volumeMounts": storage.reader_mounts(),
                }
            ],
        },
    )


def _board_probe() -> dict[Key, Node]:
    return {"httpGet": {"path": "/", "port": _BOARD_PORT}, "timeoutSeconds": 10}


# -- connection test ---------------------------------------------------------------------------------------------------
#
# The test of ``helm test``: a pod of the run that connects to each task that listens on a port.


_LISTENERS: Final = "LISTENERS"
_TEST_PROGRAM: Final = f"""\
import json, os, socket

for role, hosts in json.loads(os.environ["TF_CLUSTER"]).items():
    for host in {_LISTENERS}:
        name, port = host.rsplit(":", 1)
        socket.create_connection((name, int(port)), timeout=10).close()
        print(role, host, "answers")
"""


def connection_test(structure: Structure) -> Node:
    """Return the Pod for ``helm test``, with the image of the first role.

    The Pod has the labels of the run, because the network policy of the run blocks all other pods.
    """
    role = structure.roles[0].name
    # With keras.distribution, only the coordinator listens on a port.
    listeners = "hosts[:1]" if structure.uses_keras_distribution else "hosts"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": naming.CONNECTION_TEST,
            "labels": {
                h.Splice("selector"): naming.RUN_SELECTOR,
                keys.NAME: naming.NAME,
                keys.ISTIO_INJECT: "false",
            },
            "annotations": {
                keys.LINKERD_INJECT: "disabled",
                keys.HOOK: "test",
                keys.HOOK_DELETE: "before-hook-creation,hook-succeeded",
            },
        },
        "spec": pod_spec(
            {},
            {"restartPolicy": "Never"},
            {
                "securityContext": podspec.pod_context_template(structure.profile),
                **podspec.job_scheduling(),
                "imagePullSecrets": value("imagePullSecrets"),
                "containers": [
                    {
                        "name": "connect",
                        "image": value_for_role(role, "image"),
                        "imagePullPolicy": if_set(value_for_role(role, "imagePullPolicy")),
                        "command": ["python3", "-c", _TEST_PROGRAM.replace(_LISTENERS, listeners)],
                        "env": [cluster.variable("TF_CLUSTER", cluster.CLUSTER), podspec.NO_GPUS],
                        "resources": podspec.helper_resources("helpers"),
                        "securityContext": podspec.container_context_template(structure.profile),
                    }
                ],
            },
        ),
    }
