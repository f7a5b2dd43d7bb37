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
from typing import Any, Final, NamedTuple, TypeAlias, assert_never

from tfgen.data_path import TREES
from tfgen.graph.holes import (
    ABSENT,
    FUNCTIONS,
    Absent,
    AllOf,
    AnyOf,
    AsText,
    Bound,
    Call,
    ChartOnly,
    CheckedMap,
    Comment,
    Default,
    Digest,
    File,
    Filtered,
    Fn,
    ForEach,
    Guard,
    IsSet,
    Items,
    JoinEntries,
    Key,
    Let,
    MapOf,
    Merged,
    Name,
    NamedTemplate,
    Node,
    NotEmpty,
    Override,
    Parameter,
    Release,
    Repeat,
    Splice,
    Text,
    Value,
    When,
    cached_on_record,
    child_nodes,
    is_hole,
    type_of,
)
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

    def with_bindings(self) -> tuple[Scope, dict[str, Any]]:
        """Return a copy of the scope in which the caller can define more names, and the mapping of these names.

        For example, after `inner, bound = scope.with_bindings()`, the caller sets `bound["name"] = "model"`, and then
        fills nodes in the scope `inner`.
        """
        bound = dict(self.bound)
        return Scope(self.values, self.release, self.chart, bound, self.arguments), bound


_EMPTY_SCOPE: Final = Scope(EMPTY, release="", chart="")

Filler: TypeAlias = Callable[[Scope], Any]
"""A compiled node: a function that fills the node with the values of a scope."""


def fill(node: Node, scope: Scope) -> Any:
    """Replace the holes of a node by values. Return the plain data, or `ABSENT` if the output omits the node."""
    return compile_filler(node)(scope)


def evaluate(node: Node, scope: Scope) -> Any:
    """Return the value of an expression: a scalar, a map, a list, or None for a missing value."""
    return compile_expression(node)(scope)


def failing_scopes(guard: Guard, scope: Scope) -> Iterator[Scope]:
    """Check the values of `scope` with a guard, and yield a scope for each failure.

    The caller fills the message of the guard in the yielded scope. For example, if a guard that checks each role fails
    for the role ps, the name `role` has the value "ps" in the yielded scope, so the message can name the role. A guard
    with an empty attribute `over` fails at most once.
    """
    entry_scope, bound = scope.with_bindings()
    for _ in _each_combination(guard.over, entry_scope, bound):
        for name, expression in guard.let:
            bound[name] = evaluate(expression, entry_scope)
        if evaluate(guard.when, entry_scope):
            yield entry_scope.with_bindings()[0]  # a copy, because the next entry is bound in the same mapping


def _each_combination(maps: Sequence[CheckedMap], scope: Scope, bound: dict[str, Any]) -> Iterator[None]:
    """Set the names in `bound` to each combination of map entries in turn. Yield after each combination.

    For example, if `maps` contains the map of the roles, the function sets `role` to "chief" and yields, and then sets
    `role` to "ps" and yields. After each yield, the caller evaluates expressions in `scope`, which contains `bound`. If
    `maps` is empty, the function yields once.
    """
    if not maps:
        yield
        return
    first, *following = maps
    over = evaluate(first.over, scope) or {}
    for key in sorted(over):
        bound[first.key], bound[first.item] = key, over[key]
        yield from _each_combination(following, scope, bound)


# -- data ----------------------------------------------------------------------------------------------------------


@cached_on_record
def compile_filler(node: Node) -> Filler:
    """Return the function that fills a node."""
    match node:
        case str() | int() | None | Absent():
            return lambda _: node
        case dict():
            return _constant(_mapping(node)) if _is_data(node) else _mapping(node)
        case list() | tuple():
            return _constant(_sequence(node)) if _is_data(node) else _sequence(node)
        case When(test, if_true, if_false):
            return _choice(compile_expression(test), compile_filler(if_true), compile_filler(if_false))
        case NamedTemplate(node=content):
            return compile_filler(content)
        case Call(template):
            return _call_filler(node, compile_filler(template))
        case Let():
            return _let(node)
        case ForEach():
            entries = compile_entries(node)
            return lambda scope: [item for _, item in entries(scope)] or ABSENT
        case Splice() | Comment():
            raise TypeError(f"{node!r} is a key, not a node")
    expression_of, value_type = compile_expression(node), type_of(node)
    if value_type == "quantity":
        return lambda scope: str(expression_of(scope))
    if value_type in TREES:
        return lambda scope: expression_of(scope) or ABSENT
    return expression_of


