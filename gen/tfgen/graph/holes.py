"""The types of nodes in an object graph, from which tfgen makes the chart, the overlays and the plain objects.

A graph is plain data (mappings, sequences, scalars) with a `Hole` in place of each value that a user of the chart or an
environment may set:

    {"replicas": Value("roles.worker.replicas", "integer"), "schedulerName": When(gang, "volcano")}

A module that uses many types of nodes imports this module as `h`: `h.When(h.Not(gang), 1)`.

The function `fill` replaces the holes by values and returns plain objects. The package `targets.chart.go_template`
prints the same graph as Helm template text. Both outputs follow these rules:

- While tfgen builds the graph, Python code cannot test a hole, or read its length, items or text, because the result
  would be fixed in the chart. An attempt raises an error that names the node type to use.
- The values 0, "", {}, [], null and false are false, in Go as in Python.
- An `ABSENT` value removes its key or its list item. A mapping or sequence that becomes empty is removed as well. A
  literal ``{}`` or ``[]`` remains.
- A tunable map or list that is empty removes its key, too.
- A tunable quantity becomes a string: the value of `cpu: 2` is "2".
- The order of a mapping is the order of the printed fields. `ForEach` sorts the keys, as ``range`` of Go does.
"""

from __future__ import annotations

import operator
import posixpath
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from itertools import chain
from typing import Any, Final, Literal, NoReturn, TypeAlias, TypeGuard, TypeVar, assert_never

from tfgen.data_path import ValueType
from tfgen.fix import Fix
from tfgen.record import Record


class Absent(Enum):
    """The type of `ABSENT`. The output omits a key or a list item with the value `ABSENT`."""

    ABSENT = "absent"

    def __bool__(self) -> bool:
        return False


ABSENT: Final = Absent.ABSENT


class Hole(Record):
    """A placeholder in a graph for a value that is set later."""

    def __bool__(self) -> NoReturn:
        self._refuse("truth", "When(hole, ...)")

    def __len__(self) -> NoReturn:
        self._refuse("length", "Length(hole)")

    def __iter__(self) -> NoReturn:
        self._refuse("items", "ForEach(hole, ...)")

    def __contains__(self, item: object) -> NoReturn:
        self._refuse("items", "HasItem(hole, item), HasKey(hole, key) or Contains(hole, text)")

    def __str__(self) -> NoReturn:
        self._refuse("text", "Text((..., hole, ...))")

    def __format__(self, spec: str) -> NoReturn:
        self._refuse("text", "Text((..., hole, ...))")

    def __add__(self, operand: object) -> NoReturn:
        self._refuse("sum", "Sum(hole, ...) or Text((hole, ...))")

    __radd__ = __add__

    def _refuse(self, attribute: str, replacement: str) -> NoReturn:
        raise TypeError(f"a hole has no {attribute} until the hole is filled: use {replacement}, not {self!r}")


# -- values ------------------------------------------------------------------------------------------------------


class Value(Hole):
    """A hole for the value of a tunable. `path` is the path in the job without ``spec``: `roles.worker.replicas`."""

    path: str
    type: ValueType


class Bound(Hole):
    """The value of a name that a loop, a `Let` or a `Guard` around the node defines, or a field of this value.

    For example, in a `ForEach` over the volumes, `Bound("storage", "string", "mountPath")` is the mount path of the
    current volume. An empty `path` means the whole value. A missing field is null.
    """

    name: str
    type: ValueType = "string"
    path: str = ""


class Parameter(Hole):
    """The argument for a parameter of the named template around the node, or a field of this argument.

    For example, in the named template of a pod, `Parameter("values", "string", "image")` is the image of the role for
    which the chart calls the named template. An empty `path` means the whole argument. A missing field is null.
    """

    name: str
    type: ValueType = "string"
    path: str = ""


class Release(Hole):
    """The name of the Helm release (`Release.Name` in Helm), or the name of the chart (`Chart.Name`)."""

    fact: Literal["Release.Name", "Chart.Name"]


class ChartOnly(Hole):
    """A Go template expression of the chart, and a fixed value for all other outputs.

    Attributes:
        template: the Go template text.
        filled: the value in the plain objects.
        reads_root: whether the text uses ``.root``. In a named template with parameters, ``.`` contains the arguments,
            and ``.root`` contains the usual ``.`` of Helm, such as ``.root.Release``.
    """

    template: str
    filled: str | Absent = ABSENT
    reads_root: bool = False


class File(Hole):
    """The text of a file, such as a program. The chart and the kustomize base contain the file for use in a ConfigMap.

    Attributes:
        path: the path in the chart and in the kustomize base: ``files/finisher.py``.
        text: the content of the file.
    """

    path: str
    text: str


