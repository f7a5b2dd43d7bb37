"""The workload kind VolcanoJob, which runs each role as a task of a Volcano Job. Volcano starts the Job as a gang.

    tasks: [{name: chief, policies: [{event: TaskCompleted, action: CompleteJob}, ...]}, {name: ps}, {name: worker}]

https://volcano.sh/en/docs/vcjob/. By default a Volcano Job completes when all pods have ended, and a ps never ends. So
a policy completes the Job when the role that ends the job has ended. The definition of the fields:
https://github.com/volcano-sh/volcano/blob/v1.15.1/config/crd/volcano/bases/batch.volcano.sh_jobs.yaml.

The webhook of Volcano adds missing fields to a new Job (pkg/webhooks/admission/jobs/mutate/mutate_job.go), and rejects
almost every later change (validateJobUpdate in the same folder). An apply replaces the whole list of tasks, so a second
apply would remove the added fields, and the webhook would reject the second apply. So tfgen sets all these fields.
"""

from __future__ import annotations

from typing import Final

from tfgen.graph import schedulers
from tfgen.graph.holes import Default, Key, Node, Sum, When, if_set
from tfgen.graph.objects import cluster, naming
from tfgen.graph.objects.values import value
from tfgen.graph.template import Template
from tfgen.graph.workloads import role_pod
from tfgen.graph.workloads.workload import Workload, is_distributed, never
from tfgen.job.training_job import Role, Structure
from tfgen.kubernetes import keys

# The kubelet restarts a failed program in its pod. So the event PodEvicted means a deleted pod, and the event PodFailed
# means that the node lacks memory or shuts down:
# https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/
_LOST: Final[tuple[Node, ...]] = tuple(
    {"event": event, "action": "RestartJob"} for event in ("PodEvicted", "PodFailed")
)

# The values that the webhook adds. The retries of a task only affect the event TaskFailed, which no policy uses.
_QUEUE: Final = "default"
_TASK_RETRIES: Final = 3


def _ends() -> list[Node]:
    """Return the policies of the role whose end completes the job. A pod that exceeds its deadline fails the Job."""
    on_deadline: Node = {"event": "PodFailed", "action": "TerminateJob"}
    return [{"event": "TaskCompleted", "action": "CompleteJob"}, When(value("deadline"), on_deadline)]


def volcano_job(structure: Structure) -> Node:
    """Return the Volcano Job of a run."""
    pods = role_pod.pods(structure, dict.fromkeys((role.name for role in structure.roles), _controller(structure)))
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": naming.metadata(naming.RUN),
        "spec": {
            **_gang(structure),
            # The Job fails at restart number maxRetry, so it restarts maxRetry - 1 times (state/restarting.go).
            "maxRetry": Sum(value("retries"), 1),
            "ttlSecondsAfterFinished": if_set(value("workload.ttlSecondsAfterFinished")),
            "networkTopology": _topology(),
            **({"plugins": _plugins(structure)} if structure.is_distributed else {}),
            "policies": list(_LOST),
            "tasks": [_task(structure, role, pods.for_role(role.name)) for role in structure.roles],
        },
    }


def _gang(structure: Structure) -> dict[Key, Node]:
    """Return the fields for the scheduler. Volcano starts all tasks together even if the job does not set `gang`."""
    if not structure.gang:
        return {
            "schedulerName": "volcano",
            "minAvailable": schedulers.member_count(structure),
            "queue": _QUEUE,
            "priorityClassName": if_set(value("priorityClassName")),
        }
    return {
        "schedulerName": Default(value("gang.schedulerName"), "volcano"),
        "minAvailable": When(schedulers.ENABLED, schedulers.min_members(structure), 1),
        "queue": Default(schedulers.QUEUE, _QUEUE),
        "priorityClassName": if_set(schedulers.PRIORITY),
    }


def _topology() -> Node:
    path = "workload.volcanoJob.networkTopology"
    mode = value(f"{path}.mode")
    return When(mode, {"mode": mode, "highestTierAllowed": if_set(value(f"{path}.highestTierAllowed"))})


def _plugins(structure: Structure) -> Node:
    """Return the plugins of the Volcano Job. The plugin svc gives the pods host names even before the pods are ready.

    tfgen renders a network policy, so the network policy of svc is disabled. The plugin tensorflow sets TF_CONFIG, and
    needs the names of the tasks.
    """
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
        "replicas": cluster.replicas(role.name),
        "minAvailable": _min_available(structure, role),
        "maxRetry": _TASK_RETRIES,
        **({"policies": _ends()} if role.name == structure.ends else {}),
        "template": template,
    }


def _min_available(structure: Structure, role: Role) -> Node:
    """Return `minAvailable` of a task of the Volcano Job: the number of the task's pods that the gang needs.

    The number is `replicas`, with two exceptions. The number of the evaluator is 0, because the evaluator is not in the
    gang. The number of the workers is 0 if `gang.minAvailable` lets the gang start without all workers: Volcano ignores
    all numbers if their sum exceeds the minAvailable of the Job (CheckTaskReady in pkg/scheduler/api/job_info.go).
    """
    if role.name == "evaluator":
        return 0
    replicas = cluster.replicas(role.name)
    if role.name == "worker" and schedulers.may_be_partial(structure):
        return When(schedulers.is_partial(structure), 0, replicas)
    return replicas


def _controller(structure: Structure) -> role_pod.Controller:
    return role_pod.Controller(
        index_label=keys.VOLCANO_INDEX,
        fields={"restartPolicy": "OnFailure"},
        sets_tf_config=structure.volcano_plugin,
        binds_gang=True,
    )


def _has_config_map(structure: Structure) -> bool:
    return is_distributed(structure) and not structure.volcano_plugin


WORKLOAD: Final = Workload(
    templates=lambda structure: (Template("volcanojob", volcano_job(structure)),),
    guards=lambda _: [naming.role_hosts_guard(naming.pod)],
    has_service=never,
    has_config_map=_has_config_map,
    has_pod_group=never,
)
