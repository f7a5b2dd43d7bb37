"""Prints a node as a scalar or a key of YAML, with quotes if YAML would not read the scalar as a text.

Text((Release("Release.Name"), "-ps"))  ->  {{ .Release.Name }}-ps
Value("image", "string")                ->  {{ .Values.image | quote }}
"""

from __future__ import annotations

from tfgen.graph.holes import (
    Absent,
    Call,
    ChartOnly,
    Hole,
    JoinEntries,
    Name,
    NamedTemplate,
    Node,
    Release,
    Repeat,
    Text,
    When,
    is_hole,
    type_of,
)
from tfgen.targets.chart.go_template.context import Context
from tfgen.targets.chart.go_template.expressions import chart_only, expression, typed
from tfgen.targets.chart.go_template.go_text import escape
from tfgen.targets.chart.go_template.texts import text_of
from tfgen.text import yaml_text


def key(name: Name, context: Context) -> str:
    """Return the key of a YAML entry, for example ``{{ $name | quote }}`` for the name in a loop."""
    return f"{{{{ {expression(name, context)} | quote }}}}" if is_hole(name) else escape(yaml_text.scalar(name))


def scalar(node: Node, context: Context) -> str:
    """Return the template text that prints a node as a scalar of YAML. A free text of the user always gets quotes."""
    match node:
        case str() | int() | None:
            return escape(yaml_text.scalar(node))
        case Text(parts) if all(_is_safe(part) for part in parts):
            samples = [_sample(node, longest=longest) for longest in (True, False)]
            if all(yaml_text.scalar(sample)[0] not in "'\"" for sample in samples):
                return text_of(node, context)
            if not any("'" in sample or "\n" in sample for sample in samples):
                return f"'{text_of(node, context)}'"
        case ChartOnly():
            return chart_only(node, context)
    if isinstance(node, Hole) and type_of(node) in ("string", "quantity"):
        return f"{{{{ {expression(node, context)} | quote }}}}"
    return f"{{{{ {typed(node, context)} }}}}"


def _is_safe(part: Node) -> bool:
    """Test whether a part of a text is a constant, a name or an integer. All other parts are free texts of the user."""
    if isinstance(part, (NamedTemplate, Call)):
        return _has_only_names(part)
    return isinstance(part, (str, Release)) or type_of(part) == "integer"


def _has_only_names(node: Node) -> bool:
    """Test whether a node of the object graph prints only names of objects, such as ``mnist-ps``.

    A hole in such a node always has a name as its value, because values.schema.json refuses other values.
    """
    match node:
        case NamedTemplate(node=child) | Call(template=child) | Repeat(body=child):
            return _has_only_names(child)
        case Text(parts):
            return all(_has_only_names(part) for part in parts)
        case When(_, if_true, if_false):
            return _has_only_names(if_true) and _has_only_names(if_false)
    return not isinstance(node, (JoinEntries, ChartOnly))


def _sample(node: Node, *, longest: bool) -> str:
    """Return an example of the text that a node prints, such as `x-ps-0`.

    Each name in the example is the letter x, and each integer is 0. The example contains all parts of the text if
    `longest` is True, and only the parts that are always present if `longest` is False.
    """
    match node:
        case str():
            return node
        case Absent():
            return ""
        case Text(parts):
            return "".join(_sample(part, longest=longest) for part in parts)
        case NamedTemplate(node=child) | Call(template=child):
            return _sample(child, longest=longest)
        case Repeat(body=child):
            return _sample(child, longest=True) if longest else ""
        case When(_, if_true, if_false):
            return _sample(if_true if longest else if_false, longest=longest)
    return "0" if type_of(node) == "integer" else "x"
