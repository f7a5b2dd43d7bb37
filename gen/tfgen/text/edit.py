"""The text of a job.yaml with values in other places, and every other byte as it was.

    spec:                        spec:
      run: "2"  # after the fix    run: "3"  # after the fix

A round trip through a YAML library would keep the comments, and still rewrite indentation and quotes that nobody asked
it to. The text that comes of an edit is read again: it must say what it said, and the new values, and nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from tfgen import data_path
from tfgen.data_path import Path
from tfgen.errors import TfgenError
from tfgen.problems import Place, has_errors
from tfgen.text.document import Document, parse
from tfgen.text.yaml_node import Entry, YamlNode, nodes
from tfgen.text.yaml_text import scalar
from tfgen.words import path_name, shown

NewValue: TypeAlias = str | bool
"""A name, or true or false."""

Changes: TypeAlias = Mapping[Path, Mapping[str, NewValue]]
"""Values by key, by the mapping that they are, or are to be, in."""

_BYTE_ORDER_MARK: Final = "\ufeff"


def with_values(text: str, document: Document, changes: Changes) -> str:
    """The text of a file with some keys of a job set; a key that is not there comes before the first of its mapping.

    Args:
        text: the file's text, as `disk_file.read_text` gives it.
        document: the job in it, which has no errors.
        changes: in the order in which they are to stand.

    Raises:
        TfgenError: the job is so written that something else would change with them.
    """
    mark = _BYTE_ORDER_MARK if text.startswith(_BYTE_ORDER_MARK) else ""
    edited = text.removeprefix(mark)
    before = parse(edited, document.file).documents
    number = next(n for n, candidate in enumerate(before) if candidate.root.position == document.root.position)
    wanted = [candidate.data for candidate in before]
    for place, values in changes.items():
        for key, value in values.items():
            wanted[number] = data_path.with_value(wanted[number], (*place, key), value)
        for key, value in reversed(list(values.items())):
            path = (*place, key)
            if _data(edited, document)[number] != data_path.with_value(_data(edited, document)[number], path, value):
                edited = _edited(edited, document, path, value)
    if _data(edited, document) != wanted:
        raise _by_hand(document, changes)
    return mark + edited


class _Edit(NamedTuple):
    """A part of a text, and what is to stand there."""

    start: int
    end: int
    new: str


def _set(text: str, root: YamlNode, path: Sequence[str], value: NewValue) -> _Edit | None:
    """How a key of a mapping is set; None where that cannot be done in place."""
    node, quote = root, _quote(text, root.entries)
    for taken, key in enumerate(path, start=1):
        entry = node.entry(key)
        if entry is None:
            return _insert(text, node, _pair(path[taken - 1 :], value, _quote(text, node.entries) or quote))
        node, quote, rest = entry.value, _quote(text, [entry]), path[taken:]
        if node.form == "alias" and rest:
            return _Edit(node.start, node.end, f"{{{_pair(rest, value, quote)}, <<: {text[node.start : node.end]}}}")
        if node.form != "mapping" and rest:
            return None
    return _Edit(node.start, node.end, _written(value, quote)) if node.form != "mapping" else None


def _insert(text: str, mapping: YamlNode, pair: str) -> _Edit | None:
    """A new entry: as the first, but before the comment that belongs to the one that is."""
    if mapping.is_flow:
        return _insert_in_braces(text, mapping, pair)
    first = mapping.entries[0].token
    line = text.rfind("\n", 0, first) + 1
    indent = text[line:first]
    if indent.strip(" "):
        return None  # a key stands behind "- " or "? "
    ending = "\r\n" if text[:line].endswith("\r\n") else "\n"
    while text[text.rfind("\n", 0, line - 1) + 1 : line].lstrip().startswith("#"):
        line = text.rfind("\n", 0, line - 1) + 1
    return _Edit(line, line, f"{indent}{pair}{ending}")


def _insert_in_braces(text: str, mapping: YamlNode, pair: str) -> _Edit:
    """The same in `{...}`: on the first entry's line, or above it on one of its own."""
    inside = mapping.start + 1
    if not mapping.entries:
        return _Edit(inside, inside, pair)
    first = mapping.entries[0].token
    line, broken, indent = text[inside:first].rpartition("\n")
    if not broken:
        return _Edit(first, first, f"{pair}, ")
    if line.split("\n")[0].strip():
        return _Edit(first, first, f"{pair},\n{indent}")
    ending = "\r\n" if line.endswith("\r") else "\n"
    return _Edit(inside, inside, f"{ending}{indent}{pair},")


def _quote(text: str, entries: Sequence[Entry]) -> str:
    """How the first key is quoted: by which quote, or not."""
    return next((text[entry.start] for entry in entries[:1] if text[entry.start] in "\"'"), "")


def _pair(path: Sequence[str], value: NewValue, quote: str) -> str:
    """An entry as its neighbours are written: JSON where they are."""
    *outer, key = path
    pair = f"{_key(key, quote)}: {_written(value, quote)}"
    for step in reversed(outer):
        pair = f"{_key(step, quote)}: {{{pair}}}"
    return pair


def _key(key: str, quote: str) -> str:
    return f"{quote}{key}{quote}" if quote else scalar(key)


def _written(value: NewValue, quote: str) -> str:
    """A value as it is to be read; a name as a reader sees that it is a name: quoted whenever it could be a number."""
    if isinstance(value, str) and (quote == '"' or not value or value[0].isdigit()):
        return json.dumps(value)
    return scalar(value)


def _edited(text: str, document: Document, path: Path, value: NewValue) -> str:
    edit = _set(text, nodes(text)[document.root.position], [str(step) for step in path], value)
    if edit is None:
        raise _by_hand(document, {path[:-1]: {str(path[-1]): value}})
    edited = text[: edit.start] + edit.new + text[edit.end :]
    if has_errors(parse(edited, document.file).problems):
        raise _by_hand(document, {path[:-1]: {str(path[-1]): value}})
    return edited


def _data(text: str, document: Document) -> list[Any]:
    return [parsed.data for parsed in parse(text, document.file).documents]


def _by_hand(document: Document, changes: Changes) -> TfgenError:
    (path, values), *_ = changes.items()
    place = Place(document.file, document.alone().value(path))
    wanted = " and ".join(f"{key} to {shown(value)}" for key, value in values.items())
    return TfgenError(
        f"{place}: cannot set {wanted} in {path_name(path)} and leave all else as it is "
        "(an alias of it stands elsewhere, perhaps): do it there by hand"
    )