# -- expressions -------------------------------------------------------------------------------------------------


class Text(Hole):
    """A text that consists of several parts, such as `Text(("run-", value("run")))`."""

    parts: tuple[Node, ...]


class Repeat(Hole):
    """A text with `count` copies of `body`, separated by commas. Example: `ps-0,ps-1` for two copies.

    `index` is the name that `body` uses for the number of the copy: `Bound("i")` is 0, 1, 2 and so on. The number may
    only be a part of a text.
    """

    count: Node
    body: Node
    index: str = "i"


class JoinEntries(Hole):
    """A text with a part for each entry of a map, in the order of the keys. Example: `a=1;b=2` for {"a": 1, "b": 2}.

    Attributes:
        over: the map.
        separator: the text between two parts, such as ";".
        body: the text of a part.
        key: the name that `body` uses for the key of the entry.
        item: the name that `body` uses for the value of the entry.
    """

    over: Expression
    separator: str
    body: Node
    key: str = "name"
    item: str = "value"


class Default(Hole):
    """A value, or a fallback if the value is false. For example, the job's image is the fallback of a role's image."""

    first: Expression
    fallback: Node


class Override(Hole):
    """A value, or a fallback if the value is not set. An empty value, such as false or [], counts as set.

    For example, the job's tolerations are the fallback of a role's tolerations. `first` has a path.
    """

    first: Value | Bound | Parameter
    fallback: Node


class MapOf(Hole):
    """A map in which each key and each value may be an expression. Example: {"cpu": Value("cpu", "quantity")}.

    The output omits an entry with a false value, such as "" or 0. If a `Merged` merges several maps, the chart can omit
    entries only in the first map. So in a `MapOf` that is a later map, each value must be true, such as a text that is
    not empty.
    """

    entries: Mapping[Name, Node]


class Merged(Hole):
    """A map with the entries of several maps, such as tfgen's labels of a pod and the job's labels.

    If several maps have the same key, the entry of the last of these maps replaces the others as a whole. For example,
    {"a": {"x": 1}} and {"a": {"y": 2}} give {"a": {"y": 2}}. A `Merged` may only be the expression of a `Let`.

    Attributes:
        maps: the maps, from the lowest to the highest precedence.
        flat: whether the values in all maps are scalars, so that the chart can merge the maps with a single function
            call.
    """

    maps: tuple[Expression, ...]
    flat: bool = True


class Filtered(Hole):
    """A map with the entries of another map for which `test` is true. Example: the volumes with a folder per run.

    A `Filtered` may only be the expression of a `Let` or of a name in a `Guard`. `key` and `item` are the names that
    `test` uses for the key and the value of the entry.
    """

    over: Expression
    test: Node
    key: str = "name"
    item: str = "value"


class NamedTemplate(Hole):
    """A named template of Helm: a ``define`` in the chart. All other outputs contain only the content.

    The content may begin with a `Let`. The content must not use the names of a loop or of a `Let` around the named
    template.

    Attributes:
        name: the name of the define, without the prefix of the chart.
        doc: a sentence that describes the named template, for the comment in the chart.
        node: the content.
        file: the file of the chart that defines the named template: ``templates/_FILE.tpl``.
        parameters: the name of each `Parameter` in the content. A named template with parameters appears only in a
            `Call`.
    """

    name: str
    doc: str
    node: Node
    file: str = "helpers"
    parameters: tuple[str, ...] = ()


class Call(Hole):
    """A call of a named template with arguments. In the chart: ``include "NAME" (dict "root" $ "role" "worker")``.

    Attributes:
        template: the named template.
        arguments: the name and the argument of each parameter, in the order of the parameters. Example:
            (("role", "worker"),).
    """

    template: NamedTemplate
    arguments: tuple[tuple[str, Node], ...]


class AsText(Hole):
    """A string, or a map or list of strings, for which a user of the chart may also set integers or booleans.

    For example, a user may set the label `version: 2`, and the chart prints "2". A job file accepts only strings, so
    the plain objects need no conversion.

    Attributes:
        tree: the string, map or list.
        template: the named template that converts a value to a string: `TEXT` or `TEXTS` of `graph.naming`.
    """

    tree: Expression
    template: NamedTemplate


class Digest(Hole):
    """The digest of a mapping, for example of a pod template, in hexadecimal digits."""

    tree: NamedTemplate | Call


# -- functions ---------------------------------------------------------------------------------------------------


