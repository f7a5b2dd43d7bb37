"""Rules about gangs, placement, devices and deadlines, which decide where and when the tasks start."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from tfgen import data_path
from tfgen.data_path import Path
from tfgen.fix import assignment, hint, removal
from tfgen.graph import helper_pods
from tfgen.graph.guards import LEGACY_GPU, legacy_gpu_message
from tfgen.graph.holes import AllOf, clean_path
from tfgen.graph.naming import value_for_role
from tfgen.graph.role_pod import GRACE, GRACE_SERVING
from tfgen.graph.schedulers import ENABLED, IS_BETA, member_count
from tfgen.graph.schedulers import roles as gang_roles
from tfgen.graph.supporting import DEVICE_CLAIM
from tfgen.graph.workloads import WORKLOADS
from tfgen.job.training_job import RoleName
from tfgen.kubernetes import quantity
from tfgen.rules import pod_parts
from tfgen.rules.contents import mounts_of
from tfgen.rules.rule import Finding, advise, rule
from tfgen.rules.view import View
from tfgen.schema import kubernetes_fields, tunables
from tfgen.schema.kinds import FACTS
from tfgen.words import either, path_name

# -- gang alpha --------------------------------------------------------------------------------------------------------
#
# Gangs that need an API of Kubernetes which a cluster does not enable by default.


_ALPHA: Final = (
    "alpha API scheduling.k8s.io/v1alpha2; enable this API and the feature gates GenericWorkload and GangScheduling in "
    "the cluster, which must have version 1.36"
)
_BETA: Final = (
    "beta API scheduling.k8s.io/v1beta1; enable this API and the feature gate GenericWorkload in the cluster, which "
    "must have version 1.37"
)
# dropDisabledPodGroupFields in pkg/registry/scheduling/podgroup/strategy.go of Kubernetes 1.36 and 1.37
_TOPOLOGY_GATE: Final = {"requiredTopology": "TopologyAwareWorkloadScheduling"}
_ALPHA_GATES: Final = {
    **dict.fromkeys(("disruption", "priorityClassName"), "WorkloadAwarePreemption"),
    **_TOPOLOGY_GATE,
}


@rule(
    "gang-alpha",
    "warning",
    "The scheduler of Kubernetes can start a gang only with an API that is disabled by default.",
)
def gang_alpha(view: View) -> Iterator[Finding]:
    if view.job.structure.gang != "kubernetes" or not view.evaluate(ENABLED):
        return
    is_beta = view.evaluate(IS_BETA)
    yield Finding(("gang", "scheduler"), f"gang.scheduler kubernetes needs the {_BETA if is_beta else _ALPHA}")
    for key, gate in (_TOPOLOGY_GATE if is_beta else _ALPHA_GATES).items():
        if view.values["gang"][key]:
            message = (
                f"gang.{key} needs the feature gate {gate}; without the gate, the API server drops the value in silence"
            )
            yield Finding(("gang", key), message)


# -- gang equal priority ----------------------------------------------------------------------------------------------
#
# Roles of a gang with different priorities, although the scheduler of Kubernetes 1.37 starts only equal pods together.


@rule("gang-equal-priority", "error", "The pods of a gang of Kubernetes 1.37 differ in priority or preemption policy.")
def gang_equal_priority(view: View) -> Iterator[Finding]:
    structure = view.job.structure
    if structure.gang != "kubernetes" or not view.evaluate(AllOf((ENABLED, IS_BETA))):
        return
    key, members = "priorityClassName", [role.name for role in gang_roles(structure)]
    messages: dict[Path, str] = {}
    for path, message, _ in view.find_broken_guards("gang-equal-priority"):
        causes: tuple[Path, ...] = (("gang", key), path, ("roles", members[0], key), (key,))
        messages.setdefault(view.reported_path(*filter(view.is_set, causes)), message)
    yield from (Finding(path, message) for path, message in messages.items())
    first, *others = ((role, *_preemption(view, role)) for role in members)
    for name, policy, path in others:
        if policy != first[1]:
            message = (
                f"role {name} has the preemptionPolicy {policy}, but role {first[0]} has {first[1]}, and the "
                "scheduler of Kubernetes 1.37 starts neither; remove preemptionPolicy, and set one priorityClassName "
                "with the policy"
            )
            yield Finding(path or first[2], message)


def _preemption(view: View, role: RoleName) -> tuple[str, Path]:
    """Return the preemption policy of a role's pods, and the path of the podTemplate that sets the policy."""
    specs = [spec for spec in pod_parts.template_specs(view, role) if "preemptionPolicy" in spec.data]
    if not specs:
        return "PreemptLowerPriority", ()  # the default of Kubernetes
    return specs[-1].data["preemptionPolicy"], (*specs[-1].path, "preemptionPolicy")


