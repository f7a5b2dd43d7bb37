"""Read the documents and the comments of a YAML text. `tfgen.text.parse` lists the refused content.

    image: tf:latest  # tfgen: ignore latest-tag a moving base

The reader builds each document from the events of the YAML parser libyaml. The loaders of PyYAML need one level of
Python's stack for each nested level of the file, expand aliases without a limit, and lose the positions of aliases and
tags.

A comment that begins with `tfgen:` is a directive, an instruction to tfgen. A `#` within a key or a value does not
begin a comment. A directive after a value applies to the line of the value. A directive on a separate line applies to
the next line with content.
"""

from __future__ import annotations

import copy
import math
import re
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import yaml

from tfgen.data_path import MAX_INTEGER
from tfgen.errors import Position, Problem, in_order
from tfgen.fix import Fix, Replacement, hint
from tfgen.text.document import (
    MAX_DEPTH,
    MAX_PROBLEMS,
    MAX_SIZE,
    START,
    TOO_DEEP_MESSAGE,
    Directive,
    Document,
    Entry,
    Parsed,
    YamlNode,
)
from tfgen.text.yaml_text import FORBIDDEN_CHARACTER
from tfgen.words import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_TEXT_UNIT = 100
"""Number of characters of a text that count as one value. So aliases of long texts cannot exhaust the memory."""

_LONGEST_NUMBER = 40
"""Maximum number of characters of a number. A float64 needs 17 digits, a sign, a point and an exponent."""

_CORE = re.compile(
    r"""
      (?P<null>     ~ | null | Null | NULL | )
    | (?P<true>     true | True | TRUE )
    | (?P<false>    false | False | FALSE )
    | (?P<integer>  [-+]? (?: 0 | [1-9][0-9]* ) )
    | (?P<hex>      0x [0-9a-fA-F]+ )
    | (?P<float>    (?: [-+]? [0-9]+ \. [0-9]* | \. [0-9]+ ) (?: [eE] [-+] [0-9]+ )? )
    | (?P<infinite> [-+]? \. (?: inf | Inf | INF ) | \. (?: nan | NaN | NAN ) )
    """,
    re.VERBOSE,
)
"""Pattern of the plain scalars that YAML 1.1 and YAML 1.2 read as the same null, boolean or number."""


_DIRECTION = "[\u200e\u200f\u202a-\u202e\u2066-\u2069]"
"""Pattern of a character that controls the direction of a displayed text.

Such a character hides the content of a file from a reviewer (https://trojansource.codes).
"""

_REFUSED = f"{FORBIDDEN_CHARACTER}|{_DIRECTION}"
"""Pattern of a character that the reader refuses, also as an escape sequence."""


def find_refused_character(text: str) -> re.Match[str] | None:
    """Return the match of the first character that the reader refuses; None without a match."""
    # `find_forbidden_character` explains the first test.
    return None if text.replace("\n", "").replace("\t", "").isprintable() else re.search(_REFUSED, text)


_ANCHOR: Final = re.compile(r"&[-\w]+(?:\s+(?:#[^\n]*)?)*")
_BLANKS: Final = " \t\r\n"
"""The whitespace of YAML. The whitespace of Python contains other characters as well, such as U+3000."""

COMMENT: Final = re.compile(r"(?<![^\s])#[^\n]*")
HEADER: Final = re.compile(r"(?P<header>[|>][-+0-9]*)(?P<note>[ \t]+#.*)?[ \t]*")
"""Pattern of the header of a block scalar, such as `|-`. A comment may follow on the line of the header."""

_DIRECTIVE: Final = re.compile(r"#+[ \t]*tfgen:[ \t]*(?P<words>.*)")


