"""What stops ``helm upgrade`` before it changes anything of a run that is there.

The objects refuse such a change themselves, whatever applies it. But Helm goes on past what is refused, and then says
all of it at once: a Job's refusal alone prints two pod templates. Helm is also the one tool that can look at the
cluster while it renders, so here it compares, and says what to do in one line. Where it cannot look, as in
``helm template`` and Argo CD, `lookup` gives nothing and nothing is stopped.
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
from tfgen.targets.chart.go_template.context import Context
from tfgen.targets.chart.go_template.expressions import argument
from tfgen.targets.chart.go_template.go_text import Lines

_HEAD: Final = "{{- /* What a run cannot change. Without a cluster to look at, its objects alone refuse it. */}}"

_Path = tuple[str, ...]

_POD_TEMPLATE_HASH: Final[_Path] = ("spec", "template", "metadata", "labels", keys.POD_TEMPLATE_HASH)

_JOB_FIELDS: Final = ("completions", "backoffLimitPerIndex")
"""The numbers of a Job that somebody may set and Kubernetes never changes (ValidateJobSpecUpdate)."""

_EXIT_CODES: Final[_Path] = ("spec", "podFailurePolicy", "rules")
"""The rules whose last one holds the exit codes that cost no retry; Kubernetes never changes the rules either."""


class _Fixed(Record):
    """An object of a run, and where what it cannot change stands in it."""

    api_version: str
    kind: str
    name: Node
    fields: tuple[tuple[_Path, Node], ...]


def upgrade_guards(templates: Sequence[Template], context: Context) -> Lines:
    """Return the lines of the guards; no lines for objects that make no pods by themselves."""
    objects = [item for template in templates if not template.chart_only for item in _fixed(template.node)]
    if not objects:
        return []
    lines = [line for item in objects for line in _guard(item, context)]
    return [_HEAD, "{{- if .Release.IsUpgrade }}", *lines, "{{- end }}"]


def _fixed(node: Node, pod_hash: Node = None) -> Iterator[_Fixed]:
    """The object, where it is one and has something that is fixed."""
    match node:
        case When(_, then):
            yield from _fixed(then, pod_hash)
        case Let(name, expression, body):
            yield from _fixed(body, expression if name == HASH.name else pod_hash)
        case dict():
            if fields := tuple(_fields(node, pod_hash)):
                yield _Fixed(node["apiVersion"], node["kind"], node["metadata"]["name"], fields)


def _fields(item: Mapping[str, Any], pod_hash: Node) -> Iterator[tuple[_Path, Node]]:
    if pod_hash is not None:
        yield _POD_TEMPLATE_HASH, pod_hash
    if item["kind"] == "Job":
        yield from _holes(item, "spec", _JOB_FIELDS)
        yield from _exit_codes(item)
    if item["kind"] == "ConfigMap" and item["immutable"]:
        yield from _holes(item, "data", item["data"])


def _exit_codes(item: Mapping[str, Any]) -> Iterator[tuple[_Path, Node]]:
    """Yield the hole of the exit codes that cost no retry; no other rule may follow, and the finisher has none."""
    rules = data_path.at(item, _EXIT_CODES)
    if rules and isinstance(rules[-1], When):
        yield _EXIT_CODES, rules[-1].test


def _holes(item: Mapping[str, Any], part: str, keys: Iterable[str]) -> Iterator[tuple[_Path, Node]]:
    """Where the holes of a part stand; but the text of a file, by whose digest its ConfigMap is named."""
    holes = ((key, item[part].get(key)) for key in keys)
    return (((part, key), hole) for key, hole in holes if is_hole(hole) and not isinstance(hole, File))


def _guard(fixed: _Fixed, context: Context) -> Lines:
    kind, name = fixed.kind, argument(fixed.name, context)
    tests = [_differs(path, node, context.inside) for path, node in fixed.fields]
    test = tests[0] if len(tests) == 1 else " ".join(["or", *(f"({one})" for one in tests)])
    message = f"the {kind} %v cannot change while its run lasts: set a new run, such as --set run=NAME"
    return [
        f'{{{{- with lookup "{fixed.api_version}" "{kind}" .Release.Namespace {name} }}}}',
        f"{{{{- if {test} }}}}",
        f'{{{{- fail (printf "{message}" .metadata.name) }}}}',
        "{{- end }}",
        "{{- end }}",
    ]


def _differs(path: _Path, node: Node, context: Context) -> str:
    """The test that a field is another in the cluster, which is the dot."""
    keys, wanted = " ".join(f'"{key}"' for key in path), argument(node, context)
    if type_of(node) == "list":
        return f'ne (toJson (dig "onExitCodes" "values" list (last (dig {keys} (list dict) .)))) (toJson {wanted})'
    if type_of(node) == "integer":
        return f"ne (int64 (dig {keys} 0 .)) (int64 {wanted})"
    return f'ne (dig {keys} "" .) {wanted}'
