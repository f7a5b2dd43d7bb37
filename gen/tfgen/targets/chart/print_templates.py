"""Prints the files of a chart that depend only on the structure of a job: templates, helper files, guards and notes."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from tfgen import data_path
from tfgen.graph import holes as h
from tfgen.graph.fill import Template
from tfgen.graph.graph import graph
from tfgen.graph.guards import guards
from tfgen.graph.holes import Node, cached_on_record, chart_files, is_hole, named_templates, type_of
from tfgen.graph.podspec import HASH
from tfgen.job.training_job import MAX_STRUCTURES, Structure
from tfgen.kubernetes import keys
from tfgen.record import Record
from tfgen.targets.chart.go_template.expressions import argument, expression, range_action, text_of
from tfgen.targets.chart.go_template.lines import assign, define, helpers_file, template_file
from tfgen.targets.chart.go_template.syntax import ENDED, Context, Lines
from tfgen.targets.chart.texts import NOTES, notes

# -- long lines --------------------------------------------------------------------------------------------------------
#
# Wraps long template lines at the blanks inside the actions of Go templates.
#
#     >>> print(wrap('{{- fail (printf "the name %v has %d characters" $name (len $name)) }}', width=50))
#     {{- fail
#         (printf "the name %v has %d characters"
#         $name (len $name)) }}
#
# The output of the template stays the same, because Go ignores blanks inside an action, and since Go 1.16 also line
# breaks (https://go.dev/doc/go1.16#text/template). A long quoted text becomes several texts, which `print` joins. Text
# outside of actions is printed with its line breaks, so the wrapper adds no line break to this text.


WIDTH: Final = 140
_LONGEST_CACHED: Final = 1_000
"""Maximum length of a line in the cache. A longer line contains texts of a job, and would use much memory."""
_INDENT: Final = "    "
_LITERAL_MAX: Final = 90
_ACTION: Final = re.compile(r'(\{\{-? (?:"(?:[^"\\]|\\.)*"|`[^`]*`|[^"`])*?\}\})')
_HEADS: Final = frozenset(
    ("{{", "{{-", "if", "with", "and", "or", "not", "|", ":=", "=", "include", "printf", "fail", "(print")
)
"""Words that stay on a line with the next word, such as `if`."""

_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|`[^`]*`|[()]| +|[^"`() ]+')


class _Token(Record):
    """A word of a template line. In an action, blanks and brackets are words as well.

    Attributes:
        text: the text of the word.
        depth: the number of open brackets around the word in an action; None for a word outside of actions.
        joins: whether the word is the blank between two pieces of a long text that tfgen has split. If the line does
            not break at this blank, tfgen joins the two pieces again.
    """

    text: str
    depth: int | None = None
    joins: bool = False


def wrap(text: str, width: int = WIDTH) -> str:
    """Wrap the lines of a text to a maximum width. A long line without an action stays unchanged."""
    lines = []
    for line in text.split("\n"):
        if len(line) > width:
            line = _cached_broken(line, width) if len(line) <= _LONGEST_CACHED else _broken(line, width)
        lines.append(line)
    return "\n".join(lines)


def _broken(line: str, width: int) -> str:
    return "\n".join(_lines(line, width))


_cached_broken = functools.lru_cache(1 << 10)(_broken)  # the charts of many jobs have the same long lines


def _lines(line: str, width: int) -> Iterator[str]:
    indent = " " * (len(line) - len(line.lstrip(" "))) + _INDENT
    tokens = [token for part in _ACTION.split(line) for token in _tokens(part)]
    head = ""
    while len(head) + sum(len(token.text) for token in tokens) > width:
        index = _best_break(tokens, width - len(head))
        if index is None:
            break
        yield head + _text(tokens[:index])
        head, tokens = indent, tokens[index + 1 :]
    yield head + _text(tokens)


def _text(tokens: Iterable[_Token]) -> str:
    """Join the tokens of a line into one text."""
    out = ""
    joined = False
    for token in tokens:
        joins = token.joins and out.endswith('"')
        if joins:
            out = out.removesuffix('"')
        else:
            out += token.text.removeprefix('"') if joined else token.text
        joined = joins
    return out


def _best_break(tokens: Sequence[_Token], room: int) -> int | None:
    """Return the index of the blank at which to break a line.

    A suitable blank is within the width, but not in the first third of the width. The best blank is inside the fewest
    brackets. If several blanks are the best, the last has precedence. Without a suitable blank, the function returns
    the first blank after the width. If the line also has no blank after the width, the function returns None.
    """
    best: tuple[int, int] | None = None
    length = 0
    for index, token in enumerate(tokens):
        if token.depth is not None and token.text.isspace() and _may_be_broken(tokens, index):
            if length > room:
                return best[1] if best else index
            if length > room // 3 and (best is None or token.depth <= best[0]):
                best = token.depth, index
        length += len(token.text)
    return best[1] if best else None


def _may_be_broken(tokens: Sequence[_Token], blank: int) -> bool:
    """Test whether a line may end at the token with the index `blank`.

    A line may not end after a word of `_HEADS`, such as `if`, or before the closing braces of an action.
    """
    is_inside = 0 < blank < len(tokens) - 1
    return is_inside and tokens[blank - 1].text not in _HEADS and tokens[blank + 1].text not in ("}}", "-}}")


def _tokens(part: str) -> Iterator[_Token]:
    """Split an action into words. A comment is a single word, and so is a text outside of actions."""
    if not _ACTION.fullmatch(part) or part.startswith(("{{/*", "{{- /*")):
        yield _Token(part)
        return
    depth = 0
    for word in _TOKEN.findall(part):
        depth -= word == ")"
        if word[0] == '"' and len(word) > _LITERAL_MAX:
            yield from _split_literal(word, depth + 1)
        else:
            yield _Token(word, depth)
        depth += word == "("


def _split_literal(literal: str, depth: int) -> Iterator[_Token]:
    """Split a long quoted text into pieces, and yield the words of a `print` call that joins the pieces."""
    pieces = [""]
    for word in re.split("(?<= )", literal[1:-1]):
        if len(pieces[-1]) + len(word) > _LITERAL_MAX:
            pieces.append("")
        pieces[-1] += word
    yield _Token("(print", depth)
    for piece in pieces:
        yield _Token(" ", depth, joins=piece is not pieces[0])
        yield _Token(f'"{piece}"', depth)
    yield _Token(")", depth)


# -- guards of an upgrade ----------------------------------------------------------------------------------------------
#
# Writes guards that stop ``helm upgrade`` before it changes an immutable field of an existing run.
#
# Kubernetes refuses such a change from any tool. But Helm continues after a refused object, and then prints all
# refusals. The refusal of a Job is long, because it contains two pod templates. Helm can read the cluster while it
# renders, so these guards compare the rendered objects with the objects in the cluster, and print the fix in one line.
# In ``helm template`` and in Argo CD, `lookup` returns an empty result, and the guards pass.
# https://helm.sh/docs/chart_template_guide/functions_and_pipelines/#using-the-lookup-function


_UPGRADE_HEAD: Final = (
    "{{- /* Changes that need a new run. Helm detects these changes only in a cluster, not in helm template. */}}"
)

_Path = tuple[str, ...]

_POD_TEMPLATE_HASH: Final[_Path] = ("spec", "template", "metadata", "labels", keys.POD_TEMPLATE_HASH)

_JOB_FIELDS: Final = ("completions", "backoffLimitPerIndex")
"""The immutable number fields of a Job that a user may set (see ValidateJobSpecUpdate of Kubernetes)."""

_EXIT_CODES: Final[_Path] = ("spec", "podFailurePolicy", "rules")
"""Path of a Job's immutable podFailurePolicy rules. The last rule has the exit codes that do not count as a retry."""