class Fn(Hole):
    """The result of a function of other nodes, such as `Contains`. `FUNCTIONS` contains the function by its name."""

    name: str
    operands: tuple[Node, ...]


class Function(Record):
    """A pure function in Python and in Go, such as `Contains`. `Contains(text, "$(")` is a node for its result.

    Attributes:
        go: the Go template text, in which {0} and {1} stand for the operands, and {all} for all operands.
        python: the same function in Python, which receives the values of the operands.
        type: the type of the result.
        of_integers: whether the operands are integers, so that the chart converts the float64 numbers of its values.
    """

    name: str
    go: str
    python: Callable[..., Any]
    type: ValueType = "boolean"
    of_integers: bool = False

    def __call__(self, *operands: Node) -> Fn:
        """Return a node for the result of the function."""
        return Fn(self.name, operands)


def clean_path(path: str) -> str:
    """Return the normal form of an absolute path, as Helm's function ``clean`` does: ``/a/b`` for ``//a/./b``.

    Python's ``normpath`` would keep two slashes at the start of a path.
    """
    return posixpath.normpath("/" + path.lstrip("/"))


Not: Final = Function("not", "not {0}", operator.not_)
Equal: Final = Function("equal", "eq {0} {1}", operator.eq)
Greater: Final = Function("greater", "gt {0} {1}", operator.gt, of_integers=True)
Contains: Final = Function("contains", "contains {1} {0}", operator.contains)
# The pattern is the second operand. RE2 and Python must both support the pattern.
Matches: Final = Function("matches", "regexMatch {1} {0}", lambda text, pattern: re.search(pattern, text) is not None)
IsMap: Final = Function("is_map", 'kindIs "map" {0}', lambda data: isinstance(data, dict))
# The list of strings or the map may be null, and is then empty.
HasItem: Final = Function("has_item", "has {1} {0}", lambda items, item: item in (items or ()))
HasKey: Final = Function("has_key", "hasKey {0} {1}", lambda data, key: key in (data or {}))
# The items of a tunable list of strings as one text with commas between the items.
Join: Final = Function("join", 'join "," {0}', lambda items: ",".join(items or ()), "string")
Clean: Final = Function("clean", "clean {0}", clean_path, "string")
# The number of bytes of a text in UTF-8.
Length: Final = Function("length", "len {0}", lambda text: len(text.encode()), "integer")
Sum: Final = Function("sum", "add {all}", lambda *terms: sum(map(int, terms)), "integer")
# A map of keys and values, which alternate: Dict("limits", LIMITS, "requests", REQUESTS).
Dict: Final = Function("dict", "dict {all}", lambda *parts: dict(zip(parts[::2], parts[1::2], strict=True)), "map")

FUNCTIONS: Final[Mapping[str, Function]] = {
    function.name: function
    for function in (Not, Equal, Greater, Contains, Matches, IsMap, HasItem, HasKey, Join, Clean, Length, Sum, Dict)
}


# -- tests -------------------------------------------------------------------------------------------------------


class AllOf(Hole):
    """True if every node is true."""

    nodes: tuple[Node, ...]


class AnyOf(Hole):
    """True if at least one node is true."""

    nodes: tuple[Node, ...]


class IsSet(Hole):
    """True if the map that contains a value has the key of the value. `value` has a path."""

    value: Value | Bound | Parameter


# -- structure ---------------------------------------------------------------------------------------------------


class When(Hole):
    """The node `if_true` if a test is true; the node `if_false` if the test is false."""

    test: Node
    if_true: Node
    if_false: Node = ABSENT


class ForEach(Hole):
    """A list item for each entry of a map, in the order of the keys, or for each item of a list.

    For a map with two entries, `[a, ForEach(...)]` becomes a list with three items. `key` and `item` are the names that
    `body` uses for the key (or the index) and the value of the entry.
    """

    over: Expression
    body: Node
    key: str = "name"
    item: str = "value"


class Items(Hole):
    """The items of a tunable list. The output contains the items directly in the sequence around the `Items` node."""

    list: Expression


class NotEmpty(Hole):
    """A tunable map or list inside a test that excludes empty values, so that the chart needs no second test.

    Example: `When(affinity, NotEmpty(affinity))`.
    """

    tree: Expression


class Let(Hole):
    """A name for the value of an expression. `body` reads the value as `Bound(name)`.

    A `Let` surrounds a whole object, or the whole content of a `NamedTemplate`. A `Let` may contain another `Let`.
    """

    name: str
    expression: Expression
    body: Node


class Comment(Record):
    """The comment above the next entry of a mapping. In the mapping, the comment is a key with the value None."""

    text: str


