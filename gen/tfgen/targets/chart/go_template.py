"""The printer: a graph of objects with holes as Helm template text.

    {"replicas": Value("roles.worker.replicas", "integer")}  ->  replicas: {{ .Values.roles.worker.replicas | int64 }}

It is the second of the two functions over the nodes of `holes`; what the first, `fill`, computes, this one writes
down for Helm to compute. Facts of Go templates that it rests on (https://helm.sh/docs/chart_template_guide/):
numbers arrive as float64 and need ``int64``; ``range`` and ``with`` move the dot, so that ``$`` is the root inside;
``{{-`` eats the white space before it, the line break too, so that a directive leaves no line of its own.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final, TypeAlias, assert_never

from tfgen.graph.holes import (
    ABSENT,
    Absent,
    AllOf,
    AnyOf,
    Bound,
    Call,
    ChartOnly,
    Clean,
    Comment,
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
    Key,
    Length,
    Let,
    MapOf,
    Matches,
    Merged,
    Name,
    Named,
    Node,
    Not,
    NotEmpty,
    Parameter,
    Release,
    Repeat,
    Splice,
    Sum,
    Text,
    Value,
    When,
    inner_nodes,
    is_hole,
    once_a_hole,
    type_of,
)
from tfgen.record import EMPTY, Record
from tfgen.targets.chart.go_text import (
    COMMENT_WIDTH,
    ENDED,
    Lines,
    action,
    comment,
    escape,
    field,
    indent_lines,
    join,
    keep_space,
    literal,
    with_reasons_once,
    with_shared_tests,
)
from tfgen.targets.chart.presence import (
    all_of,
    ends_in_tree,
    inner_test,
    is_of,
    known_of,
    mentions,
    parts_of_test,
    presence,
    unknown,
)
from tfgen.text import canonical_json, yaml_text
from tfgen.value_type import TREES

_ON_A_LINE: Final = " | nindent 0 }}"

_END = "# end, so that Helm cuts no empty line off the text above"
"""The last line of an object whose last text is a user's. Helm cuts the white space off the end of all that it prints,
and puts a line break of its own after each object: a text of empty lines, which YAML keeps, would lose or gain one."""


_Branch: TypeAlias = "Callable[[Printer, Node], Lines]"
"""What is printed of a branch, by the printer for it."""


_OFTEN_ASKED_FOR: Final = ("run", "fullname")
"""The names of the parts whose text a variable may have, under the same name."""


class Printer(Record):
    """Prints nodes.

    Attributes:
        chart: the chart's name, the prefix of its helpers' names.
        parameters: of the part whose text is printed, where it has some: the dot is a ``dict`` of them there, and the
            root context is under ``root`` in it.
        dot: how that context is written here: ``.``, or ``$`` where a ``range`` has moved the dot.
        variables: by a helper's full name, the variable that has what it prints here.
        subject: what a ``with`` around has made the dot.
        known: the tests that are true here.
    """

    chart: str
    parameters: tuple[str, ...] = ()
    dot: str = "."
    variables: Mapping[str, str] = EMPTY
    subject: Node = None
    known: tuple[Node, ...] = ()

    @property
    def inside(self) -> Printer:
        """The printer for the body of a ``range``."""
        return self.replaced(dot="$", subject=None)

    def _knowing(self, *tests: Node) -> Printer:
        """The printer for where the tests are true."""
        return self.replaced(known=(*self.known, *(part for test in tests for part in parts_of_test(test))))

    @property
    def _root(self) -> str:
        """The root context, as what stands before ``.Values``."""
        return f"{self._context}.root" if self.parameters else self._context

    @property
    def _context(self) -> str:
        return self.dot.rstrip(".")

    # -- whole files -----------------------------------------------------------------------------------------

    def template(self, node: Node) -> str:
        """The text of one template file: an object, or several of an `Each`, each after ``---``."""
        lines = self._document(node, separator=[])
        variables, assigned = self._texts_asked_for(lines, least=3)
        if variables:
            lines = [*assigned, *self.replaced(variables=variables)._document(node, separator=[])]
        return "\n".join(with_reasons_once(lines)) + "\n"

    def helpers_file(self, head: str, parts: Sequence[Named]) -> str:
        """``_FILE.tpl``: a head that says what is in it, then the parts."""
        return "\n".join([*comment(head, ""), "", *map(self.define, parts)])

    def guards(self, guards: Sequence[Guard]) -> str:
        """Checks that stop Helm with a message that helps; neighbours share a range, and names."""
        return "".join(f"{line}\n" for line in self._guards(guards, depth=0))

    def _guards(self, guards: Sequence[Guard], depth: int) -> Lines:
        lines: Lines = []
        for entries, run in groupby(guards, key=lambda guard: (guard.over[depth:] or (None,))[0]):
            if entries is None:
                for let, tests in groupby(run, key=lambda guard: guard.let):
                    lines += [line for name, expression in let for line in self._assign(name, expression)]
                    lines += [line for guard in tests for line in self._guard(guard)]
            else:
                head = f"{{{{- range ${entries.key}, ${entries.item} := {self.expression(entries.over)} }}}}"
                lines += [head, *self.inside._guards(list(run), depth + 1), "{{- end }}"]
        return lines

    def _guard(self, guard: Guard) -> Lines:
        test, message = self.expression(guard.test), self.argument(guard.message)
        return [f"{{{{- if {test} }}}}", f"{{{{- fail {message} }}}}", "{{- end }}"]

    def text(self, node: Node) -> str:
        """A node as text within a line or a free text such as NOTES.txt."""
        match node:
            case str():
                return escape(node)
            case int():
                return str(node)
            case Absent():
                return ""
            case Text(parts):
                return join([self.text(part) for part in parts])
            case ChartOnly():
                return self._chart_only(node)
            case Repeat(count, body, index):
                comma = f"{{{{ if ${index} }}}},{{{{ end }}}}"
                times = f"{{{{- range ${index} := until (int {self.argument(count)}) }}}}"
                return f"{times}{comma}{self.inside.text(body)}{{{{ end }}}}"
            case JoinEach(over, separator, body, key, item):
                head = f"{{{{- range ${key}, ${item} := {self.expression(over)} }}}}{{{{ $separator }}}}"
                then = f"{{{{ $separator = {literal(separator)} }}}}"
                return f'{{{{- $separator := "" }}}}{head}{then}{self.inside.text(body)}{{{{ end }}}}'
            case When(test, then, otherwise):
                out = f"{{{{ if {self.expression(test)} }}}}{self.text(then)}"
                while isinstance(otherwise, When):
                    out += f"{{{{ else if {self.expression(otherwise.test)} }}}}{self.text(otherwise.then)}"
                    otherwise = otherwise.otherwise
                return f"{out}{'' if otherwise is ABSENT else '{{ else }}' + self.text(otherwise)}{{{{ end }}}}"
        return f"{{{{ {self._typed(node)} }}}}"

    # -- expressions -----------------------------------------------------------------------------------------

    def expression(self, node: Node) -> str:  # noqa: C901 - a branch a node
        """A node as a Go template pipeline."""
        if self.subject is not None and node == self.subject:
            return "."
        match node:
            case Value(path):
                return field(f"{self._root}.Values", path)
            case Bound(name, _, path):
                return field(f"${name}", path)
            case Parameter(name, _, path):
                return field(f"{self._context}.{name}", path)
            case Release(fact):
                return f"{self._root}.{fact}"
            case File():
                return self._file(node)
            case Named(name):
                if self._full(name) in self.variables:
                    return self.variables[self._full(name)]
                return f"include {literal(self._full(name))} {self._root or '.'}"
            case Call(part):
                return f"include {literal(self._full(part.name))} {self._arguments(node)}"
            case Text(parts):
                return self._printf(parts)
            case Sum((one, int(other))) if other < 0:
                return f"sub {self.argument(one)} {-other}"
            case Sum(terms):
                return "add " + " ".join(self.argument(term) for term in terms)
            case Join(items):
                return f'join "," {self.argument(items)}'
            case Clean(text) | Length(text):
                return f"{'clean' if isinstance(node, Clean) else 'len'} {self.argument(text)}"
            case Default(first, fallback):
                return f"{self.expression(first)} | default {self.argument(fallback)}"
            case NotEmpty(tree):
                return self.expression(tree)
            case Digest(tree):
                return f"{self._data(tree)} | mustToRawJson | sha256sum | trunc {canonical_json.DIGEST_LENGTH}"
            case MapOf(entries):
                return self._dict(entries)
            case str() | int():
                return literal(node)
            case Not(Equal(one, other)):
                return f"ne {self.argument(one)} {self.argument(other)}"
            case Not(inner):
                return f"not {self.argument(inner)}"
            case AllOf():
                return "and " + " ".join(self.argument(n) for n in parts_of_test(node))
            case AnyOf(nodes) if (one := _compared(nodes)) is not None:
                others = [self.argument(inner.other) for inner in nodes if isinstance(inner, Equal)]
                return " ".join(["eq", self.argument(one), *others])
            case AnyOf(nodes):
                return "or " + " ".join(self.argument(n) for n in nodes)
            case Equal(one, other):
                return f"eq {self.argument(one)} {self.argument(other)}"
            case Greater(one, other):
                return f"gt {self._integer(one)} {self._integer(other)}"
            case Has(list=items, item=item):
                return f"has {self.argument(item)} {self.argument(items)}"
            case HasKey(map=inner, key=key):
                return f"hasKey {self.argument(inner)} {self.argument(key)}"
            case Contains(text, part):
                return f"contains {self.argument(part)} {self.argument(text)}"
            case IsMap(inner):
                return f'kindIs "map" {self.argument(inner)}'
            case Matches(text, pattern):
                return f"regexMatch {literal(pattern)} {self.argument(text)}"
            case When() | Merged() | Filtered() | Each() | Items() | Let() | Repeat() | JoinEach() | ChartOnly():
                raise TypeError(f"no expression of Go templates: {node!r}")
            case None | Absent() | Mapping() | Sequence():
                raise TypeError(f"not an expression: {node!r}")
        assert_never(node)

    def _file(self, node: File) -> str:
        """The text of a file of the chart's. To Helm one that is missing is empty, which a program never is."""
        read = f"{self._root}.Files.Get {literal(node.path)}"
        message = f"the chart has no {node.path}, or it is empty"
        return f"{read} | required {literal(message)}" if node.text else read

    def _data(self, tree: Named | Call) -> str:
        """A named mapping as data, of which Go has no more than the text.

        A part is without its last line break; it is put back, or a last text of empty lines would lose one.
        """
        if type_of(tree) != "map" or presence(tree) is not True:
            raise TypeError(f"not a mapping that is always there: {tree!r}")
        return f'printf "%s\\n" ({self.expression(tree)}) | fromYaml'

    def _arguments(self, node: Call) -> str:
        """The one argument of ``include``: a ``dict``, or the context as it is where all of it is in that already.

        Null is what a ``dict`` has under each name that is not in it.
        """
        if self.parameters and all(self._passes(*argument) for argument in node.arguments):
            return self.dot
        root = [f'"root" {self._root or "$"}'] if _needs_root(node.part) else []
        others = [
            f"{literal(name)} {self.argument(argument)}" for name, argument in node.arguments if argument is not None
        ]
        return f"(dict {' '.join([*root, *others])})"

    def _passes(self, name: str, argument: Node) -> bool:
        """Whether an argument is in the context under the same name."""
        if argument is None:
            return name not in self.parameters
        return isinstance(argument, Parameter) and argument.name == name and not argument.path

    def _chart_only(self, node: ChartOnly) -> str:
        if self.parameters:
            raise TypeError(f"a part with parameters has no root context at its dot: {node!r}")
        return node.template

    def argument(self, node: Node) -> str:
        """An expression as an argument of another: in brackets where it is more than a word."""
        text = self.expression(node)
        return f"({text})" if " " in text and not text.startswith('"') else text

    def _integer(self, node: Node) -> str:
        """An argument as an integer of Go's: what comes from the values is float64 until it is converted."""
        return self.argument(node) if isinstance(node, (int, Sum, Length)) else f"(int64 {self.argument(node)})"

    def _printf(self, parts: Sequence[Node]) -> str:
        form, arguments = "", []
        for part in _flat(parts):
            if isinstance(part, str):
                form += part.replace("%", "%%")
            elif isinstance(part, Hole) and type_of(part) == "integer":
                form += "%d"
                arguments.append(self._integer(part))
            else:
                form += "%v"
                arguments.append(self.argument(part))
        return " ".join(["printf", literal(form), *arguments]) if arguments else literal(form.replace("%%", "%"))

    def _typed(self, node: Node) -> str:
        """An expression whose text is right for its type, unquoted."""
        text = self.expression(node)
        return f"{text} | int64" if type_of(node) == "integer" and not isinstance(node, (Sum, Length)) else text

    # -- helpers ---------------------------------------------------------------------------------------------

    def _full(self, name: str) -> str:
        return f"{self.chart}.{name}"

    def define(self, part: Named) -> str:
        """The ``define`` of a part."""
        names = [*(["root"] if _needs_root(part) else []), *part.parameters]
        doc = f"{part.doc} Takes {', '.join(names)}." if part.parameters else part.doc
        doc = "\n     ".join(textwrap.wrap(f"{{{{/* {doc}", COMMENT_WIDTH - len("  */}}")))
        body = "\n".join(self.replaced(parameters=part.parameters)._definition(part.node))
        return f'{doc} */}}}}\n{{{{- define "{self._full(part.name)}" -}}}}\n{body}\n{{{{- end }}}}\n'

    def _definition(self, node: Node) -> Lines:
        lines, assigned = self._own_lines(node)
        variables, texts = self._texts_asked_for(lines, least=3 if _is_tree(node) else 2)
        if variables:
            lines, assigned = self.replaced(variables=variables)._own_lines(node)
        assigned = [*texts, *assigned]
        if assigned:  # what they leave behind would be an empty line where the part is used
            assigned[-1] = f"{assigned[-1].removesuffix(' }}')} -}}}}"
        return [*assigned, *lines]

    def _texts_asked_for(self, lines: Lines, *, least: int) -> tuple[Mapping[str, str], Lines]:
        """Variables for texts that are asked for so often, by the part's full name, and the lines that assign them."""
        printed = "\n".join(lines)
        includes = {name: f"include {literal(self._full(name))} " for name in _OFTEN_ASKED_FOR}
        often = {name: include for name, include in includes.items() if printed.count(include) >= least}
        assigned = [f"{{{{- ${name} := {include}{self._root or '.'} }}}}" for name, include in often.items()]
        return {self._full(name): f"${name}" for name in often}, assigned

    def _own_lines(self, node: Node) -> tuple[Lines, Lines]:
        """The lines of a part's text, and those before them, that name what it uses."""
        assigned: Lines = []
        inside = self
        while isinstance(node, Let):
            assigned += inside._assign(node.name, node.expression)
            inside, node = inside._knowing(*known_of(node.name, node.expression)), node.body
        return inside._first_lines(node), assigned

    def _first_lines(self, node: Node) -> Lines:
        """The lines of a part's text: none is broken before it where the part has an entry that is always there."""
        if isinstance(node, When) and presence(node) is True:
            return self._first_branches(node)
        if isinstance(node, JoinEach):
            return self._joined_lines(node)
        if isinstance(node, Text) and len(node.parts) > 1 and all(isinstance(part, When) for part in node.parts):
            return [self.text(part).replace("{{ if", "{{- if", 1) for part in node.parts]
        if not _is_tree(node):
            return [keep_space(self.text(node))]
        first, *others = self._body(self._sure_first(node), "")
        if first.startswith(("{{- include ", "{{- toYaml ")) and first.endswith(_ON_A_LINE):
            first = f"{{{{ {first.removeprefix('{{- ').removesuffix(_ON_A_LINE)} }}}}"
        return [first, *others]

    def _joined_lines(self, node: JoinEach) -> Lines:
        """A text for each entry of a map: the range on lines of its own."""
        return [
            '{{- $separator := "" -}}',
            f"{{{{- range ${node.key}, ${node.item} := {self.expression(node.over)} -}}}}",
            f"{{{{ $separator }}}}{{{{ $separator = {literal(node.separator)} }}}}{self.inside.text(node.body)}",
            "{{- end }}",
        ]

    def _sure_first(self, node: Node) -> Node:
        """A mapping whose first entry is one that is always there, where it has one, with the reason above it."""
        if not isinstance(node, dict):
            return node
        first: dict[Key, Node] = {}
        for key, child in node.items():
            if isinstance(key, Comment):
                first = {key: child}
            elif unknown(presence(child), self.known) is True and not isinstance(child, When):
                return {**first, key: child, **node}
            else:
                first = {}
        return node

    def _first_branches(self, node: When) -> Lines:
        """The branches of a text of which one is always there: each begins its own line."""
        out, word = [], "if"
        rest: Node = node
        while isinstance(rest, When):
            inside = self._knowing(rest.test)
            out += [f"{{{{- {word} {self.expression(rest.test)} -}}}}", *inside._first_lines(rest.then)]
            rest, word = rest.otherwise, "else if"
        return [*out, "{{- else -}}", *self._first_lines(rest), "{{- end }}"]

    # -- lines -----------------------------------------------------------------------------------------------

    def _document(self, node: Node, separator: Lines) -> Lines:
        match node:
            case Let(name, expression, body):
                inside = self._knowing(*known_of(name, expression))
                return [*self._assign(name, expression), *inside._document(body, separator)]
            case When():
                return self._when(node, "", lambda p, inner: p._document(inner, separator))
            case Each():
                return self._range(node, "", lambda p, body: p._document(body, ["---"]))
        return [*separator, *self._body(node, ""), *([_END] if ends_in_tree(node) else [])]

    def _assign(self, name: str, expression: Node) -> Lines:
        if isinstance(expression, Filtered):
            return self._filter(name, expression)
        if isinstance(expression, When):
            return self._choose(name, expression)
        if not isinstance(expression, Merged):
            return [f"{{{{- ${name} := {self.expression(expression)} }}}}"]
        lowest, *layers = expression.layers
        if isinstance(lowest, MapOf):
            first, lines = self._map_of(name, lowest)
        else:
            first, lines = f"deepCopy {self.argument(lowest)}", Lines()
        if expression.flat and layers and not lines and not any(isinstance(layer, When) for layer in layers):
            return action(f"{{{{- ${name} := mergeOverwrite", [f"({first})", *map(self.argument, layers)])
        lines.insert(0, f"{{{{- ${name} := {first} }}}}")
        for is_tested, run in groupby(layers, key=lambda layer: isinstance(layer, When)):
            if is_tested:
                lines += [line for layer in run for line in self._tested_layer(name, layer, flat=expression.flat)]
            else:
                lines += self._layers(name, [*run], flat=expression.flat)
        return with_shared_tests(lines)

    def _choose(self, name: str, node: When) -> Lines:
        """The last branch, and another where its test is true."""
        return [
            *self._assign(name, node.otherwise),
            f"{{{{- if {self.expression(node.test)} }}}}",
            f"{{{{- ${name} = {self.expression(node.then)} }}}}",
            "{{- end }}",
        ]

    def _tested_layer(self, name: str, layer: Node, *, flat: bool) -> Lines:
        """A layer that is there under a condition."""
        if not isinstance(layer, When) or layer.otherwise != MapOf({}) or not is_hole(layer.then):
            raise TypeError(f"a layer has no other branch than an empty one: {layer!r}")
        if isinstance(layer.then, MapOf):
            entries = layer.then.entries.items()
            lines = [
                f"{{{{- $_ := set ${name} {self.argument(key)} {self.argument(item)} }}}}" for key, item in entries
            ]
        else:
            lines = self._layers(name, [layer.then], flat=flat)
        return [f"{{{{- if {self.expression(layer.test)} }}}}", *lines, ENDED]

    def _layers(self, name: str, layers: Sequence[Expression], *, flat: bool) -> Lines:
        """Layers over what a variable has."""
        if flat:
            return action(f"{{{{- ${name} = mergeOverwrite ${name}", [*map(self.argument, layers)])
        lines: Lines = []
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
            f"{{{{- if {self.inside.expression(node.test)} }}}}",
            f"{{{{- $_ := set ${name} ${node.key} ${node.item} }}}}",
            "{{- end }}",
            "{{- end }}",
        ]

    def _map_of(self, name: str, lowest: MapOf) -> tuple[str, Lines]:
        """A ``dict`` of what is always there, and lines that set what may come to nothing."""
        always = {key: node for key, node in lowest.entries.items() if _is_known(node)}
        lines: Lines = []
        tested = ((*_tested(node), key) for key, node in lowest.entries.items() if is_hole(node) and key not in always)
        for test, entries in groupby(tested, key=lambda entry: entry[0]):
            lines += [
                f"{{{{- if {self.expression(test)} }}}}",
                *(
                    f"{{{{- $_ := set ${name} {self.argument(key)} {self._item_of_dict(node)} }}}}"
                    for _, node, key in entries
                ),
                "{{- end }}",
            ]
        return self._dict(always), lines

    def _dict(self, entries: Mapping[Name, Node]) -> str:
        if not all(map(_is_known, entries.values())):
            raise TypeError(f"an entry that may come to nothing must stand in the lowest layer: {entries!r}")
        left = {key: node for key, node in entries.items() if isinstance(node, MapOf) or node}
        return " ".join(["dict", *(self.argument(part) for entry in left.items() for part in entry)])

    def _item_of_dict(self, node: Node) -> str:
        text = self.argument(node)
        return f"(toString {text})" if isinstance(node, Hole) and type_of(node) == "quantity" else text

    def _body(self, node: Node, indent: str) -> Lines:
        match node:
            case dict():
                return self._entries(node, indent)
            case Named() | Call() if _is_tree(node):
                return self._included(node, indent, [])
            case When():
                return self._when(node, indent, lambda p, inner: p._body(inner, indent))
            case NotEmpty(tree):
                return [f"{indent}{{{{- toYaml {self.argument(tree)} | nindent {len(indent)} }}}}"]
            case Hole() if type_of(node) in TREES:
                return self._tree(node, indent, [])
            case str() | int() | None:
                raise TypeError(f"not a mapping or sequence: {node!r}")
            case list() | tuple():
                return self._items(node, indent)
        raise TypeError(f"not a mapping or sequence: {node!r}")

    def _entries(self, mapping: Mapping[Key, Node], indent: str) -> Lines:
        """The lines of a mapping's entries; neighbours under one condition share it."""
        lines: Lines = []
        for choice, entries in _under_one_test(mapping):
            if choice is None:
                lines += [line for key, node in entries.items() for line in self._entry(key, node, indent)]
            else:
                lines += self._when(choice, indent, lambda p, inner: p._body(inner, indent))
        return lines

    def _items(self, items: Sequence[Node], indent: str) -> Lines:
        """The lines of a sequence's items; neighbours under one condition share it."""
        lines: Lines = []
        for test, run in groupby(items, key=_own_test):
            if test is None:
                lines += [line for item in run for line in self._item(item, indent)]
            else:
                then = [item.then for item in run if isinstance(item, When)]
                lines += self._when(When(test, then), indent, lambda p, inner: p._body(inner, indent))
        return lines

    def _entry(self, key: Key, node: Node, indent: str) -> Lines:
        """The lines of one entry of a mapping."""
        if node is ABSENT:
            return []
        if isinstance(key, Comment):
            return comment(key.text, indent)
        if isinstance(node, When):
            return self._when(node, indent, lambda p, inner: p._entry(key, inner, indent))
        if isinstance(key, Splice):
            return self._body(node, indent)
        if not isinstance(key, Hole) and not _has_holes(node):
            return indent_lines(escape(yaml_text.dump({key: node})), indent)
        head = f"{indent}{self._key(key)}:"
        if isinstance(node, File) and yaml_text.is_literal(node.text):
            return self._block(node, head, indent + "  ")
        if isinstance(node, (Named, Call)) and _is_tree(node):
            return self._included(node, indent, [head])
        if isinstance(node, NotEmpty):
            return [head, *self._body(node, indent + ("  " if type_of(node) == "map" else ""))]
        if isinstance(node, Hole) and type_of(node) in TREES:
            return self._tree(node, indent, [head])
        if isinstance(node, dict):
            return self._guarded(node, indent, lambda p, inner: [head, *p._body(inner, indent + "  ")])
        if isinstance(node, list | tuple):
            return self._guarded(node, indent, lambda p, inner: [head, *p._body(inner, indent)])
        return [f"{head} {self._scalar(node)}"]

    def _block(self, node: File, head: str, indent: str) -> Lines:
        """A text of several lines as a literal block."""
        header = "|" if node.text.endswith("\n") else "|-"
        return [f"{head} {header}", f"{indent}{{{{- {self.expression(node)} | nindent {len(indent)} }}}}"]

    def _item(self, node: Node, indent: str) -> Lines:
        """The lines of one item of a sequence."""
        match node:
            case When():
                return self._when(node, indent, lambda p, inner: p._item(inner, indent))
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
            return indent_lines(escape(yaml_text.dump([node])), indent)
        if isinstance(node, File) and yaml_text.is_literal(node.text):
            return self._block(node, f"{indent}-", indent + "  ")
        return [f"{indent}- {self._scalar(node)}"]

    def _when(self, node: When, indent: str, lines: _Branch) -> Lines:
        """``if``, ``else if`` ... around what `lines` gives for each branch."""
        if node.then is ABSENT:
            node = When(Not(node.test), node.otherwise)
        if node.otherwise is ABSENT:
            return self._if(node.test, node.then, indent, lines)
        out, word = [], "if"
        rest: Node = node
        while isinstance(rest, When) and rest.then is not ABSENT:
            inside = self._knowing(rest.test)
            out += [f"{indent}{{{{- {word} {self.expression(rest.test)} }}}}", *lines(inside, rest.then)]
            rest, word = rest.otherwise, "else if"
        if rest is not ABSENT:
            out += [f"{indent}{{{{- else }}}}", *lines(self, rest)]
        return [*out, f"{indent}{{{{- end }}}}"]

    def _if(self, test: Node, node: Node, indent: str, lines: _Branch) -> Lines:
        """One branch: under one test with what all of it stands under, and by ``with`` where it is of that alone."""
        inner = inner_test(node)
        left = unknown(test if inner is None else all_of(test, inner), self.known)
        if left is True:
            return lines(self, node)
        inside = self._knowing(left)
        if is_of(node, left):
            inside, word = inside.replaced(dot="$", subject=left), "with"
        else:
            word = "if"
        return [f"{indent}{{{{- {word} {self.expression(left)} }}}}", *lines(inside, node), f"{indent}{{{{- end }}}}"]

    def _guarded(self, node: Node, indent: str, lines: _Branch) -> Lines:
        """The lines, under the condition that anything of the node is left."""
        return self._if(presence(node), node, indent, lines) if presence(node) is not True else lines(self, node)

    def _range(self, node: Each, indent: str, lines: _Branch) -> Lines:
        head = f"{indent}{{{{- range ${node.key}, ${node.item} := {self.expression(node.over)} }}}}"
        still = tuple(test for test in self.known if not mentions(test, (node.key, node.item)))
        return [head, *lines(self.inside.replaced(known=still), node.body), f"{indent}{{{{- end }}}}"]

    def _tree(self, node: Expression, indent: str, head: Lines) -> Lines:
        """A tunable map or list, and its key where it has one; nothing where it is empty."""
        depth = len(indent) + (2 if head and type_of(node) == "map" else 0)
        if node in self.known:
            return [*head, f"{' ' * depth}{{{{- toYaml {self.argument(node)} | nindent {depth} }}}}"]
        return [
            f"{indent}{{{{- with {self.expression(node)} }}}}",
            *head,
            f"{' ' * depth}{{{{- toYaml . | nindent {depth} }}}}",
            f"{indent}{{{{- end }}}}",
        ]

    def _included(self, node: Named | Call, indent: str, head: Lines) -> Lines:
        """A part that is a mapping or sequence, and its key where it has one; nothing where nothing of it is left."""
        part = node.part if isinstance(node, Call) else node
        depth = len(indent) + (2 if head and type_of(node) == "map" else 0)
        text, pad, nindent = self.expression(node), " " * depth, f" | nindent {depth}"
        if _begins_with_break(part):
            text, nindent = (f'{text} | trimPrefix "\\n"', nindent) if depth else (text, "")
        if presence(node) is True or not (head or nindent):
            return [*head, f"{pad}{{{{- {text}{nindent} }}}}"]
        return [
            f"{indent}{{{{- with {text} }}}}",
            *head,
            f"{pad}{{{{- .{nindent} }}}}",
            f"{indent}{{{{- end }}}}",
        ]

    def _key(self, key: Name) -> str:
        return f"{{{{ {self.expression(key)} | quote }}}}" if is_hole(key) else escape(yaml_text.scalar(key))

    def _scalar(self, node: Node) -> str:
        """A scalar as YAML. A user's string is quoted by Go; what is made of names alone is safe as it stands."""
        match node:
            case str() | int() | None:
                return escape(yaml_text.scalar(node))
            case Text(parts) if all(_is_safe(part) for part in parts):
                samples = [_sample(node, longest=longest) for longest in (True, False)]
                if all(yaml_text.scalar(sample)[0] not in "'\"" for sample in samples):
                    return self.text(node)
                if not any("'" in sample or "\n" in sample for sample in samples):
                    return f"'{self.text(node)}'"
            case ChartOnly():
                return self._chart_only(node)
        if isinstance(node, Hole) and type_of(node) in ("string", "quantity"):
            return f"{{{{ {self.expression(node)} | quote }}}}"
        return f"{{{{ {self._typed(node)} }}}}"