def upgrade_guards(templates: Sequence[Template], context: Context) -> Lines:
    """Return the lines of the guards against changes of immutable fields; empty for objects without such fields."""
    nodes = [template.node for template in templates if not template.chart_only]
    lines = [line for node in nodes for line in _upgrade_guard(node, context)]
    return [_UPGRADE_HEAD, "{{- if .Release.IsUpgrade }}", *lines, ENDED] if lines else []


def _upgrade_guard(node: Node, context: Context, pod_hash: Node = None) -> Lines:
    """Return the lines of the guard for the object of a template; empty for an object without an immutable field.

    Args:
        node: the object, or a `When` or `Let` around the object.
        context: the context of the lines.
        pod_hash: the node that prints the hash of the pod template; None for an object without such a hash.
    """
    match node:
        case h.When(_, if_true):
            return _upgrade_guard(if_true, context, pod_hash)
        case h.Let(name, hash_node, body):
            return _upgrade_guard(body, context, hash_node if name == HASH.name else pod_hash)
        case dict():
            fields = [*_fields(node, pod_hash)]
            tests = [_differs(path, hole, context.range_body) for path, hole in fields]
        case _:
            return []
    if not tests:
        return []
    kind, name = node["kind"], argument(node["metadata"]["name"], context)
    test = tests[0] if len(tests) == 1 else " ".join(["or", *(f"({part})" for part in tests)])
    message = f"the {kind} %v cannot change while its run lasts: set a new run, such as --set run=NAME"
    return [
        f'{{{{- with lookup "{node["apiVersion"]}" "{kind}" .Release.Namespace {name} }}}}',
        f"{{{{- if {test} }}}}",
        f'{{{{- fail (printf "{message}" .metadata.name) }}}}',
        ENDED,
        ENDED,
    ]


