"""The gang schedulers: the object of a gang, such as a PodGroup, and the fields that assign a pod to the gang."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from tfgen.graph import cluster, naming
from tfgen.graph.fill import Template
from tfgen.graph.holes import AllOf, Default, Equal, Expression, Greater, Key, Node, Sum, Text, When, if_set
from tfgen.graph.naming import ROLE, value, value_for_role
from tfgen.job.training_job import Role, RoleName, Scheduler, Structure
from tfgen.kubernetes import keys
from tfgen.record import EMPTY, Record
from tfgen.schema.kinds import GANG_FIELDS

# -- gang --------------------------------------------------------------------------------------------------------------
#
# The description of a gang scheduler: the object of a gang, and the fields that assign a pod to the gang.


ENABLED: Final = value("gang.enabled")
QUEUE: Final = value("gang.queue")
MIN_AVAILABLE: Final = value("gang.minAvailable")
MIN_RESOURCES: Final = value("gang.minResources")
PRIORITY: Final = value("gang.priorityClassName")
SCHEDULE_TIMEOUT: Final = value("gang.scheduleTimeoutSeconds")
REQUIRED_TOPOLOGY: Final = value("gang.requiredTopology")
_SCHEDULER_NAME: Final = value("gang.schedulerName")


class GangBinding(Record):
    """The fields that assign a pod to a gang.

    Attributes:
        labels: labels of the pod.
        annotations: annotations of the pod.
        spec: fields of the spec of the pod.
    """

    labels: Mapping[Key, Node] = EMPTY
    annotations: Mapping[Key, Node] = EMPTY
    spec: Mapping[Key, Node] = EMPTY


class Gang(Record):
    """A gang scheduler.

    Attributes:
        task: the fields that assign the pod of a task to the gang.
        group: the API group of the PodGroup; empty for a scheduler without a PodGroup.
        version: the API version of the PodGroup.
        spec: a function that takes the structure of a job, and returns the spec of the PodGroup; None without a
            PodGroup.
        workload_labels: the labels that select the queue of a workload object; empty if the scheduler queues only pods.
        evaluator: the fields for the pod of the evaluator, which is not a member of the gang.
        scheduler_name: the ``schedulerName`` of the pods if ``gang.schedulerName`` is empty; empty for the default
            scheduler of the cluster.
    """

    task: GangBinding
    group: str = ""
    version: Node = ""
    spec: Callable[[Structure], Mapping[Key, Node]] | None = None
    workload_labels: Mapping[Key, Node] = EMPTY
    evaluator: GangBinding = GangBinding()
    scheduler_name: str = ""

    def pod_group(self, structure: Structure) -> tuple[Template, ...]:
        """Return the template of the PodGroup of a run, if the scheduler has PodGroups."""
        if self.spec is None:
            return ()
        fields: dict[Key, Node] = {"spec": self.spec(structure)}
        version = Text((self.group, "/", self.version))
        group = naming.kubernetes_object(version, "PodGroup", naming.RUN, fields, naming.BEFORE_PODS)
        return (Template("podgroup", When(ENABLED, group)),)

    def binding_for(self, role: RoleName) -> GangBinding:
        """Return the fields that assign the pods of a role to the gang.

        The evaluator is not a member of the gang. The evaluator uses the same scheduler as the gang, because two
        schedulers could assign the same GPU to two pods.
        """
        binding = self.evaluator if role == "evaluator" else self.task
        scheduler = When(AllOf((ENABLED, _SCHEDULER_NAME)), _SCHEDULER_NAME)
        if self.scheduler_name:
            scheduler = When(ENABLED, Default(_SCHEDULER_NAME, self.scheduler_name))
        return GangBinding(
            _if_enabled(binding.labels),
            _if_enabled(binding.annotations),
            {"schedulerName": scheduler, **_if_enabled(binding.spec)},
        )


def _if_enabled(nodes: Mapping[Key, Node]) -> dict[Key, Node]:
    return {key: When(ENABLED, node) for key, node in nodes.items()}


def roles(structure: Structure) -> tuple[Role, ...]:
    """Return the roles that belong to the gang: all roles except the evaluator, for which TensorFlow does not wait."""
    return tuple(role for role in structure.roles if role.name != "evaluator")


def member_count(structure: Structure) -> Node:
    """Return the number of pods of the gang."""
    return Sum(*(cluster.replicas(role.name) for role in roles(structure)))


def may_be_partial(structure: Structure) -> bool:
    """Return True if the gang may start without all tasks.

    Only the strategy ParameterServer has programs that start with a part of the workers: programs of TensorFlow 1 with
    device filters.
    """
    return (
        structure.gang is not None
        and structure.strategy == "ParameterServer"
        and "minAvailable" in GANG_FIELDS[structure.gang]
    )


def min_members(structure: Structure) -> Node:
    """Return the number of pods that the scheduler must place before the gang starts."""
    return Default(MIN_AVAILABLE, member_count(structure)) if may_be_partial(structure) else member_count(structure)


def group_priority(structure: Structure) -> Expression:
    """Return the priority class of a PodGroup: by default, the class of the pods.

    The scheduler of Kubernetes 1.37 starts no pod whose priority differs from the priority of its PodGroup
    (validatePodGroup in pkg/scheduler/schedule_one_podgroup.go). KAI reads only the priority of the PodGroup.
    """
    return Default(PRIORITY, value_for_role(roles(structure)[0].name, "priorityClassName"))


def is_partial(structure: Structure) -> Expression:
    """Return a test that is true if `gang.minAvailable` lets the gang start without all tasks."""
    return AllOf((MIN_AVAILABLE, Greater(member_count(structure), MIN_AVAILABLE)))


# -- volcano -----------------------------------------------------------------------------------------------------------
#
# Volcano: https://volcano.sh/en/docs/podgroup/.
#
# The scheduler reads the PodGroup of a pod only from the annotation ``scheduling.k8s.io/group-name``
# (pkg/scheduler/api/job_info.go), and not from the annotation ``scheduling.volcano.sh/group-name``.


# Every program needs all tasks of these roles. ParameterServerStrategy also waits for all workers, but a program of
# TensorFlow 1 with device filters, such as examples/tf1-flags, starts with a part of the workers. Volcano reads
# minTaskMember only if minMember is at least the sum of its numbers (CheckTaskReady in pkg/scheduler/api/job_info.go).
_COMPLETE_ROLES: Final[tuple[RoleName, ...]] = ("chief", "ps")


def network_topology(path: str) -> Node:
    """Return the network topology of a PodGroup or a Volcano Job, with the settings at a path of ``spec``.

    Source: https://volcano.sh/en/docs/network_topology_aware_scheduling/.
    """
    mode, tier, tier_name = (value(f"{path}.{key}") for key in ("mode", "highestTierAllowed", "highestTierName"))
    return When(mode, {"mode": mode, "highestTierAllowed": if_set(tier), "highestTierName": if_set(tier_name)})


def _volcano_spec(structure: Structure) -> Mapping[Key, Node]:
    """Return the spec of the PodGroup.

    Only a job with ``gang.minResources`` gets ``minResources``, because Volcano reserves these resources in the queue
    even after the end of the run.
    """
    complete: dict[Key, Node] = {role: cluster.replicas(role) for role in _COMPLETE_ROLES if structure.role(role)}
    return {
        "minResources": MIN_RESOURCES,
        "minMember": min_members(structure),
        **({"minTaskMember": When(is_partial(structure), complete)} if complete and may_be_partial(structure) else {}),
        "queue": if_set(QUEUE),
        "priorityClassName": if_set(PRIORITY),
        "networkTopology": network_topology("gang.networkTopology"),
    }


_VOLCANO: Final = Gang(
    group="scheduling.volcano.sh",
    version="v1beta1",
    spec=_volcano_spec,
    task=GangBinding(annotations={keys.GROUP_NAME: naming.RUN, keys.TASK_SPEC: ROLE}),
    evaluator=GangBinding(annotations={keys.VOLCANO_QUEUE: if_set(QUEUE)}),
    scheduler_name="volcano",
)


# -- kube batch --------------------------------------------------------------------------------------------------------
#
# kube-batch: https://github.com/kubernetes-retired/kube-batch, the predecessor of Volcano.
#
# The API version of kube-batch's PodGroup is ``scheduling.incubator.k8s.io/v1alpha1`` (deployment/kube-batch/templates
# in the repository of kube-batch).


_KUBE_BATCH: Final = Gang(
    group="scheduling.incubator.k8s.io",
    version="v1alpha1",
    spec=lambda structure: {
        "minMember": min_members(structure),
        "queue": if_set(QUEUE),
        "priorityClassName": if_set(PRIORITY),
    },
    task=GangBinding(annotations={keys.GROUP_NAME: naming.RUN}),
    scheduler_name="kube-batch",
)


# -- coscheduling ------------------------------------------------------------------------------------------------------
#
# The coscheduling plugin: https://scheduler-plugins.sigs.k8s.io/docs/plugins/coscheduling/.
#
# A label of a pod names the PodGroup. The plugin usually runs in a second scheduler, whose name is in the plugin's
# chart (manifests/install/charts/as-a-second-scheduler/values.yaml). If the plugin runs in the scheduler of the
# cluster, set ``gang.schedulerName: default-scheduler``. The plugin compares ``minResources`` with the free resources
# of the whole cluster, and does not reserve the resources (pkg/coscheduling/core/core.go).


_COSCHEDULING: Final = Gang(
    group="scheduling.x-k8s.io",
    version="v1alpha1",
    spec=lambda structure: {
        "minResources": MIN_RESOURCES,
        "minMember": min_members(structure),
        "scheduleTimeoutSeconds": if_set(SCHEDULE_TIMEOUT),
    },
    task=GangBinding(labels={keys.POD_GROUP: naming.RUN}),
    scheduler_name="scheduler-plugins-scheduler",
)


# -- KAI ---------------------------------------------------------------------------------------------------------------
#
# KAI Scheduler 0.15 or newer: https://github.com/kai-scheduler/KAI-Scheduler/blob/main/docs/batch/README.md.
#
# By default, the podgrouper of KAI creates a PodGroup for each object with pods. An annotation of the pods prevents
# this. The queue of the gang is in the PodGroup. The podgrouper creates the PodGroup of the evaluator, and reads the
# queue from a label (CalcPodGroupQueue in pkg/podgrouper/podgrouper/plugins/defaultgrouper/default_grouper.go).


_KAI: Final = Gang(
    group="scheduling.run.ai",
    version="v2alpha2",
    spec=lambda structure: {
        "minMember": min_members(structure),
        "queue": if_set(QUEUE),
        "priorityClassName": if_set(group_priority(structure)),
    },
    task=GangBinding(annotations={keys.KAI_GROUP: naming.RUN, keys.KAI_SKIP: "true"}),
    evaluator=GangBinding(labels={keys.KAI_QUEUE: if_set(QUEUE)}),
    scheduler_name="kai-scheduler",
)


# -- koordinator -------------------------------------------------------------------------------------------------------
#
# Koordinator, and the scheduler of Alibaba Cloud's ACK: https://koordinator.sh/docs/user-manuals/gang-scheduling/.
#
# Koordinator uses the PodGroup and the label of an old version of the coscheduling plugin, but does not read
# ``minResources`` (pkg/scheduler/plugins/coscheduling in the repository of Koordinator). ACK has the plugin in the
# scheduler of the cluster, so a job for ACK sets ``gang.schedulerName: default-scheduler``.


_KOORDINATOR: Final = Gang(
    group="scheduling.sigs.k8s.io",
    version="v1alpha1",
    spec=lambda structure: {
        "minMember": min_members(structure),
        "scheduleTimeoutSeconds": if_set(SCHEDULE_TIMEOUT),
    },
    task=GangBinding(labels={keys.KOORDINATOR_GROUP: naming.RUN}),
    scheduler_name="koord-scheduler",
)


# -- kubernetes --------------------------------------------------------------------------------------------------------
#
# Gang scheduling of Kubernetes: https://kubernetes.io/docs/concepts/scheduling-eviction/gang-scheduling/.
#
# The API is an alpha API of Kubernetes 1.36 (``scheduling.k8s.io/v1alpha2``, which 1.37 does not serve) and a beta API
# of 1.37 (``v1beta1``). The rule ``gang-alpha`` names the feature gates. Both versions define the fields of
# the spec below: types.go of https://github.com/kubernetes/api/tree/v0.36.3/scheduling/v1alpha2 and
# .../tree/v0.37.2/scheduling/v1beta1. A PodGroup of v1alpha2 is immutable. A PodGroup of v1beta1 is immutable except
# for ``minCount``.
#
# In 1.36, `priorityClassName` and `disruptionMode` need a feature gate. Without the gate, the API server drops both
# fields (dropDisabledPodGroupFields in pkg/registry/scheduling/podgroup/strategy.go), and a GitOps tool would report a
# difference. So tfgen renders the defaults of both fields only for v1beta1.


IS_BETA: Final = Equal(value("gang.apiVersion"), "v1beta1")
_DISRUPTION: Final = value("gang.disruption")
_ALL: Final = Equal(_DISRUPTION, "All")
_SINGLE: Final = Equal(_DISRUPTION, "Single")


def _disruption_mode(structure: Structure) -> Node:
    """Return the mode of a preemption. Equal workers cannot train without one of them, so all of them are evicted."""
    whole: Node = {"all": {}}
    beta = When(_SINGLE, {"single": {}}, whole if structure.has_equal_workers else When(_ALL, whole))
    return When(IS_BETA, beta, When(_ALL, "PodGroup", When(_SINGLE, "Pod")))


_KUBERNETES: Final = Gang(
    group="scheduling.k8s.io",
    version=Default(value("gang.apiVersion"), "v1alpha2"),
    spec=lambda structure: {
        "schedulingPolicy": {"gang": {"minCount": min_members(structure)}},
        "schedulingConstraints": When(REQUIRED_TOPOLOGY, {"topology": [{"key": REQUIRED_TOPOLOGY}]}),
        "disruptionMode": _disruption_mode(structure),
        "priorityClassName": When(IS_BETA, if_set(group_priority(structure)), if_set(PRIORITY)),
    },
    task=GangBinding(spec={"schedulingGroup": {"podGroupName": naming.RUN}}),
)


# -- kueue -------------------------------------------------------------------------------------------------------------
#
# Kueue: https://kueue.sigs.k8s.io/docs/tasks/run/jobs/.
#
# Kueue is not a scheduler. Kueue suspends a workload object until its queue has room for all pods of the object. So all
# pods of a gang must belong to a single object. The pods of several Jobs cannot form a group, because Kueue queues a
# Job and not its pods (https://kueue.sigs.k8s.io/docs/tasks/run/plain_pods/). The webhook of Kueue suspends the object
# at its creation. tfgen does not set the field ``suspend``, so a GitOps tool does not revert the change that Kueue
# makes.
#
# The separate Job of an evaluator has no queue label. With a queue label, Kueue would resume this Job after the
# finisher suspends the Job to release the evaluator (`startJob` in pkg/controller/jobframework/reconciler.go).


_KUEUE: Final = Gang(
    task=GangBinding(
        annotations={
            keys.REQUIRED_TOPOLOGY: if_set(REQUIRED_TOPOLOGY),
            keys.PREFERRED_TOPOLOGY: if_set(value("gang.preferredTopology")),
        }
    ),
    workload_labels={keys.QUEUE: if_set(QUEUE), keys.QUEUE_PRIORITY: if_set(PRIORITY)},
)


# -- table -------------------------------------------------------------------------------------------------------------
#
# The supported gang schedulers.


GANGS: dict[Scheduler, Gang] = {
    "volcano": _VOLCANO,
    "kube-batch": _KUBE_BATCH,
    "coscheduling": _COSCHEDULING,
    "kai": _KAI,
    "koordinator": _KOORDINATOR,
    "kubernetes": _KUBERNETES,
    "kueue": _KUEUE,
}


def queue_labels(structure: Structure) -> Mapping[Key, Node]:
    """Return the labels that select the queue of the workload object; empty without a gang.

    If the scheduler queues pods instead of workload objects, the result is empty as well.
    """
    return _if_enabled(GANGS[structure.gang].workload_labels) if structure.gang else {}