@once_a_hole
def _begins_with_break(part: Named) -> bool:
    """Whether the text of a part begins with a line break: none of its entries is always there to be the first."""
    node, printer = part.node, Printer(chart="", parameters=part.parameters)
    while isinstance(node, Let):
        printer, node = printer._knowing(*known_of(node.name, node.expression)), node.body
    first = printer._first_lines(node)[0]
    return first.startswith("{{-") and not first.endswith("-}}")


def _is_tree(node: Node) -> bool:
    """Whether a part is a mapping or a sequence, under names of its own or not."""
    return type_of(node) in TREES


def _compared(nodes: Sequence[Node]) -> Node:
    """What all of several tests compare with something; null where they do not."""
    ones = [node.one for node in nodes if isinstance(node, Equal)]
    return ones[0] if len(ones) == len(nodes) and all(one == ones[0] for one in ones) else None


def _needs_root(part: Node | Record) -> bool:
    """Whether a part with parameters looks at more than these."""
    match part:
        case Value() | Release() | File() | Named(parameters=()):
            return True
        case Call(called, arguments):
            return _needs_root(called) or any(_needs_root(argument) for _, argument in arguments)
    return any(map(_needs_root, inner_nodes(part)))


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
        case Named(node=inner) | Call(part=inner):
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