def read(text: str, file: str) -> Parsed:
    """Return the documents of a text, as `parse.parse` does."""
    plain = text.replace("\r\n", "\n")
    problems: list[Problem] = []
    if find_refused_character(plain):
        problems += islice(_refused_characters(plain, file), MAX_PROBLEMS)
        text = plain = re.sub(_REFUSED, "\N{REPLACEMENT CHARACTER}", plain)
    if _TAG_DIRECTIVE.search(plain):
        problems += islice(_tag_directives(plain, file), MAX_PROBLEMS)
        text = plain = _TAG_DIRECTIVE.sub("#", plain)
    builder = _Builder(text, file)
    documents = builder.documents(plain)
    problems += builder.problems
    if not problems and _DIRECTIVE.search(text):
        spoken = tuple(_directives(text, documents))
        documents = tuple(document.replaced(directives=spoken) for document in documents)
    if not documents and not problems:
        problems.append(Problem(file, START, "the file has no content", "yaml-empty"))
    return Parsed(documents, in_order(problems)[:MAX_PROBLEMS])


def comments(text: str, documents: Iterable[Document]) -> Iterator[tuple[int, str]]:
    """Yield the offset and the text of each comment, in order.

    Args:
        text: a text in which `parse.parse` finds no problem.
        documents: the documents of the text.
    """
    end_of_last = 0
    for start, end in (leaf for document in documents for leaf in sorted(document.root.leaves())):
        yield from _between(text, end_of_last, start)
        header = HEADER.match(text, start, end)
        if header and header["note"]:
            yield header.end("note") - len(header["note"].lstrip()), header["note"].lstrip()
        end_of_last = end
    yield from _between(text, end_of_last, len(text))


