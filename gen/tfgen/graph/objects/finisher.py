"""The finisher: the small Job that releases the rest of a run once the Job that ends it has ended.

    finisher(structure, Plan(ends="chief", scale=("ps", "worker"), suspend=("evaluator",)))
      ->  ServiceAccount, Role, RoleBinding, ConfigMap and Job, in the order in which they are to be applied

The program itself is `graph.programs.finisher`. It runs beside the training, on the default scheduler, holds no GPU
and no place in the gang, and is made anew whatever ends it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Final, Literal, TypeAlias

from tfgen.graph import programs
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
    Named,
    Node,
    Not,
    Splice,
    Text,
    When,
    if_set,
)
from tfgen.graph.objects import disruption, environment, labels, names, network, placement, rbac, resources, security
from tfgen.graph.objects.pod_spec import pod_spec
from tfgen.graph.objects.pod_template_hash import LABEL, PARAMETER, hashed
from tfgen.graph.objects.values import value, value_for_role
from tfgen.graph.template import Template
from tfgen.job.training_job import RoleName, Structure
from tfgen.kubernetes import keys
from tfgen.record import Record

ROLE: Final = "finisher"  # the pod's role label, by which a network policy lets it through to the API server
FOLDER: Final = "/finisher"
FILE: Final = "finisher.py"

# Tries without a success in between. A new one comes after ten minutes at most, so that these last for months.
BACKOFF_LIMIT: Final = 10_000

_PROGRAM: Final = programs.file("finisher")
_DIGEST: Final = hashlib.sha256(_PROGRAM.text.encode()).hexdigest()[:8]
_START_DEADLINE: Final = value("startDeadline")
_IMAGE: Final = value("completion.image")
NOTIFY: Final = value("completion.notify.secretKeyRef.name")


Kind: TypeAlias = Literal["jobs", "statefulsets"]
"""What makes a role's pods, as RBAC calls it."""


class Plan(Record):
    """What ends a run, and what is released then.

    Attributes:
        ends: the role whose Job ends the run.
        starts: the roles whose pods the run waits for at its start, by the kind of what makes them.
        start_with: how many of these pods are a start, where a gang may begin with less than all of them.
        scale: the roles that are StatefulSets, to be scaled to 0.
        suspend: the roles that are Jobs, to be suspended; the evaluator after its grace.
        deployments: the names of Deployments to be scaled to 0, each a name or `When(test, name)`.
    """

    ends: RoleName
    starts: tuple[tuple[Kind, RoleName], ...] = ()
    start_with: When | Absent = ABSENT
    scale: tuple[RoleName, ...] = ()
    suspend: tuple[RoleName, ...] = ()
    deployments: tuple[Node, ...] = ()

    @property
    def releases(self) -> bool:
        """Whether the end leaves something to release."""
        return bool(self.scale or self.suspend or self.deployments)


def finisher(structure: Structure, plan: Plan) -> tuple[Template, ...]:
    """All objects of the finisher, in the order in which they are to be applied."""
    return (
        *rbac.templates(ROLE, names.finisher(), rules(plan)),
        Template(f"{ROLE}-configmap", config_map()),
        Template(ROLE, job(structure, plan)),
        Template(f"{ROLE}-networkpolicy", network.to_api_server(names.finisher(), ROLE, When(NOTIFY, network.WEBHOOK))),
    )


def rules(plan: Plan) -> list[Node]:
    """What the program needs, and no more: each rule is one resource, its objects by name.

    No rule may be without names, because such a one grants all objects; so a rule goes with its last name.
    https://kubernetes.io/docs/reference/access-authn-authz/rbac/#referring-to-resources
    """
    # A watch whose field selector is the name is authorised by the name. The patches are the note that the Job has
    # started, and its suspension where it has not in time.
    ends: list[Node] = ["get", "watch", When(_START_DEADLINE, "patch")]
    needed: list[Node] = [_rule("batch", "jobs", [names.workload(plan.ends)], ends)]
    if plan.suspend:
        needed.append(_rule("batch", "jobs", [names.workload(name) for name in plan.suspend], ["get", "patch"]))
    needed += [
        When(_START_DEADLINE, _rule(group, kind, [names.workload(name) for name in looked_at], ["get"]))
        for group, kind, looked_at in _looked_at(plan)
        if looked_at
    ]
    if plan.scale:
        needed.append(_rule("apps", "statefulsets/scale", [names.workload(name) for name in plan.scale], ["patch"]))
    needed += [
        _where(name, lambda name: _rule("apps", "deployments/scale", [name], ["patch"])) for name in plan.deployments
    ]
    return needed