@cached_on_record
def compile_entries(node: ForEach) -> Callable[[Scope], Iterator[tuple[str, Any]]]:
    """Return a function that fills the body of a `ForEach` for each entry of a map, in the order of the keys.

    The function yields pairs of a key and the filled body. Example: ("model", {"kind": "PersistentVolumeClaim", ...}).
    """
    over, body = compile_expression(node.over), compile_filler(node.body)

    def fill_bodies(scope: Scope) -> Iterator[tuple[str, Any]]:
        entries = over(scope) or {}
        entry_scope, bound = scope.with_bindings()
        # the sorted keys of a map, or the indexes of a list, as range of Go visits them
        keys: Sequence[Any] = sorted(entries) if isinstance(entries, Mapping) else range(len(entries))
        for key in keys:
            bound[node.key], bound[node.item] = key, entries[key]
            item = body(entry_scope)
            if item is not ABSENT:
                yield key, item

    return fill_bodies


def _is_data(node: Node | Record) -> bool:
    """Return whether a node contains neither a hole nor a `Splice`."""
    return not is_hole(node) and not isinstance(node, Splice) and all(map(_is_data, child_nodes(node)))


def _constant(filler: Filler) -> Filler:
    """Fill a node without holes once, and return a function that returns this result for each scope."""
    data = filler(_EMPTY_SCOPE)
    return lambda _: data


def _mapping(node: Mapping[Key, Node]) -> Filler:
    entries = [
        (
            key if isinstance(key, str) else None,
            None if isinstance(key, (str, Splice)) else compile_expression(key),
            compile_filler(child),
            comment,
        )
        for key, child, comment in _commented_entries(node)
    ]

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
                filled.update(value)
                comments.update(getattr(value, "comments", EMPTY))
                name = next(iter(value), None)
            if comment and name is not None:
                comments[name] = comment
        if comments:
            return CommentedMapping(filled, comments)
        return filled if filled or not node else ABSENT

    return fill_mapping


def _commented_entries(node: Mapping[Key, Node]) -> Iterator[tuple[Name | Splice, Node, str]]:
    """Yield the key, the node and the comment of each entry of a mapping in a graph. The comment may be empty.

    Example: ("podManagementPolicy", "Parallel", "All pods start together."). The caller moves the comment above a
    `Splice` to the first entry that the `Splice` inserts.
    """
    comment = ""
    for key, child in node.items():
        if isinstance(key, Comment):
            comment = key.text
        else:
            yield key, child, comment
            comment = ""


_Adder: TypeAlias = Callable[[Scope, list[Any]], None]
"""A function that fills an item of a sequence and appends the result to a list."""


def _sequence(node: Sequence[Node]) -> Filler:
    adders = [_adder(child) for child in node]

    def fill_sequence(scope: Scope) -> Any:
        filled: list[Any] = []
        for add in adders:
            add(scope, filled)
        return filled if filled or not node else ABSENT

    return fill_sequence


def _adder(node: Node) -> _Adder:
    if isinstance(node, When):
        test, if_true, if_false = compile_expression(node.test), _adder(node.if_true), _adder(node.if_false)
        return lambda scope, filled: (if_true if test(scope) else if_false)(scope, filled)
    filler, is_list = compile_filler(node), isinstance(node, (ForEach, Items))

    def add(scope: Scope, filled: list[Any]) -> None:
        value = filler(scope)
        if value is ABSENT:
            return
        if is_list:
            filled.extend(value)
        else:
            filled.append(value)

    return add


def _choice(test: Filler, if_true: Filler, if_false: Filler) -> Filler:
    return lambda scope: if_true(scope) if test(scope) else if_false(scope)


