"""The object graph of a job, from which tfgen makes the chart, the overlays and the plain objects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tfgen.graph.fill import Scope
from tfgen.graph.holes import AnyOf, When
from tfgen.graph.objects import (
    code,
    disruption,
    eci,
    literal,
    network,
    priority_class,
    run_lock,
    service_account,
    storage,
    tensorboard,
)
from tfgen.graph.objects.config_map import config_map
from tfgen.graph.objects.connection_test import connection_test
from tfgen.graph.objects.finisher import NOTIFY, Plan, finisher
from tfgen.graph.objects.values import value
from tfgen.graph.patches.patch_job import PatchedGraph, patch_job
from tfgen.graph.released_state import keep_released
from tfgen.graph.schedulers import GANGS
from tfgen.graph.shape import cached_by_shape
from tfgen.graph.template import Template
from tfgen.graph.workloads import WORKLOADS
from tfgen.job.training_job import FileCode, Structure


def graph(structure: Structure) -> tuple[Template, ...]:
    """Return the object graph of a job. The structure contains no tunables, so the graph does not depend on values."""
    return patched_graph(structure).templates


@cached_by_shape
def patched_graph(structure: Structure) -> PatchedGraph:
    """Return the object graph of a job after the application of the job's patches, and the faults in the patches."""
    patched = patch_job(tuple(_templates(structure)), structure)
    plan = WORKLOADS[structure.kind].plan(structure)
    templates = keep_released(patched.templates, plan) if plan else patched.templates
    return patched.replaced(templates=templates)


def _templates(structure: Structure) -> Iterator[Template]:
    """Yield the templates in the order in which their objects must be applied."""
    workload = WORKLOADS[structure.kind]
    has_config_map = workload.has_config_map(structure)
    if workload.has_service(structure):
        yield Template("service", network.service(structure))
    if has_config_map:
        yield Template("configmap", config_map(structure, workload.pod_name))
    yield Template("networkpolicy", network.policy(workload.pods))
    if structure.service_account:
        yield Template("serviceaccount", service_account.service_account())
    yield Template("priorityclass", priority_class.priority_classes())
    yield Template(literal.LITERAL, literal.literal_objects())
    if structure.gang and workload.has_pod_group(structure):
        yield from GANGS[structure.gang].pod_group(structure)
    if structure.eci and structure.eci.makes_cache:
        yield Template("imagecache", eci.image_cache(structure))
    yield Template("claim", storage.claims(), survives_retirement=True)
    if isinstance(structure.code, FileCode):
        yield Template("code", code.config_map(structure.code))
    if workload.has_run_lock:
        yield Template("run-lock", run_lock.config_map(structure.ends))
    # The finisher precedes the tasks, because a quota may reject the last pods and only the finisher frees the quota.
    if plan := workload.plan(structure):
        yield from _finisher(structure, plan)
    yield from workload.templates(structure)
    if structure.disruption_budget:
        yield from disruption.budgets(structure, workload.is_scalable)
    if structure.tensorboard_port:
        yield from tensorboard.tensorboard(structure, structure.tensorboard_port)
    if has_config_map:
        yield Template("tests/connection", connection_test(structure), chart_only=True)


def _finisher(structure: Structure, plan: Plan) -> Iterator[Template]:
    """Yield the templates of the finisher.

    If all tasks of a job end by themselves, the job has a finisher only if the job sets a start deadline, a
    notification or a TensorBoard.
    """
    is_needed = AnyOf(
        (value("startDeadline"), NOTIFY, *(board.test for board in plan.deployments if isinstance(board, When)))
    )
    for template in finisher(structure, plan):
        yield template if plan.scale or plan.suspend else template.replaced(node=When(is_needed, template.node))


def objects(templates: Sequence[Template], scope: Scope) -> dict[str, dict[str, Any]]:
    """Fill the templates with the values of `scope`. Return the plain objects by file name.

    Example: {"worker": {"kind": "StatefulSet", ...}}. The order is the order of the templates. The result omits the
    objects that only the chart contains.
    """
    return {name: item for template in templates if not template.chart_only for name, item in template.objects(scope)}
