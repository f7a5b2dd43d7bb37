"""The printer: a graph of objects with holes as Helm template text.

    {"replicas": Value("roles.worker.replicas", "integer")}  ->  replicas: {{ .Values.roles.worker.replicas | int64 }}

It is the second of the two functions over the nodes of `holes`; what the first, `fill`, computes, this one writes
down for Helm to compute. Facts of Go templates that it rests on (https://helm.sh/docs/chart_template_guide/):
numbers arrive as float64 and need ``int64``; ``range`` and ``with`` move the dot, so that ``$`` is the root inside;
``{{-`` eats the white space before it, the line break too, so that a directive leaves no line of its own.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, assert_never

from tfgen.graph.holes import (
    ABSENT,
    Absent,
    AllOf,
    AnyOf,
    Bound,
    ChartOnly,
    Clean,
    Contains,
    Default,
    Digest,
    Each,
    Equal,
    Expression,
    File,
    Filtered,
    Greater,
    Guard,
    Has,
    HasKey,
    Hole,
    IsMap,
    Items,
    Join,
    JoinEach,
    Length,
    Let,
    Matches,
    Merged,
    Named,
    Node,
    Not,
    NotEmpty,
    Overlaid,
    Release,
    Repeat,
    Splice,
    Sum,
    Text,
    Value,
    When,
    is_hole,
    type_of,
)
from tfgen.record import Record
from tfgen.text import canonical_json, yaml_text
from tfgen.value_type import TREES

Lines = list[str]

_END = "# end"
"""The last line of an object whose last text is a user's. Helm cuts the white space off the end of all that it prints,
and puts a line break of its own after each object: a text of empty lines, which YAML keeps, would lose or gain one."""


class Printer(Record):
    """Prints nodes, and keeps the helpers that they name.

    Attributes:
        chart: the chart's name, the prefix of its helpers' names.
        helpers: the text of each ``define`` met so far, by its file and its full name.
        files: the text of each file of the chart's that a template met so far reads, by its path.
        root: how the root context is written here: ``.``, or ``$`` where a ``range`` has moved the dot.
    """

    chart: str
    helpers: dict[str, dict[str, str]]
    files: dict[str, str]
    root: str

    def __init__(
        self,
        chart: str,
        helpers: dict[str, dict[str, str]] | None = None,
        files: dict[str, str] | None = None,
        root: str = ".",
    ) -> None:
        super().__init__(chart, {} if helpers is None else helpers, {} if files is None else files, root)

    @property
    def _inside(self) -> Printer:
        """The printer for the body of a ``range``."""
        return self.replaced(root="$")

    # -- whole files -----------------------------------------------------------------------------------------

    def template(self, node: Node) -> str:
        """The text of one template file: an object, or several of an `Each`, each after ``---``."""
        return "\n".join(self._document(node, separator=[])) + "\n"

    def helpers_file(self, head: str, file: str = "helpers") -> str:
        """``_FILE.tpl``: a head that says what is in it, then the helpers in the order of their first use."""
        helpers = self.helpers.get(file, {})
        table = "\n".join(f"  {name}" for name in helpers)
        return "\n".join([f"{{{{/*\n{head}\n\n{table}\n*/}}}}", *helpers.values()])

    def guards(self, guards: Sequence[Guard]) -> str:
        """Checks that stop Helm with a message that helps; neighbours that look at the same entries share the range."""
        return "".join(f"{line}\n" for line in self._guards(guards, depth=0))

    def _guards(self, guards: Sequence[Guard], depth: int) -> Lines:
        lines: Lines = []
        for each, run in groupby(guards, key=lambda guard: (guard.each[depth:] or (None,))[0]):
            if each is None:
                lines += [line for guard in run for line in self._guard(guard)]
            else:
                head = f"{{{{- range ${each.key}, ${each.item} := {self.expression(each.over)} }}}}"
                lines += [head, *self._inside._guards(list(run), depth + 1), "{{- end }}"]
        return lines

    def _guard(self, guard: Guard) -> Lines:
        assigned = [line for let in guard.let for line in self._assign(*let)]
        test, message = self.expression(guard.test), self._argument(guard.message)
        return [*assigned, f"{{{{- if {test} }}}}", f"{{{{- fail {message} }}}}", "{{- end }}"]

    def text(self, node: Node) -> str:
        """A node as text within a line or a free text such as NOTES.txt."""
        match node:
            case str():
                return _escape(node)
            case int():
                return str(node)
            case Absent():
                return ""
            case Text(parts):
                return _joined([self.text(part) for part in parts])
            case ChartOnly(template):
                return template
            case Repeat(count, body, index):
                comma = f"{{{{ if ${index} }}}},{{{{ end }}}}"
                times = f"{{{{- range ${index} := until (int {self._argument(count)}) }}}}"
                return f"{times}{comma}{self._inside.text(body)}{{{{ end }}}}"
            case JoinEach(over, separator, body, key, item):
                each = f"{{{{- range ${key}, ${item} := {self.expression(over)} }}}}{{{{ $separator }}}}"
                then = f"{{{{ $separator = {_go_literal(separator)} }}}}"
                return f'{{{{- $separator := "" }}}}{each}{then}{self._inside.text(body)}{{{{ end }}}}'
            case When(test, then, otherwise):
                other = "" if otherwise is ABSENT else "{{ else }}" + self.text(otherwise)
                return f"{{{{ if {self.expression(test)} }}}}{self.text(then)}{other}{{{{ end }}}}"
        return f"{{{{ {self._typed(node)} }}}}"

    # -- expressions -----------------------------------------------------------------------------------------

    def expression(self, node: Node) -> str:  # noqa: C901 - a branch a node
        """A node as a Go template pipeline."""
        match node:
            case Value(path):
                return _field(f"{self.root.rstrip('.')}.Values", path)
            case Bound(name, _, path):
                return _field(f"${name}", path)
            case Release(fact):
                return f"{self.root.rstrip('.')}.{fact}"
            case File():
                return self._file(node)
            case Named(name):
                self._define(node)
                return f"include {_go_literal(self._full(name))} {self.root}"
            case Text(parts):
                return self._printf(parts)
            case When(test, then, otherwise):
                return f"ternary {self._argument(then)} {self._argument(otherwise)} {self._condition(test)}"
            case Sum(terms):
                return "add " + " ".join(self._argument(term) for term in terms)
            case Join(items):
                return f'join "," {self._argument(items)}'
            case Clean(text) | Length(text):
                return f"{'clean' if isinstance(node, Clean) else 'len'} {self._argument(text)}"
            case Default(first, fallback):
                return f"{self.expression(first)} | default {self._argument(fallback)}"
            case NotEmpty(tree):
                return self.expression(tree)
            case Digest() | Overlaid():
                return self._of_data(node)
            case dict():
                return " ".join(["dict", *(self._argument(part) for entry in node.items() for part in entry)])
            case str() | int():
                return _go_literal(node)
            case Not(inner):
                return f"not {self._argument(inner)}"
            case AllOf(nodes):
                return "and " + " ".join(self._argument(n) for n in nodes)
            case AnyOf(nodes):
                return "or " + " ".join(self._argument(n) for n in nodes)
            case Equal(one, other):
                return f"eq {self._argument(one)} {self._argument(other)}"
            case Greater(one, other):
                return f"gt (int64 {self._argument(one)}) (int64 {self._argument(other)})"
            case Has(list=items, item=item):
                return f"has {self._argument(item)} {self._argument(items)}"
            case HasKey(map=inner, key=key):
                return f"hasKey {self._argument(inner)} {self._argument(key)}"
            case Contains(text, part):
                return f"contains {self._argument(part)} {self._argument(text)}"
            case IsMap(inner):
                return f'kindIs "map" {self._argument(inner)}'
            case Matches(text, pattern):
                return f"regexMatch {_go_literal(pattern)} {self._argument(text)}"
            case Merged() | Filtered() | Each() | Items() | Let() | Repeat() | JoinEach() | ChartOnly():
                raise TypeError(f"no expression of Go templates: {node!r}")
            case None | Absent() | Mapping() | Sequence():
                raise TypeError(f"not an expression: {node!r}")
        assert_never(node)

    def _file(self, node: File) -> str:
        """The text of a file of the chart's. To Helm one that is missing is empty, which a program never is."""
        self.files[node.path] = node.text
        read = f"{self.root.rstrip('.')}.Files.Get {_go_literal(node.path)}"
        message = f"the chart has no {node.path}, or it is empty"
        return f"{read} | required {_go_literal(message)}" if node.text else read

    def _of_data(self, node: Digest | Overlaid) -> str:
        if isinstance(node, Digest):
            return f"{self._data(node.tree)} | mustToRawJson | sha256sum | trunc {canonical_json.DIGEST_LENGTH}"
        return f"mergeOverwrite ({self._data(node.under)}) {self._argument(node.over)}"

    def _data(self, part: Named) -> str:
        """A named mapping as data, of which Go has no more than the text.

        A part is without its last line break; it is put back, or a last text of empty lines would lose one.
        """
        if not _is_tree(part.node) or presence(part) is not True:
            raise TypeError(f"not a mapping that is always there: {part!r}")
        return f'printf "%s\\n" ({self.expression(part)}) | fromYaml'

    def _argument(self, node: Node) -> str:
        """An expression as an argument of another: in brackets where it is more than a word."""
        text = self.expression(node)
        return f"({text})" if " " in text and not text.startswith('"') else text

    def _condition(self, node: Node) -> str:
        """An expression as a Go bool, which `ternary` insists on."""
        return self._argument(node) if _is_bool(node) else f"(not (empty {self._argument(node)}))"

    def _printf(self, parts: Sequence[Node]) -> str:
        form, arguments = "", []
        for part in _flat(parts):
            if isinstance(part, str):
                form += part.replace("%", "%%")
            elif isinstance(part, Hole) and type_of(part) == "integer":
                form += "%d"
                arguments.append(f"(int64 {self._argument(part)})")
            else:
                form += "%v"
                arguments.append(self._argument(part))
        return (
            " ".join(["printf", _go_literal(form), *arguments]) if arguments else _go_literal(form.replace("%%", "%"))
        )

    def _typed(self, node: Node) -> str:
        """An expression whose text is right for its type, unquoted."""
        text = self.expression(node)
        return f"{text} | int64" if type_of(node) == "integer" and not isinstance(node, (Sum, Length)) else text

    # -- helpers ---------------------------------------------------------------------------------------------

    def _full(self, name: str) -> str:
        return f"{self.chart}.{name}"

    def _define(self, node: Named) -> None:
        full, helpers = self._full(node.name), self.helpers.setdefault(node.file, {})
        if full in helpers:
            return
        helpers[full] = ""  # its place: a helper that it uses comes after it
        body = self.replaced(root=".")._definition(node.node)
        helpers[full] = f'{{{{/* {node.doc} */}}}}\n{{{{- define "{full}" -}}}}\n{body}\n{{{{- end }}}}\n'

    def _definition(self, node: Node) -> str:
        assigned: Lines = []
        while isinstance(node, Let):
            assigned += self._assign(node.name, node.expression)
            node = node.body
        if assigned:  # what they leave behind would be an empty line where the part is used
            assigned[-1] = f"{assigned[-1].removesuffix(' }}')} -}}}}"
        return "\n".join([*assigned, *self._body(node, "")]) if _is_tree(node) else _kept(self.text(node))

    # -- lines -----------------------------------------------------------------------------------------------

    def _document(self, node: Node, separator: Lines) -> Lines:
        match node:
            case Let(name, expression, body):
                return [*self._assign(name, expression), *self._document(body, separator)]
            case When():
                return self._when(node, "", lambda inner: self._document(inner, separator))
            case Each():
                return self._range(node, "", lambda p, body: p._document(body, ["---"]))
        return [*separator, *self._body(node, ""), *([_END] if _ends_in_tree(node) else [])]

    def _assign(self, name: str, expression: Expression) -> Lines:
        if isinstance(expression, Filtered):
            return self._filter(name, expression)
        if not isinstance(expression, Merged):
            return [f"{{{{- ${name} := {self.expression(expression)} }}}}"]
        lowest, *layers = expression.layers
        if isinstance(lowest, Hole):
            first, lines = f"deepCopy {self._argument(lowest)}", Lines()
        else:
            first, lines = self._literal(name, lowest)
        if expression.flat and layers and not lines:
            first = " ".join(["mergeOverwrite", f"({first})", *map(self._argument, layers)])
            return [f"{{{{- ${name} := {first} }}}}"]
        lines.insert(0, f"{{{{- ${name} := {first} }}}}")
        if expression.flat and layers:
            lines.append(
                f"{{{{- ${name} = {' '.join(['mergeOverwrite', f'${name}', *map(self._argument, layers)])} }}}}"
            )
            return lines
        for layer in layers:
            lines += [
                f"{{{{- range $key, $value := {self.expression(layer)} }}}}",
                f"{{{{- $_ := set ${name} $key $value }}}}",
                "{{- end }}",
            ]
        return lines

    def _filter(self, name: str, node: Filtered) -> Lines:
        return [
            f"{{{{- ${name} := dict }}}}",
            f"{{{{- range ${node.key}, ${node.item} := {self.expression(node.over)} }}}}",
            f"{{{{- if {self._inside.expression(node.test)} }}}}",
            f"{{{{- $_ := set ${name} ${node.key} ${node.item} }}}}",
            "{{- end }}",
            "{{- end }}",
        ]

    def _literal(self, name: str, lowest: Node) -> tuple[str, Lines]:
        """A literal mapping: a ``dict`` of what is always there, and lines that set what may come to nothing."""
        if not isinstance(lowest, dict):
            raise TypeError(f"the lowest layer must be a hole or a mapping: {lowest!r}")
        always = {key: node for key, node in lowest.items() if not isinstance(node, Hole) and node}
        lines: Lines = []
        tested = ((*_tested(node), key) for key, node in lowest.items() if is_hole(node))
        for test, entries in groupby(tested, key=lambda entry: entry[0]):
            lines += [
                f"{{{{- if {self.expression(test)} }}}}",
                *(
                    f"{{{{- $_ := set ${name} {self._argument(key)} {self._item_of_dict(node)} }}}}"
                    for _, node, key in entries
                ),
                "{{- end }}",
            ]
        return self.expression(always), lines

    def _item_of_dict(self, node: Node) -> str:
        text = self._argument(node)
        return f"(toString {text})" if isinstance(node, Hole) and type_of(node) == "quantity" else text

    def _body(self, node: Node, indent: str) -> Lines:
        match node:
            case dict():
                return self._entries(node, indent)
            case Named(node=inner) if _is_tree(inner):
                return [f"{indent}{{{{- {self.expression(node)} | nindent {len(indent)} }}}}"]
            case When():
                return self._when(node, indent, lambda inner: self._body(inner, indent))
            case NotEmpty(tree):
                return [f"{indent}{{{{- toYaml {self._argument(tree)} | nindent {len(indent)} }}}}"]
            case Hole() if type_of(node) in TREES:
                return self._tree(node, indent, [])
            case str() | int() | None:
                raise TypeError(f"not a mapping or sequence: {node!r}")
            case list() | tuple():
                return [line for child in node for line in self._item(child, indent)]
        raise TypeError(f"not a mapping or sequence: {node!r}")

    def _entries(self, mapping: Mapping[Any, Node], indent: str) -> Lines:
        """The lines of a mapping's entries; neighbours under one condition share it."""
        lines: Lines = []
        for test, run in groupby(mapping.items(), key=_own_test):
            entries = dict(run)
            if test is None:
                lines += [line for key, node in entries.items() for line in self._entry(key, node, indent)]
            else:
                then = {key: node.then for key, node in entries.items() if isinstance(node, When)}
                lines += self._when(When(test, then), indent, lambda inner: self._body(inner, indent))
        return lines

    def _entry(self, key: Any, node: Node, indent: str) -> Lines:
        """The lines of one entry of a mapping."""
        if node is ABSENT:
            return []
        if isinstance(node, When):
            return self._when(node, indent, lambda inner: self._entry(key, inner, indent))
        if isinstance(key, Splice):
            return self._body(node, indent)
        if not isinstance(key, Hole) and not _has_holes(node):
            return _indented(_escape(yaml_text.dump({key: node})), indent)
        head = f"{indent}{self._key(key)}:"
        if isinstance(node, File) and yaml_text.is_literal(node.text):
            return self._block(node, head, indent + "  ")
        if isinstance(node, Named) and _is_tree(node.node):
            return [head, *self._body(node, indent + "  ")]
        if isinstance(node, NotEmpty):
            return [head, *self._body(node, indent + ("  " if type_of(node) == "map" else ""))]
        if isinstance(node, Hole) and type_of(node) in TREES:
            return self._tree(node, indent, [head])
        if isinstance(node, dict):
            return self._guarded(node, indent, [head, *self._body(node, indent + "  ")])
        if isinstance(node, list | tuple):
            return self._guarded(node, indent, [head, *self._body(node, indent)])
        return [f"{head} {self._scalar(node)}"]

    def _block(self, node: File, head: str, indent: str) -> Lines:
        """A text of several lines as a literal block."""
        header = "|" if node.text.endswith("\n") else "|-"
        return [f"{head} {header}", f"{indent}{{{{- {self.expression(node)} | nindent {len(indent)} }}}}"]

    def _item(self, node: Node, indent: str) -> Lines:
        """The lines of one item of a sequence."""
        match node:
            case When():
                return self._when(node, indent, lambda inner: self._item(inner, indent))
            case Each():
                return self._range(node, indent, lambda p, body: p._item(body, indent))
            case Items(items):
                return self._tree(items, indent, [])
            case dict() if _has_holes(node):
                lines = self._body(node, indent + "  ")
                if lines[0].lstrip().startswith("{{-"):
                    raise TypeError(f"a list item must begin with an entry that is always there: {node!r}")
                return [f"{indent}- {lines[0].lstrip()}", *lines[1:]]
        if not _has_holes(node):
            return _indented(_escape(yaml_text.dump([node])), indent)
        if isinstance(node, File) and yaml_text.is_literal(node.text):
            return self._block(node, f"{indent}-", indent + "  ")
        return [f"{indent}- {self._scalar(node)}"]

    def _when(self, node: When, indent: str, lines: Callable[[Node], Lines]) -> Lines:
        """``if``, ``else if`` ... around what `lines` gives for each branch."""
        if node.then is ABSENT:
            node = When(Not(node.test), node.otherwise)
        out, word = [], "if"
        rest: Node = node
        while isinstance(rest, When) and rest.then is not ABSENT:
            out += [f"{indent}{{{{- {word} {self.expression(rest.test)} }}}}", *lines(rest.then)]
            rest, word = rest.otherwise, "else if"
        if rest is not ABSENT:
            out += [f"{indent}{{{{- else }}}}", *lines(rest)]
        return [*out, f"{indent}{{{{- end }}}}"]

    def _range(self, node: Each, indent: str, lines: Callable[[Printer, Node], Lines]) -> Lines:
        head = f"{indent}{{{{- range ${node.key}, ${node.item} := {self.expression(node.over)} }}}}"
        return [head, *lines(self._inside, node.body), f"{indent}{{{{- end }}}}"]

    def _tree(self, node: Expression, indent: str, head: Lines) -> Lines:
        """A tunable map or list, and its key where it has one; nothing where it is empty."""
        depth = len(indent) + (2 if head and type_of(node) == "map" else 0)
        return [
            f"{indent}{{{{- with {self.expression(node)} }}}}",
            *head,
            f"{' ' * depth}{{{{- toYaml . | nindent {depth} }}}}",
            f"{indent}{{{{- end }}}}",
        ]

    def _guarded(self, node: Node, indent: str, lines: Lines) -> Lines:
        """The lines, under the condition that anything of the node is left."""
        test = presence(node)
        if test is True:
            return lines
        return [f"{indent}{{{{- if {self.expression(test)} }}}}", *lines, f"{indent}{{{{- end }}}}"]

    def _key(self, key: Any) -> str:
        return f"{{{{ {self.expression(key)} | quote }}}}" if is_hole(key) else _escape(yaml_text.scalar(key))

    def _scalar(self, node: Node) -> str:
        """A scalar as YAML. A user's string is quoted by Go; what is made of names alone is safe as it stands."""
        match node:
            case str() | int() | None:
                return _escape(yaml_text.scalar(node))
            case Text(parts) if all(_is_safe(part) for part in parts):
                samples = [_sample(node, longest=longest) for longest in (True, False)]
                if all(yaml_text.scalar(sample)[0] not in "'\"" for sample in samples):
                    return self.text(node)
                if not any("'" in sample or "\n" in sample for sample in samples):
                    return f"'{self.text(node)}'"
            case ChartOnly(template):
                return template
        if isinstance(node, Hole) and type_of(node) in ("string", "quantity"):
            return f"{{{{ {self.expression(node)} | quote }}}}"
        return f"{{{{ {self._typed(node)} }}}}"


