"""The origin of each field of a job's objects, for `tfgen explain`: the keys of the job that set the field's value.

>>> from tfgen.graph.holes import Value
>>> sources(Value("roles.worker.replicas", "integer"))
frozenset({('spec', 'roles', 'worker', 'replicas')})

`sources` analyzes a node without values. `filled_parts` fills an object, and returns a `Part` with the value and its
origin for each mapping, list and scalar in the object.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, TypeAlias, assert_never

from tfgen.data_path import Path, follow
from tfgen.graph.fill import Scope, evaluate, fill, loop_keys
from tfgen.graph.holes import (
    ABSENT,
    AsText,
    Bound,
    Call,
    CheckedMap,
    Comment,
    Filtered,
    ForEach,
    Guard,
    Hole,
    Items,
    JoinEntries,
    Let,
    MapOf,
    Merged,
    Name,
    NamedTemplate,
    Node,
    NotEmpty,
    Parameter,
    Release,
    Splice,
    Value,
    When,
    bound_key,
    child_nodes,
    parameter_key,
)
from tfgen.record import EMPTY, Record

JOB_NAME: Final[Path] = ("metadata", "name")
"""The path of the job's name, which is also the name of the Helm release and of the chart."""


class NameBinding(Record):
    """The node to which a name in a graph refers.

    For example, in the template of the claims, the name `storage` refers to the volume `model` of the job. The node is
    then the map of the volumes, and `steps` is ("model",).

    Attributes:
        node: the node.
        scope_bindings: the bindings of the names that the node itself uses.
        steps: the path from the value of the node to the value of the name. An empty path means the whole value, or all
            entries of the map in a loop.
    """

    node: Node
    scope_bindings: Bindings
    steps: Path = ()

    def sources(self, steps: Path) -> frozenset[Path]:
        """Return the keys of the job that set the value at a path in the node. An empty path means the whole node."""
        if steps not in self._sources:
            self._sources[steps] = sources(self.node, self.scope_bindings, (*self.steps, *steps))
        return self._sources[steps]

    @cached_property
    def _sources(self) -> dict[Path, frozenset[Path]]:
        return {}


Bindings: TypeAlias = Mapping[str, tuple[NameBinding, ...]]
"""The bindings by name. A parameter of a named template has a binding for each call of the named template."""


def bind(bindings: Bindings, name: str, node: Node) -> Bindings:
    """Return a copy of `bindings` in which `name` refers to `node`."""
    return {**bindings, bound_key(name): (NameBinding(node, bindings),)}


def bind_entry(bindings: Bindings, loop: ForEach | CheckedMap | Filtered | JoinEntries, steps: Path = ()) -> Bindings:
    """Return a copy of `bindings` for the body of a loop over a map, with two more names.

    Args:
        bindings: the nodes to which the names around the loop refer.
        loop: the loop over the map, such as a `ForEach`. The attributes `key` and `item` of the loop are the two names.
        steps: the path of the current entry in the map, such as ("model",); empty for all entries of the map.
    """
    entry = (NameBinding(loop.over, bindings, steps),)
    return {**bindings, bound_key(loop.key): entry, bound_key(loop.item): entry}


def bind_arguments(call: Call, bindings: Bindings) -> Bindings:
    """Return the bindings for the named template that a call inserts. Each parameter refers to its argument."""
    return {parameter_key(name): (NameBinding(argument, bindings),) for name, argument in call.arguments}


def bindings_of_named_templates(nodes: Iterable[Node | Record]) -> Mapping[str, Bindings]:
    """Return the bindings of the parameters of each named template, by the name of the named template.

    A parameter has a binding for each call of the named template. For example, the parameter `role` of the pod template
    is bound to "chief" in one call, and to "worker" in another call.
    """
    by_template: dict[str, dict[str, tuple[NameBinding, ...]]] = {}
    for node in nodes:
        for call, scope_bindings in _calls(node, EMPTY):
            template_bindings = by_template.setdefault(call.template.name, {})
            for name, bindings in bind_arguments(call, scope_bindings).items():
                template_bindings[name] = (*template_bindings.get(name, ()), *bindings)
    return by_template


def sources(node: Node | Record, bindings: Bindings = EMPTY, steps: Path = ()) -> frozenset[Path]:
    """Return the keys of the job from which a node gets its value.

    Args:
        node: the node.
        bindings: the nodes to which the names in `node` refer.
        steps: the path of a field inside the value; empty for the whole value.
    """
    match node:
        case Value(path):
            return frozenset((("spec", *_steps_of(path), *steps),))
        case Release():
            return frozenset((JOB_NAME,))
        case Bound(name, _, path):
            return _binding_sources(bindings.get(bound_key(name), ()), (*_steps_of(path), *steps))
        case Parameter(name, _, path):
            return _binding_sources(bindings.get(parameter_key(name), ()), (*_steps_of(path), *steps))
        case NamedTemplate() | AsText() | NotEmpty() | Items():
            return sources(_content(node), bindings, steps)
        case Call(template):
            return sources(template.node, bind_arguments(node, bindings), steps)
        case Let(name, expression, body):
            return sources(body, bind(bindings, name, expression), steps)
        case Guard():
            return _guard_sources(node, bindings)
        case ForEach() | JoinEntries():
            return _all_sources((node.over, node.body), bind_entry(bindings, node), steps)
        case Filtered(over, test) if not steps:
            return sources(over, bindings) | sources(test, bind_entry(bindings, node))
        case None | str() | int():
            return frozenset()
    if not isinstance(node, Hole):
        return _all_sources(child_nodes(node), bindings)
    return _all_sources(
        _parts_at(node, steps[0]) if steps else child_nodes(node),
        bindings,
        steps[1:] if isinstance(node, MapOf) else steps,
    )