class Splice(Record):
    """A key whose value is a nested mapping. The output contains the nested entries directly in the outer mapping.

    For example, {"a": 1, Splice("labels"): {"b": 2}} becomes {"a": 1, "b": 2}. The name distinguishes several splices
    in an outer mapping.
    """

    name: str


class CheckedMap(Record):
    """A map whose entries a `Guard` checks one by one, in the order of the keys. `over` is the map.

    Example: `CheckedMap(Value("roles", "map"), "role", "values")` for a guard that checks each role. In this guard,
    `Bound("role")` is the name of the current role, and `Bound("values")` contains the values of the role.
    """

    over: Expression
    key: str
    item: str


class Guard(Record):
    """A check of the values of a job.

    If the check fails, the chart calls Helm's ``fail``. For a job file, a rule reports the message as a problem.

    Attributes:
        rule: the id of the rule.
        at: the values path of the problem, such as `run`. A path that contains the name of a map entry is a tuple of
            steps with a hole for the name: ``("roles", ROLE_NAME, "nodeName")``. An `ABSENT` step is no step.
        when: an expression that is true if the values are wrong.
        say: the message: the invalid value, the allowed values, and the fix. `{}` stands for a node of `about`.
        about: the nodes in place of each `{}` in `say`, if `say` is a string.
        over: the maps whose entries the guard checks, such as the roles. If `over` has several maps, the guard checks
            each combination of their entries. If `over` is empty, the guard checks the values once.
        let: pairs of a name and an expression. `when` and `say` may use the name for the value of the expression.
        fixes: the fixes that the message proposes. The chart prints only the message.
    """

    rule: str
    at: str | tuple[Node, ...]
    when: Expression
    say: Text | str
    about: tuple[Node, ...] = ()
    over: tuple[CheckedMap, ...] = ()
    let: tuple[tuple[str, Node], ...] = ()
    fixes: tuple[Fix, ...] = ()

    @property
    def message(self) -> Text | str:
        """The message, with a hole for each node of `about`."""
        return sentence(self.say, *self.about) if isinstance(self.say, str) and self.about else self.say


# -- unions and functions ------------------------------------------------------------------------------------------

_ValueNode: TypeAlias = Value | Bound | Parameter | Release | ChartOnly | File
_Computed: TypeAlias = (
    Text | Repeat | JoinEntries | Default | Override | MapOf | Merged | Filtered | AsText | Digest | Fn
)
_Test: TypeAlias = AllOf | AnyOf | IsSet
_Structure: TypeAlias = NamedTemplate | Call | When | ForEach | Items | NotEmpty | Let

Expression: TypeAlias = _ValueNode | _Computed | _Test | _Structure
"""Union of all types of holes, so that a type checker reports a `match` that does not handle all types."""

Name: TypeAlias = Expression | str
"""The name of an entry of a map: a text, or an expression whose value is a text."""

Key: TypeAlias = Name | Comment | Splice
"""The key of an entry of a mapping in a graph."""

Node: TypeAlias = "Expression | Absent | str | int | bool | Mapping[Key, Node] | Sequence[Node] | None"


def is_hole(node: object) -> TypeGuard[Expression]:
    """Return whether a node of a graph is a hole."""
    return isinstance(node, Hole)


def child_nodes(node: Node | Record) -> Sequence[Node | Record]:
    """Return the keys and values of a mapping, the items of a list, or the fields of a hole, in the printed order."""
    if isinstance(node, Record):
        return [*map(node.__dict__.__getitem__, node.__match_args__)]
    if isinstance(node, (list, tuple)):
        return node
    return [*chain.from_iterable(node.items())] if isinstance(node, dict) else ()


_Node = TypeVar("_Node")
_Result = TypeVar("_Result")


def cached_on_record(function: Callable[[_Node], _Result]) -> Callable[[_Node], _Result]:
    """Decorate a function whose argument is a record, such as a hole. The record itself caches the result.

    The cached result is deleted together with the record, so the cache needs no limit.
    """
    slot = f"{function.__module__}.{function.__qualname__}"

    def cached(node: _Node) -> _Result:
        cache = node.__dict__ if isinstance(node, Record) else {}
        if slot not in cache:
            cache[slot] = function(node)
        result: _Result = cache[slot]
        return result

    return cached


def named_templates(nodes: Iterable[Node | Record]) -> Mapping[str, NamedTemplate]:
    """Return the named templates of a graph by name, in the order of their first use.

    A named template precedes the named templates that its content calls.

    Raises:
        ValueError: two different named templates have the same name.
    """
    templates: dict[str, NamedTemplate] = {}
    for item in chain.from_iterable(map(_named_templates_and_files, nodes)):
        if isinstance(item, NamedTemplate) and templates.setdefault(item.name, item) != item:
            raise ValueError(f"two templates are named {item.name}: {templates[item.name]!r} and {item!r}")
    return templates


