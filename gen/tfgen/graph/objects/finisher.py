"""The finisher: the small Job that releases the tasks of a run when the training ends.

The finisher consists of a ServiceAccount, a Role, a RoleBinding, a ConfigMap with the program
(`graph.programs.finisher`), and a Job. The Job runs during the whole training, and replaces its pod after every
failure. The pod uses the default scheduler, requests no GPU, and is not a member of the gang.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal, TypeAlias

from tfgen.graph import programs
from tfgen.graph.fill import Template
from tfgen.graph.holes import (
    ABSENT,
    Absent,
    AllOf,
    Comment,
    Equal,
    Key,
    Let,
    MapOf,
    Merged,
    NamedTemplate,
    Node,
    Not,
    Splice,
    Text,
    When,
    if_set,
)
from tfgen.graph.objects import naming, podspec, supporting
from tfgen.graph.objects.podspec import HASH_LABEL, HASH_PARAMETER, hashed, pod_spec
from tfgen.graph.objects.values import value, value_for_role
from tfgen.job.training_job import RoleName, Structure
from tfgen.kubernetes import keys
from tfgen.record import Record

# The role label of the finisher's pod, by which a network policy allows traffic to the API server.
ROLE: Final = "finisher"
FOLDER: Final = "/finisher"
FILE: Final = "finisher.py"

# The Job retries after at most ten minutes, so this number of retries lasts for months.
BACKOFF_LIMIT: Final = 10_000

_PROGRAM: Final = programs.file("finisher")
_PROGRAM_NAME: Final = naming.data("finisher", _PROGRAM.text)
_START_DEADLINE: Final = value("startDeadline")
_IMAGE: Final = value("completion.image")
NOTIFY: Final = value("completion.notify.secretKeyRef.name")


Kind: TypeAlias = Literal["jobs", "statefulsets"]
"""The resource name of a role's controller in RBAC rules."""


class Plan(Record):
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
    start_with: When | Absent = ABSENT
    scale: tuple[RoleName, ...] = ()
    suspend: tuple[RoleName, ...] = ()
    board: When | None = None

    @property
    def releases(self) -> bool:
        """True if the finisher scales down or suspends objects at the end of the run."""
        return bool(self.scale or self.suspend or self.board is not None)


def finisher(structure: Structure, plan: Plan) -> tuple[Template, ...]:
    """Return the objects of the finisher, in the order in which they must be applied."""
    return (
        *supporting.rbac_templates(ROLE, naming.FINISHER, rules(plan)),
        Template(f"{ROLE}-configmap", config_map()),
        Template(ROLE, job(structure, plan)),
        Template(
            f"{ROLE}-networkpolicy",
            supporting.api_server_policy(naming.FINISHER, ROLE, When(NOTIFY, supporting.WEBHOOK)),
        ),
    )


def rules(plan: Plan) -> list[Node]:
    """Return the RBAC rules with the permissions that the finisher needs. Each rule names the permitted objects.

    A rule without object names would grant access to all objects, so the result does not contain such a rule.
    https://kubernetes.io/docs/reference/access-authn-authz/rbac/#referring-to-resources
    """
    # The program patches the Job to note the start, and to suspend a Job that misses the start deadline.
    verbs: list[Node] = ["get", When(_START_DEADLINE, "patch")]
    needed: list[Node] = [_rule("batch", "jobs", [naming.workload(plan.ends)], verbs)]
    if plan.suspend:
        needed.append(_rule("batch", "jobs", [*map(naming.workload, plan.suspend)], ["get", "patch"]))
    for group, resource in (("batch", "jobs"), ("apps", "statefulsets")):
        changed = (plan.ends, *plan.suspend)
        only_read: list[Node] = [
            naming.workload(name) for kind, name in plan.starts if kind == resource and name not in changed
        ]
        if only_read:
            needed.append(When(_START_DEADLINE, _rule(group, resource, only_read, ["get"])))
    if plan.scale:
        needed.append(_rule("apps", "statefulsets/scale", [*map(naming.workload, plan.scale)], ["patch"]))
    if plan.board is not None:
        needed.append(When(plan.board.test, _rule("apps", "deployments/scale", [plan.board.if_true], ["patch"])))
    return needed


def _rule(group: str, resource: str, resource_names: list[Node], verbs: list[Node]) -> Node:
    return {"apiGroups": [group], "resources": [resource], "resourceNames": resource_names, "verbs": verbs}


def config_map() -> Node:
    """Return the ConfigMap with the program of the finisher."""
    return naming.immutable_config_map(_PROGRAM_NAME, {FILE: _PROGRAM})


def job(structure: Structure, plan: Plan) -> Node:
    """Return the Job of the finisher, which has no deadline and practically no limit of retries."""
    spec: dict[Key, Node] = {
        "completions": 1,
        Comment("The Job retries after at most ten minutes, so this number of retries lasts for months."): None,
        "backoffLimit": BACKOFF_LIMIT,
        "podReplacementPolicy": "Failed",
        supporting.NO_FAILURE: None,
        "podFailurePolicy": supporting.failure_policy(),
    }
    return hashed(
        _pod_template(structure, plan),
        {},
        lambda pod: naming.kubernetes_object("batch/v1", "Job", naming.FINISHER, {"spec": {**spec, "template": pod}}),
    )