def _looked_at(plan: Plan) -> Iterator[tuple[str, Kind, list[RoleName]]]:
    """What the program looks at to see the start, and may not get for another reason."""
    others = [(kind, name) for kind, name in plan.starts if name not in (plan.ends, *plan.suspend)]
    yield "batch", "jobs", [name for kind, name in others if kind == "jobs"]
    yield "apps", "statefulsets", [name for kind, name in others if kind == "statefulsets"]


def _rule(group: str, resource: str, resource_names: list[Node], verbs: list[Node]) -> Node:
    return {"apiGroups": [group], "resources": [resource], "resourceNames": resource_names, "verbs": verbs}


def _where(name: Node, make: Callable[[Node], Node]) -> Node:
    """What is made of a name, under the condition of the name."""
    return When(name.test, make(name.if_true)) if isinstance(name, When) else make(name)


def config_map() -> Node:
    """The program."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": labels.metadata(names.finisher_program(_DIGEST), annotations=keys.BEFORE_PODS),
        "immutable": True,
        "data": {FILE: _PROGRAM},
    }


def job(structure: Structure, plan: Plan) -> Node:
    """The Job: never given up for its time or its tries, nor for what its node or the scheduler does to its pod."""
    job: dict[Key, Node] = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": labels.metadata(names.finisher()),
    }
    spec: dict[Key, Node] = {
        "completions": 1,
        Comment("It outlives the run: a new try comes after ten minutes at most, so these last for months."): None,
        "backoffLimit": BACKOFF_LIMIT,
        "podReplacementPolicy": "Failed",
        disruption.NO_FAILURE: None,
        "podFailurePolicy": disruption.failure_policy(),
    }
    return hashed(_pod_template(structure, plan), {}, lambda pod: {**job, "spec": {**spec, "template": pod}})


def _pod_template(structure: Structure, plan: Plan) -> Named:
    spec = Named(f"{ROLE}.podSpec", "The spec of the finisher's pod.", _pod(structure, plan), file=ROLE)
    template: Node = {"metadata": _pod_metadata(), "spec": spec}
    for name, expression in (
        (labels.POD_ANNOTATIONS.name, Merged((MapOf({keys.LINKERD_INJECT: "disabled"}), value("annotations")))),
        (labels.POD_LABELS.name, Merged((MapOf({keys.ISTIO_INJECT: "false"}), value("labels")))),
    ):
        template = Let(name, expression, template)
    return Named(f"{ROLE}.pod", "The pod of the finisher.", template, file=ROLE, parameters=(PARAMETER.name,))


def _pod_metadata() -> Node:
    """The pod's metadata. It says nothing on evictions: it may be moved at any time."""
    return {
        "labels": {
            Splice("selector"): labels.run_selector(),
            keys.ROLE: ROLE,
            keys.NAME: names.NAME,
            keys.INSTANCE: names.RELEASE,
            keys.COMPONENT: ROLE,
            Splice("labels"): labels.POD_LABELS,
            **LABEL,
        },
        "annotations": labels.POD_ANNOTATIONS,
    }


