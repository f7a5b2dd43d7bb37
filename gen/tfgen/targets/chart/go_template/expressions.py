"""Prints a node of the object graph inside a line: as an expression of Go templates, as text, or as a scalar of YAML.

AllOf((ENABLED, Equal(IMAGE, "a")))  ->  and .Values.gang.enabled (eq .Values.image "a")
Text(("run-", When(RUN, RUN, "1")))  ->  run-{{ if .Values.run }}{{ .Values.run }}{{ else }}1{{ end }}
the scalar IMAGE                     ->  {{ .Values.image | quote }}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, assert_never

from tfgen.data_path import ValueType
from tfgen.graph import holes as h
from tfgen.graph.holes import ABSENT, FUNCTIONS, Name, Node, is_hole, type_of
from tfgen.targets.chart.go_template.syntax import (
    Context,
    escape,
    field,
    is_constant,
    join,
    literal,
    needs_root,
    parts_of_test,
    presence,
)
from tfgen.text import yaml_text

# -- expressions -------------------------------------------------------------------------------------------------------


_FROM_YAML: Final[Mapping[ValueType, str]] = {"map": " | fromYaml", "list": " | fromYamlArray"}
"""Value type -> template function that parses the YAML text of a map or a list."""


def expression(node: Node, context: Context) -> str:  # noqa: C901 - a branch a node
    """Return the Go template expression for a node of the object graph, such as ``.Values.image``."""
    if context.subject is not None and node == context.subject:
        return "."
    match node:
        case h.Value(path):
            return field(f"{context.root}.Values", path)
        case h.Bound(name, _, path):
            return field(context.variable(name), path)
        case h.Parameter(name, _, path):
            return field(f"{context.parameter_prefix}.{name}", path)
        case h.Release(fact):
            return f"{context.root}.{fact}"
        case h.File():
            return _file(node, context)
        case h.NamedTemplate(name):
            full_name = context.full_name(name)
            if full_name in context.variables:
                return context.variables[full_name]
            return f"include {literal(full_name)} {context.root or '.'}"
        case h.Call(template):
            return f"include {literal(context.full_name(template.name))} {_argument_of_include(node, context)}"
        case h.AsText(tree, template):
            return f"{include_as_strings(tree, template, context)}{_FROM_YAML.get(type_of(tree), '')}"
        case h.Text(parts):
            return _printf(parts, context)
        case h.Fn("sum", (minuend, int(number))) if number < 0:
            return f"sub {argument(minuend, context)} {-number}"
        case h.Fn("not", (h.Fn("equal", (left, right)),)):
            return f"ne {argument(left, context)} {argument(right, context)}"
        case h.Fn(name, operands):
            function = FUNCTIONS[name]
            texts = (
                [_integer(node, context) for node in operands] if function.of_integers else arguments(operands, context)
            )
            return function.go.format(*texts, all=" ".join(texts))
        case h.AllOf():
            return " ".join(["and", *arguments(parts_of_test(node), context)])
        case h.AnyOf(nodes) if (compared := _compared_nodes(nodes)) is not None:
            # The function eq with several arguments compares the first argument with each later argument.
            return " ".join(["eq", *arguments(compared, context)])
        case h.AnyOf(nodes):
            return " ".join(["or", *arguments(nodes, context)])
        case h.IsSet(item):
            tree, key = field_of_map(item)
            return f"hasKey {argument(tree, context)} {literal(key)}"
        case h.Override(first, fallback):
            tree, key = field_of_map(first)
            return f"dig {literal(key)} {argument(fallback, context)} {argument(tree, context)}"
        case h.Default(first, fallback):
            return f"{expression(first, context)} | default {argument(fallback, context)}"
        case h.NotEmpty(tree):
            return expression(tree, context)
        case h.Digest(tree):
            return f"{_data(tree, context)} | mustToRawJson | sha256sum | trunc {yaml_text.DIGEST_LENGTH}"
        case h.MapOf(entries):
            return dict_of(entries, context)
        case str() | int():
            return literal(node)
        case (
            h.When()
            | h.Merged()
            | h.Filtered()
            | h.ForEach()
            | h.Items()
            | h.Let()
            | h.Repeat()
            | h.JoinEntries()
            | h.ChartOnly()
        ):
            raise TypeError(f"Go templates have no expression for the node {node!r}")
        case None | h.Absent() | Mapping() | Sequence():
            raise TypeError(f"not an expression: {node!r}")
    assert_never(node)


def range_action(entries: h.ForEach | h.CheckedMap | h.Filtered | h.JoinEntries, context: Context) -> str:
    """Return the ``range`` over the entries of a map, such as ``range $name, $value := .Values.labels``."""
    body = context.range_body_of(entries)
    return f"range {body.variable(entries.key)}, {body.variable(entries.item)} := {expression(entries.over, context)}"


def field_of_map(value: h.Value | h.Bound | h.Parameter) -> tuple[h.Value | h.Bound | h.Parameter, str]:
    """Return the map that contains a value, and the key of the value: ``.values`` and "image" for ``.values.image``."""
    parent, _, key = value.path.rpartition(".")
    return value.replaced(path=parent, type="map"), key


def include_as_strings(tree: Node, template: h.NamedTemplate, context: Context) -> str:
    """Return an ``include`` that prints a tunable scalar, map or list, with each value as a string.

    For example, the user of the chart may set the variable STEPS to the number 100. The text for the pod is then "100".

    Args:
        tree: the scalar, map or list.
        template: the named template that converts the values to strings.
        context: the place in the template.
    """
    return f"include {literal(context.full_name(template.name))} {argument(tree, context)}"


def argument(node: Node, context: Context) -> str:
    """Return the expression for a node as an argument of a Go function, with brackets around several words."""
    text = expression(node, context)
    return f"({text})" if " " in text and not text.startswith('"') else text


def arguments(nodes: Sequence[Node], context: Context) -> list[str]:
    """Return the expressions for several nodes as arguments of a Go function, in the same order as `nodes`."""
    return [argument(node, context) for node in nodes]


def typed(node: Node, context: Context) -> str:
    """Return the expression that prints a node without quotes. For an integer, the expression calls ``int64``."""
    text = expression(node, context)
    return f"{text} | int64" if type_of(node) == "integer" and not isinstance(node, h.Fn) else text


def dict_of(entries: Mapping[Name, Node], context: Context) -> str:
    """Return a call of the Go function ``dict`` that creates a map with the given entries. Empty entries are omitted.

    Raises:
        TypeError: an entry depends on the values of the chart.
    """
    if not all(map(is_constant, entries.values())):
        raise TypeError(f"an entry of this map must not depend on values of the chart: {entries!r}")
    not_empty = {key: node for key, node in entries.items() if isinstance(node, h.MapOf) or node}
    return " ".join(["dict", *(argument(part, context) for entry in not_empty.items() for part in entry)])


def chart_only(node: h.ChartOnly, context: Context) -> str:
    """Return the template text of a `ChartOnly`, a hole with this text in the chart and a fixed value in an overlay.

    Raises:
        TypeError: the text is inside a named template with parameters, and does not read the root context at ``.root``.
    """
    if context.parameters and not node.reads_root:
        raise TypeError(f"in a named template with parameters, a ChartOnly must read the root at .root: {node!r}")
    return node.template


def _file(node: h.File, context: Context) -> str:
    """Return the expression for the content of a file in the chart.

    If a file with content is missing in the chart, the expression stops Helm.
    """
    read = f"{context.root}.Files.Get {literal(node.path)}"
    message = f"the chart has no {node.path}, or it is empty"
    return f"{read} | required {literal(message)}" if node.text else read


def _data(tree: h.NamedTemplate | h.Call, context: Context) -> str:
    """Return the expression that parses the YAML output of a named template into a map."""
    if type_of(tree) != "map" or presence(tree) is not True:
        raise TypeError(f"not a mapping that is always present: {tree!r}")
    # Without the last line break, a text at the end of the output would lose a line break.
    return f'printf "%s\\n" ({expression(tree, context)}) | fromYaml'


def _argument_of_include(node: h.Call, context: Context) -> str:
    """Return the argument of an ``include``, for example ``(dict "root" $ "role" "worker")``.

    If the dot already contains all arguments of the call, the result is the dot. A ``dict`` omits each argument that is
    None, because Helm reads a missing key as null.
    """
    if context.parameters and all(_is_at_dot(name, value, context) for name, value in node.arguments):
        return context.dot
    root = [f'"root" {context.root or "$"}'] if needs_root(node.template) else []
    entries = [f"{literal(name)} {argument(value, context)}" for name, value in node.arguments if value is not None]
    return f"(dict {' '.join([*root, *entries])})"


def _is_at_dot(name: str, node: Node, context: Context) -> bool:
    """Test whether the dot already contains the value `node` under the key `name`."""
    if node is None:
        return name not in context.parameters
    return isinstance(node, h.Parameter) and node.name == name and not node.path


def _integer(node: Node, context: Context) -> str:
    """Return the expression for a node as an integer argument of a Go function."""
    text = argument(node, context)
    # Numbers in the values of a chart are float64.
    return text if isinstance(node, (int, h.Fn)) else f"(int64 {text})"


def _printf(parts: Sequence[Node], context: Context) -> str:
    form, values = "", []
    for part in _flat(parts):
        if isinstance(part, str):
            form += part.replace("%", "%%")
        elif isinstance(part, h.Hole) and type_of(part) == "integer":
            form += "%d"
            values.append(_integer(part, context))
        else:
            form += "%v"
            values.append(argument(part, context))
    return " ".join(["printf", literal(form), *values]) if values else literal(form.replace("%%", "%"))


def _flat(parts: Sequence[Node]) -> Iterator[Node]:
    """Yield the parts of a text. If a part is a nested `Text`, yield the parts of the nested text in its place."""
    for part in parts:
        if isinstance(part, h.Text):
            yield from _flat(part.parts)
        else:
            yield part


def _compared_nodes(tests: Sequence[Node]) -> Sequence[Node] | None:
    """Return the node that all tests compare, and each value of the comparisons: (image, "a", "b").

    The tests in the example are Equal(image, "a") and Equal(image, "b"). Return None for any other tests.
    """
    pairs = [node.operands for node in tests if isinstance(node, h.Fn) and node.name == "equal"]
    is_comparison = len(pairs) == len(tests) and all(left == pairs[0][0] for left, _ in pairs)
    return [pairs[0][0], *(right for _, right in pairs)] if is_comparison else None


# -- text inside a line, or a free text such as NOTES.txt --------------------------------------------------------------


def text_of(node: Node, context: Context) -> str:
    """Return the template text that prints a node inside a line, such as ``run {{ .Values.run }}``."""
    match node:
        case str():
            return escape(node)
        case int():
            return str(node)
        case h.Absent():
            return ""
        case h.Text(parts):
            return join([text_of(part, context) for part in parts])
        case h.ChartOnly():
            return chart_only(node, context)
        case h.Repeat(count, body, index):
            body_context = context.range_body.with_names(index)
            comma = f"{{{{ if {body_context.variable(index)} }}}},{{{{ end }}}}"
            times = f"{{{{- range {body_context.variable(index)} := until (int {argument(count, context)}) }}}}"
            return f"{times}{comma}{text_of(body, body_context)}{{{{ end }}}}"
        case h.JoinEntries(separator=separator, body=body):
            head = f"{{{{- {range_action(node, context)} }}}}{{{{ $separator }}}}"
            assignment = f"{{{{ $separator = {literal(separator)} }}}}"
            entry = text_of(body, context.range_body_of(node))
            return f'{{{{- $separator := "" }}}}{head}{assignment}{entry}{{{{ end }}}}'
        case h.When(test, if_true, if_false):
            out = f"{{{{ if {expression(test, context)} }}}}{text_of(if_true, context)}"
            while isinstance(if_false, h.When):
                out += f"{{{{ else if {expression(if_false.test, context)} }}}}{text_of(if_false.if_true, context)}"
                if_false = if_false.if_false
            return f"{out}{'' if if_false is ABSENT else '{{ else }}' + text_of(if_false, context)}{{{{ end }}}}"
    return f"{{{{ {typed(node, context)} }}}}"


# -- scalars and keys of YAML ------------------------------------------------------------------------------------------


def yaml_key(name: Name, context: Context) -> str:
    """Return the key of a YAML entry, for example ``{{ $name | quote }}`` for the name in a loop."""
    return f"{{{{ {expression(name, context)} | quote }}}}" if is_hole(name) else escape(yaml_text.scalar(name))


def scalar(node: Node, context: Context) -> str:
    """Return the template text that prints a node as a scalar of YAML. A free text of the user always gets quotes."""
    match node:
        case str() | int() | None:
            return escape(yaml_text.scalar(node))
        case h.Text(parts) if all(_is_safe(part) for part in parts):
            samples = [_sample(node, longest=longest) for longest in (True, False)]
            if all(yaml_text.scalar(sample)[0] not in "'\"" for sample in samples):
                return text_of(node, context)
            if not any("'" in sample or "\n" in sample for sample in samples):
                return f"'{text_of(node, context)}'"
        case h.ChartOnly():
            return chart_only(node, context)
    if isinstance(node, h.Hole) and type_of(node) in ("string", "quantity"):
        return f"{{{{ {expression(node, context)} | quote }}}}"
    return f"{{{{ {typed(node, context)} }}}}"


def _is_safe(part: Node) -> bool:
    """Test whether a part of a text is a constant, a name or an integer. All other parts are free texts of the user."""
    if isinstance(part, (h.NamedTemplate, h.Call)):
        return _has_only_names(part)
    return isinstance(part, (str, h.Release)) or type_of(part) == "integer"


def _has_only_names(node: Node) -> bool:
    """Test whether a node of the object graph prints only names of objects, such as ``mnist-ps``.

    A hole in such a node always has a name as its value, because values.schema.json refuses other values.
    """
    match node:
        case h.NamedTemplate(node=child) | h.Call(template=child) | h.Repeat(body=child):
            return _has_only_names(child)
        case h.Text(parts):
            return all(_has_only_names(part) for part in parts)
        case h.When(_, if_true, if_false):
            return _has_only_names(if_true) and _has_only_names(if_false)
    return not isinstance(node, (h.JoinEntries, h.ChartOnly))


def _sample(node: Node, *, longest: bool) -> str:
    """Return an example of the text that a node prints, such as `x-ps-0`.

    Each name in the example is the letter x, and each integer is 0. The example contains all parts of the text if
    `longest` is True, and only the parts that are always present if `longest` is False.
    """
    match node:
        case str():
            return node
        case h.Absent():
            return ""
        case h.Text(parts):
            return "".join(_sample(part, longest=longest) for part in parts)
        case h.NamedTemplate(node=child) | h.Call(template=child):
            return _sample(child, longest=longest)
        case h.Repeat(body=child):
            return _sample(child, longest=True) if longest else ""
        case h.When(_, if_true, if_false):
            return _sample(if_true if longest else if_false, longest=longest)
    return "0" if type_of(node) == "integer" else "x"