def _call_filler(call: Call, fill_template: Filler) -> Filler:
    """Return a function that fills the named template of a call. `fill_template` fills the content of the template.

    The content must not use the names of a loop or of a `Let` around the call.
    """
    arguments = [(name, compile_expression(argument)) for name, argument in call.arguments]

    def fill_call(scope: Scope) -> Any:
        values = {name: argument(scope) for name, argument in arguments}
        return fill_template(Scope(scope.values, scope.release, scope.chart, EMPTY, values))

    return fill_call


def _let(node: Node) -> Filler:
    """Return a function that fills nested `Let` nodes. To save time, all their names are in a single scope."""
    names = []
    while isinstance(node, Let):
        names.append((node.name, compile_expression(node.expression)))
        node = node.body
    body = compile_filler(node)

    def bind(scope: Scope) -> Any:
        body_scope, bound = scope.with_bindings()
        for name, expression in names:
            bound[name] = expression(body_scope)
        return body(body_scope)

    return bind


# -- expressions ---------------------------------------------------------------------------------------------------


@cached_on_record
def compile_expression(node: Node) -> Filler:  # noqa: C901 - a branch a node
    """Return the function that evaluates an expression."""
    match node:
        case str() | int() | None | Absent():
            return lambda _: node
        case ChartOnly(_, constant, _) | File(_, constant):
            return lambda _: constant
        case Bound(name, _, path):
            return _lookup(lambda scope: scope.bound[name], path)
        case Parameter(name, _, path):
            return _lookup(lambda scope: scope.arguments[name], path)
        case Value(path):
            return _lookup(operator.attrgetter("values"), path)
        case Release(fact):
            return (lambda scope: scope.release) if fact == "Release.Name" else (lambda scope: scope.chart)
        case NamedTemplate(node=content) | NotEmpty(content) | Items(content) | AsText(content):
            return compile_expression(content)
        case Call(template):
            return _call_filler(node, compile_expression(template))
        case When(test, if_true, if_false):
            return _choice(compile_expression(test), compile_expression(if_true), compile_expression(if_false))
        case Override(first, fallback):
            value_of, fallback_of = compile_expression(first), compile_expression(fallback)
            return lambda scope: value if (value := value_of(scope)) is not None else fallback_of(scope)
        case IsSet(first):
            value_of = compile_expression(first)
            return lambda scope: value_of(scope) is not None
        case Default(first, fallback):
            value_of, fallback_of = compile_expression(first), compile_expression(fallback)
            return lambda scope: value_of(scope) or fallback_of(scope)
        case Text(parts):
            return _text(parts)
        case MapOf(entries):
            return _map_of(entries)
        case Merged(layers):
            return _merged(layers)
        case Filtered():
            return _filtered(node)
        case Repeat():
            return _repeated(node)
        case JoinEntries():
            return _joined(node)
        case Digest(tree):
            return _apply(yaml_text.digest, compile_filler(tree))
        case AllOf(nodes):
            return _test_all(nodes)
        case AnyOf(nodes):
            return _test_any(nodes)
        case Fn(name, operands):
            return _apply(FUNCTIONS[name].python, *map(compile_expression, operands))
        case ForEach() | Let() | Mapping() | Sequence():
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


def _test_all(nodes: Sequence[Node]) -> Filler:
    tests = [compile_expression(node) for node in nodes]

    def test_all(scope: Scope) -> bool:
        for test in tests:  # noqa: SIM110 - a generator for each of many thousands of entries would be slower
            if not test(scope):
                return False
        return True

    return test_all


def _test_any(nodes: Sequence[Node]) -> Filler:
    tests = [compile_expression(node) for node in nodes]
    return lambda scope: any(test(scope) for test in tests)


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


def _merged(nodes: Sequence[Node]) -> Filler:
    layers = [compile_expression(node) for node in nodes]

    def merge(scope: Scope) -> dict[str, Any]:
        merged: dict[str, Any] = {}
        for layer in layers:
            merged.update(layer(scope) or {})
        return merged

    return merge