# -- gang objects ------------------------------------------------------------------------------------------------------
#
# Gangs with one object for each role, although the scheduler Kueue admits each object separately.


# The workload kinds that make one object and that Kueue supports (https://kueue.sigs.k8s.io/docs/tasks/run/).
_ADMITTED_WHOLE: Final = [kind for kind, facts in FACTS.items() if facts.is_admitted_whole]


@rule("gang-objects", "error", "A gang consists of several objects, but its scheduler starts each object separately.")
def gang_objects(view: View) -> Iterator[Finding]:
    structure = view.job.structure
    if view.environment is not None or structure.gang != "kueue" or not FACTS[structure.kind].makes_object_per_role:
        return  # The structure is the same in every environment, so check only the job itself.
    roles = [role.name for role in structure.roles if role.name != "evaluator"]
    if len(roles) > 1:
        message = (
            f"gang.scheduler kueue admits each object separately, and the roles {either(roles, 'and')} are "
            f"{len(roles)} objects, so one role could start alone"
        )
        kind, *others = _ADMITTED_WHOLE
        fix = assignment(("workload", "kind"), kind, f"set workload.kind to {kind}")
        end = f" or {either(others)}"
        advice = hint(fix, end=end, other="use the strategy MultiWorkerMirrored")
        yield advise(("gang", "scheduler"), message, advice)


# -- kueue tf job ------------------------------------------------------------------------------------------------------
#
# TFJobs in a queue of Kueue, which does not manage TFJobs by default.
#
# The default configuration of Kueue 0.19 does not list kubeflow.org/tfjob: charts/kueue/values.yaml in
# https://github.com/kubernetes-sigs/kueue/tree/v0.19.2.


@rule("kueue-tf-job", "warning", "Kueue does not manage a TFJob by default, so the job may run outside of every quota.")
def kueue_tf_job(view: View) -> Iterator[Finding]:
    structure = view.job.structure
    if structure.gang == "kueue" and structure.kind == "TFJob" and view.evaluate(ENABLED):
        message = (
            "workload.kind is TFJob, and Kueue 0.19 manages TFJobs only if its configuration lists kubeflow.org/tfjob; "
            "otherwise the job runs outside of every quota; use JobSet, or Job for equal workers"
        )
        yield Finding(("workload", "kind"), message)


# -- gang partial ------------------------------------------------------------------------------------------------------
#
# Gangs that start although the cluster cannot run all tasks of the gang at once.


@rule("gang-partial", "warning", "A gang starts before the cluster has enough free resources for all tasks.")
def gang_partial(view: View) -> Iterator[Finding]:
    gang = view.values.get("gang")
    # Equal workers need every worker, so the guard gang-all-workers reports an error.
    if gang is None or not gang["enabled"] or view.job.structure.has_equal_workers:
        return
    min_available, task_count = gang["minAvailable"], view.evaluate(member_count(view.job.structure))
    if 0 < min_available < task_count:
        message = (
            f"gang.minAvailable is {min_available}, but TensorFlow waits for all {task_count} tasks, so the first "
            "tasks would occupy GPUs without training"
        )
        path = ("gang", "minAvailable")
        yield advise(path, message, hint(assignment(path, 0, "write 0"), end=", which means all tasks"))