def presence(node: Node) -> Node:
    """When anything of a node is left: ``True`` for always, else the test; the printer's half of the law of `fill`."""
    match node:
        case When(test, then, otherwise):
            inner, other = presence(then), presence(otherwise)
            if inner is True and other is True:
                return True
            ways = [_both(*way) for way in ((test, inner), (Not(test), other)) if way[1] is not False]
            return AnyOf(tuple(ways)) if len(ways) > 1 else ways[0] if ways else False
        case Absent():
            return False
        case Items(items):
            return items
        case Each(over, body):
            if presence(body) is not True:
                raise TypeError(
                    f"whether anything is left of these items cannot be said before they are made: {node!r}"
                )
            return over
        case Named(node=inner) | Let(body=inner):
            return presence(inner)
        case Hole():
            return node if type_of(node) in TREES else True
        case str() | int() | None:
            return True
        case dict():
            return _presence_of_any(list(node.values()))
        case list() | tuple():
            return _presence_of_any(node)
    raise TypeError(f"not a node: {node!r}")


def _ends_in_tree(node: Node) -> bool:
    """Whether the last line of a node may come from ``toYaml``, which writes a text's empty lines at its end."""
    match node:
        case When(_, then, otherwise):
            return _ends_in_tree(then) or _ends_in_tree(otherwise)
        case Each(body=inner) | Named(node=inner) | Let(body=inner):
            return _ends_in_tree(inner)
        case Items() | NotEmpty():
            return True
        case Hole():
            return type_of(node) in TREES
        case dict():
            return _last_ends_in_tree(list(node.values()))
        case list() | tuple():
            return _last_ends_in_tree(node)
    return False


