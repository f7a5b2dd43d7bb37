"""Protection against disruptions: a PodDisruptionBudget for each role, and the pod failure policy of Jobs.

The budget has ``maxUnavailable: 0`` for a StatefulSet. For pods of a controller without a scale subresource, such as a
Job, a budget supports only an integer ``minAvailable``, which is the number of tasks:
https://kubernetes.io/docs/tasks/run-application/configure-pdb/#arbitrary-controllers-and-selectors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from tfgen.graph.holes import Comment, Key, Node, When
from tfgen.graph.objects import cluster_spec, labels, names
from tfgen.graph.objects.values import value
from tfgen.graph.template import Template
from tfgen.job.training_job import Role, Structure

NO_FAILURE: Final = Comment("An evicted or preempted pod, or a pod of a lost node, is not counted as a failure.")
_IGNORE_DISRUPTIONS: Final[Node] = {
    "action": "Ignore",
    "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
}
_EXIT_CODES: Final = value("restart.ignoreExitCodes")


def failure_policy(*rules: Node) -> Node:
    """Return the podFailurePolicy of a Job. An evicted or preempted pod does not use up a retry of the Job.

    Args:
        rules: additional rules of the policy.
    """
    return {"rules": [_IGNORE_DISRUPTIONS, *rules]}


# https://kubernetes.io/docs/concepts/workloads/controllers/job/#pod-failure-policy
IGNORE_EXIT_CODES: Final = When(
    _EXIT_CODES,
    {
        "action": "Ignore",
        "onExitCodes": {"containerName": names.CONTAINER, "operator": "In", "values": _EXIT_CODES},
    },
)
"""The rule of a podFailurePolicy for the exit codes of the main container that do not use up a retry of the Job."""


RESTART_IN_PLACE: Final[Mapping[Key, Node]] = {
    Comment("The kubelet starts the program again in its pod, which keeps the node and the GPUs."): None,
    "restartPolicy": When(_EXIT_CODES, "Never"),
    "restartPolicyRules": When(
        _EXIT_CODES, [{"action": "Restart", "exitCodes": {"operator": "In", "values": _EXIT_CODES}}]
    ),
}
"""The container fields that make the kubelet restart the container inside the same pod after certain exit codes.

https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#container-restart-rules
"""


def budgets(structure: Structure, is_scalable: Callable[[Role], bool]) -> tuple[Template, ...]:
    """Return the PodDisruptionBudgets of all roles except the evaluator.

    A drain of a node may always evict the evaluator.

    Args:
        structure: the job.
        is_scalable: a function that returns whether the controller of a role's pods has a scale subresource.
    """
    roles = [role for role in structure.roles if role.name != "evaluator"]
    return tuple(Template(f"{role.name}-poddisruptionbudget", _budget(role, is_scalable(role))) for role in roles)


def _budget(role: Role, is_scalable: bool) -> Node:
    bound: dict[Key, Node] = (
        {"maxUnavailable": value("podDisruptionBudget.maxUnavailable")}
        if is_scalable
        else {"minAvailable": cluster_spec.replicas(role.name)}
    )
    return When(
        value("podDisruptionBudget.enabled"),
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": labels.metadata(names.workload(role.name), role.name),
            "spec": {
                **bound,
                "selector": {"matchLabels": labels.role_selector(role.name)},
                # https://kubernetes.io/docs/tasks/run-application/configure-pdb/#unhealthy-pod-eviction-policy
                Comment("A task that is not ready loses no work, so it must not block the drain of a node."): None,
                "unhealthyPodEvictionPolicy": "AlwaysAllow",
            },
        },
    )
