"""Edit single values in the text of a job.yaml. Every other byte remains unchanged.

    spec:                        spec:
      run: "2"  # after the fix    run: "3"  # after the fix

Loading and dumping the file with a YAML library would change indentation and quotes. tfgen parses the edited text
again, and accepts the edit only if exactly the intended values have changed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from tfgen import data_path
from tfgen.errors import Position, Problem, ProblemsError
from tfgen.fix import REMOVED, DataEdit, Rename
from tfgen.text.document import Document, Entry, YamlNode
from tfgen.text.parse import BYTE_ORDER_MARK, parse
from tfgen.text.yaml_text import in_line
from tfgen.words import path_name, shown

EDIT: Final = "edit"

RULES: Final[Mapping[str, str]] = {EDIT: "tfgen cannot change a value without a change of other text in the job file."}
"""The summary of the rule that the error of this module names, by id of the rule."""


def assign(text: str, document: Document, assignments: Sequence[DataEdit]) -> str:
    """Return the text of a file with new values, or new names of keys, in one document.

    Args:
        text: the text of the file from `disk_file.read_text`.
        document: a document of the file.
        assignments: the new values, in order. A later assignment may change the value of an earlier assignment.

    Raises:
        ProblemsError: the edit would also change another value.
        LookupError: an index of a path is past the end of a list, or the value is not a list.
    """
    mark = BYTE_ORDER_MARK if text.startswith(BYTE_ORDER_MARK) else ""
    text = text.removeprefix(mark)
    parsed = parse(text, document.file)
    documents, problems = parsed.documents, len(parsed.problems)
    places = [candidate.root.position for candidate in documents]
    number = places.index(document.root.position)
    expected = [candidate.data for candidate in documents]
    for assignment in assignments:
        expected[number] = _assigned(expected[number], assignment)
        current = documents[number]
        if current.data == _assigned(current.data, assignment):
            continue
        edit = _edit(text, current.root, assignment)
        if edit is None:
            raise _by_hand(document, assignment)
        text = text[: edit.start] + edit.new + text[edit.end :]
        parsed = parse(text, document.file)
        if len(parsed.problems) > problems:
            raise _by_hand(document, assignment)
        documents = parsed.documents
    if [candidate.data for candidate in documents] != expected:
        raise _by_hand(document, assignments[0])
    return mark + text


_DOCUMENT: Final = re.compile(r"^(?:%.*\n)*---(?=\s|\Z)", re.MULTILINE)
"""Pattern of the start of a document, with its YAML directives. No value can contain a line that begins with `---`."""


def split_off(text: str, document: Document) -> tuple[str, str]:
    r"""Return the text of a document, and the text of the file without the document.

    The text of a document begins with the line `---`, or at the start of the file, and ends before the next line `---`.

    >>> text = "name: a\n---\nname: b\n---\nname: c\n"
    >>> split_off(text, parse(text, "jobs.yaml").documents[1])
    ('---\nname: b\n', 'name: a\n---\nname: c\n')

    Args:
        text: the text of the file, as `disk_file.read_text` returns it.
        document: a document of the file, in which the YAML reader finds no problem.

    Raises:
        ProblemsError: the removal would change another document of the file.
    """
    mark = BYTE_ORDER_MARK if text.startswith(BYTE_ORDER_MARK) else ""
    text = text.removeprefix(mark)
    documents = parse(text, document.file).documents
    root = next(candidate.root for candidate in documents if candidate.root.position == document.root.position)
    starts = [match.start() for match in _DOCUMENT.finditer(text)]
    start = max((offset for offset in starts if offset <= root.token), default=0)
    end = min((offset for offset in starts if offset > root.token), default=len(text))
    without = text[:start] + text[end:]
    expected = [candidate.data for candidate in documents if candidate.root is not root]
    if [candidate.data for candidate in parse(without, document.file).documents] != expected:
        raise _problem(
            document,
            Position(root.position.line, 1),
            "cannot remove the document without a change of other documents in the file; "
            "remove the lines of the document by hand",
        )
    return text[start:end], mark + without


def _assigned(data: Any, assignment: DataEdit) -> Any:
    if isinstance(assignment, Rename):
        *parent, _ = assignment.path
        moved = data_path.with_value(data, (*parent, assignment.key), data_path.follow(data, assignment.path))
        return data_path.without(moved, assignment.path)
    if assignment.value is REMOVED:
        return data_path.without(data, assignment.path)
    return data_path.with_value(data, assignment.path, assignment.value)


class _Edit(NamedTuple):
    """A change of a text: the text `new` replaces the text from the offset `start` to the offset `end`."""

    start: int
    end: int
    new: str


def _edit(text: str, root: YamlNode, assignment: DataEdit) -> _Edit | None:
    """Return the edit that sets or removes a value, or renames a key.

    Return None if an edit in place is impossible, such as the removal of a key that `<<` merges.
    """
    path = assignment.path
    if isinstance(assignment, Rename):
        return _rename(text, root, assignment)
    value = assignment.value
    owner = Entry.of_item(0, root)
    style = _Style(root.is_flow, _quote(text, root.entries))
    for taken, step in enumerate(path, start=1):
        remaining = path[taken:]
        entry = owner.value.entry(step)
        if isinstance(step, str):
            style = style._replace(quote=_quote(text, [entry] if entry else owner.value.entries) or style.quote)
        if entry is None:
            if value is REMOVED or owner.value.form != ("list" if isinstance(step, int) else "mapping"):
                return None
            if isinstance(step, int):
                return _append(text, owner.value, _written(_nested(remaining, value), style))
            after = assignment.after[taken - 1] if assignment.after else ()
            return _insert(text, owner.value, _pair(step, _nested(remaining, value), style), after)
        node = entry.value
        if not remaining and value is REMOVED:
            return _remove(text, owner, entry, style)
        if not remaining or node.form == "scalar":
            return None if value is REMOVED else _replace(text, entry, _written(_nested(remaining, value), style))
        if node.form == "alias":
            if value is REMOVED:  # other keys may refer to the same anchor
                return None
            pair = _pair(str(remaining[0]), _nested(remaining[1:], value), style)
            return _Edit(node.start, node.end, f"{{{pair}, <<: {text[node.start : node.end]}}}")
        owner, style = entry, style._replace(is_flow=style.is_flow or node.is_flow)
    return None


def _rename(text: str, root: YamlNode, rename: Rename) -> _Edit | None:
    owner, entry = root, root.entry(rename.path[0])
    for step in rename.path[1:]:
        if entry is None:
            return None
        owner, entry = entry.value, entry.value.entry(step)
    if entry is None or entry.is_item:
        return None
    quote = _quote(text, [entry])
    key = f"{quote}{rename.key}{quote}" if quote else in_line(rename.key, is_flow=owner.is_flow)
    return _Edit(entry.start, entry.end, key)


class _Style(NamedTuple):
    """The style of inserted text. `is_flow` is true inside braces or brackets; `quote` is the character around keys."""

    is_flow: bool
    quote: str


def _replace(text: str, entry: Entry, written: str) -> _Edit | None:
    """Return the edit that replaces a value by the text `written`. A comment after the key remains."""
    node = entry.value
    if not entry.is_item and node.form in ("mapping", "list") and not node.is_flow:
        colon = text.find(":", entry.end)
        line_end = text.find("\n", colon)
        if node.entries[0].token < line_end if node.form == "mapping" else node.token != node.start:
            return None
        behind_key = text[colon + 1 : line_end].rstrip("\r")
        return _Edit(colon + 1, node.end, f" {written}{behind_key}")
    blank = " " if text[node.start - 1 : node.start] == ":" else ""
    header, _, _ = text[node.start : node.end].partition("\n")
    comment = re.fullmatch(r"[|>][-+0-9]*([ \t]+#.*?)\r?", header)  # in the first line of a block scalar
    return _Edit(node.start, node.end, f"{blank}{written}{comment[1] if comment else ''}")


def _remove(text: str, owner: Entry, entry: Entry, style: _Style) -> _Edit | None:
    """Return the edit that removes a mapping entry or a list item, with the comment on its last line.

    If the mapping or list becomes empty, empty braces or brackets replace it. Comments above the entry remain.

    Args:
        text: the text of the file.
        owner: the mapping or list that contains the entry or item.
        entry: the entry or item.
        style: the style of the empty braces or brackets.
    """
    is_list = owner.value.form == "list"
    parts = [(part.token, part.value.end) for part in owner.value.entries]
    if len(parts) == 1:
        empty = _written([] if is_list else {}, style)
        edit = _replace(text, owner, empty)
        if edit is None or owner.is_item or owner.value.is_flow:
            return edit
        above = text[edit.start : text.rfind("\n", 0, parts[0][0])]  # with the comment after the key of the owner
        line_end = _line_end(text, edit.end)
        end = edit.end if line_end is None else line_end - (text[line_end - 1] == "\r")
        return _Edit(edit.start, end, f" {empty}{above.rstrip()}")
    index = owner.value.entries.index(entry)
    start, end = parts[index]
    if owner.value.is_flow:
        return _Edit(start, parts[index + 1][0], "") if index + 1 < len(parts) else _Edit(parts[index - 1][1], end, "")
    if is_list:
        start = text.rindex("-", 0, start)
    line, line_end = text.rfind("\n", 0, start) + 1, _line_end(text, end)
    if line_end is None:
        return None
    if not text[line:start].strip(" "):
        return _Edit(line, line_end + 1, "")
    if index + 1 == len(parts):
        return None
    following = parts[index + 1][0]  # the entry is the first key of a list item, after "- "
    return None if "#" in text[end:following] else _Edit(start, following, "")


def _line_end(text: str, offset: int) -> int | None:
    """Return the offset of the end of the line; None if text other than a comment follows `offset` on the line."""
    end = text.find("\n", offset)
    end = len(text) if end < 0 else end
    tail = text[offset:end].strip()
    return end if not tail or tail.startswith("#") else None


def _append(text: str, items: YamlNode, written: str) -> _Edit | None:
    """Return the edit that appends the text `written` to a list as a new item."""
    if items.is_flow:
        if not items.entries:
            return _Edit(items.start + 1, items.start + 1, written)
        end = items.entries[-1].value.end
        return _Edit(end, end, f", {written}")
    first = text.rindex("-", 0, items.entries[0].token)
    indent = first - text.rfind("\n", 0, first) - 1
    return _insert_line(text, items.end, f"{' ' * indent}- {written}")


def _insert(text: str, mapping: YamlNode, pair: str, preceding_keys: Sequence[str]) -> _Edit | None:
    """Return the edit that inserts the entry `pair` into a mapping; None if an edit in place is impossible.

    `pair` follows the last entry whose key is in `preceding_keys`. If the mapping has no such key, `pair` becomes the
    first entry, or the last entry if `_insert_first` finds no place.
    """
    before = [entry for entry in mapping.entries if entry.key in preceding_keys]
    if not before:
        first = _insert_first(text, mapping, pair)
        if first or not mapping.entries:
            return first
    last = before[-1] if before else mapping.entries[-1]
    if not mapping.is_flow:
        indent = mapping.start - text.rfind("\n", 0, mapping.start) - 1  # left of the ? before a key
        return _insert_line(text, last.value.end, f"{' ' * indent}{pair}")
    following = next((entry for entry in mapping.entries if entry.token > last.token), None)
    if following is None:
        return _Edit(last.value.end, last.value.end, f", {pair}")
    line, broken, indent_in_flow = text[last.value.end : following.token].rpartition("\n")
    ending = "\r\n" if line.endswith("\r") else "\n"
    between = f"{ending}{indent_in_flow}" if broken else " "
    return _Edit(following.token, following.token, f"{pair},{between}")


def _insert_line(text: str, offset: int, line: str) -> _Edit | None:
    """Return the edit that inserts the text `line` as a new line, below the line that contains an offset."""
    end = _line_end(text, offset)
    if end is None:
        return None
    ending = "\r\n" if "\r\n" in text else "\n"
    end -= text[end - 1 : end] == "\r"
    return _Edit(end, end, f"{ending}{line}")


def _insert_first(text: str, mapping: YamlNode, pair: str) -> _Edit | None:
    """Return the edit that inserts the entry `pair` before the first entry and above the comment of this entry."""
    if mapping.is_flow:
        return _insert_in_braces(text, mapping, pair)
    first = mapping.entries[0].token
    line = text.rfind("\n", 0, first) + 1
    indent = text[line:first]
    if indent.strip(" "):
        return None  # the key follows "- " or "? " on the line
    ending = "\r\n" if text[:line].endswith("\r\n") else "\n"
    while text[text.rfind("\n", 0, line - 1) + 1 : line].lstrip().startswith("#"):
        line = text.rfind("\n", 0, line - 1) + 1
    return _Edit(line, line, f"{indent}{pair}{ending}")


def _insert_in_braces(text: str, mapping: YamlNode, pair: str) -> _Edit:
    """Return the edit that inserts the entry `pair` before the first entry of a mapping in braces.

    If the first entry begins a line, the new entry is on a separate line.
    """
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
    """Return the quote character around the first key; empty for a key without quotes, and without entries."""
    return next((text[entry.start] for entry in entries[:1] if text[entry.start] in "\"'"), "")


def _nested(path: Sequence[str | int], value: Any) -> Any:
    """Return a value inside the mappings and lists of a path.

    For example, `_nested(("a", "b"), 1)` is `{"a": {"b": 1}}`.
    """
    for step in reversed(path):
        value = [value] if isinstance(step, int) else {step: value}
    return value


def _pair(key: str, value: Any, style: _Style) -> str:
    """Return the text of a mapping entry, a key with its value, in the style of the neighbouring entries."""
    written_key = f"{style.quote}{key}{style.quote}" if style.quote else in_line(key, is_flow=style.is_flow)
    return f"{written_key}: {_written(value, style)}"


def _written(value: Any, style: _Style) -> str:
    return json.dumps(value, ensure_ascii=False) if style.quote == '"' else in_line(value, is_flow=style.is_flow)


def _by_hand(document: Document, assignment: DataEdit) -> ProblemsError:
    *parent, key = assignment.path
    name = f"item {key}" if isinstance(key, int) else key
    if isinstance(assignment, Rename):
        what = f"rename {name} to {assignment.key} in"
    else:
        what = f"remove {name} from" if assignment.value is REMOVED else f"set {name} to {shown(assignment.value)} in"
    return _problem(
        document,
        document.alone().value(tuple(parent)),
        f"cannot {what} {path_name(tuple(parent))} without a change of other values "
        "(an alias in the file may repeat the value); edit the file by hand",
    )


def _problem(document: Document, position: Position, message: str) -> ProblemsError:
    return ProblemsError([Problem(document.file, position, message, EDIT)])