def _pod_template(structure: Structure, plan: Plan) -> NamedTemplate:
    """Return the pod of the finisher. An autoscaler may evict the pod, because an eviction loses no work."""
    labels: Node = {
        Splice("selector"): naming.RUN_SELECTOR,
        keys.ROLE: ROLE,
        keys.NAME: naming.NAME,
        keys.INSTANCE: naming.RELEASE,
        keys.COMPONENT: ROLE,
        Splice("labels"): naming.POD_LABELS,
        **HASH_LABEL,
    }
    spec = NamedTemplate(f"{ROLE}.podSpec", "The spec of the finisher's pod.", _pod(structure, plan), file=ROLE)
    template: Node = {"metadata": {"labels": labels, "annotations": naming.POD_ANNOTATIONS}, "spec": spec}
    annotations = Merged((MapOf({keys.LINKERD_INJECT: "disabled"}), value("annotations")))
    template = Let(naming.POD_ANNOTATIONS.name, annotations, template)
    template = Let(naming.POD_LABELS.name, Merged((MapOf({keys.ISTIO_INJECT: "false"}), value("labels"))), template)
    return NamedTemplate(
        f"{ROLE}.pod", "The pod of the finisher.", template, file=ROLE, parameters=(HASH_PARAMETER.name,)
    )


def _pod(structure: Structure, plan: Plan) -> Node:
    """Return the spec of the finisher's pod, which has the image and the placement of a task."""
    return pod_spec(
        {"priorityClassName": if_set(value("priorityClassName")), "serviceAccountName": naming.FINISHER},
        {"restartPolicy": "Never"},
        {
            "securityContext": podspec.pod_context_template(structure.profile),
            **podspec.job_scheduling(),
            "imagePullSecrets": value("imagePullSecrets"),
            "volumes": [{"name": ROLE, "configMap": {"name": _PROGRAM_NAME}}],
            "containers": [
                {
                    "name": ROLE,
                    Splice("image"): _image(structure, plan),
                    Comment(
                        "Option -I isolates Python: PYTHON* variables of the image and "
                        "modules of the user have no effect."
                    ): None,
                    "command": ["python3", "-I", "-u", f"{FOLDER}/{FILE}"],
                    "args": _arguments(plan),
                    "env": [podspec.NO_GPUS, When(NOTIFY, _webhook_address())],
                    "resources": podspec.helper_resources("helpers"),
                    "securityContext": podspec.container_context_template(structure.profile),
                    "volumeMounts": [{"name": ROLE, "mountPath": FOLDER, "readOnly": True}],
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
        Comment("Without the Secret the finisher releases the tasks and sends no notification."): None,
        "optional": True,
    }
    return {"name": "NOTIFY_ADDRESS", "valueFrom": {"secretKeyRef": secret}}


def image(structure: Structure, plan: Plan) -> When:
    """Return the image of the finisher: `completion.image`, or the image of a role.

    By default, the role is the role that ends the run. If the job has a start deadline, and no other role has the image
    of this role, the result is the image of another role. So the finisher can release the run after the start deadline,
    even if the kubelet cannot pull the image of the role that ends the run.
    """
    return _choose_image(structure, plan, _IMAGE, lambda role: value_for_role(role, "image"))


def _image(structure: Structure, plan: Plan) -> When:
    """Return the image and the pull policy of the finisher. The image of a role comes with the role's pull policy."""

    def of_role(role: RoleName) -> Node:
        policy = if_set(value_for_role(role, "imagePullPolicy"))
        return {"image": value_for_role(role, "image"), "imagePullPolicy": policy}

    finisher_image: Node = {"image": _IMAGE, "imagePullPolicy": if_set(value("imagePullPolicy"))}
    return _choose_image(structure, plan, finisher_image, of_role)


def _choose_image(structure: Structure, plan: Plan, finisher_image: Node, of_role: Callable[[RoleName], Node]) -> When:
    peers = [role.name for role in structure.roles if role.name != plan.ends]
    if not peers:
        return When(_IMAGE, finisher_image, of_role(plan.ends))
    image = value_for_role(plan.ends, "image")
    is_unique = AllOf((_START_DEADLINE, *(Not(Equal(value_for_role(peer, "image"), image)) for peer in peers)))
    return When(_IMAGE, finisher_image, When(is_unique, of_role(peers[0]), of_role(plan.ends)))


def _arguments(plan: Plan) -> list[Node]:
    """Return the arguments of the program. Each list item contains the flag and its value, as in `--name=value`."""
    board, pods = plan.board, plan.start_with
    grace = Text(("--grace-for=", naming.workload("evaluator"), "=", value("completion.evaluatorGrace")))
    return [
        Text(("--ends=", naming.workload(plan.ends))),
        *(Text(("--scale=statefulsets/", naming.workload(name))) for name in plan.scale),
        *([When(board.test, Text(("--scale=deployments/", board.if_true)))] if board is not None else []),
        *(Text(("--suspend=", naming.workload(name))) for name in plan.suspend),
        *([grace] if "evaluator" in plan.suspend else []),
        *([Text(("--on-failure=", value("completion.onFailure")))] if plan.releases else []),
        *(When(_START_DEADLINE, Text((f"--starts={kind}/", naming.workload(name)))) for kind, name in plan.starts),
        *(
            [When(AllOf((_START_DEADLINE, pods.test)), Text(("--start-with=", pods.if_true)))]
            if isinstance(pods, When)
            else []
        ),
        When(_START_DEADLINE, Text(("--start-deadline=", _START_DEADLINE))),
        When(NOTIFY, Text(("--job=", naming.JOB))),
        When(NOTIFY, Text(("--run=", value("run")))),
    ]