def _between(text: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    return ((match.start(), match[0].rstrip("\r")) for match in COMMENT.finditer(text, start, end))


def _directives(text: str, documents: Iterable[Document]) -> Iterator[Directive]:
    lines = text.split("\n")
    for offset, comment in comments(text, documents):
        if match := _DIRECTIVE.fullmatch(comment):
            before = text[:offset]
            line, column = before.count("\n") + 1, offset - before.rfind("\n")
            target = line
            if not lines[line - 1][: column - 1].strip():  # the next line with content, or this line if none follows
                following = enumerate(lines[line:], start=line + 1)
                contents = (number for number, text in following if text.strip() and not text.lstrip().startswith("#"))
                target = next(contents, line)
            yield Directive(Position(line, column), target, match["words"])


def _refused_characters(text: str, file: str) -> Iterator[Problem]:
    """Yield a problem for the first refused character in each line of the text.

    `_refuse_characters` reports the refused characters that escapes produce.
    """
    for number, line in enumerate(text.split("\n"), 1):
        if match := find_refused_character(line):
            message = forbidden_character_message(match[0])
            fix = Fix("remove it", (Replacement(f"^{re.escape(match[0])}", "", "rest"),))
            yield Problem(file, Position(number, match.start() + 1), message, "yaml-character", fixes=(fix,))


def forbidden_character_message(character: str) -> str:
    """Return the message about a character that the reader refuses."""
    if re.match(_DIRECTION, character):
        name = f"the character U+{ord(character):04X}"
        return f"{name} changes the direction of the displayed text, so the text looks different; remove it"
    return f"some YAML parsers reject or change the character U+{ord(character):04X}; remove it"


_TAG_DIRECTIVE = re.compile(r"^%TAG\b", re.MULTILINE)
"""Pattern of a `%TAG` directive. tfgen removes the directives, because libyaml needs quadratic time for a text with
many directives."""


def _tag_directives(text: str, file: str) -> Iterator[Problem]:
    for number, line in enumerate(text.split("\n"), 1):
        if _TAG_DIRECTIVE.match(line):
            fix = Fix("remove this line", (Replacement(r"^.*\n?", "", "line"),))
            message = f"the directive %TAG is not supported; {fix.words}"
            yield Problem(file, Position(number, 1), message, "yaml-tag", fixes=(fix,))


_Valued = yaml.ScalarEvent | yaml.SequenceStartEvent | yaml.MappingStartEvent
_Event = _Valued | yaml.AliasEvent


class _Stopped(Exception):  # noqa: N818
    """Exception that stops the parser after the text has exceeded a limit. The last problem names the limit."""


class _Builder:
    """Builder of the documents of a file. The builder reads the events of libyaml once, and collects the problems."""

    def __init__(self, text: str, file: str) -> None:
        self.problems: list[Problem] = []
        self._text = text
        self._file = file
        self._events: Iterator[Any] = yaml.parse(text, Loader=yaml.CSafeLoader)
        self._anchors: dict[str, tuple[Any, YamlNode] | None] = {}
        self._size = 0

    def documents(self, plain: str) -> tuple[Document, ...]:
        """Return the documents that are not empty. If a syntax error occurs, return the documents before the error.

        `plain` is the text without carriage returns.
        """
        documents = []
        try:
            for event in self._events:
                if isinstance(event, yaml.DocumentStartEvent):
                    self._anchors = {}
                    data, node = self._node(next(self._events), 1)
                    if node.text != "" or data is not None:
                        documents.append(Document(self._file, data, node))
        except yaml.MarkedYAMLError as error:
            from tfgen.text.yaml_syntax import explain  # the import takes 2 ms, which valid YAML saves

            self.problems.append(explain(error, plain, self._file))
        except _Stopped:
            pass
        if len(documents) > 1:
            documents = [document.replaced(has_siblings=True) for document in documents]
        return tuple(documents)

    def _node(self, event: _Event, depth: int) -> tuple[Any, YamlNode]:
        """Read the events of a value. Return the data of the value, and the node with its position.

        Args:
            event: the first event of the value.
            depth: the depth of the nesting; 1 for the root.
        """
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, depth)
        self._bound(event, 1, depth, "yaml-size")
        self._refuse_tag(event)
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        if isinstance(event, yaml.ScalarEvent):
            node = self._scalar(event), self._scalar_node(event)
        elif isinstance(event, yaml.SequenceStartEvent):
            node = self._sequence(event, depth)
        else:
            node = self._mapping(event, depth)
        if event.anchor is not None:
            self._anchors[event.anchor] = node
        return node

    def _alias(self, event: yaml.AliasEvent, depth: int) -> tuple[Any, YamlNode]:
        """Return a copy of the data at the anchor of an alias, and a node with the children of the anchor's value.

        Without the copy, two values of the document would share a Python object.
        """
        name, (start, end) = str(event.anchor), _offsets(event)
        alias = YamlNode("alias", _position(event), start, start, end)
        anchor = self._anchors.get(name)
        if anchor is None:
            message = f"the alias *{name} is inside the value of the anchor &{name}; write the alias after this value"
            if name not in self._anchors:
                message = (
                    f"the alias *{name} has no anchor &{name} before the alias; text that begins with * needs quotes"
                )
            self._report(event, message, "yaml-alias")
            return None, alias
        data, node = anchor
        self._bound(event, node.size, depth + node.height - 1, "yaml-alias")
        return copy.deepcopy(data), alias._replace(
            text=node.text, children=node.children, size=node.size, height=node.height
        )

    def _scalar_node(self, event: yaml.ScalarEvent) -> YamlNode:
        token, end = _offsets(event)
        start = self._behind_anchor(event)
        if event.style in ("|", ">"):
            # Empty lines after the block belong to the block only if the header of the block keeps these lines (`|+`).
            block = self._text[start:end]
            keeps = "+" in block.partition("\n")[0].partition("#")[0]
            end = start + len(block.removesuffix("\n") if keeps else block.rstrip(_BLANKS))
        size = 1 + len(event.value) // _TEXT_UNIT
        return YamlNode("scalar", _position(event), token, start, end, event.value, {}, (), False, size)

    def _sequence(self, start: yaml.SequenceStartEvent, depth: int) -> tuple[Any, YamlNode]:
        data: list[Any] = []
        entries: list[Entry] = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            item, node = self._node(event, depth + 1)
            entries.append(Entry.of_item(len(data), node))
            data.append(item)
        return data, self._collection(start, event, entries, {entry.key: entry for entry in entries})

    def _mapping(self, start: yaml.MappingStartEvent, depth: int) -> tuple[Any, YamlNode]:
        """Read the events of a mapping. Return the data of the mapping and its node.

        A key of the mapping overrides a key that `<<` merges, regardless of the order of the keys. An earlier `<<`
        overrides a later `<<`.
        """
        data: dict[str, Any] = {}
        entries: list[Entry] = []
        children: dict[str | int, Entry] = {}
        merged: list[tuple[Any, YamlNode]] = []
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            key, position, token, begin, end = self._key(event, depth + 1)
            first = next(self._events)
            value, node = self._node(first, depth + 1)
            if key is None:
                continue
            entry = Entry(key, position, token, begin, end, node)
            entries.append(entry)
            if key in children:
                line = children[key].position.line
                message = f"the key {shown(key)} is already at line {line}; remove one of the two keys"
                self._report(event, message, "duplicate-key")
                continue
            children[key] = entry
            if key == "<<" and _is_merge(event):
                merged += self._sources(first, value, node)
            else:
                data[key] = value
        if "<<" not in data:
            children.pop("<<", None)
        for source, node in merged:
            data = source | data
            children = {**node.children, **children}
        return data, self._collection(start, event, entries, children)

    def _collection(
        self,
        start: yaml.SequenceStartEvent | yaml.MappingStartEvent,
        end: yaml.Event,
        entries: Sequence[Entry],
        children: dict[str | int, Entry],
    ) -> YamlNode:
        is_flow = bool(start.flow_style)
        is_mapping = isinstance(start, yaml.MappingStartEvent)
        token, opened = _offsets(start)
        # A block mapping begins at the first key, and a mapping in braces begins before the end of `start`.
        behind_anchor = opened - is_flow if is_mapping else self._behind_anchor(start)
        values = [entry.value for entry in children.values()]
        return YamlNode(
            "mapping" if is_mapping else "list",
            _position(start),
            token,
            behind_anchor,
            entries[-1].value.end if entries and not is_flow else _offsets(end)[1],
            None,
            children,
            tuple(entries),
            is_flow,
            1 + sum([node.size for node in values]) + sum([len(str(key)) // _TEXT_UNIT for key in children]),
            1 + max([node.height for node in values], default=0),
        )

    def _behind_anchor(self, event: _Valued) -> int:
        start, _ = _offsets(event)
        anchor = _ANCHOR.match(self._text, start) if event.anchor is not None else None
        return anchor.end() if anchor else start

    def _key(self, event: _Event, depth: int) -> tuple[str | None, Position, int, int, int]:
        """Read the events of a key. Return the first fields of an `Entry`. The key is None if it is not a string."""
        if isinstance(event, yaml.ScalarEvent):
            self._refuse_tag(event)
            self._refuse_characters(event)
            if _scalar_type(event) is not None:
                quoted = shown(event.value)
                fix = Fix(f"quote it: {quoted}", (Replacement(f"^{re.escape(event.value)}", quoted, "rest"),))
                fixes = (fix,) if event.value else ()
                message = f"a key must be text; {fix.words}" if fixes else "a key is missing"
                self._report(event, message, "yaml-key", fixes)
            elif event.value == "<<" and not _is_merge(event):
                self._report(event, "kustomize loses the key <<, even in quotes; use a different key", "yaml-key")
            start, end = _offsets(event)
            if event.anchor is None:
                return event.value, _position(event), start, start, end
            node = self._scalar_node(event)
            self._anchors[event.anchor] = event.value, node
            return event.value, node.position, node.token, node.start, node.end
        key, node = self._node(event, depth)
        if not isinstance(key, str):
            message = "a key must be text, not a list or a mapping; text that begins with [ or { needs quotes"
            self._report(event, message, "yaml-key")
            key = None
        return key, node.position, node.token, node.start, node.end

    def _sources(self, event: yaml.Event, value: Any, node: YamlNode) -> list[tuple[Any, YamlNode]]:
        """Return the data and the node of each mapping that a key `<<` merges.

        The value of the key is a mapping or a list of mappings. For any other value, report a problem and return [].
        """
        items = [(value, node)]
        if isinstance(value, list):
            items = list(zip(value, (entry.value for entry in node.children.values()), strict=True))
        if all(isinstance(data, dict) for data, _ in items):
            return items
        self._report(event, "the value of << must be a mapping or a list of mappings", "yaml-alias")
        return []

    def _scalar(self, event: yaml.ScalarEvent) -> Any:
        """Return the value of a scalar. For an invalid number, report a problem and return the text."""
        self._refuse_characters(event)
        text = event.value
        match _scalar_type(event):
            case "null":
                return None
            case "true":
                return True
            case "false":
                return False
            case "integer" | "hex" | "float" as group:
                number = _number(group, text)
                if number is not None:
                    return number
                reason = f"the number {shown(text)} is too large or too long for JSON parsers (integers up to 2^53 - 1)"
                self._report(event, f"{reason}; put it in quotes if it is text", "yaml-number")
            case "infinite":
                self._report(event, f"JSON does not support {text}; put it in quotes if it is text", "yaml-number")
        return text

    def _bound(self, event: yaml.Event, size: int, depth: int, rule: str) -> None:
        self._size += size
        if self._size > MAX_SIZE:
            self._report(event, f"with this value, the file exceeds the limit of {MAX_SIZE:,} values", rule)
            raise _Stopped
        if depth > MAX_DEPTH:
            self._report(event, TOO_DEEP_MESSAGE, "yaml-depth")
            raise _Stopped

    def _refuse_tag(self, event: _Valued) -> None:
        if event.tag is not None:
            tag = event.tag.replace("tag:yaml.org,2002:", "!!")
            removed = Fix("remove it", (Replacement(rf"^{re.escape(tag)} *", "", "rest"),))
            advice = hint(removed, other="put text that begins with ! in quotes")
            self._report(event, f"the tag {shown(tag)} is not supported{advice.text}", "yaml-tag", advice.fixes)

    def _refuse_characters(self, event: yaml.ScalarEvent) -> None:
        """Report a forbidden character in a scalar in double quotes.

        Only an escape can produce such a character, because `read` has replaced the forbidden characters of the text.
        """
        if event.style == '"' and (match := find_refused_character(event.value)):
            self._report(event, forbidden_character_message(match[0]), "yaml-character")

    def _report(self, event: yaml.Event, message: str, rule: str, fixes: tuple[Fix, ...] = ()) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(Problem(self._file, _position(event), message, rule, fixes=fixes))


def _offsets(event: Any) -> tuple[int, int]:
    return event.start_mark.index, event.end_mark.index


def _position(event: yaml.Event) -> Position:
    mark: Any = event.start_mark
    return Position(mark.line + 1, mark.column + 1)


def _scalar_type(event: yaml.ScalarEvent) -> str | None:
    """Return the type of a plain scalar, such as `integer`, `true` or `null`; None for a string.

    The types are the names of the groups in the pattern `_CORE`.
    """
    match = _CORE.fullmatch(event.value) if event.implicit[0] else None
    return match.lastgroup if match else None


def _is_merge(event: yaml.Event) -> bool:
    return isinstance(event, yaml.ScalarEvent) and event.value == "<<" and event.implicit[0]


def _number(group: str, text: str) -> int | float | None:
    """Return the number that a text represents; None for a number that float64 cannot represent.

    tfgen never converts a very long number, because the time would grow with the square of the length.
    """
    if len(text) > _LONGEST_NUMBER:
        return None
    if group == "float":
        real = float(text)
        return real if math.isfinite(real) else None
    integer = int(text, 16 if group == "hex" else 10)
    return integer if abs(integer) <= MAX_INTEGER else None