def _last_ends_in_tree(children: Sequence[Node]) -> bool:
    """Whether the last of the children that is there may end so."""
    for child in reversed(children):
        if _ends_in_tree(child):
            return True
        if not isinstance(child, Each) and presence(child) is True:
            return False
    return False


def _is_tree(node: Node) -> bool:
    """Whether a named part is a mapping, under names of its own or not."""
    return _is_tree(node.body) if isinstance(node, Let) else isinstance(node, dict)


def _is_bool(node: Node) -> bool:
    """Whether Go has a bool for a test: its ``and`` and ``or`` give one of their arguments."""
    if isinstance(node, (AllOf, AnyOf)):
        return all(_is_bool(each) for each in node.nodes)
    return type_of(node) == "boolean"


def _both(test: Node, presence: Node) -> Node:
    return test if presence is True else AllOf((test, presence))


def _presence_of_any(children: Sequence[Node]) -> Node:
    if not children:
        return True
    tests: list[Node] = []
    for child in children:
        # One that is always there settles it, whatever cannot be said of the others.
        if not isinstance(child, Each) and presence(child) is True:
            return True
    for child in children:
        test = presence(child)
        if test is not False and test not in tests:
            tests.append(test)
    return tests[0] if len(tests) == 1 else AnyOf(tuple(tests))


