"""Writes the syntax of Go templates, and describes the place in a template at which tfgen prints a node.

https://pkg.go.dev/text/template
"""

from __future__ import annotations

import functools
import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Final, TypeAlias

from tfgen.graph.holes import CheckedMap, Filtered, ForEach, JoinEntries, Node
from tfgen.record import EMPTY, Record
from tfgen.targets.chart.go_template.presence import mentions, parts_of_test

# -- text --------------------------------------------------------------------------------------------------------------


Lines: TypeAlias = list[str]

ENDED: Final = "{{- end }}"

COMMENT_WIDTH: Final = 120
"""Maximum length of a line in a comment."""

_SPACE: Final = (" ", "\t", "\r", "\n")
"""The white space that Go removes next to an action with a dash, such as ``{{-``."""


@functools.lru_cache(1 << 12)
def field(base: str, path: str) -> str:
    """Return the expression for a field. Example: ``.Values.gang.queue`` for base ``.Values`` and path `gang.queue`.

    For a key that is no identifier of Go, the expression calls ``index``. Example: ``(index .Values "my-key")``.
    """
    names = [name for name in path.split(".") if name]
    if all(name.isidentifier() and name.isascii() for name in names):
        return ".".join([base, *names])
    return f"(index {base} {' '.join(literal(name) for name in names)})"


def literal(value: str | int) -> str:
    """Return a constant as a literal of Go. A text with quotes or backslashes is in backquotes, to avoid escapes."""
    if isinstance(value, str) and ('"' in value or "\\" in value) and value.isprintable() and "`" not in value:
        return f"`{value}`"
    return json.dumps(value, ensure_ascii=False)


def escape(text: str) -> str:
    """Escape a text, so that Helm prints the text unchanged."""
    return text.replace("{{", '{{ "{{" }}')


def keep_space(text: str) -> str:
    """Protect the white space at both ends of a text from the dash of a neighbouring action such as ``{{- end }}``.

    The result has an action, for example ``{{ " " }}``, in place of the white space.
    """
    core = text.strip("".join(_SPACE))
    start, _, end = text.partition(core) if core else (text, "", "")
    before, after = (f"{{{{ {literal(space)} }}}}" if space else "" for space in (start, end))
    return f"{before}{core}{after}"


def join(texts: Sequence[str]) -> str:
    """Concatenate texts and actions of Go templates.

    - Go would read a brace before an action as a part of the action. An action that prints a brace replaces the brace.
    - The dash of an action removes the white space before the action. An action after white space loses its dash.
    """
    out = ""
    for text in texts:
        if text.startswith("{{") and out.endswith("{") and not out.endswith("}}{{"):
            out = f'{out[:-1]}{{{{ "{{" }}}}'
        out += text.replace("{{-", "{{", 1) if text.startswith("{{-") and out.endswith(_SPACE) else text
    return out


def indent_lines(text: str, indent: str) -> Lines:
    """Return the lines of a text with an indentation. Empty lines get no indentation."""
    return [f"{indent}{line}" if line else line for line in text.removesuffix("\n").split("\n")]


def with_shared_tests(lines: Lines) -> Lines:
    """Merge neighbouring ``if`` blocks that have the same test into one block.

    The caller must make sure that no block changes a variable in the test.
    """
    out: Lines = []
    test = ""
    for line in lines:
        if line.startswith("{{- if "):
            if out and out[-1] == ENDED and line == test:
                del out[-1]
                continue
            test = line
        elif line.startswith("{{- range "):
            test = ""
        out.append(line)
    return out


def without_repeated_reasons(lines: Lines) -> Lines:
    """Return the lines without the comments that repeat an earlier comment."""
    out: Lines = []
    comment: Lines = []
    printed: set[str] = set()
    for line in lines:
        if comment or line.lstrip().startswith("{{- /* "):
            comment.append(line)
            if not line.endswith(" */}}"):
                continue
            text = " ".join(part.strip() for part in comment)
            out += [] if text in printed else comment
            printed.add(text)
            comment = []
        else:
            out.append(line)
    return out


def comment(text: str, indent: str) -> Lines:
    """Return the lines of a template comment, which Helm does not print."""
    first, *remaining = textwrap.wrap(text, COMMENT_WIDTH - len(indent) - len("{{- /*  */}}"))
    lines = [f"{indent}{{{{- /* {first}", *(f"{indent}       {line}" for line in remaining)]
    return [*lines[:-1], f"{lines[-1]} */}}}}"]