def _pod(structure: Structure, plan: Plan) -> Node:
    """The pod. Its image is the training's, so it must find the training's nodes, and their taints."""
    return pod_spec(
        priority=if_set(value("priorityClassName")),
        account=names.finisher(),
        needs_token=True,
        ending={"restartPolicy": "Never"},
        security_context=security.pod_part(structure.profile),
        scheduling=placement.job_scheduling(),
        pull_secrets=value("imagePullSecrets"),
        containers=[
            {
                "name": ROLE,
                Splice("image"): _image(structure, plan),
                Comment(
                    "Isolated: no variable and no module of the image comes between the program and its library."
                ): None,
                "command": ["python3", "-I", "-u", f"{FOLDER}/{FILE}"],
                "args": _arguments(plan),
                "env": [environment.NO_GPUS, When(NOTIFY, _webhook_address())],
                "resources": resources.helper_resources("helpers"),
                "securityContext": security.container_part(structure.profile),
                "volumeMounts": [{"name": ROLE, "mountPath": FOLDER, "readOnly": True}],
            }
        ],
        volumes=[{"name": ROLE, "configMap": {"name": names.finisher_program(_DIGEST)}}],
    )


def _webhook_address() -> Node:
    """The variable with the webhook's address. A Secret that is not there must not keep the finisher from its work."""
    secret: Node = {
        "name": NOTIFY,
        "key": value("completion.notify.secretKeyRef.key"),
        Comment("Without the Secret all is released, and nobody is told."): None,
        "optional": True,
    }
    return {"name": "NOTIFY_ADDRESS", "valueFrom": {"secretKeyRef": secret}}


def image(structure: Structure, plan: Plan) -> When:
    """The image that it runs in: its own, or that of a role."""
    return _of_lender(structure, plan, _IMAGE, lambda role: value_for_role(role, "image"))


def _image(structure: Structure, plan: Plan) -> When:
    """That image, and when it is pulled. What a role says of the latter holds for the role's image, and no other."""
    own: Node = {"image": _IMAGE, "imagePullPolicy": if_set(value("imagePullPolicy"))}
    return _of_lender(
        structure,
        plan,
        own,
        lambda role: {
            "image": value_for_role(role, "image"),
            "imagePullPolicy": if_set(value_for_role(role, "imagePullPolicy")),
        },
    )


def _of_lender(structure: Structure, plan: Plan, own: Node, of: Callable[[RoleName], Node]) -> When:
    """What is said of the role whose image the finisher runs in, the role that ends the run; `own` of its own image.

    Where the start has a deadline, the image of that role alone may be the one that cannot be pulled, and what
    releases the others must not wait for it. So a role that has no image in common with another lends none.
    """
    others = [role.name for role in structure.roles if role.name != plan.ends]
    if not others:
        return When(_IMAGE, own, of(plan.ends))
    image_of_ends = value_for_role(plan.ends, "image")
    is_alone = AllOf(
        (_START_DEADLINE, *(Not(Equal(value_for_role(other, "image"), image_of_ends)) for other in others))
    )
    return When(_IMAGE, own, When(is_alone, of(others[0]), of(plan.ends)))


def _arguments(plan: Plan) -> list[Node]:
    """The program's arguments, each in one word."""
    grace = Text(("--grace-for=", names.workload("evaluator"), "=", value("completion.evaluatorGrace")))
    return [
        Text(("--ends=", names.workload(plan.ends))),
        *(Text(("--scale=statefulsets/", names.workload(name))) for name in plan.scale),
        *(_where(name, lambda name: Text(("--scale=deployments/", name))) for name in plan.deployments),
        *(Text(("--suspend=", names.workload(name))) for name in plan.suspend),
        *([grace] if "evaluator" in plan.suspend else []),
        *([Text(("--on-failure=", value("completion.onFailure")))] if plan.releases else []),
        *(When(_START_DEADLINE, Text((f"--starts={kind}/", names.workload(name)))) for kind, name in plan.starts),
        *([_start_with(plan.start_with)] if isinstance(plan.start_with, When) else []),
        When(_START_DEADLINE, Text(("--start-deadline=", _START_DEADLINE))),
        When(NOTIFY, Text(("--job=", names.JOB))),
        When(NOTIFY, Text(("--run=", value("run")))),
    ]


def _start_with(pods: When) -> Node:
    return When(AllOf((_START_DEADLINE, pods.test)), Text(("--start-with=", pods.if_true)))
