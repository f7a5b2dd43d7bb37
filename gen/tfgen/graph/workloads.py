"""The workload kinds of Kubernetes and of operators: the objects of the roles, and the objects that each kind needs.

`schema.kinds` lists the keys that a kind does not support.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from tfgen.graph import cluster, elastic_dl, naming, role_pod, schedulers, supporting
from tfgen.graph import holes as h
from tfgen.graph.fill import Template
from tfgen.graph.helper_pods import RELEASED_BOARD, FinisherPlan, Kind
from tfgen.graph.holes import Key, Node, if_set
from tfgen.graph.naming import PodName, overridden, value
from tfgen.graph.podspec import HASH, hashed
from tfgen.graph.schedulers import queue_labels
from tfgen.job.training_job import Role, RoleName, Structure
from tfgen.kubernetes import keys
from tfgen.record import Record
from tfgen.schema.kinds import WorkloadKind

Test: TypeAlias = Callable[[Structure], bool]


def never(_: Structure | Role) -> bool:
    """Return False. A `Workload` uses this function for a property that no job or role of the kind has."""
    return False


class Workload(Record):
    """A workload kind. Most attributes are functions of the structure of a job, such as `has_service(structure)`.

    Attributes:
        templates: returns the templates of the roles, in the order in which the objects must be applied.
        guards: returns the guards, for example for the lengths of object names.
        has_service: returns whether the tasks need the headless Service of tfgen for their names.
        has_config_map: returns whether the tasks read the cluster from the ConfigMap of tfgen.
        has_pod_group: returns whether the gang needs the PodGroup of tfgen.
        pod_name: returns the name of the pod of a task, which is also the host name.
        port_name: the name of the port of TensorFlow in the pods.
        is_scalable: returns whether the controller of the pods of a role has a scale subresource.
        log_role: returns the role whose log shows the progress of the training.
        has_run_lock: whether the pods may contain the run lock.
        plan: returns the plan of the finisher; None if the controller of the kind releases the tasks.
    """

    templates: Callable[[Structure], tuple[Template, ...]]
    guards: Callable[[Structure], Sequence[h.Guard]]
    has_service: Test = lambda structure: structure.is_distributed
    has_config_map: Test = lambda structure: structure.is_distributed
    has_pod_group: Test = lambda _: True
    pod_name: PodName = naming.pod
    port_name: str = naming.PORT_NAME
    is_scalable: Callable[[Role], bool] = never
    log_role: Callable[[Structure], str] = lambda job: "chief" if job.role("chief") else job.roles[-1].name
    has_run_lock: bool = True
    plan: Callable[[Structure], FinisherPlan | None] = lambda _: None


# -- Pod ---------------------------------------------------------------------------------------------------------------
#
# The only task of a job runs in a Pod without a controller. The kind is useful on a serverless instance. If the node is
# lost or the Pod is deleted, no controller replaces the Pod.
# https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/


# A single Pod has no index, and no other task looks up its name.
_POD_CONTROLLER: Final = role_pod.Controller(index_label="", fields={"restartPolicy": "OnFailure"})


def single_pod(structure: Structure, role: Role) -> Node:
    """Return the Pod of the only task of a job. The kubelet restarts the container until the container succeeds."""
    pods = role_pod.pods(structure, lambda _: _POD_CONTROLLER)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": naming.workload(role.name),
            "labels": {
                **naming.INSTALLED,
                h.Splice("pod"): role_pod.call_for_role(pods.labels, role.name),
                **queue_labels(structure),
            },
            "annotations": role_pod.call_for_role(pods.annotations, role.name),
        },
        "spec": role_pod.call_for_role(pods.spec, role.name),
    }


SINGLE_POD: Final = Workload(
    templates=lambda structure: tuple(Template(role.name, single_pod(structure, role)) for role in structure.roles),
    guards=lambda _: (),
)


# -- Job ---------------------------------------------------------------------------------------------------------------
#
# The pods have stable host names, and a suspended Job has no pods.
#
# https://kubernetes.io/docs/tasks/job/job-with-pod-to-pod-communication/


def _job_controller(structure: Structure) -> role_pod.Controller:
    """Return a `Controller` that describes an Indexed Job, which creates the pods."""
    subdomain: dict[Key, Node] = {"subdomain": naming.RUN} if structure.is_distributed else {}
    return role_pod.Controller(keys.JOB_INDEX, {**subdomain, "restartPolicy": "Never"})


def indexed_job(structure: Structure, role: Role, template: h.NamedTemplate) -> Node:
    """Return the Job of a role, in which each task has an index."""
    queue = queue_labels(structure) if role.name != "evaluator" else {}
    name, labels = naming.workload(role.name), {keys.COMPONENT: role.name, **queue}

    def workload(pod: Node) -> Node:
        fields: dict[Key, Node] = {"spec": job_spec(structure, role, pod)}
        return naming.kubernetes_object("batch/v1", "Job", name, fields, labels=labels)

    return hashed(template, role_pod.arguments(role.name), workload)


def job_spec(structure: Structure, role: Role, template: Node) -> dict[Key, Node]:
    """Return the spec of a role's Job with the given pod template.

    For a role with several tasks, the limit of retries applies to each index. If a worker is lost, all other workers
    fail as well. These failures would exceed a limit for the whole Job at once, or would increase the backoff of the
    whole Job to ten minutes.

    https://kubernetes.io/docs/concepts/workloads/controllers/job/#backoff-limit-per-index
    """
    replicas = cluster.replicas(role.name)
    by_index = h.Comment(
        "The limit applies to each index. The peers of a lost task fail too, and would exceed a common limit."
    )
    retries: dict[Key, Node] = {by_index: None, "backoffLimitPerIndex": value("retries"), "maxFailedIndexes": 0}
    if role.name in cluster.SINGLE_TASK_ROLES:
        retries = {"backoffLimit": value("retries")}
    success: dict[Key, Node] = {}
    if role.name == structure.ends and structure.completion == "Worker0":
        success[h.Comment("When worker 0 succeeds, the Job ends all other workers.")] = None
        success["successPolicy"] = {"rules": [{"succeededIndexes": "0"}]}
    return {
        "completions": replicas,
        "parallelism": replicas,
        "completionMode": "Indexed",
        **retries,
        **success,
        h.Comment("A task never has two pods, because the Job replaces a pod only after the end of the pod."): None,
        "podReplacementPolicy": "Failed",
        supporting.NO_FAILURE: None,
        "podFailurePolicy": supporting.failure_policy(supporting.IGNORE_EXIT_CODES),
        "template": template,
    }


def _finisher_plan(structure: Structure, is_scalable: Callable[[Role], bool]) -> FinisherPlan:
    """Return the `FinisherPlan` of the finisher: the roles to watch, and the roles to release at the end of the run.

    To release a role, the finisher scales the StatefulSet of the role to 0, or suspends the Job of the role. If
    `structure.releases` is False, the finisher releases no role.

    Args:
        structure: the structure of the job.
        is_scalable: returns whether a role has a StatefulSet.
    """
    stateful = tuple(role.name for role in structure.roles if is_scalable(role))
    starts: list[tuple[Kind, RoleName]] = [
        ("statefulsets" if role.name in stateful else "jobs", role.name) for role in schedulers.roles(structure)
    ]
    plan = FinisherPlan(structure.ends, starts=tuple(starts))
    if schedulers.may_be_partial(structure):
        is_partial = h.AllOf((schedulers.ENABLED, schedulers.is_partial(structure)))
        plan = plan.replaced(start_with=h.When(is_partial, schedulers.MIN_AVAILABLE))
    if not structure.releases:
        return plan
    jobs = tuple(role.name for role in structure.roles if role.name not in (structure.ends, *stateful))
    board = RELEASED_BOARD if structure.tensorboard_port else None
    return plan.replaced(scale=stateful, suspend=jobs, board=board)


def _objects_of_roles(structure: Structure, is_scalable: Callable[[Role], bool]) -> tuple[Template, ...]:
    """Return the StatefulSet of each scalable role, and the Job of each other role."""

    def controller(role: Role) -> role_pod.Controller:
        return _STATEFUL_SET_CONTROLLER if is_scalable(role) else _job_controller(structure)

    template = role_pod.pods(structure, controller, has_hash=True).template

    def workload(role: Role) -> Node:
        return stateful_set(role, template) if is_scalable(role) else indexed_job(structure, role, template)

    return tuple(Template(role.name, workload(role)) for role in structure.roles)


INDEXED_JOB: Final = Workload(
    templates=lambda structure: _objects_of_roles(structure, never),
    guards=lambda _: [naming.role_hosts_guard(naming.pod)],
    plan=lambda structure: _finisher_plan(structure, never),
)


# -- StatefulSet -------------------------------------------------------------------------------------------------------
#
# A role whose tasks run until the job is complete, such as ps, has a StatefulSet. A role whose tasks exit by
# themselves, such as chief, has an Indexed Job.


_STATEFUL_SET_CONTROLLER: Final = role_pod.Controller(index_label=keys.STATEFUL_SET_INDEX, fields={})


def stateful_set(role: Role, template: h.NamedTemplate) -> Node:
    """Return the StatefulSet of a role.

    The StatefulSet creates all pods at once, because a gang that starts its pods in order causes a deadlock
    (https://github.com/kubernetes-sigs/kueue/issues/3189).

    All tasks of a run must have the same pod template. So the selector contains the hash of the template, and
    Kubernetes rejects an update to a different template.
    """
    spec: dict[Key, Node] = {
        "serviceName": naming.RUN,
        "replicas": cluster.replicas(role.name),
        h.Comment("All pods start together. A gang whose pods start one by one never starts."): None,
        "podManagementPolicy": "Parallel",
        h.Comment("No update restarts a single task of a run, so all tasks have the same pod template."): None,
        "updateStrategy": {"type": "OnDelete"},
        h.Comment(
            "Because of the hash, Kubernetes rejects a new pod template. Only a new run may have a new template."
        ): None,
        "selector": {
            "matchLabels": {
                h.Splice("role"): naming.role_selector(role.name),
                keys.POD_TEMPLATE_HASH: HASH,
            }
        },
    }
    name = naming.workload(role.name)

    def workload(pod: Node) -> Node:
        fields: dict[Key, Node] = {"spec": {**spec, "template": pod}}
        labels: dict[Key, Node] = {keys.COMPONENT: role.name}
        return naming.kubernetes_object("apps/v1", "StatefulSet", name, fields, naming.IGNORED_REPLICAS, labels)

    return hashed(template, role_pod.arguments(role.name), workload)


def _serves(role: Role) -> bool:
    return role.serves


STATEFUL_SET: Final = Workload(
    templates=lambda structure: _objects_of_roles(structure, _serves),
    guards=lambda structure: [
        *naming.stateful_set_guards(role for role in structure.roles if role.serves),
        naming.role_hosts_guard(naming.pod),
    ],
    is_scalable=_serves,
    plan=lambda structure: _finisher_plan(structure, _serves),
)


# -- JobSet ------------------------------------------------------------------------------------------------------------
#
#     replicatedJobs: [{name: chief, ...}, {name: ps, ...}, {name: worker, ...}]
#     successPolicy: {operator: All, targetReplicatedJobs: [chief]}
#
# https://jobset.sigs.k8s.io/docs/concepts/. When the role that ends the job has succeeded, the JobSet deletes the
# active Jobs. The definition of the fields:
# https://github.com/kubernetes-sigs/jobset/tree/v0.12.0/config/components/crd.


_EXCLUSIVE: Final = value("workload.jobSet.exclusiveTopology")

# The JobSet sets the subdomain of the pods. A Job with a pod failure policy requires the restart policy `Never`.
_JOB_SET_CONTROLLER: Final = role_pod.Controller(keys.JOB_INDEX, {"restartPolicy": "Never"})

# A failed Job fails or restarts its JobSet, and the restart of only one Job needs a feature gate. A failure of the
# evaluator must not restart the training, so the Job of the evaluator has practically no limit of retries.
_MAX_RETRIES: Final = 2**31 - 1


def job_set(structure: Structure) -> Node:
    """Return the JobSet of a run."""
    pods = role_pod.pods(structure, lambda _: _JOB_SET_CONTROLLER)
    network: Node = {"enableDNSHostnames": True, "subdomain": naming.RUN, "publishNotReadyAddresses": True}
    # With `ps_first`, all other roles wait for the ps.
    roles = sorted(structure.roles, key=lambda role: structure.ps_first and role.name != "ps")
    spec: Node = {
        "suspend": h.When(value("workload.suspend"), True),
        "ttlSecondsAfterFinished": if_set(value("workload.ttlSecondsAfterFinished")),
        **({"network": network} if structure.is_distributed else {}),
        "successPolicy": {"operator": "All", "targetReplicatedJobs": [structure.ends]},
        "failurePolicy": {
            "maxRestarts": value("workload.jobSet.maxRestarts"),
            "rules": value("workload.jobSet.rules"),
        },
        "replicatedJobs": [_replicated(structure, role, pods.for_role(role.name)) for role in roles],
    }
    annotations: dict[Key, Node] = {keys.EXCLUSIVE_TOPOLOGY: h.When(_EXCLUSIVE, _EXCLUSIVE)}
    version, labels = "jobset.x-k8s.io/v1alpha2", queue_labels(structure)
    return naming.kubernetes_object(version, "JobSet", naming.RUN, {"spec": spec}, annotations, labels)


def _replicated(structure: Structure, role: Role, template: Node) -> Node:
    dependency: dict[Key, Node] = {"dependsOn": [{"name": "ps", "status": "Ready"}]}
    job = job_spec(structure, role, template)
    if role.name == "evaluator":
        job["backoffLimit"] = _MAX_RETRIES
    return {
        "name": role.name,
        "replicas": 1,
        **(dependency if structure.ps_first and role.name != "ps" and structure.role("ps") else {}),
        "template": {"spec": job},
    }


JOB_SET: Final = Workload(
    templates=lambda structure: (Template("jobset", job_set(structure)),),
    guards=lambda _: [naming.role_hosts_guard(naming.job_set_pod)],
    has_service=never,
    pod_name=naming.job_set_pod,
)


# -- TFJob -------------------------------------------------------------------------------------------------------------
#
# The operator sets TF_CONFIG and the names of the pods. API versions and their fields:
#
#     kubeflow.org/v1        spec.runPolicy, spec.successPolicy, spec.tfReplicaSpecs
#     kubeflow.org/v1beta1   spec.cleanPodPolicy, spec.ttlSecondsAfterFinished, spec.tfReplicaSpecs
#
# The definitions of the fields: manifests/base/crds/kubeflow.org_tfjobs.yaml of
# https://github.com/kubeflow/trainer/tree/release-1.9, and pkg/apis/tensorflow/v1beta1/types.go of its v0.5-branch.
# tfgen sets all fields whose default has changed between versions. For example, the default of cleanPodPolicy changed
# from Running to None.


# The operator looks for a port with this name in the container tensorflow, and uses 2222 if the port does not exist.
_PORT_NAME: Final = "tfjob-port"

_REPLICAS: Final[Mapping[RoleName, str]] = {"chief": "Chief", "ps": "PS", "worker": "Worker", "evaluator": "Evaluator"}


def tf_job(structure: Structure) -> Node:
    """Return the TFJob of a run."""
    version = structure.tf_job.api_version
    controller = role_pod.Controller(
        index_label=keys.TF_JOB_INDEX if version == "v1" else keys.OLD_TF_JOB_INDEX,
        fields={},  # the operator sets the restart policy of the pods
        sets_tf_config=True,
        binds_gang=structure.tf_job.operator_gangs,
        port_name=_PORT_NAME,
        publishes_unready=False,  # the Services of the operator do not publish a pod that is not ready
    )
    pods = role_pod.pods(structure, lambda _: controller)
    # By default, the job succeeds with its chief, or with worker 0 if no chief exists.
    success: dict[Key, Node] = {"successPolicy": "AllWorkers"} if structure.completion == "AllWorkers" else {}
    policies = {"runPolicy": _run_policy(structure), **success} if version == "v1" else _clean_up(structure)
    spec: Node = {
        **policies,
        **({"enableDynamicWorker": True} if structure.tf_job.dynamic_workers else {}),
        "tfReplicaSpecs": {
            _replica_type(structure, role.name): {
                "replicas": cluster.replicas(role.name),
                "restartPolicy": overridden(
                    value(f"roles.{role.name}.restartPolicy"), value("workload.tfJob.restartPolicy")
                ),
                "template": pods.for_role(role.name),
            }
            for role in structure.roles
        },
    }
    queue = queue_labels(structure)
    return naming.kubernetes_object(f"kubeflow.org/{version}", "TFJob", naming.RUN, {"spec": spec}, labels=queue)


def _replica_type(structure: Structure, role: RoleName) -> str:
    """Return the replica type of a role in a TFJob, such as `Worker`."""
    return structure.tf_job.leader if role == "chief" else _REPLICAS[role]


def _clean_up(structure: Structure) -> dict[Key, Node]:
    """Return the fields that delete the pods and the TFJob after the end of the run."""
    by_completion = "Running" if structure.releases else "None"
    return {
        "cleanPodPolicy": h.Default(value("workload.tfJob.cleanPodPolicy"), by_completion),
        "ttlSecondsAfterFinished": if_set(value("workload.ttlSecondsAfterFinished")),
    }


def _run_policy(structure: Structure) -> Node:
    """Return the run policy. From its scheduling policy, the operator creates the PodGroup.

    tfgen sets minAvailable, because the operator would count the evaluator as a member of the gang.
    """
    scheduling: Node = {
        "minAvailable": schedulers.min_members(structure),
        "queue": if_set(schedulers.QUEUE),
        "priorityClass": if_set(schedulers.PRIORITY),
        "minResources": schedulers.MIN_RESOURCES,
    }
    makes_group = structure.gang and structure.tf_job.operator_gangs
    return {
        **_clean_up(structure),
        "backoffLimit": value("retries"),
        "activeDeadlineSeconds": if_set(value("workload.tfJob.activeDeadlineSeconds")),
        "suspend": h.When(value("workload.suspend"), True),
        **({"schedulingPolicy": h.When(schedulers.ENABLED, scheduling)} if makes_group else {}),
    }


def _tf_job_guards(structure: Structure) -> list[h.Guard]:
    """Return the guard that limits the length of pod names. The operator uses each pod name as a Service name."""
    leader = _replica_type(structure, "chief").lower()

    def pod_name(role: Node, index: Node) -> Node:
        name = naming.pod(role, index)
        return name if leader == "chief" else h.When(h.Equal(role, "chief"), naming.pod(leader, index), name)

    return [naming.role_hosts_guard(pod_name)]


TF_JOB: Final = Workload(
    templates=lambda structure: (Template("tfjob", tf_job(structure)),),
    guards=_tf_job_guards,
    has_service=never,
    has_config_map=never,
    has_pod_group=lambda structure: not structure.tf_job.operator_gangs,
    port_name=_PORT_NAME,
)


# -- VolcanoJob --------------------------------------------------------------------------------------------------------
#
#     tasks: [{name: chief, policies: [{event: TaskCompleted, action: CompleteJob}, ...]}, {name: ps}, {name: worker}]
#
# https://volcano.sh/en/docs/vcjob/. By default a Volcano Job completes when all pods have ended, and a ps never ends.
# So a policy completes the Job when the role that ends the job has ended. The definition of the fields:
# https://github.com/volcano-sh/volcano/blob/v1.15.1/config/crd/volcano/bases/batch.volcano.sh_jobs.yaml.
#
# The webhook of Volcano adds missing fields to a new Job (pkg/webhooks/admission/jobs/mutate/mutate_job.go), and
# rejects almost every later change (validateJobUpdate in the same folder). An apply replaces the whole list of tasks,
# so a second apply would remove the added fields, and the webhook would reject the second apply. So tfgen sets all
# these fields.


# The kubelet restarts a failed program in its pod. So the event PodEvicted means a deleted pod, and the event PodFailed
# means that the node lacks memory or shuts down:
# https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/
_LOST: Final[tuple[Node, ...]] = tuple(
    {"event": event, "action": "RestartJob"} for event in ("PodEvicted", "PodFailed")
)

# The values that the webhook adds. The retries of a task only affect the event TaskFailed, which no policy uses.
_QUEUE: Final = "default"
_TASK_RETRIES: Final = 3


def volcano_job(structure: Structure) -> Node:
    """Return the Volcano Job of a run."""
    controller = role_pod.Controller(
        index_label=keys.VOLCANO_INDEX,
        fields={"restartPolicy": "OnFailure"},
        sets_tf_config=structure.volcano_plugin,
        binds_gang=True,
    )
    pods = role_pod.pods(structure, lambda _: controller)
    spec: Node = {
        **_gang(structure),
        # The Job fails at restart number maxRetry, so it restarts maxRetry - 1 times (state/restarting.go).
        "maxRetry": h.Sum(value("retries"), 1),
        "ttlSecondsAfterFinished": if_set(value("workload.ttlSecondsAfterFinished")),
        "networkTopology": schedulers.network_topology("workload.volcanoJob.networkTopology"),
        **({"plugins": _plugins(structure)} if structure.is_distributed else {}),
        "policies": list(_LOST),
        "tasks": [_task(structure, role, pods.for_role(role.name)) for role in structure.roles],
    }
    return naming.kubernetes_object("batch.volcano.sh/v1alpha1", "Job", naming.RUN, {"spec": spec})


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
        "schedulerName": h.Default(value("gang.schedulerName"), "volcano"),
        "minAvailable": h.When(schedulers.ENABLED, schedulers.min_members(structure), 1),
        "queue": h.Default(schedulers.QUEUE, _QUEUE),
        "priorityClassName": if_set(schedulers.PRIORITY),
    }


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
    """Return a task of the Volcano Job. `minAvailable` is the number of the task's pods that the gang needs.

    The number is `replicas`, with two exceptions. The number of the evaluator is 0, because the evaluator is not in the
    gang. The number of the workers is 0 if `gang.minAvailable` lets the gang start without all workers: Volcano ignores
    all numbers if their sum exceeds the minAvailable of the Job (CheckTaskReady in pkg/scheduler/api/job_info.go).
    """
    replicas = min_available = cluster.replicas(role.name)
    if role.name == "evaluator":
        min_available = 0
    elif role.name == "worker" and schedulers.may_be_partial(structure):
        min_available = h.When(schedulers.is_partial(structure), 0, replicas)
    # A pod that exceeds its deadline fails the Job.
    on_deadline: Node = {"event": "PodFailed", "action": "TerminateJob"}
    ends: list[Node] = [{"event": "TaskCompleted", "action": "CompleteJob"}, h.When(value("deadline"), on_deadline)]
    return {
        "name": role.name,
        "replicas": replicas,
        "minAvailable": min_available,
        "maxRetry": _TASK_RETRIES,
        **({"policies": ends} if role.name == structure.ends else {}),
        "template": template,
    }


VOLCANO_JOB: Final = Workload(
    templates=lambda structure: (Template("volcanojob", volcano_job(structure)),),
    guards=lambda _: [naming.role_hosts_guard(naming.pod)],
    has_service=never,
    has_config_map=lambda structure: structure.is_distributed and not structure.volcano_plugin,
    has_pod_group=never,
)


# -- ElasticDL ---------------------------------------------------------------------------------------------------------


ELASTIC_DL: Final = Workload(
    templates=elastic_dl.templates,
    guards=lambda _: elastic_dl.GUARDS,
    has_service=never,
    has_config_map=never,
    has_pod_group=never,
    has_run_lock=False,
    log_role=lambda _: elastic_dl.MASTER,
)


WORKLOADS: Final[Mapping[WorkloadKind, Workload]] = {
    "StatefulSet": STATEFUL_SET,
    "Job": INDEXED_JOB,
    "TFJob": TF_JOB,
    "VolcanoJob": VOLCANO_JOB,
    "JobSet": JOB_SET,
    "Pod": SINGLE_POD,
    "ElasticDL": ELASTIC_DL,
}