def _is_safe(part: Node) -> bool:
    """Whether a part of a text is no text of a user's, but ours, a name or a number."""
    if isinstance(part, Named):
        return _is_of_names(part.node)
    return isinstance(part, (str, Release)) or type_of(part) == "integer"


def _is_of_names(node: Node) -> bool:
    """Whether a part that has a name of its own is made of names: what a user says in one is no more than a name."""
    match node:
        case Named(node=inner) | Repeat(body=inner):
            return _is_of_names(inner)
        case Text(parts):
            return all(_is_of_names(part) for part in parts)
        case When(_, then, otherwise):
            return _is_of_names(then) and _is_of_names(otherwise)
    return not isinstance(node, (JoinEach, ChartOnly))


def _sample(node: Node, *, longest: bool) -> str:
    """What a text made of names may look like: with all that it may have, or with the least."""
    match node:
        case str():
            return node
        case Absent():
            return ""
        case Text(parts):
            return "".join(_sample(part, longest=longest) for part in parts)
        case Named(node=inner):
            return _sample(inner, longest=longest)
        case Repeat(body=inner):
            return _sample(inner, longest=True) if longest else ""
        case When(_, then, otherwise):
            return _sample(then if longest else otherwise, longest=longest)
    return "0" if type_of(node) == "integer" else "x"