def _fields(item: Mapping[str, Any], pod_hash: Node) -> Iterator[tuple[_Path, Node]]:
    """Yield the path and the value of each immutable field of an object. Example of a path: ("spec", "completions").

    Of a Job, the result also has the path of the failure rules, with the hole for the exit codes that do not count as
    a retry. A Job without such exit codes, for example the Job of the finisher, has no such hole. The guard reads only
    the last rule of the Job in the cluster. So if a patch in job.yaml appends a rule to the policy, the result
    omits the path. Then only the API server refuses a change of the exit codes.
    """
    if pod_hash is not None:
        yield _POD_TEMPLATE_HASH, pod_hash
    part, names = "spec", _JOB_FIELDS if item["kind"] == "Job" else ()
    if item["kind"] == "ConfigMap" and item["immutable"]:
        part, names = "data", tuple(item["data"])
    for name in names:
        hole = item[part].get(name)
        # The name of a ConfigMap with files contains their digest, so a changed file makes a new ConfigMap.
        if is_hole(hole) and not isinstance(hole, h.File):
            yield (part, name), hole
    rules = data_path.at(item, _EXIT_CODES) if item["kind"] == "Job" else None
    if not is_hole(rules) and rules and isinstance(rules[-1], h.When) and type_of(rules[-1].test) == "list":
        yield _EXIT_CODES, rules[-1].test


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


# -- the guards file ---------------------------------------------------------------------------------------------------
#
# Writes ``templates/guards.yaml``: checks that stop Helm before Helm prints objects. The file contains no object.
#
# Guard("too-many", at="roles", when=Greater(REPLICAS, 3), say="there are too many")  ->
#     {{- if gt (int64 .Values.roles.worker.replicas) 3 }}
#     {{- fail "there are too many" }}
#     {{- end }}


_HEAD: Final = "{{- /* Checks that values.schema.json cannot express. */}}"
_INCLUDE: Final = re.compile(r'(\()?include "(?P<name>[^"]+)" [.$](?(1)\)|(?=[ )]))')
"""Pattern of the ``include`` of a named template whose argument is the root context."""


def guards_file(guards: Sequence[h.Guard], templates: Sequence[Template], context: Context) -> str:
    """Return the text of ``templates/guards.yaml``.

    If the lines include a named template several times, a variable contains the output of the named template.
    """
    checks = [*_guards(guards, context, depth=0), *upgrade_guards(templates, context)]
    calls = Counter(include["name"] for line in checks for include in _INCLUDE.finditer(line))
    variables = {}
    for name in (name for name, number in calls.items() if number > 1):
        first, *remaining = re.split("[.-]", name.removeprefix(f"{context.chart}."))
        variables[name] = f"${first}{''.join(word[:1].upper() + word[1:] for word in remaining)}"
    assignments = [f'{{{{- {variable} := include "{name}" . }}}}' for name, variable in variables.items()]
    with_variables = (_INCLUDE.sub(lambda match: variables.get(match["name"], match[0]), line) for line in checks)
    return "".join(f"{line}\n" for line in [_HEAD, *assignments, *with_variables])