def _parts_at(node: Hole, step: str | int) -> Sequence[Node | Record]:
    """Return the child nodes of a hole that can set the value at the key `step` of the filled hole.

    For example, for a `MapOf` with the key `step`, the result contains only the node of this entry.
    """
    match node:
        case MapOf(entries):
            return [entries[str(step)]] if step in entries else _with_computed_names(entries)
        case Filtered(over):
            return (over,)
        case Merged(layers):
            return layers
        case When(_, if_true, if_false):
            return (if_true, if_false)
    return child_nodes(node)


def _with_computed_names(entries: Mapping[Name, Node]) -> list[Node]:
    """Return a list with the name and the value of each entry in `entries` that has a hole as its name."""
    return [node for entry in entries.items() if isinstance(entry[0], Hole) for node in entry]


def _content(node: NamedTemplate | AsText | NotEmpty | Items) -> Node:
    match node:
        case NamedTemplate(node=content) | AsText(tree=content) | NotEmpty(tree=content) | Items(list=content):
            return content
    assert_never(node)


def _guard_sources(guard: Guard, bindings: Bindings) -> frozenset[Path]:
    """Return the keys of the job that the test or the message of a guard reads."""
    for entries in guard.over:
        bindings = bind_entry(bindings, entries)
    for name, node in guard.let:
        bindings = bind(bindings, name, node)
    return _all_sources((guard.when, guard.say), bindings)


def _all_sources(nodes: Iterable[Node | Record], bindings: Bindings, steps: Path = ()) -> frozenset[Path]:
    return frozenset(path for node in nodes for path in sources(node, bindings, steps))


def _binding_sources(bindings: Iterable[NameBinding], steps: Path) -> frozenset[Path]:
    return frozenset(path for binding in bindings for path in binding.sources(steps))


def _calls(node: Node | Record, bindings: Bindings) -> Iterator[tuple[Call, Bindings]]:
    """Yield each `Call` in a node, with the bindings of the names at the call."""
    match node:
        case Call(template, arguments):
            yield node, bindings
            for _, argument in arguments:
                yield from _calls(argument, bindings)
            yield from _calls(template.node, bind_arguments(node, bindings))
        case Let(name, expression, body):
            yield from _calls(expression, bindings)
            yield from _calls(body, bind(bindings, name, expression))
        case ForEach() | JoinEntries() | Filtered():
            entry_bindings = bind_entry(bindings, node)
            for child in child_nodes(node):
                yield from _calls(child, entry_bindings)
        case None | str() | int():
            return
        case _:
            for child in child_nodes(node):
                yield from _calls(child, bindings)


class Part(Record):
    """A mapping, list or scalar in a filled object, with its origin.

    Attributes:
        path: the path of the part in the object.
        value: the plain data.
        sources: the keys of the job from which the value comes.
        tests: the keys of the job that decide whether the object contains the part.
        reason: the comment above the part, or above the nearest parent with a comment.
    """

    path: Path
    value: Any
    sources: frozenset[Path]
    tests: frozenset[Path] = frozenset()
    reason: str = ""


class _Position(Record):
    """The position of a node in an object that tfgen fills, and the values and bindings at this position."""

    scope: Scope
    bindings: Bindings = EMPTY
    path: Path = ()
    tests: frozenset[Path] = frozenset()
    reason: str = ""

    def at(self, step: str | int) -> _Position:
        return self.replaced(path=(*self.path, step))

    def part(self, value: Any, keys: frozenset[Path] = frozenset(), steps: Path = ()) -> Part:
        return Part((*self.path, *steps), value, keys, self.tests, self.reason)


def filled_parts(node: Node, scope: Scope) -> Iterator[tuple[str | None, Part]]:
    """Fill an object, and yield a `Part` for each mapping, list and scalar in the object.

    If `node` is a `ForEach`, fill the object for each entry of the map. Each part comes with the key of the entry, such
    as "model", or with None for a single object. A mapping or list precedes its content.
    """
    for key, position, body in _objects(node, _Position(scope)):
        if fill(body, position.scope) is not ABSENT:
            yield from ((key, part) for part in _parts(body, position))


def _objects(node: Node, position: _Position) -> Iterator[tuple[str | None, _Position, Node]]:
    if isinstance(node, ForEach):
        yield from ((key, entry_position, node.body) for key, entry_position in _entries(node, position))
    else:
        yield None, position, node