# -- context -----------------------------------------------------------------------------------------------------------


class Context(Record):
    """A place in a template, for example the body of a ``range``, at which tfgen prints a node of the object graph.

    The Go expression for a value depends on this place. In the body of a ``range``, the dot is the current item, so the
    expression for the image is ``$.Values.image`` instead of ``.Values.image``:

        Context("mnist").root                            ->  (empty)    at the top of a template
        Context("mnist").range_body.root                 ->  $          in the body of a range
        Context("mnist", ("role",)).root                 ->  .root      in a named template with the parameter role
        Context("mnist", ("role",)).range_body.root      ->  $.root     in the body of a range in this named template

    Attributes:
        chart: the name of the chart. The full name of each named template begins with this name.
        parameters: the parameters of the printed named template; empty for all other templates. The argument of a named
            template with parameters is a ``dict`` with the parameters. If the named template uses the root context of
            Helm, such as ``.Values``, the ``dict`` contains the root context under the key ``root``.
        dot: the expression for the dot at the top of the template: ``.``, or ``$`` in the body of a ``range`` or
            ``with``.
        variables: the Go variables that contain the output of named templates. Example: {"mnist.run": "$run"}.
        names: the Go variable of each name that a `Let`, a loop or a `Guard` around the printed node defines. Example:
            {"storage": "$storage"}.
        declared: the Go variables that the lines around the printed node declare, besides those in `variables`.
        subject: the node whose value is the dot in the body of a ``with``; None outside of such a body.
        facts: the tests that are true at the printed node, for example the test of an ``if`` around the node.
    """

    chart: str
    parameters: tuple[str, ...] = ()
    dot: str = "."
    variables: Mapping[str, str] = EMPTY
    names: Mapping[str, str] = EMPTY
    declared: tuple[str, ...] = ()
    subject: Node = None
    facts: tuple[Node, ...] = ()

    @property
    def range_body(self) -> Context:
        """Return the context of the body of a ``range``. In the body, ``$`` is the dot at the top of the template."""
        return self.replaced(dot="$", subject=None)

    def with_facts(self, *tests: Node) -> Context:
        """Return a copy of this context in which the given tests are also true."""
        return self.replaced(facts=(*self.facts, *(part for test in tests for part in parts_of_test(test))))

    def with_names(self, *names: str) -> Context:
        """Return a copy of this context in which each name has a new Go variable.

        Go accepts a second declaration of a variable, and the following lines then read the second variable. So the new
        variable differs from the variables of all names that are visible here: `$labels`, then `$labels2`.
        """
        declared, variables = self.declared, dict(self.names)
        for name in names:
            used = (*declared, *self.variables.values())
            variables[name] = next(text for text in _variable_texts(name) if text not in used)
            declared = (*declared, variables[name])
        # a test of an outer name with the same text is not valid here
        facts = tuple(test for test in self.facts if not mentions(test, names))
        return self.replaced(names=variables, declared=declared, facts=facts)

    def variable(self, name: str) -> str:
        """Return the Go variable of a name of the object graph, such as `$storage`."""
        return self.names.get(name, f"${name}")

    def range_body_of(self, entries: ForEach | CheckedMap | Filtered | JoinEntries) -> Context:
        """Return the context of the body of a ``range`` over the entries of a map.

        In the body, the variables of the ``range`` refer to the key and the value of the current entry.
        """
        return self.range_body.with_names(entries.key, entries.item)

    @property
    def root(self) -> str:
        """Return the text before ``.Values`` at this place: empty, ``$``, ``.root`` or ``$.root``."""
        return f"{self.parameter_prefix}.root" if self.parameters else self.parameter_prefix

    @property
    def parameter_prefix(self) -> str:
        """Return the text before a parameter such as ``.role``.

        The text is ``$`` in the body of a ``range`` or ``with``. Outside of such a body, the text is empty.
        """
        return self.dot.rstrip(".")

    def full_name(self, name: str) -> str:
        """Return the full name of a named template. Example: "mnist.run" for the name "run" in the chart mnist."""
        return f"{self.chart}.{name}"


def _variable_texts(name: str) -> Iterator[str]:
    yield f"${name}"
    yield from (f"${name}{number}" for number in count(2))