def _guards(guards: Sequence[h.Guard], context: Context, depth: int) -> Lines:
    """Return the lines of the guards. Neighbouring guards share a ``range`` or variables if possible."""
    lines: Lines = []
    for entries, run in groupby(guards, key=lambda guard: (guard.over[depth:] or (None,))[0]):
        if entries is None:
            for let, tests in groupby(run, key=lambda guard: guard.let):
                for name, node in let:
                    lines += assign(name, node, context)
                    context = context.with_names(name)
                for guard in tests:
                    test, message = expression(guard.when, context), argument(guard.message, context)
                    lines += [f"{{{{- if {test} }}}}", f"{{{{- fail {message} }}}}", ENDED]
        else:
            head = f"{{{{- {range_action(entries, context)} }}}}"
            body = _guards(list(run), context.range_body_of(entries), depth + 1)
            lines += [head, *body, ENDED]
    return lines


# -- all files ---------------------------------------------------------------------------------------------------------


_CONTEXT: Final = Context(chart="\ufdd0")
"""The context of the printed files. A text of a job cannot contain this name of the chart, a placeholder."""

FILE_HEADS: Final[Mapping[str, str]] = {
    "helpers": "Names, labels and the cluster. A named template takes the root context or a dict with the listed keys.",
    "pod": "The pod of a task. The template of a role includes the pod with the name and values of the role.",
    "environment": "The environment variables of a task.",
    "scheduling": "The scheduling fields of a pod.",
    "run-lock": "The containers that keep two runs from writing to one folder at the same time.",
    "volumes": "The volumes of a pod and their mounts.",
    "released": "The condition under which an upgrade does not start the tasks of a finished run again.",
    "finisher": "The pod of the finisher, which releases the tasks when the training ends.",
}
"""Name of a helper file (`templates/_NAME.tpl`) -> comment at the top of the file."""


def print_templates(structure: Structure, name: str) -> dict[str, str]:
    """Return the text of each template, and of each other file that the templates read, such as the finisher's program.

    The keys of the result are paths in the chart.

    Args:
        structure: the structure of the job.
        name: the name of the chart, or a placeholder of the same length, on which the wrapping of lines depends.
    """
    templates, files = _printed(structure)
    return {**{path: wrap(text.replace(_CONTEXT.chart, name)) for path, text in templates.items()}, **files}


@functools.lru_cache(MAX_STRUCTURES)
def _printed(structure: Structure) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Return the text of each template before the wrapping of lines, and the text of each other file."""
    templates, checks, notes_text = graph(structure), guards(structure), notes(structure)
    nodes = [*templates, *checks, notes_text]
    files = {f"templates/{template.name}.yaml": _template_text(template) for template in templates}
    files["templates/guards.yaml"] = guards_file(checks, templates, _CONTEXT)
    files[NOTES] = text_of(notes_text, _CONTEXT)
    return {**files, **_helper_files(nodes)}, chart_files(nodes)


@cached_on_record
def _template_text(template: Template) -> str:
    return template_file(template.node, _CONTEXT)


@cached_on_record
def _define(template: h.NamedTemplate) -> str:
    return define(template, _CONTEXT)


def _helper_files(nodes: Sequence[Node | Record]) -> dict[str, str]:
    """Return the text of each helper file. A helper file, such as `templates/_pod.tpl`, defines named templates.

    `nodes` are the nodes of the object graph that include the named templates.
    """
    templates = named_templates(nodes).values()
    return {
        f"templates/_{file}.tpl": helpers_file(
            FILE_HEADS[file], [_define(item) for item in templates if item.file == file]
        )
        for file in sorted({item.file for item in templates})
    }
