"""A node as a scalar of YAML, or as the key of an entry: quoted where another reader would take it for no text.

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
    Named,
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
    """The key of an entry."""
    return f"{{{{ {expression(name, context)} | quote }}}}" if is_hole(name) else escape(yaml_text.scalar(name))


def scalar(node: Node, context: Context) -> str:
    """A scalar as YAML. A user's string is quoted by Go; what is made of names alone is safe as it stands."""
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
    """Whether a part of a text is no text of a user's, but ours, a name or a number."""
    if isinstance(part, (Named, Call)):
        return _is_of_names(part)
    return isinstance(part, (str, Release)) or type_of(part) == "integer"


def _is_of_names(node: Node) -> bool:
    """Whether a part that has a name of its own is made of names: what a user says in one is no more than a name."""
    match node:
        case Named(node=inner) | Call(part=inner) | Repeat(body=inner):
            return _is_of_names(inner)
        case Text(parts):
            return all(_is_of_names(part) for part in parts)
        case When(_, then, otherwise):
            return _is_of_names(then) and _is_of_names(otherwise)
    return not isinstance(node, (JoinEntries, ChartOnly))


def _sample(node: Node, *, longest: bool) -> str:
    """What a text made of names may look like: with all that it may have, or with the least."""
    match node:
        case str():
            return node
        case Absent():
            return ""
        case Text(parts):
            return "".join(_sample(part, longest=longest) for part in parts)
        case Named(node=inner) | Call(part=inner):
            return _sample(inner, longest=longest)
        case Repeat(body=inner):
            return _sample(inner, longest=True) if longest else ""
        case When(_, then, otherwise):
            return _sample(then if longest else otherwise, longest=longest)
    return "0" if type_of(node) == "integer" else "x"