def _is_known(node: Node) -> bool:
    """Whether an entry of a map is the same whatever the values are."""
    return not isinstance(node, Hole) or (isinstance(node, MapOf) and all(map(_is_known, node.entries.values())))


def _tested(node: Expression) -> tuple[Node, Node]:
    """When an entry of a map comes to something, and to what."""
    if not isinstance(node, When):
        return node, node
    if node.otherwise is not ABSENT:
        raise TypeError(f"an entry of a layer has no other branch: {node!r}")
    may_be_empty = not _is_known(node.then) and node.then != node.test
    return (AllOf((node.test, node.then)) if may_be_empty else node.test), node.then


def _under_one_test(mapping: Mapping[Key, Node]) -> Iterator[tuple[When | None, Mapping[Key, Node]]]:
    """Neighbours with one test as one choice, the last of which may have another branch; the others as they are."""
    entries = [*mapping.items()]
    while entries:
        test = _own_test(entries[0][1])
        count = next((i for i, (_, node) in enumerate(entries) if _own_test(node) != test), len(entries))
        if test is None:
            yield None, dict(entries[:count])
        else:
            otherwise: Node = ABSENT
            if count < len(entries) and isinstance(last := entries[count][1], When) and last.test == test:
                otherwise, count = _branch(entries[count][0], last.otherwise), count + 1
            run = dict(entries[:count])
            yield When(test, {key: n.then for key, n in run.items() if isinstance(n, When)}, otherwise), run
        entries = entries[count:]


def _branch(key: Key, node: Node) -> Node:
    """An entry as a mapping, or as a choice of them."""
    if isinstance(node, When):
        return When(node.test, _branch(key, node.then), _branch(key, node.otherwise))
    return node if node is ABSENT else {key: node}


def _own_test(node: Node) -> Node:
    """The condition on an entry or item that has no other branch; null for any other."""
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
