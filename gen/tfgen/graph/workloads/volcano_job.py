"""All roles as one Volcano Job: one task each, in a gang by its own minAvailable.

    tasks: [{name: chief, policies: [{event: TaskCompleted, action: CompleteJob}, ...]}, {name: ps}, {name: worker}]

https://volcano.sh/en/docs/vcjob/. Such a Job is complete only when every pod has ended, which a ps never does: so the
end of the task that ends the job completes it. Fields by Volcano's own definition:
https://github.com/volcano-sh/volcano/blob/v1.15.1/config/crd/volcano/bases/batch.volcano.sh_jobs.yaml.

Volcano's webhook writes into a new Job what it lacks (pkg/webhooks/admission/jobs/mutate/mutate_job.go), and refuses
almost every later change (validateJobUpdate beside it). An apply replaces the list of tasks whole, so what the webhook
wrote there would be taken out again: the Job could not be applied twice. So all of it is written here.
"""

from __future__ import annotations

from typing import Final

from tfgen.graph.holes import Default, Key, Node, Sum, When, if_set
from tfgen.graph.objects import cluster_spec, labels, name_guards, names
from tfgen.graph.objects.values import value
from tfgen.graph.schedulers import gang
from tfgen.graph.template import Template
from tfgen.graph.workloads import pod
from tfgen.graph.workloads.workload import Workload, is_distributed, never
from tfgen.job.training_job import Role, Structure
from tfgen.kubernetes import keys

# A program that fails is started again in its pod. So a pod is lost when it is deleted (PodEvicted), and fails where
# its node lacks memory or shuts down: https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/
_LOST: Final[tuple[Node, ...]] = tuple(
    {"event": event, "action": "RestartJob"} for event in ("PodEvicted", "PodFailed")
)

# What the webhook writes. How often a task was started again matters to the event TaskFailed, which no policy asks for.
_QUEUE: Final = "default"
_TASK_RETRIES: Final = 3


def _ends() -> list[Node]:
    """What the end of the task that ends the job does. A pod past its deadline has failed, too; it is tried no more."""
    late: Node = {"event": "PodFailed", "action": "TerminateJob"}
    return [{"event": "TaskCompleted", "action": "CompleteJob"}, When(value("deadline"), late)]


def volcano_job(structure: Structure) -> Node:
    """The Job of a run."""
    pods = pod.pods(structure, dict.fromkeys((role.name for role in structure.roles), _controller(structure)))
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": labels.metadata(names.RUN),
        "spec": {
            **_gang(structure),
            # The job fails at the restart of this number, so this many less one are done (state/restarting.go).
            "maxRetry": Sum((value("retries"), 1)),
            "ttlSecondsAfterFinished": if_set(value("workload.ttlSecondsAfterFinished")),
            "networkTopology": _topology(),
            **({"plugins": _plugins(structure)} if structure.is_distributed else {}),
            "policies": list(_LOST),
            "tasks": [_task(structure, role, pods.of(role.name)) for role in structure.roles],
        },
    }


def _gang(structure: Structure) -> dict[Key, Node]:
    """Volcano schedules the job in any case: all tasks together, as is its default, unless the gang is not enabled."""
    if not structure.gang:
        return {
            "schedulerName": "volcano",
            "minAvailable": gang.member_count(structure),
            "queue": _QUEUE,
            "priorityClassName": if_set(value("priorityClassName")),
        }
    return {
        "schedulerName": Default(value("gang.schedulerName"), "volcano"),
        "minAvailable": When(gang.ENABLED, gang.min_members(structure), 1),
        "queue": Default(gang.QUEUE, _QUEUE),
        "priorityClassName": if_set(gang.PRIORITY),
    }


def _topology() -> Node:
    mode, tier = value("workload.volcanoJob.networkTopology.mode"), "workload.volcanoJob.networkTopology"
    return When(mode, {"mode": mode, "highestTierAllowed": if_set(value(f"{tier}.highestTierAllowed"))})


def _plugins(structure: Structure) -> Node:
    """Names for the pods, ready or not; their policy is ours. The plugin tensorflow is told the tasks' names."""
    plugins: dict[Key, Node] = {
        "env": [],
        "svc": ["--publish-not-ready-addresses=true", "--disable-network-policy=true"],
    }
    if structure.volcano_plugin:
        roles = [f"--{role.name}={role.name}" for role in structure.roles]
        plugins["tensorflow"] = [*roles, f"--port={structure.port}"]
    return plugins


def _task(structure: Structure, role: Role, template: Node) -> Node:
    return {
        "name": role.name,
        "replicas": cluster_spec.replicas(role.name),
        "minAvailable": _least(structure, role),
        "maxRetry": _TASK_RETRIES,
        **({"policies": _ends()} if role.name == structure.ends else {}),
        "template": template,
    }


def _least(structure: Structure, role: Role) -> Node:
    """How many pods of a task the gang needs: all, but for the evaluator, and the workers of a gang that is partial.

    Volcano heeds it while their sum is no more than the job's minAvailable (CheckTaskReady in its
    pkg/scheduler/api/job_info.go), so that chief and ps are among those that start.
    """
    if role.name == "evaluator":
        return 0
    replicas = cluster_spec.replicas(role.name)
    if role.name == "worker" and gang.may_be_partial(structure):
        return When(gang.is_partial(structure), 0, replicas)
    return replicas


def _controller(structure: Structure) -> pod.Controller:
    return pod.Controller(
        index_label=keys.VOLCANO_INDEX,
        fields={"restartPolicy": "OnFailure"},
        sets_tf_config=structure.volcano_plugin,
        binds_gang=True,
    )


def _has_config_map(structure: Structure) -> bool:
    return is_distributed(structure) and not structure.volcano_plugin


WORKLOAD: Final = Workload(
    templates=lambda structure: (Template("volcanojob", volcano_job(structure)),),
    guards=lambda _: [name_guards.short_hosts(names.pod)],
    has_service=never,
    has_config_map=_has_config_map,
    has_pod_group=never,
)
