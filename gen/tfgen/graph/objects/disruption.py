"""Protection against disruptions: a PodDisruptionBudget for each role, and the pod failure policy of Jobs.

    StatefulSet -> maxUnavailable: 0
    Job         -> minAvailable: 4, the number of tasks

For pods of a controller without a scale subresource, such as a Job, a budget supports only an integer ``minAvailable``:
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

NO_FAILURE: Final = Comment("A pod that is lost to its node or to the scheduler does not count as a failure.")
_IGNORE_DISRUPTIONS: Final[Node] = {
    "action": "Ignore",
    "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
}
_EXIT_CODES: Final = value("restart.ignoreExitCodes")


def failure_policy(*rules: Node) -> Node:
    """Return the podFailurePolicy of a Job. A disrupted pod costs no retry, and the rules may ignore more failures."""
    return {"rules": [_IGNORE_DISRUPTIONS, *rules]}


# https://kubernetes.io/docs/concepts/workloads/controllers/job/#pod-failure-policy
IGNORE_EXIT_CODES: Final = When(
    _EXIT_CODES,
    {
        "action": "Ignore",
        "onExitCodes": {"containerName": names.CONTAINER, "operator": "In", "values": _EXIT_CODES},
    },
)
"""The rule for exit codes that cost no retry. The rule ignores the exit codes of sidecars."""


RESTART_IN_PLACE: Final[Mapping[Key, Node]] = {
    Comment("The kubelet starts the program again in its pod, which keeps the node and the GPUs."): None,
    "restartPolicy": When(_EXIT_CODES, "Never"),
    "restartPolicyRules": When(
        _EXIT_CODES, [{"action": "Restart", "exitCodes": {"operator": "In", "values": _EXIT_CODES}}]
    ),
}
"""The keys of a container that starts again in its pod after an exit code that costs no retry.

https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#container-restart-rules
"""


def budgets(structure: Structure, is_scalable: Callable[[Role], bool]) -> tuple[Template, ...]:
    """Return the budgets of the roles that train. A drain may always evict the evaluator and the finisher.

    Args:
        structure: the job.
        is_scalable: whether the controller of the pods of a role has a scale subresource.
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
