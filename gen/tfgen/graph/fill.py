"""Functions that fill an object graph: a hole, the placeholder of a value, becomes the value.

For example, `fill` turns {"replicas": Value("roles.worker.replicas", "integer")} into {"replicas": 4}. If the output
omits a node, `fill` returns `ABSENT`. `evaluate` returns the value of an expression, such as 4 for this hole.

tfgen fills a graph for each environment, and the pod template for each role. To save time, tfgen compiles each node
once into a function that receives the values as a `Scope`, and caches the function in the node.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Any, Final, NamedTuple, TypeAlias, assert_never

from tfgen.data_path import TREES
from tfgen.graph import holes as h
from tfgen.graph.holes import ABSENT, FUNCTIONS, Key, Name, Node, cached_on_record, child_nodes, is_hole, type_of
from tfgen.record import EMPTY, Record
from tfgen.text import yaml_text
from tfgen.text.yaml_text import CommentedMapping


class Scope(NamedTuple):
    """The values that fill the holes of a node, such as the values of the chart and the name of the Helm release.

    A scope is a tuple instead of a `Record`, because a job needs thousands of scopes, and Python creates a tuple in a
    third of the time of a `Record`.

    Attributes:
        values: the complete values of the chart. Example: {"image": "mnist:1.4.0", "roles": {"worker": {...}}}.
        release: the name of the Helm release.
        chart: the name of the chart.
        bound: the values of the names that a loop or a `Let` around the current node defines. Example:
            {"name": "model"}.
        arguments: the values of the parameters of the named template that contains the node. Example: {"role": "ps"}.
    """

    values: Mapping[str, Any]
    release: str
    chart: str
    bound: Mapping[str, Any] = EMPTY
    arguments: Mapping[str, Any] = EMPTY

    def binding(self, names: Mapping[str, Any]) -> Scope:
        """Return a copy of the scope that defines more names, such as {"name": "model"}."""
        return Scope(self.values, self.release, self.chart, {**self.bound, **names}, self.arguments)


_EMPTY_SCOPE: Final = Scope(EMPTY, release="", chart="")

Filler: TypeAlias = Callable[[Scope], Any]
"""A compiled node: a function that fills the node with the values of a scope."""


def fill(node: Node, scope: Scope) -> Any:
    """Replace the holes of a node by values. Return the plain data, or `ABSENT` if the output omits the node."""
    return compile_filler(node)(scope)


def evaluate(node: Node, scope: Scope) -> Any:
    """Return the value of an expression: a scalar, a map, a list, or None for a missing value."""
    return compile_expression(node)(scope)


def failing_scopes(guard: h.Guard, scope: Scope) -> Iterator[Scope]:
    """Check the values of `scope` with a guard, and yield a scope for each failure.

    The caller fills the message of the guard in the yielded scope. For example, if a guard that checks each role fails
    for the role ps, the name `role` has the value "ps" in the yielded scope, so the message can name the role. A guard
    with an empty attribute `over` fails at most once.
    """
    for entry_scope in _combinations(guard.over, scope):
        for name, expression in guard.let:
            entry_scope = entry_scope.binding({name: evaluate(expression, entry_scope)})
        if evaluate(guard.when, entry_scope):
            yield entry_scope.binding({})  # a copy, because the next entry changes the scope


def _combinations(maps: Sequence[h.CheckedMap], scope: Scope) -> Iterator[Scope]:
    """Yield a scope for each combination of the entries of several maps; `scope` itself without a map.

    For example, if `maps` contains the map of the roles, the name `role` has the value "chief" in the first scope, and
    "ps" in the second scope.
    """
    if not maps:
        yield scope
        return
    first, *following = maps
    for _, _, entry_scope in _entries(first, compile_expression(first.over), scope):
        yield from _combinations(following, entry_scope)


def _entries(
    loop: h.CheckedMap | h.ForEach | h.JoinEntries, over: Filler, scope: Scope
) -> Iterator[tuple[Any, Any, Scope]]:
    """Yield each entry of a map, in the order of the keys, with a scope in which the names of the loop are defined.

    The entries of a list are its indexes and items, as for `range` of Go. To save time, all entries share one scope.
    """
    entries = over(scope) or {}
    bound = {**scope.bound}
    entry_scope = Scope(scope.values, scope.release, scope.chart, bound, scope.arguments)
    for key in sorted(entries) if isinstance(entries, Mapping) else range(len(entries)):
        bound[loop.key], bound[loop.item] = key, entries[key]
        yield key, entries[key], entry_scope


# -- data ----------------------------------------------------------------------------------------------------------


@cached_on_record
def compile_filler(node: Node) -> Filler:
    """Return the function that fills a node."""
    match node:
        case str() | int() | None | h.Absent():
            return lambda _: node
        case dict():
            return _constant_or(_mapping(node), node)
        case list() | tuple():
            return _constant_or(_sequence(node), node)
        case h.When(test, if_true, if_false):
            return _choice(compile_expression(test), compile_filler(if_true), compile_filler(if_false))
        case h.NamedTemplate(node=content):
            return compile_filler(content)
        case h.Call(template):
            return _call_filler(node, compile_filler(template))
        case h.Let(name, expression, body):
            value_of, body_of = compile_expression(expression), compile_filler(body)
            return lambda scope: body_of(scope.binding({name: value_of(scope)}))
        case h.ForEach():
            entries = compile_entries(node)
            return lambda scope: [item for _, item in entries(scope)] or ABSENT
        case h.Splice() | h.Comment():
            raise TypeError(f"{node!r} is a key, not a node")
    expression_of, value_type = compile_expression(node), type_of(node)
    if value_type == "quantity":
        return lambda scope: str(expression_of(scope))
    if value_type in TREES:
        return lambda scope: expression_of(scope) or ABSENT
    return expression_of


@cached_on_record
def compile_entries(node: h.ForEach) -> Callable[[Scope], Iterator[tuple[str, Any]]]:
    """Return a function that fills the body of a `ForEach` for each entry of a map, in the order of the keys.

    The function yields pairs of a key and the filled body. Example: ("model", {"kind": "PersistentVolumeClaim", ...}).
    """
    over, body = compile_expression(node.over), compile_filler(node.body)

    def fill_bodies(scope: Scope) -> Iterator[tuple[str, Any]]:
        for key, _, entry_scope in _entries(node, over, scope):
            item = body(entry_scope)
            if item is not ABSENT:
                yield key, item

    return fill_bodies


def _constant_or(filler: Filler, node: Node) -> Filler:
    """Return `filler`; for a node without holes, a function that returns the same result for each scope."""
    if not _is_data(node):
        return filler
    data = filler(_EMPTY_SCOPE)
    return lambda _: data


def _is_data(node: Node | Record) -> bool:
    """Return whether a node contains neither a hole nor a `Splice`."""
    return not is_hole(node) and not isinstance(node, h.Splice) and all(map(_is_data, child_nodes(node)))


def _mapping(node: Mapping[Key, Node]) -> Filler:
    entries: list[tuple[str | None, Filler | None, Filler, str]] = []
    comment_text = ""
    for entry_key, node_of_entry in node.items():
        if isinstance(entry_key, h.Comment):
            comment_text = entry_key.text
            continue
        fixed_name = entry_key if isinstance(entry_key, str) else None
        key_filler = None if isinstance(entry_key, (str, h.Splice)) else compile_expression(entry_key)
        entries.append((fixed_name, key_filler, compile_filler(node_of_entry), comment_text))
        comment_text = ""

    def fill_mapping(scope: Scope) -> Any:
        filled: dict[str, Any] = {}
        comments: dict[str, str] = {}
        for name, key, child, comment in entries:
            value = child(scope)
            if value is ABSENT:
                continue
            if key is not None:
                name = key(scope)
            if name is not None:
                filled[name] = value
            else:
                filled.update(value)  # a `Splice`, whose comment moves to its first entry
                comments.update(getattr(value, "comments", EMPTY))
                name = next(iter(value), None)
            if comment and name is not None:
                comments[name] = comment
        if comments:
            return CommentedMapping(filled, comments)
        return filled if filled or not node else ABSENT

    return fill_mapping


def _sequence(node: Sequence[Node]) -> Filler:
    items = [(compile_filler(child), _gives_items(child)) for child in node]

    def fill_sequence(scope: Scope) -> Any:
        filled: list[Any] = []
        for filler, gives_items in items:
            value = filler(scope)
            if value is ABSENT:
                continue
            if gives_items:
                filled.extend(value)
            else:
                filled.append(value)
        return filled if filled or not node else ABSENT

    return fill_sequence


def _gives_items(node: Node) -> bool:
    """Return whether an item of a sequence stands for any number of items."""
    if isinstance(node, h.When):
        return _gives_items(node.if_true) or _gives_items(node.if_false)
    return isinstance(node, (h.ForEach, h.Items))


def _choice(test: Filler, if_true: Filler, if_false: Filler) -> Filler:
    return lambda scope: if_true(scope) if test(scope) else if_false(scope)


def _call_filler(call: h.Call, fill_template: Filler) -> Filler:
    """Return a function that fills the named template of a call. `fill_template` fills the content of the template.

    The content must not use the names of a loop or of a `Let` around the call.
    """
    arguments = [(name, compile_expression(argument)) for name, argument in call.arguments]

    def fill_call(scope: Scope) -> Any:
        values = {name: argument(scope) for name, argument in arguments}
        return fill_template(Scope(scope.values, scope.release, scope.chart, EMPTY, values))

    return fill_call


# -- expressions ---------------------------------------------------------------------------------------------------


@cached_on_record
def compile_expression(node: Node) -> Filler:  # noqa: C901 - a branch a node
    """Return the function that evaluates an expression."""
    match node:
        case str() | int() | None | h.Absent():
            return lambda _: node
        case h.ChartOnly(_, constant, _) | h.File(_, constant):
            return lambda _: constant
        case h.Bound(name, _, path):
            return _lookup(lambda scope: scope.bound[name], path)
        case h.Parameter(name, _, path):
            return _lookup(lambda scope: scope.arguments[name], path)
        case h.Value(path):
            return _lookup(operator.attrgetter("values"), path)
        case h.Release(fact):
            return (lambda scope: scope.release) if fact == "Release.Name" else (lambda scope: scope.chart)
        case h.NamedTemplate(node=content) | h.NotEmpty(content) | h.Items(content) | h.AsText(content):
            return compile_expression(content)
        case h.Call(template):
            return _call_filler(node, compile_expression(template))
        case h.When(test, if_true, if_false):
            return _choice(compile_expression(test), compile_expression(if_true), compile_expression(if_false))
        case h.Override(first, fallback):
            value_of, fallback_of = compile_expression(first), compile_expression(fallback)
            return lambda scope: value if (value := value_of(scope)) is not None else fallback_of(scope)
        case h.IsSet(first):
            value_of = compile_expression(first)
            return lambda scope: value_of(scope) is not None
        case h.Default(first, fallback):
            value_of, fallback_of = compile_expression(first), compile_expression(fallback)
            return lambda scope: value_of(scope) or fallback_of(scope)
        case h.Text(parts):
            return _text(parts)
        case h.MapOf(entries):
            return _map_of(entries)
        case h.Merged(maps):
            layers = [compile_expression(layer) for layer in maps]
            return lambda scope: dict(chain.from_iterable((layer(scope) or EMPTY).items() for layer in layers))
        case h.Filtered():
            return _filtered(node)
        case h.Repeat():
            return _repeated(node)
        case h.JoinEntries():
            over, body = compile_expression(node.over), compile_expression(node.body)
            return lambda scope: node.separator.join(str(body(inner)) for _, _, inner in _entries(node, over, scope))
        case h.Digest(tree):
            return _apply(yaml_text.digest, compile_filler(tree))
        case h.AllOf(nodes):
            return _test_all(nodes)
        case h.AnyOf(nodes):
            tests = [compile_expression(test) for test in nodes]
            return lambda scope: any(test(scope) for test in tests)
        case h.Fn(name, operands):
            return _apply(FUNCTIONS[name].python, *map(compile_expression, operands))
        case h.ForEach() | h.Let() | Mapping() | Sequence():
            raise TypeError(f"no expression: {node!r}")
    assert_never(node)


def _lookup(data: Filler, path: str) -> Filler:
    """Return a function that reads the value at `path`, such as `resources.gpu`, in a map of the scope.

    `data` returns the map, for example the values of the chart. If the path does not exist, the value is None.
    """
    if not path:
        return data
    keys = path.split(".")

    def look_up(scope: Scope) -> Any:
        value = data(scope)
        try:
            for key in keys:
                value = value[key]
        except (KeyError, TypeError):  # a missing value, or null; a test at each step would be slower
            return None
        return value

    return look_up


def _apply(function: Callable[..., Any], *operands: Filler) -> Filler:
    match operands:  # a call with a list of arguments takes longer
        case (operand,):
            return lambda scope: function(operand(scope))
        case (first, second):
            return lambda scope: function(first(scope), second(scope))
    return lambda scope: function(*[operand(scope) for operand in operands])


def _text(parts: Sequence[Node]) -> Filler:
    fillers = [compile_expression(part) for part in parts]

    def join(scope: Scope) -> str:
        return "".join([str(text) for filler in fillers if (text := filler(scope)) is not ABSENT])

    return join


def _map_of(entries: Mapping[Name, Node]) -> Filler:
    """Return a function that fills a `MapOf`, a map in which each key and each value may be an expression.

    The result omits each entry with a false value, such as "" or 0.
    """
    compiled = [
        (compile_expression(key), compile_expression(child), compile_filler(child)) for key, child in entries.items()
    ]

    def fill_map(scope: Scope) -> dict[str, Any]:
        filled: dict[str, Any] = {}
        for key, expression, child in compiled:
            if item := expression(scope):
                if child is not expression:
                    item = child(scope)
                if item is not ABSENT:
                    filled[key(scope)] = item
        return filled

    return fill_map


def _test_all(nodes: Sequence[Node]) -> Filler:
    tests = [compile_expression(node) for node in nodes]

    def test_all(scope: Scope) -> bool:
        for test in tests:  # noqa: SIM110 - a generator for each of many thousands of entries would be slower
            if not test(scope):
                return False
        return True

    return test_all


def _filtered(node: h.Filtered) -> Filler:
    over, test = compile_expression(node.over), compile_expression(node.test)

    def filter_entries(scope: Scope) -> dict[str, Any]:
        entries: Mapping[str, Any] = over(scope) or {}
        matches: dict[str, Any] = {}
        bound = {**scope.bound}  # one mapping for all entries, because a copy for each entry would be slower
        entry_scope = Scope(scope.values, scope.release, scope.chart, bound, scope.arguments)
        for key, item in entries.items():
            bound[node.key], bound[node.item] = key, item
            if test(entry_scope):
                matches[key] = item
        return matches

    return filter_entries


def _repeated(node: h.Repeat) -> Filler:
    """Return a function that fills a `Repeat`, for example with the text `ps-0:2222,ps-1:2222`.

    The text of a `Repeat` may contain ten thousand hosts, which differ only in their index. So the function evaluates
    the text of a host once, with a mark in place of the index.
    """
    count, body, mark = compile_expression(node.count), compile_expression(node.body), f"\0{node.index}\0"

    def repeat(scope: Scope) -> str:
        text = body(scope.binding({node.index: mark}))
        return ",".join(text.replace(mark, str(index)) for index in range(int(count(scope))))

    return repeat


# -- templates ---------------------------------------------------------------------------------------------------------


class Template(Record):
    """A template of the chart, which renders one object, or one object for each entry of a map.

    Attributes:
        name: the name of the file in the chart and in the overlays, without the extension: ``worker``,
            ``finisher-role``. The name is the same for all runs and Helm releases.
        node: the object. A `When` contains an object that exists only under a condition. A `ForEach` contains an object
            for each entry of a map.
        chart_only: whether only the chart contains the object, because the object is a test for ``helm test``.
        survives_retirement: whether a retired job keeps the object, such as a claim.
    """

    name: str
    node: Node
    chart_only: bool = False
    survives_retirement: bool = False

    @property
    def files(self) -> Mapping[str, h.File]:
        """The files in ``data`` of a ConfigMap, by key. The mapping is empty for all other objects."""
        node = self.node
        while isinstance(node, (h.When, h.Let)):
            node = node.if_true if isinstance(node, h.When) else node.body
        data = node.get("data", {}) if isinstance(node, dict) else {}
        return {key: part for key, part in data.items() if isinstance(part, h.File)}

    def objects(self, scope: Scope) -> Sequence[tuple[str, dict[str, Any]]]:
        """Fill the template with the values of `scope`. Return the file name and the plain object of each object.

        Example: [("worker", {"kind": "StatefulSet", ...})]. A `ForEach` gives a file name for each entry of the map,
        such as ``claim-model`` and ``claim-data``.
        """
        if isinstance(self.node, h.ForEach):
            return [(f"{self.name}-{key}", item) for key, item in compile_entries(self.node)(scope)]
        item = self._filler(scope)
        return [] if item is ABSENT else [(self.name, item)]

    @cached_property
    def _filler(self) -> Filler:
        return compile_filler(self.node)