def _filtered(node: Filtered) -> Filler:
    over, test = compile_expression(node.over), compile_expression(node.test)

    def filter_entries(scope: Scope) -> dict[str, Any]:
        matches: dict[str, Any] = {}
        entry_scope, bound = scope.with_bindings()
        for key, item in (over(scope) or {}).items():
            bound[node.key], bound[node.item] = key, item
            if test(entry_scope):
                matches[key] = item
        return matches

    return filter_entries


def _joined(node: JoinEntries) -> Filler:
    over, body = compile_expression(node.over), compile_expression(node.body)

    def join(scope: Scope) -> str:
        texts: list[str] = []
        entries = over(scope) or {}
        entry_scope, bound = scope.with_bindings()
        for key in sorted(entries):
            bound[node.key], bound[node.item] = key, entries[key]
            texts.append(str(body(entry_scope)))
        return node.separator.join(texts)

    return join


def _repeated(node: Repeat) -> Filler:
    """Return a function that fills a `Repeat`, for example with the text `ps-0:2222,ps-1:2222`.

    The text of a `Repeat` may contain ten thousand hosts. If the hosts differ only in their index, the function
    evaluates the remaining text of a host once for all hosts.
    """
    count = compile_expression(node.count)
    if (fragments := _split_at_index(node.index, node.body)) is not None:
        texts = [_text(nodes) for nodes in fragments]

        def copy(scope: Scope) -> str:
            parts = [text(scope) for text in texts]
            return ",".join(str(index).join(parts) for index in range(int(count(scope))))

        return copy
    body = compile_expression(node.body)

    def repeat(scope: Scope) -> str:
        copies: list[str] = []
        copy_scope, bound = scope.with_bindings()
        for bound[node.index] in range(int(count(scope))):
            copies.append(body(copy_scope))
        return ",".join(copies)

    return repeat


def _split_at_index(name: str, node: Node) -> list[list[Node]] | None:
    """Split the text `node` at each use of the name `name`, and return the parts of the text between the uses.

    For example, `Text(("ps-", Bound("index"), ":2222"))` becomes [["ps-"], [":2222"]] for the name `index`. Return None
    if another hole in the text, such as a sum, uses the name.
    """
    match node:
        case Bound(name=bound, path="") if bound == name:
            return [[], []]
        case NamedTemplate(node=content):
            return _split_at_index(name, content)
        case Text(parts=parts):
            fragments: list[list[Node]] = [[]]
            for part in parts:
                part_fragments = _split_at_index(name, part)
                if part_fragments is None:
                    return None
                first, *following = part_fragments
                fragments[-1] += first
                fragments += following
            return fragments
    return None if _depends(name, node) else [[node]]


def _depends(name: str, node: Node | Record) -> bool:
    return (isinstance(node, Bound) and node.name == name) or any(_depends(name, child) for child in child_nodes(node))


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
    def files(self) -> Mapping[str, File]:
        """The files in ``data`` of a ConfigMap, by key. The mapping is empty for all other objects."""
        node = self.node
        while isinstance(node, (When, Let)):
            node = node.if_true if isinstance(node, When) else node.body
        data = node.get("data", {}) if isinstance(node, dict) else {}
        return {key: part for key, part in data.items() if isinstance(part, File)}

    def objects(self, scope: Scope) -> Sequence[tuple[str, dict[str, Any]]]:
        """Fill the template with the values of `scope`. Return the file name and the plain object of each object.

        Example: [("worker", {"kind": "StatefulSet", ...})]. A `ForEach` gives a file name for each entry of the map,
        such as ``claim-model`` and ``claim-data``.
        """
        filled: Sequence[tuple[str, dict[str, Any]]] = self._filler(scope)
        return filled

    @cached_property
    def _filler(self) -> Filler:
        if isinstance(self.node, ForEach):
            entries = compile_entries(self.node)
            return lambda scope: [(f"{self.name}-{key}", item) for key, item in entries(scope)]
        fill_object = compile_filler(self.node)
        return lambda scope: [(self.name, item) for item in [fill_object(scope)] if item is not ABSENT]
