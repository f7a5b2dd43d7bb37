"""What keeps node drains off the tasks of a run: a PodDisruptionBudget for each role.

    StatefulSet -> maxUnavailable: 0
    Job         -> minAvailable: 4, all of its tasks

Of pods whose controller cannot be scaled, as a Job's, the disruption controller takes an integer ``minAvailable``
alone: https://kubernetes.io/docs/tasks/run-application/configure-pdb/#arbitrary-controllers-and-selectors.
"""

from __future__ import annotations

from tfgen import cluster_spec
from tfgen.holes import Node, When
from tfgen.job import Role, Structure
from tfgen.objects import labels, names
from tfgen.objects.values import value


def budgets(structure: Structure) -> tuple[Node, ...]:
    """The budgets of the roles that train: an evaluator loses nothing, and the finisher may always be moved."""
    return tuple(_budget(structure, role) for role in structure.roles if role.name != "evaluator")


def _budget(structure: Structure, role: Role) -> Node:
    is_stateful = structure.is_stateful(role)
    bound: dict[str, Node] = (
        {"maxUnavailable": value("podDisruptionBudget.maxUnavailable")}
        if is_stateful
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
                # A task that does not serve yet, or no longer, has nothing to lose, and must not hold a node:
                # https://kubernetes.io/docs/tasks/run-application/configure-pdb/#unhealthy-pod-eviction-policy
                "unhealthyPodEvictionPolicy": "AlwaysAllow",
            },
        },
    )