# -- start deadline ----------------------------------------------------------------------------------------------------
#
# Start deadlines with no effect if an image cannot be pulled, because the finisher needs the same image.


@rule(
    "start-deadline-image",
    "warning",
    "The finisher, which releases a job at startDeadline, runs in the image of the job.",
)
def start_deadline_image(view: View) -> Iterator[Finding]:
    structure = view.job.structure
    plan = WORKLOADS[structure.kind].plan(structure)
    if plan is None or not view.values["startDeadline"]:
        return
    image = view.evaluate(helper_pods.finisher_image(structure, plan))
    roles = [role.name for role in view.roles if view.evaluate(value_for_role(role.name, "image")) == image]
    if roles:
        message = (
            f"startDeadline cannot release the job if the image of {either(roles, 'and')} cannot be pulled, because "
            "the finisher runs in the same image; set completion.image to a different image"
        )
        yield Finding(("startDeadline",), message)


# -- placement ---------------------------------------------------------------------------------------------------------
#
# Roles that set both `placement` and `affinity`, although only the affinity would apply.


@rule("placement-and-affinity", "error", "A role has both a placement and an affinity.")
def placement_and_affinity(view: View) -> Iterator[Finding]:
    for role in view.roles:
        placement_path, placement = view.effective_field(role.name, "placement")
        affinity_path, affinity = view.effective_field(role.name, "affinity")
        if affinity and placement != "none":
            message = (
                f"role {role.name} has an affinity, which overrides placement {placement}; set placement to none, and "
                "write the complete affinity"
            )
            yield Finding(view.reported_path(placement_path, affinity_path), message)


# -- spot nodes --------------------------------------------------------------------------------------------------------
#
# Grace periods that are longer than the time between the notice of a spot node and its end.


class _SpotNotice(NamedTuple):
    """The label of a cloud's spot nodes, and the seconds that the pods of a node have after the notice."""

    label: str
    value: str
    cloud: str
    grace_s: int


# The kubelet of GKE gives pods 15 of the 30 seconds. From version 1.35, a node pool may set up to 120 seconds.
_SPOT_NOTICES: Final = (
    # https://cloud.google.com/kubernetes-engine/docs/concepts/spot-vms
    _SpotNotice("cloud.google.com/gke-spot", "true", "GKE", 15),
    # https://learn.microsoft.com/azure/virtual-machines/linux/scheduled-events
    _SpotNotice("kubernetes.azure.com/scalesetpriority", "spot", "AKS", 30),
    # https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html
    _SpotNotice("eks.amazonaws.com/capacityType", "SPOT", "EKS", 120),
    _SpotNotice("karpenter.sh/capacity-type", "spot", "Karpenter", 120),
)
_LONGEST_NOTICE_S: Final = max(notice.grace_s for notice in _SPOT_NOTICES)


@rule("spot-grace", "warning", "A grace period is longer than the notice of a spot node.")
def spot_grace(view: View) -> Iterator[Finding]:
    for role in view.roles:
        spot_path, is_spot = view.effective_field(role.name, "spot")
        if not is_spot:
            continue
        written = view.values["roles"][role.name].get("terminationGracePeriodSeconds")
        grace_s = written if written is not None else GRACE_SERVING if role.serves else GRACE
        labels = view.effective_field(role.name, "nodeSelector")[1]
        notices = [notice for notice in _SPOT_NOTICES if labels.get(notice.label) == notice.value]
        limit_s = notices[0].grace_s if notices else _LONGEST_NOTICE_S
        if grace_s > limit_s:
            ends = f"{notices[0].cloud} ends" if notices else "each cloud ends"
            message = (
                f"the grace period of role {role.name} is {grace_s} seconds, but {ends} the pods of a spot node "
                f"{limit_s} seconds after the notice, or sooner; save a checkpoint within this time"
            )
            path = spot_path if written is None else ("roles", role.name, "terminationGracePeriodSeconds")
            yield Finding(path, message)


