"""Fields of the chart that keep a Helm upgrade from restarting the tasks of a finished run.

For example, {"replicas": hole} becomes {"replicas": When(is_released, 0, hole)}. Helm can read the cluster while it
renders. So an upgrade renders a StatefulSet with 0 replicas if the finisher has scaled the StatefulSet to 0. The test
is always false if Helm renders without a cluster, as in ``helm template`` and Argo CD, and in all other outputs.
https://helm.sh/docs/chart_template_guide/functions_and_pipelines/#using-the-lookup-function
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from tfgen.graph.holes import ABSENT, AllOf, ChartOnly, Key, NamedTemplate, Node, When, call
from tfgen.graph.objects import names, tensorboard
from tfgen.graph.objects.finisher import Plan
from tfgen.graph.patches.patch_job import change_objects
from tfgen.graph.template import Template
from tfgen.job.training_job import RoleName

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
        is_released = call(_IS_RELEASED, ends=names.workload(ends), kind=kind, name=metadata["name"])
        test = AllOf((*conditions, is_released)) if conditions else is_released
        state = {field: When(test, released, spec.get(field, ABSENT))}
        return {**item, "spec": {**spec, **state} if field in spec else {**state, **spec}}

    return template.replaced(node=change_objects(template.node, keep))
