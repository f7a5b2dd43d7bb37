"""What keeps node drains off the tasks of a run, a PodDisruptionBudget for each role; and what a drained task counts.

    StatefulSet -> maxUnavailable: 0
    Job         -> minAvailable: 4, all of its tasks

Of pods whose controller cannot be scaled, as a Job's, the disruption controller takes an integer ``minAvailable``
alone: https://kubernetes.io/docs/tasks/run-application/configure-pdb/#arbitrary-controllers-and-selectors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tfgen.graph.holes import Comment, Key, Node, When
from tfgen.graph.objects import cluster_spec, labels, names
from tfgen.graph.objects.values import value
from tfgen.graph.template import Template
from tfgen.job.training_job import Role, Structure

NO_FAILURE: Final = Comment("A pod that its node or the scheduler takes away is no failure of its program.")
_IGNORE_DISRUPTIONS: Final[Node] = {
    "action": "Ignore",
    "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
}
_EXIT_CODES: Final = value("restart.ignoreExitCodes")


def failure_policy(*rules: Node) -> Node:
    """Return the podFailurePolicy of a Job: a lost pod costs no retry, nor does a pod to which a rule applies."""
    return {"rules": [_IGNORE_DISRUPTIONS, *rules]}


# https://kubernetes.io/docs/concepts/workloads/controllers/job/#pod-failure-policy
IGNORE_EXIT_CODES: Final = When(
    _EXIT_CODES,
    {
        "action": "Ignore",
        "onExitCodes": {"containerName": names.CONTAINER, "operator": "In", "values": _EXIT_CODES},
    },
)
"""The rule for exit codes that cost no retry. A sidecar's exit code does not count."""


def budgets(structure: Structure, is_scalable: Callable[[Role], bool]) -> tuple[Template, ...]:
    """The budgets of the roles that train: an evaluator loses nothing, and the finisher may always be moved.

    Args:
        structure: the job.
        is_scalable: whether the controller of a role's pods can be scaled.
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
                Comment("A task that does not serve has nothing to lose, and must not hold a node."): None,
                "unhealthyPodEvictionPolicy": "AlwaysAllow",
            },
        },
    )