# -- affinity ----------------------------------------------------------------------------------------------------------
#
# Affinities with unknown keys, with values of a wrong type, or without a required key.
#
# The schema of a job accepts any content under the three kinds of affinity. This rule validates the content against the
# types in https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/#scheduling. The table of rules
# for the objects checks the operators and the weights.


@rule("affinity", "error", "An affinity has a shape that Kubernetes does not accept.")
def affinity(view: View) -> Iterator[Finding]:
    paths: list[Path] = [("affinity",), *(("roles", role.name, "affinity") for role in view.roles)]
    for path in paths:
        affinity = data_path.at(view.values, path)
        # Most affinities are empty. An empty affinity does not need the table of fields, which takes time to load.
        for misfit in kubernetes_fields.misfits(path, affinity, "Affinity", view.text) if affinity else ():
            yield Finding(misfit.path, misfit.message, fixes=misfit.fixes)


# -- devices -----------------------------------------------------------------------------------------------------------
#
# Requests for GPUs that contradict each other, the node selector or the scheduler, and old resource names.
#
# https://kubernetes.io/docs/tasks/configure-pod-container/extended-resource/


_VOLCANO: Final = "volcano.sh/vgpu-"
_SHARED_MEMORY: Final = "/dev/shm"  # noqa: S108 - a path in the pod


def _resources(view: View) -> Iterator[tuple[RoleName, Path, Mapping[str, Any]]]:
    """Yield the name of each role, the path of the role's resources, and the resources."""
    for role in view.roles:
        yield role.name, ("roles", role.name, "resources"), view.values["roles"][role.name]["resources"]


@rule("legacy-gpu", "error", "A request for a GPU uses a resource name that Kubernetes removed.")
def legacy_gpu(view: View) -> Iterator[Finding]:
    for role, path, resources in _resources(view):
        blocks: tuple[Path, ...] = (("requests",), ("limits",), ("gpu", "share"))
        legacy: list[Path] = [(*key, LEGACY_GPU) for key in blocks if data_path.has(resources, (*key, LEGACY_GPU))]
        if resources["gpu"]["resource"] == LEGACY_GPU:
            legacy.append(("gpu", "resource"))
        yield from (Finding((*path, *key), view.evaluate(legacy_gpu_message(role))) for key in legacy)


@rule("gpu-count", "error", "A number of GPUs is not valid, or two numbers of GPUs for one role differ.")
def gpu_count(view: View) -> Iterator[Finding]:
    for path, message, _ in view.find_broken_guards("gpu-count"):
        gpu = data_path.at(view.values, path[:3])["gpu"]
        counts = [(*path[:3], "gpu", "count")] if gpu["count"] and gpu["resource"] == path[-1] else []
        if counts and gpu.get("deviceClass"):
            continue  # the rule device-class reports the limit
        # The rule device-in-parts reports fractions.
        if quantity.parse(data_path.at(view.values, path)).denominator == 1:
            yield Finding(view.reported_path(path, *counts), message)


@rule("gpu-product", "error", "The GPU product of a role contradicts the node selector.")
def gpu_product(view: View) -> Iterator[Finding]:
    for role, path, resources in _resources(view):
        product, label = resources["gpu"]["product"], resources["gpu"]["productLabel"]
        for selector in (("roles", role, "nodeSelector"), ("nodeSelector",)):
            labels = view.values["roles"][role].get("nodeSelector", {}) if selector[1:] else view.values["nodeSelector"]
            if label not in labels:
                continue
            if product and resources["gpu"]["count"] and labels[label] != product:
                message = (
                    f"role {role} has gpu.product {product}, but its nodeSelector sets {label} to {labels[label]} and "
                    "overrides the product; remove the label from nodeSelector"
                )
                yield Finding(view.reported_path((*selector, label), (*path, "gpu", "product")), message)
            break