def _flat(parts: Sequence[Node]) -> Iterator[Node]:
    """The parts of a text, those of texts within it in their place."""
    for part in parts:
        if isinstance(part, Text):
            yield from _flat(part.parts)
        else:
            yield part


def _tested(node: Expression) -> tuple[Node, Node]:
    """When an entry of a literal layer comes to something, and to what."""
    if not isinstance(node, When):
        return node, node
    if node.otherwise is not ABSENT:
        raise TypeError(f"an entry of a layer has no other branch: {node!r}")
    may_be_empty = isinstance(node.then, Hole) and node.then != node.test
    return (AllOf((node.test, node.then)) if may_be_empty else node.test), node.then


def _own_test(entry: tuple[Any, Node]) -> Node:
    """The condition on an entry that has no other branch; null for any other entry."""
    node = entry[1]
    return node.test if isinstance(node, When) and node.otherwise is ABSENT else None


def _has_holes(node: Node) -> bool:
    match node:
        case Hole() | Absent():
            return True
        case dict():
            return any(not isinstance(key, str) or _has_holes(child) for key, child in node.items())
        case str():
            return False
        case list() | tuple():
            return any(_has_holes(child) for child in node)
    return False


@functools.cache
def _field(base: str, path: str) -> str:
    """A field of the values: dots where Go's syntax takes every name, else ``index``."""
    names = [name for name in path.split(".") if name]
    if all(name.isidentifier() and name.isascii() for name in names):
        return ".".join([base, *names])
    return f"(index {base} {' '.join(_go_literal(name) for name in names)})"


