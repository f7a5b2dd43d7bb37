"""Builds documents from the events of the YAML parser libyaml. The module `parse` lists the refused content."""

from __future__ import annotations

import copy
import math
import re
from itertools import islice
from typing import TYPE_CHECKING, Any

import yaml

from tfgen.problems import Position, Problem, in_order
from tfgen.text.comments import directives
from tfgen.text.document import MAX_DEPTH, MAX_PROBLEMS, MAX_SIZE, START, TOO_DEEP_MESSAGE, Document, Parsed, SourceTree
from tfgen.text.yaml_text import FORBIDDEN_CHARACTER
from tfgen.value_type import MAX_INTEGER
from tfgen.words import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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


def read(text: str, file: str) -> Parsed:
    """Return the documents of a text, as `parse.parse` does."""
    text = text.replace("\r\n", "\n")
    problems: list[Problem] = []
    if find_refused_character(text):
        problems += islice(_refused_characters(text, file), MAX_PROBLEMS)
        text = re.sub(_REFUSED, "\N{REPLACEMENT CHARACTER}", text)
    if _TAG_DIRECTIVE.search(text):
        problems += islice(_tag_directives(text, file), MAX_PROBLEMS)
        text = _TAG_DIRECTIVE.sub("#", text)
    builder = _Builder(text, file)
    documents = builder.documents()
    problems += builder.problems
    if not problems:
        spoken = tuple(directives(text))
        documents = tuple(document.replaced(directives=spoken) for document in documents) if spoken else documents
    if not documents and not problems:
        problems.append(Problem(file, START, "the file has no content", "yaml-empty"))
    return Parsed(documents, in_order(problems)[:MAX_PROBLEMS])