def chart_files(nodes: Iterable[Node | Record]) -> Mapping[str, str]:
    """Return the text of each `File` in a graph, by the path of the file in the chart.

    Example: {"files/code/train.py": "import tensorflow as tf ..."}.
    """
    items = chain.from_iterable(map(_named_templates_and_files, nodes))
    return {item.path: item.text for item in items if isinstance(item, File)}


@cached_on_record
def _named_templates_and_files(node: Node | Record) -> tuple[NamedTemplate | File, ...]:
    """Return the named templates and the files of a node, without duplicates, in the order of the first use."""
    items = {id(node): node} if isinstance(node, (NamedTemplate, File)) else {}
    for child in child_nodes(node):
        if child is not None and not isinstance(child, (str, int)):
            items.update((id(item), item) for item in _named_templates_and_files(child))
    return tuple(items.values())


@cached_on_record
def values_paths(node: Node | Record) -> frozenset[str]:
    """Return the paths of the values on which a node depends, each with a dot at its end, such as `roles.worker.`."""
    own = {f"{node.path}." if node.path else ""} if isinstance(node, Value) else set()
    return frozenset(
        own.union(*(values_paths(c) for c in child_nodes(node) if isinstance(c, (Record, dict, list, tuple))))
    )


def plain_mapping(data: Mapping[str, Any]) -> dict[Key, Node]:
    """Convert a mapping of plain data, for example from job.yaml, into a node of a graph."""
    return dict(data.items())


def sentence(words: str, *nodes: Node) -> Text:
    """Return a text with a node in place of each ``{}`` in `words`, such as ``role {} has no image``."""
    first, *others = words.split("{}")
    return Text((first, *chain.from_iterable(zip(nodes, others, strict=True))))


def if_set(hole: Expression) -> When:
    """Return a node with the value of a hole. The node is absent if the value is empty."""
    return When(hole, hole)


def call(template: NamedTemplate, **arguments: Node) -> NamedTemplate | Call:
    """Return a `Call` of a named template, or the named template itself if the named template has no parameters.

    Args:
        template: the named template.
        arguments: the argument for each parameter of the named template, such as `role="worker"`.

    Raises:
        TypeError: the names of the arguments differ from the parameters of the named template.
    """
    if arguments.keys() != set(template.parameters):
        raise TypeError(f"{template.name} has the parameters {template.parameters}, but received {tuple(arguments)}")
    if not template.parameters:
        return template
    return Call(template, tuple((name, arguments[name]) for name in template.parameters))


def type_of(node: Node) -> ValueType:
    """Return the type of the value that replaces a node, such as `integer`."""
    match node:
        case Value(type=value_type) | Bound(type=value_type) | Parameter(type=value_type):
            return value_type
        case Call(template=child):
            return type_of(child)
        case When(if_true=Absent(), if_false=child):
            return type_of(child)
        case (
            Default(first=child)
            | Override(first=child)
            | NamedTemplate(node=child)
            | Let(body=child)
            | When(if_true=child)
            | NotEmpty(tree=child)
            | Items(list=child)
            | AsText(tree=child)
        ):
            return type_of(child)
        case MapOf() | Merged() | Filtered() | dict():
            return "map"
        case Fn(name):
            return FUNCTIONS[name].type
        case bool() | AllOf() | AnyOf() | IsSet():
            return "boolean"
        case int():
            return "integer"
        case str() | Text() | Release() | ChartOnly() | File() | Repeat() | JoinEntries() | Digest():
            return "string"
        case list() | tuple():
            return "list"
        case ForEach() | Absent() | Mapping() | Sequence() | None:
            raise TypeError(f"no type: {node!r}")
    assert_never(node)


def used_names(node: Node | Record) -> frozenset[tuple[type[Hole], str]]:
    """Return each name that a node reads and does not define by a `Let`, such as (Bound, "labels")."""
    match node:
        case Bound(name) | Parameter(name):
            return frozenset(((type(node), name),))
        case Call(arguments=arguments):
            return frozenset(chain.from_iterable(used_names(argument) for _, argument in arguments))
        case Let(name, expression, body):
            return used_names(expression) | used_names(body) - {(Bound, name)}
        case NamedTemplate(node=content):
            return used_names(content)
    return frozenset(chain.from_iterable(map(used_names, child_nodes(node))))