def _go_literal(value: str | int) -> str:
    return json.dumps(value, ensure_ascii=False)


def _escape(text: str) -> str:
    """Text that Helm prints as it stands."""
    return text.replace("{{", '{{ "{{" }}')


_SPACE = (" ", "\t", "\r", "\n")
"""What Go trims beside an action with a dash."""


def _kept(text: str) -> str:
    """Text that keeps the white space at its ends beside actions that trim."""
    core = text.strip("".join(_SPACE))
    start, _, end = text.partition(core) if core else (text, "", "")
    before, after = (f"{{{{ {_go_literal(space)} }}}}" if space else "" for space in (start, end))
    return f"{before}{core}{after}"


def _joined(texts: Sequence[str]) -> str:
    """The texts in a row. Go would take a brace before an action for part of its start; its dash would eat a space."""
    out = ""
    for text in texts:
        if text.startswith("{{") and out.endswith("{") and not out.endswith("}}{{"):
            out = f'{out[:-1]}{{{{ "{{" }}}}'
        out += text.replace("{{-", "{{", 1) if text.startswith("{{-") and out.endswith(_SPACE) else text
    return out


def _indented(text: str, indent: str) -> Lines:
    return [f"{indent}{line}" if line else line for line in text.removesuffix("\n").split("\n")]