def _refused_characters(text: str, file: str) -> Iterator[Problem]:
    """Yield a problem for the first refused character in each line of the text.

    `_refuse_characters` reports the refused characters that escapes produce.
    """
    for number, line in enumerate(text.split("\n"), 1):
        match = find_refused_character(line)
        if match:
            message = forbidden_character_message(match[0])
            yield Problem(file, Position(number, match.start() + 1), message, "yaml-character")


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
            yield Problem(
                file, Position(number, 1), "the directive %TAG is not supported; remove this line", "yaml-tag"
            )


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
        self._anchors: dict[str, tuple[Any, SourceTree] | None] = {}
        self._size = 0

    def documents(self) -> tuple[Document, ...]:
        """Return the documents that are not empty. If a syntax error occurs, return the documents before the error."""
        documents = []
        try:
            for event in self._events:
                if isinstance(event, yaml.DocumentStartEvent):
                    self._anchors = {}
                    data, place = self._node(next(self._events), 1)
                    if place.text != "" or data is not None:
                        documents.append(Document(self._file, data, place))
        except yaml.MarkedYAMLError as error:
            from tfgen.text.yaml_syntax import explain  # the import takes 2 ms, which valid YAML saves

            self.problems.append(explain(error, self._text, self._file))
        except _Stopped:
            pass
        return tuple(documents)

    def _node(self, event: _Event, depth: int) -> tuple[Any, SourceTree]:
        """Read the events of a value. Return the data of the value and its positions.

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
            node = self._scalar(event), _text(event)
        elif isinstance(event, yaml.SequenceStartEvent):
            node = self._sequence(event, depth)
        else:
            node = self._mapping(event, depth)
        if event.anchor is not None:
            self._anchors[event.anchor] = node
        return node

    def _alias(self, event: yaml.AliasEvent, depth: int) -> tuple[Any, SourceTree]:
        """Return a copy of the data at the anchor of an alias, and the positions of the data.

        Without the copy, two values of the document would share a Python object.
        """
        name = str(event.anchor)
        node = self._anchors.get(name)
        if node is None:
            message = f"the alias *{name} is inside the value of the anchor &{name}; write the alias after this value"
            if name not in self._anchors:
                message = (
                    f"the alias *{name} has no anchor &{name} before the alias; text that begins with * needs quotes"
                )
            self._report(event, message, "yaml-alias")
            return None, SourceTree(_position(event), None, {}, 1)
        data, place = node
        self._bound(event, place.size, depth + place.height - 1, "yaml-alias")
        return copy.deepcopy(data), place._replace(position=_position(event))

    def _sequence(self, start: yaml.Event, depth: int) -> tuple[Any, SourceTree]:
        data: list[Any] = []
        children: dict[str | int, tuple[Position, SourceTree]] = {}
        for event in self._until(yaml.SequenceEndEvent):
            item, place = self._node(event, depth + 1)
            children[len(data)] = place.position, place
            data.append(item)
        return data, _collection(start, children)

    def _mapping(self, start: yaml.Event, depth: int) -> tuple[Any, SourceTree]:
        """Read the events of a mapping. Return the data of the mapping and its positions.

        A key of the mapping overrides a key that `<<` merges, regardless of the order of the keys. An earlier `<<`
        overrides a later `<<`.
        """
        data: dict[str, Any] = {}
        children: dict[str | int, tuple[Position, SourceTree]] = {}
        merged: list[tuple[Any, SourceTree]] = []
        positions: dict[str, Position] = {}
        for event in self._until(yaml.MappingEndEvent):
            key = self._key(event, depth + 1)
            position = _position(event)
            first = next(self._events)
            value, place = self._node(first, depth + 1)
            if key is None:
                continue
            if key in positions:
                self._report(
                    event,
                    f"the key {shown(key)} is already at line {positions[key].line}; remove one of the two keys",
                    "duplicate-key",
                )
            elif _is_merge(event):
                merged += self._sources(first, value, place)
            else:
                data[key] = value
                children[key] = position, place
            positions.setdefault(key, position)
        for source, place in merged:
            data = source | data
            children = {**place.children, **children}
        return data, _collection(start, children)

    def _key(self, event: _Event, depth: int) -> str | None:
        """Read the events of a key, and return the key; None for a key that is not a string."""
        if isinstance(event, yaml.ScalarEvent):
            self._refuse_tag(event)
            self._refuse_characters(event)
            if _scalar_type(event) is not None:
                message = f"a key must be text; quote it: {shown(event.value)}" if event.value else "a key is missing"
                self._report(event, message, "yaml-key")
            elif event.value == "<<" and not _is_merge(event):
                self._report(event, "kustomize loses the key <<, even in quotes; use a different key", "yaml-key")
            place = _text(event)
            if event.anchor is not None:
                self._anchors[event.anchor] = event.value, place
            return event.value
        key, _ = self._node(event, depth)
        if isinstance(key, str):
            return key
        message = "a key must be text, not a list or a mapping; text that begins with [ or { needs quotes"
        self._report(event, message, "yaml-key")
        return None

    def _sources(self, event: yaml.Event, value: Any, place: SourceTree) -> list[tuple[Any, SourceTree]]:
        """Return the data and the positions of each mapping that a key `<<` merges.

        The value of the key is a mapping or a list of mappings. For any other value, report a problem and return [].
        """
        items = [(value, place)]
        if isinstance(value, list):
            items = [(value[index], child) for index, (_, child) in place.children.items() if isinstance(index, int)]
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
                message = (
                    f"the number {shown(text)} is too large or too long for JSON parsers (integers up to 2^53 - 1); "
                    "put it in quotes if it is text"
                )
                self._report(event, message, "yaml-number")
            case "infinite":
                message = f"JSON does not support {text}; put it in quotes if it is text"
                self._report(event, message, "yaml-number")
        return text

    def _until(self, end: type[yaml.Event]) -> Iterator[_Event]:
        for event in self._events:
            if isinstance(event, end):
                return
            yield event

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
            message = f"the tag {shown(tag)} is not supported; remove it, or put text that begins with ! in quotes"
            self._report(event, message, "yaml-tag")

    def _refuse_characters(self, event: yaml.ScalarEvent) -> None:
        """Report a forbidden character in a scalar in double quotes.

        Only an escape can produce such a character, because `read` has replaced the forbidden characters of the text.
        """
        match = find_refused_character(event.value) if event.style == '"' else None
        if match:
            self._report(event, forbidden_character_message(match[0]), "yaml-character")

    def _report(self, event: yaml.Event, message: str, rule: str) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(Problem(self._file, _position(event), message, rule))


def _text(event: yaml.ScalarEvent) -> SourceTree:
    return SourceTree(_position(event), event.value, {}, 1 + len(event.value) // _TEXT_UNIT)


def _collection(start: yaml.Event, children: Mapping[str | int, tuple[Position, SourceTree]]) -> SourceTree:
    places = [place for _, place in children.values()]
    size = 1 + sum(place.size for place in places) + sum(len(str(key)) // _TEXT_UNIT for key in children)
    height = 1 + max((place.height for place in places), default=0)
    return SourceTree(_position(start), None, children, size, height)


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
