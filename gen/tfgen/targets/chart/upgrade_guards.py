"""Writes guards that stop ``helm upgrade`` before it changes an immutable field of an existing run.

Kubernetes refuses such a change from any tool. But Helm continues after a refused object, and then prints all refusals.
The refusal of a Job is long, because it contains two pod templates. Helm can read the cluster while it renders, so
these guards compare the rendered objects with the objects in the cluster, and print the fix in one line. In ``helm
template`` and in Argo CD, `lookup` returns an empty result, and the guards pass.
https://helm.sh/docs/chart_template_guide/functions_and_pipelines/#using-the-lookup-function
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from tfgen import data_path
from tfgen.graph.holes import File, Let, Node, When, is_hole, type_of
from tfgen.graph.objects.pod_template_hash import HASH
from tfgen.graph.template import Template
from tfgen.kubernetes import keys
from tfgen.record import Record
from tfgen.targets.chart.go_template.expressions import argument
from tfgen.targets.chart.go_template.syntax import Context, Lines

_HEAD: Final = (
    "{{- /* Changes that need a new run. Helm detects these changes only in a cluster, not in helm template. */}}"
)

_Path = tuple[str, ...]

_POD_TEMPLATE_HASH: Final[_Path] = ("spec", "template", "metadata", "labels", keys.POD_TEMPLATE_HASH)

_JOB_FIELDS: Final = ("completions", "backoffLimitPerIndex")
"""The immutable number fields of a Job that a user may set (see ValidateJobSpecUpdate of Kubernetes)."""

_EXIT_CODES: Final[_Path] = ("spec", "podFailurePolicy", "rules")
"""Path of a Job's immutable podFailurePolicy rules. The last rule has the exit codes that do not count as a retry."""


class _Immutable(Record):
    """An object of a run that has immutable fields.

    Attributes:
        api_version: the apiVersion of the object.
        kind: the kind of the object.
        name: the name of the object.
        fields: the path and the value of each immutable field. An example of a path is ("spec", "completions").
    """

    api_version: str
    kind: str
    name: Node
    fields: tuple[tuple[_Path, Node], ...]


def upgrade_guards(templates: Sequence[Template], context: Context) -> Lines:
    """Return the lines of the guards against changes of immutable fields; empty for objects without such fields."""
    objects = [item for template in templates if not template.chart_only for item in _immutable_objects(template.node)]
    if not objects:
        return []
    lines = [line for item in objects for line in _guard(item, context)]
    return [_HEAD, "{{- if .Release.IsUpgrade }}", *lines, "{{- end }}"]


def _immutable_objects(node: Node, pod_hash: Node = None) -> Iterator[_Immutable]:
    """Yield the object of a template if the object has an immutable field.

    Args:
        node: the object, or a `When` or `Let` around the object.
        pod_hash: the node that prints the hash of the pod template; None for an object without such a hash.
    """
    match node:
        case When(_, if_true):
            yield from _immutable_objects(if_true, pod_hash)
        case Let(name, expression, body):
            yield from _immutable_objects(body, expression if name == HASH.name else pod_hash)
        case dict():
            if fields := tuple(_fields(node, pod_hash)):
                yield _Immutable(node["apiVersion"], node["kind"], node["metadata"]["name"], fields)


def _fields(item: Mapping[str, Any], pod_hash: Node) -> Iterator[tuple[_Path, Node]]:
    if pod_hash is not None:
        yield _POD_TEMPLATE_HASH, pod_hash
    if item["kind"] == "Job":
        yield from _hole_fields(item, "spec", _JOB_FIELDS)
        yield from _exit_codes(item)
    if item["kind"] == "ConfigMap" and item["immutable"]:
        yield from _hole_fields(item, "data", item["data"])


def _exit_codes(item: Mapping[str, Any]) -> Iterator[tuple[_Path, Node]]:
    """Yield the path of the failure rules of a Job, and the hole for the exit codes that do not count as a retry.

    If a Job has no such exit codes, for example the Job of the finisher, yield nothing. The guard reads only the last
    rule of the Job in the cluster. So if a patch in job.yaml appends a rule to the podFailurePolicy, also yield
    nothing. Then only the API server refuses a change of the exit codes.
    """
    rules = data_path.at(item, _EXIT_CODES)
    if not is_hole(rules) and rules and isinstance(rules[-1], When) and type_of(rules[-1].test) == "list":
        yield _EXIT_CODES, rules[-1].test


def _hole_fields(item: Mapping[str, Any], part: str, keys: Iterable[str]) -> Iterator[tuple[_Path, Node]]:
    """Yield the path and the hole of each tunable field among the given fields of an object.

    Args:
        item: the object.
        part: the key of the object that contains the fields, such as "spec".
        keys: the names of the fields.
    """
    holes = ((key, item[part].get(key)) for key in keys)
    # The result omits files: the name of a ConfigMap with files contains their digest, so a changed file makes a new
    # ConfigMap.
    return (((part, key), hole) for key, hole in holes if is_hole(hole) and not isinstance(hole, File))


def _guard(immutable: _Immutable, context: Context) -> Lines:
    kind, name = immutable.kind, argument(immutable.name, context)
    tests = [_differs(path, node, context.range_body) for path, node in immutable.fields]
    test = tests[0] if len(tests) == 1 else " ".join(["or", *(f"({part})" for part in tests)])
    message = f"the {kind} %v cannot change while its run lasts: set a new run, such as --set run=NAME"
    return [
        f'{{{{- with lookup "{immutable.api_version}" "{kind}" .Release.Namespace {name} }}}}',
        f"{{{{- if {test} }}}}",
        f'{{{{- fail (printf "{message}" .metadata.name) }}}}',
        "{{- end }}",
        "{{- end }}",
    ]


def _differs(path: _Path, node: Node, context: Context) -> str:
    """Return the Go expression that tests whether a field in the cluster differs from the rendered field.

    In the template, the dot is the object in the cluster.
    """
    keys, value = " ".join(f'"{key}"' for key in path), argument(node, context)
    if type_of(node) == "list":
        return f'ne (toJson (dig "onExitCodes" "values" list (last (dig {keys} (list dict) .)))) (toJson {value})'
    if type_of(node) == "integer":
        return f"ne (int64 (dig {keys} 0 .)) (int64 {value})"
    return f'ne (dig {keys} "" .) {value}'