@rule("shared-memory", "warning", "A task has several GPUs, but only the default size of shared memory.")
def shared_memory(view: View) -> Iterator[Finding]:
    for role, path, resources in _resources(view):
        shm_path, size = view.effective_field(role, "shm")
        has_folder = size or any(clean_path(mount) == _SHARED_MEMORY for _, mount in mounts_of(view, role))
        gpu_count = resources["gpu"]["count"]
        if gpu_count > 1 and not has_folder:
            message = (
                f"each task of role {role} has {gpu_count} GPUs, and its /dev/shm has 64 MiB; NCCL exchanges the "
                "gradients of the GPUs in shared memory"
            )
            fix = assignment(shm_path, "1Gi", f"set {path_name(shm_path)} to 1Gi")
            yield advise((*path, "gpu", "count"), message, hint(fix))


# The allocator of the scheduler fails a claim with more devices: AllocationResultsMaxSize in
# https://github.com/kubernetes/api/blob/v0.37.2/resource/v1/types.go.
_MOST_CLAIMED: Final = 32


@rule("device-class", "error", "A role claims GPUs of a device class, but also has a setting that the claim excludes.")
def device_class(view: View) -> Iterator[Finding]:
    for role, path, resources in _resources(view):
        gpu = resources["gpu"]
        if not (gpu.get("deviceClass") and gpu["count"]):
            continue
        claims = f"role {role} claims GPUs of the device class {gpu['deviceClass']}"
        for key, reason, cure in (
            ("resource", "names a resource of a device plugin", ""),
            ("share", "requests resources of a device plugin", ""),
            ("product", "selects nodes by a label of a device plugin", ", and select devices with gpu.selectors"),
        ):
            if gpu[key] != tunables.at(("roles", role, "resources", "gpu", key)).default:
                place = (*path, "gpu", key)
                message = f"{claims}, but gpu.{key} {reason}"
                yield advise(place, message, hint(removal(place), end=cure))
        if gpu["resource"] in resources["limits"]:
            place = (*path, "limits", gpu["resource"])
            yield advise(place, f"{claims}, but the limits also request {gpu['resource']}", hint(removal(place)))
        if gpu["count"] > _MOST_CLAIMED:
            message = f"{claims}, but gpu.count is {gpu['count']}; a claim has at most {_MOST_CLAIMED} devices"
            yield Finding((*path, "gpu", "count"), message)
        for item in pod_parts.template_items(view, role, "resourceClaims"):
            if pod_parts.is_delete_directive(item) and pod_parts.name(item) == DEVICE_CLAIM:
                message = f"{claims}, but the podTemplate deletes the claim {DEVICE_CLAIM}; remove the item"
                yield Finding(item.path, message)
        containers = pod_parts.main_container(view, role)
        parts = (part for container in containers for part in pod_parts.child(container, "resources"))
        # The list of the role's podTemplate replaces the list of the job's podTemplate.
        *_, last = (None, *(part for part in parts if "claims" in part.data))
        if last and DEVICE_CLAIM not in [pod_parts.name(item) for item in pod_parts.items(last, "claims")]:
            message = (
                f"{claims}, but the claims of the podTemplate replace the claim {DEVICE_CLAIM}; add "
                f"{{name: {DEVICE_CLAIM}}} to the list"
            )
            yield Finding((*last.path, "claims"), message)


@rule("vgpu-scheduler", "warning", "A job requests a virtual GPU of Volcano, but Volcano does not schedule the pods.")
def vgpu_scheduler(view: View) -> Iterator[Finding]:
    structure = view.job.structure
    if structure.kind == "VolcanoJob" or (structure.gang == "volcano" and view.values["gang"]["enabled"]):
        return
    for role, path, resources in _resources(view):
        has_scheduler = any("schedulerName" in spec.data for spec in pod_parts.template_specs(view, role))
        gpu = resources["gpu"]
        virtual = [("limits", name) for name in resources["limits"] if name.startswith(_VOLCANO)]
        virtual += [("gpu", "resource")] if gpu["count"] and gpu["resource"].startswith(_VOLCANO) else []
        if virtual and not has_scheduler:
            message = (
                f"role {role} requests a virtual GPU of Volcano, but Volcano does not schedule the pods; set gang: "
                "{scheduler: volcano}"
            )
            yield Finding((*path, *virtual[0]), message)
