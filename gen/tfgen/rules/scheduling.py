"""Rules about gangs, placement, devices and deadlines, which decide where and when the tasks start."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from tfgen import data_path
from tfgen.data_path import Path
from tfgen.graph.guards import LEGACY_GPU, legacy_gpu_message
from tfgen.graph.objects import finisher
from tfgen.graph.objects.values import value_for_role
from tfgen.graph.schedulers import member_count
from tfgen.graph.workloads import WORKLOADS
from tfgen.job.training_job import RoleName
from tfgen.kubernetes import quantity
from tfgen.rules import guarded, pod_parts
from tfgen.rules.rule import Finding, rule
from tfgen.rules.view import View
from tfgen.schema import kubernetes_fields
from tfgen.schema.kinds import FACTS
from tfgen.words import either

# -- gang alpha --------------------------------------------------------------------------------------------------------
#
# Gangs that need an API of Kubernetes which a cluster does not enable by default.


_ALPHA: Final = (
    "alpha API scheduling.k8s.io/v1alpha2; enable this API and the feature gates GenericWorkload and GangScheduling in "
    "the cluster, which must have version 1.36"
)
_BETA: Final = "beta API scheduling.k8s.io/v1beta1; enable this API in the cluster, which must have version 1.37"


@rule(
    "gang-alpha",
    "warning",
    "The scheduler of Kubernetes can start a gang only with an API that is disabled by default.",
)
def gang_alpha(view: View) -> Iterator[Finding]:
    if view.job.structure.gang == "kubernetes" and view.values["gang"]["enabled"]:
        is_beta = view.values["gang"]["apiVersion"] == "v1beta1"
        yield Finding(("gang", "scheduler"), f"gang.scheduler kubernetes needs the {_BETA if is_beta else _ALPHA}")


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
            f"{len(roles)} objects, so one role could start alone; set workload.kind to {either(_ADMITTED_WHOLE)}, or "
            "use the strategy MultiWorkerMirrored"
        )
        yield Finding(("gang", "scheduler"), message)


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
            "tasks would occupy GPUs without training; write 0, which means all tasks"
        )
        yield Finding(("gang", "minAvailable"), message)


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
    image = view.evaluate(finisher.image(structure, plan))
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
            yield Finding(misfit.path, misfit.message)


# -- devices -----------------------------------------------------------------------------------------------------------
#
# Requests for GPUs that contradict each other, the node selector or the scheduler, and old resource names.
#
# https://kubernetes.io/docs/tasks/configure-pod-container/extended-resource/


_VOLCANO: Final = "volcano.sh/vgpu-"


def _resources(view: View) -> Iterator[tuple[RoleName, Path, Mapping[str, Any]]]:
    """Yield the name of each role, the path of the role's resources, and the resources."""
    for role in view.roles:
        yield role.name, ("roles", role.name, "resources"), view.values["roles"][role.name]["resources"]


def _amounts(resources: Mapping[str, Any]) -> Iterator[tuple[Path, Mapping[str, str | int]]]:
    """Yield the path and the amounts of `requests`, `limits` and `gpu.share` in the resources of a role.

    Example: ``(("gpu", "share"), {"aliyun.com/gpu-mem": 8})``. The path begins below `resources`.
    """
    yield from (((key,), resources[key]) for key in ("requests", "limits"))
    yield ("gpu", "share"), resources["gpu"]["share"]


@rule("legacy-gpu", "error", "A request for a GPU uses a resource name that Kubernetes removed.")
def legacy_gpu(view: View) -> Iterator[Finding]:
    for role, path, resources in _resources(view):
        legacy: list[Path] = [(*key, LEGACY_GPU) for key, amounts in _amounts(resources) if LEGACY_GPU in amounts]
        if resources["gpu"]["resource"] == LEGACY_GPU:
            legacy.append(("gpu", "resource"))
        for key in legacy:
            yield Finding((*path, *key), view.evaluate(legacy_gpu_message(role)))


@rule("gpu-count", "error", "A number of GPUs is not valid, or two numbers of GPUs for one role differ.")
def gpu_count(view: View) -> Iterator[Finding]:
    for path, message, _ in guarded.find_broken_guards("gpu-count", view):
        gpu = data_path.at(view.values, path[:3])["gpu"]
        counts = [(*path[:3], "gpu", "count")] if gpu["count"] and gpu["resource"] == path[-1] else []
        # The rule device-in-parts reports fractions.
        if not _is_fraction(data_path.at(view.values, path)):
            yield Finding(view.reported_path(path, *counts), message)


def _is_fraction(amount: str | int) -> bool:
    return quantity.parse(amount).denominator != 1


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