def _entries(node: ForEach, position: _Position) -> Iterator[tuple[str, _Position]]:
    """Yield the keys of the map of a `ForEach` in sorted order, each with the position of the object for the key."""
    over = evaluate(node.over, position.scope) or {}
    for key in loop_keys(over):
        scope, bound = position.scope.with_bindings()
        bound[node.key], bound[node.item] = key, over[key]
        yield key, position.replaced(scope=scope, bindings=bind_entry(position.bindings, node, (key,)))


def _parts(node: Node, position: _Position) -> Iterator[Part]:
    match node:
        case When(test, if_true, if_false):
            tests = position.tests | sources(test, position.bindings)
            yield from _parts(if_true if evaluate(test, position.scope) else if_false, position.replaced(tests=tests))
        case Let(name, expression, body):
            scope, bound = position.scope.with_bindings()
            bound[name] = evaluate(expression, position.scope)
            yield from _parts(body, position.replaced(scope=scope, bindings=bind(position.bindings, name, expression)))
        case Call(template, arguments):
            values = {name: evaluate(argument, position.scope) for name, argument in arguments}
            scope = position.scope._replace(bound=EMPTY, arguments=values)
            yield from _parts(
                template.node, position.replaced(scope=scope, bindings=bind_arguments(node, position.bindings))
            )
        case NamedTemplate(node=content):
            yield from _parts(content, position)
        case dict():
            yield position.part(fill(node, position.scope))
            yield from _parts_of_mapping(node, position)
        case list() | tuple():
            yield position.part(fill(node, position.scope))
            for index, (item, item_position) in enumerate(_items(node, position)):
                yield from _parts(item, item_position.at(index))
        case _:
            yield from _parts_of_value(node, fill(node, position.scope), position)


def _parts_of_mapping(node: Mapping[Any, Node], position: _Position) -> Iterator[Part]:
    reason = position.reason
    for key, child in node.items():
        if isinstance(key, Comment):
            reason = key.text
            continue
        # A comment is the reason of the next entry only. The entries after this entry have the reason of the mapping.
        entry_position, reason = position.replaced(reason=reason), position.reason
        if fill(child, position.scope) is ABSENT:
            continue
        if isinstance(key, Splice):
            yield from (part for part in _parts(child, entry_position) if part.path != position.path)
        else:
            yield from _parts(child, entry_position.at(evaluate(key, position.scope)))


def _items(nodes: Sequence[Node], position: _Position) -> Iterator[tuple[Node, _Position]]:
    """Yield the node and the position of each item of a filled list."""
    for node in nodes:
        match node:
            case When(test, if_true, if_false):
                tests = position.tests | sources(test, position.bindings)
                branch = if_true if evaluate(test, position.scope) else if_false
                yield from _items([branch], position.replaced(tests=tests))
            case ForEach():
                for _, entry_position in _entries(node, position):
                    yield from _items([node.body], entry_position)
            case Items(tree):
                keys = sources(tree, position.bindings)
                yield from (_literal(item, keys, position) for item in fill(node, position.scope) or ())
            case _:
                if fill(node, position.scope) is not ABSENT:
                    yield node, position


def _literal(item: Any, keys: frozenset[Path], position: _Position) -> tuple[Node, _Position]:
    """Return a `Bound` for `item`, a plain item of a tunable list, and the position of this `Bound`.

    At the position, the name in the `Bound` has the value `item` and comes from `keys`, the keys of the job that set
    the list. So tfgen can tell the origin of the item.
    """
    scope, bound = position.scope.with_bindings()
    bound[_ITEM] = item
    lists = tuple(NameBinding(Value(".".join(map(str, path[1:])), "list"), EMPTY) for path in sorted(keys))
    return Bound(_ITEM, "string"), position.replaced(
        scope=scope, bindings={**position.bindings, bound_key(_ITEM): lists}
    )


_ITEM: Final = "\0item"
"""The name that `_literal` binds to an item of a tunable list. No graph uses this name."""


def _parts_of_value(node: Node, value: Any, position: _Position, steps: Path = ()) -> Iterator[Part]:
    """Yield a `Part` for each mapping, list and scalar in the value of a hole or of a constant."""
    if value is ABSENT:
        return
    yield position.part(value, _present(sources(node, position.bindings, steps), position.scope), steps)
    if isinstance(value, Mapping):
        for key, child in value.items():
            yield from _parts_of_value(node, child, position, (*steps, key))
    elif isinstance(value, (list, tuple)):
        for index, child in enumerate(value):
            yield from _parts_of_value(node, child, position, (*steps, index))


def _present(keys: frozenset[Path], scope: Scope) -> frozenset[Path]:
    """Return the keys in `keys` that the job sets. If the job sets none of the keys, return `keys`."""
    present = frozenset(key for key in keys if key == JOB_NAME or _has(scope.values, key[1:]))
    return present or keys


def _has(values: Any, path: Path) -> bool:
    try:
        follow(values, path)
    except (LookupError, TypeError):
        return False
    return True


def _steps_of(path: str) -> tuple[str, ...]:
    """Split a path such as `roles.worker.replicas` at its dots."""
    return tuple(step for step in path.split(".") if step)
