"""The object graph of a job, from which tfgen makes the chart, the overlays and the plain objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tfgen.graph.fill import Scope
from tfgen.graph.holes import ABSENT, AllOf, AnyOf, ChartOnly, Key, NamedTemplate, Node, When, call
from tfgen.graph.objects import (
    naming,
    storage,
    supporting,
    tensorboard,
)
from tfgen.graph.objects.cluster import config_map
from tfgen.graph.objects.connection_test import connection_test
from tfgen.graph.objects.finisher import NOTIFY, Plan, finisher
from tfgen.graph.objects.values import value
from tfgen.graph.patches.patch_job import PatchedGraph, change_objects, patch_job
from tfgen.graph.schedulers import GANGS
from tfgen.graph.structure_cache import cached_by_structure
from tfgen.graph.template import Template
from tfgen.graph.workloads import WORKLOADS
from tfgen.job.training_job import FileCode, RoleName, Structure


def graph(structure: Structure) -> tuple[Template, ...]:
    """Return the object graph of a job. The structure contains no tunables, so the graph does not depend on values."""
    return patched_graph(structure).templates


@cached_by_structure
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
        yield Template("service", supporting.headless_service(structure))
    if has_config_map:
        yield Template("configmap", config_map(structure, workload.pod_name))
    yield Template("networkpolicy", supporting.network_policy(workload.pods))
    if structure.service_account:
        yield Template("serviceaccount", supporting.service_account())
    yield Template("priorityclass", supporting.priority_classes())
    yield Template(supporting.LITERAL, supporting.literal_objects())
    if structure.gang and workload.has_pod_group(structure):
        yield from GANGS[structure.gang].pod_group(structure)
    if structure.eci and structure.eci.makes_cache:
        yield Template("imagecache", supporting.image_cache(structure))
    yield Template("claim", storage.claims(), survives_retirement=True)
    if isinstance(structure.code, FileCode):
        yield Template("code", storage.code_config_map(structure.code))
    if workload.has_run_lock:
        yield Template("run-lock", storage.lock_config_map(structure.ends))
    # The finisher precedes the tasks, because a quota may reject the last pods and only the finisher frees the quota.
    if plan := workload.plan(structure):
        yield from _finisher(structure, plan)
    yield from workload.templates(structure)
    if structure.disruption_budget:
        yield from supporting.budgets(structure, workload.is_scalable)
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


# -- released state ----------------------------------------------------------------------------------------------------
#
# Fields of the chart that keep a Helm upgrade from restarting the tasks of a finished run.
#
# For example, {"replicas": hole} becomes {"replicas": When(is_released, 0, hole)}. Helm can read the cluster while it
# renders. So an upgrade renders a StatefulSet with 0 replicas if the finisher has scaled the StatefulSet to 0. The test
# is always false if Helm renders without a cluster, as in ``helm template`` and Argo CD, and in all other outputs.
# https://helm.sh/docs/chart_template_guide/functions_and_pipelines/#using-the-lookup-function


_RELEASED: Final[Mapping[str, tuple[Key, Node]]] = {
    "Deployment": ("replicas", 0),
    "Job": ("suspend", True),
    "StatefulSet": ("replicas", 0),
}
"""The field and the value that release the pods of an object, by the kind of the object."""

# `tfgen release` and a missed start deadline suspend the Job that ends the run. A user may also suspend this Job for a
# pause. So a suspended Job ends the run only for objects that are themselves suspended or have 0 replicas.
_IS_RELEASED: Final = NamedTemplate(
    "isReleased",
    "Non-empty text if the run in the cluster has ended and the object is released: with 0 replicas, suspended, or "
    "deleted after the end.",
    ChartOnly(
        """\
{{- $job := lookup "batch/v1" "Job" .root.Release.Namespace .ends }}
{{- $object := lookup (ternary "batch/v1" "apps/v1" (eq .kind "Job")) .kind .root.Release.Namespace .name }}
{{- $ended := false }}
{{- range dig "status" "conditions" list $job }}
{{- if and (eq .type "Complete" "Failed") (eq .status "True") }}{{ $ended = true }}{{ end }}
{{- end }}
{{- $idle := or (dig "spec" "suspend" false $object) (eq 0 (int (dig "spec" "replicas" 1 $object))) }}
{{- if or (and $ended (not $object)) (and $idle (or $ended (dig "spec" "suspend" false $job))) }}true{{ end }}""",
        reads_root=True,
    ),
    file="released",
    parameters=("ends", "kind", "name"),
)


def keep_released(templates: Sequence[Template], plan: Plan) -> tuple[Template, ...]:
    """Change the objects that the finisher releases, so that a released object stays released after a Helm upgrade.

    tfgen applies the patches of the job before this step, because a patch describes the objects of an active run.
    """
    conditions: dict[str, tuple[Node, ...]] = dict.fromkeys([*plan.scale, *plan.suspend], ())
    for name in plan.deployments:
        conditions[tensorboard.ROLE] = (name.test,) if isinstance(name, When) else ()
    return tuple(
        _stay_released(template, plan.ends, conditions[template.name]) if template.name in conditions else template
        for template in templates
    )


def _stay_released(template: Template, ends: RoleName, conditions: tuple[Node, ...]) -> Template:
    """Add a test to each object of a template, so that a released object stays released after a Helm upgrade.

    Args:
        template: the template.
        ends: the role whose Job ends the run.
        conditions: the finisher releases the objects only if all these tests are true. If the tuple is empty, the
            finisher always releases the objects.
    """

    def keep(item: dict[Key, Node]) -> Node:
        metadata, spec, kind = item["metadata"], item["spec"], item["kind"]
        if not (isinstance(metadata, dict) and isinstance(spec, dict) and isinstance(kind, str)):
            raise TypeError(f"not a workload: {item!r}")
        field, released = _RELEASED[kind]
        is_released = call(_IS_RELEASED, ends=naming.workload(ends), kind=kind, name=metadata["name"])
        test = AllOf((*conditions, is_released)) if conditions else is_released
        state = {field: When(test, released, spec.get(field, ABSENT))}
        return {**item, "spec": {**spec, **state} if field in spec else {**state, **spec}}

    return template.replaced(node=change_objects(template.node, keep))
