"""The formatter of `tfgen fmt`, which changes indentation, quotes and the order of keys. Values and comments remain.

    spec:                                   spec:
        roles: {worker: {replicas: 4}}        # The image.
        # The image.                     ->   image: a:1  # kept
        image: "a:1"  # kept                  roles: {worker: {replicas: 4}}

A comment on a separate line moves with the key or the item below the comment. A comment after a value moves with the
value.

A block is a mapping or a list without braces or brackets. A comment at the end of a block moves with the block. If
several blocks end at the comment, the comment belongs to the innermost block that is not indented deeper than the
comment.

tfgen parses the new text, and refuses the new layout if a value or a comment has changed.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, Final, NamedTuple, TypeAlias

from tfgen.data_path import Path
from tfgen.errors import Position, Problem, ProblemsError
from tfgen.text.document import Document, Entry, YamlNode
from tfgen.text.parse import BYTE_ORDER_MARK, parse
from tfgen.text.reader import COMMENT, HEADER, comments
from tfgen.text.yaml_text import block_lines, in_line

LAYOUT: Final = "layout"

RULES: Final[Mapping[str, str]] = {LAYOUT: "`tfgen fmt` cannot write a line of a job file in the layout of tfgen."}
"""The summary of the rule that the error of this module names, by id of the rule."""

KeyOrder: TypeAlias = Callable[[Path], Sequence[str] | None]
"""Function that returns the order of the keys in the mapping at a path; None if the keys keep their order."""

_WIDTH: Final = 100
"""Maximum length of a line after tfgen has joined the lines of a collection in braces or brackets."""

_NOTE: Final = re.compile(r"(?P<note>[ \t]+#.*)?[ \t]*")
_ANCHOR: Final = re.compile(r"&\S+")


def lay_out(text: str, file: str, order: Callable[[Document], KeyOrder | None]) -> str:
    """Return the text of a file in the layout that `tfgen init` writes.

    Args:
        text: the text from `disk_file.read_text`, in which `parse.parse` finds no problem.
        file: the name of the file for errors.
        order: function that returns the order of the keys in a document, as a `KeyOrder`; None for a document that
            remains unchanged.

    Raises:
        ProblemsError: the layout would lose a value or a comment.
    """
    mark = BYTE_ORDER_MARK if text.startswith(BYTE_ORDER_MARK) else ""
    ending = "\r\n" if "\r\n" in text else "\n"
    before = text.removeprefix(mark).replace("\r\n", "\n")
    documents = parse(before, file).documents
    after, done = "", 0
    for document in documents:
        root, key_order = document.root, order(document)
        if key_order is None or root.form != "mapping" or root.is_flow:
            continue
        layout = _Layout(before, file, key_order, moves=not _has_aliases(root))
        start, end, lines = layout.of_document(root, document.data)
        after += before[done:start] + "".join(f"{line}\n" for line in lines)
        done = end
    remaining = before[done:]
    whole = after + (remaining if remaining.strip() else "\n" * remaining.count("\n"))
    content = [*_content(before, file)]
    # After the header |+, empty lines at the end of the file belong to the text of the block.
    after = next((form for form in (whole.rstrip("\n") + "\n", whole) if [*_content(form, file)] == content), "")
    if not after:
        message = "tfgen cannot format the file without the loss of a value or a comment; format the file by hand"
        raise ProblemsError([Problem(file, _first_loss(before, whole, file), message, LAYOUT)])
    return mark + after.replace("\n", ending)


def _content(text: str, file: str) -> Iterator[Any]:
    """Yield the values and the comments of a text. A new layout of the text must have the same values and comments."""
    parsed = parse(text, file)
    if parsed.problems:
        return
    yield from (document.data for document in parsed.documents)
    yield sorted(comment.strip() for _, comment in comments(text, parsed.documents))


def _first_loss(before: str, after: str, file: str) -> Position:
    """Return the position of the first comment that a new layout lost; of the first document if no comment is lost."""
    documents = parse(before, file).documents
    kept = [comment.strip() for _, comment in comments(after, parse(after, file).documents)]
    for offset, comment in comments(before, documents):
        if comment.strip() not in kept:
            return Position(before.count("\n", 0, offset) + 1, offset - before.rfind("\n", 0, offset))
        kept.remove(comment.strip())
    return documents[0].root.position


def _has_aliases(node: YamlNode) -> bool:
    """Return whether a value contains an alias. An alias must follow its anchor, so tfgen then moves no keys."""
    return node.form == "alias" or any(_has_aliases(entry.value) for entry in node.entries)


class _CommentLine(NamedTuple):
    """A comment line, with the column at which the comment begins; or an empty line, whose text is empty."""

    column: int
    text: str


class _Element(NamedTuple):
    """An entry of a mapping or an item of a list, with its comments.

    Attributes:
        token: the offset of the key or the dash.
        head: the comment lines above the entry or item.
        note: the comment after the value, with the blanks before the comment. For a mapping or list without braces or
            brackets, the comment after its key or dash.
        foot: the comment lines at the end of a mapping or list without braces or brackets.
    """

    entry: Entry
    token: int
    head: list[_CommentLine]
    note: str
    foot: list[_CommentLine]


class _Layout:
    """The formatter of a single document."""

    def __init__(self, text: str, file: str, order: KeyOrder, *, moves: bool) -> None:
        self._text, self._file, self._order, self._moves = text, file, order, moves
        self._lines = text.split("\n")
        self._starts = [0, *accumulate(len(line) + 1 for line in self._lines)]

    def of_document(self, root: YamlNode, data: Any) -> tuple[int, int, list[str]]:
        """Return the new lines of the document, and the offsets between which the new lines replace the text.

        The result has the start offset, the end offset and the new lines.
        """
        first, last = self._line(root.start), self._line(root.end)
        comments_below: list[_CommentLine] = []
        for number in range(last + 1, len(self._lines)):
            if self._lines[number].startswith(("---", "...", "%")):
                break
            comments_below += self._comments_between(number, number + 1)
        column = root.start - self._starts[first]
        foot, _ = _split(comments_below, column)
        lines = self._block(root, data, (), 0, first - 1, foot)
        return self._starts[first], min(self._starts[last + 1 + len(foot)], len(self._text)), lines

    def _line(self, offset: int) -> int:
        return bisect_right(self._starts, offset) - 1

    def _column(self, offset: int) -> int:
        return offset - self._starts[self._line(offset)]

    def _comments_between(self, first: int, end: int) -> list[_CommentLine]:
        """Return the comment lines and empty lines in a range of line numbers. Raises ProblemsError for others."""
        between = []
        for number in range(first, end):
            line = self._lines[number].rstrip()
            text = line.lstrip()
            if text and not text.startswith("#"):
                raise self._error(number)
            between.append(_CommentLine(len(line) - len(text), text))
        return between

    def _error(self, line: int) -> ProblemsError:
        message = "`tfgen fmt` does not support this notation; format the line by hand"
        return ProblemsError([Problem(self._file, Position(line + 1, 1), message, LAYOUT)])

    def _block(
        self, node: YamlNode, data: Any, path: Path, indent: int, owner: int, foot: Sequence[_CommentLine]
    ) -> list[str]:
        """Return the lines of a mapping or a list, with each entry or item on separate lines.

        Args:
            node: the mapping or the list.
            data: the data of the node.
            path: the path of the node in the document.
            indent: the number of blanks before the new lines.
            owner: the number of the line with the key or the dash of the node.
            foot: the comment lines below the node that belong to the node because of their indentation.
        """
        elements, trailing = self._flow_elements(node) if node.is_flow else self._block_elements(node, owner, foot)
        if node.entries and self._moves and (order := self._order(path)):
            place: dict[str | int, int] = {key: number for number, key in enumerate(order)}
            elements.sort(key=lambda element: place.get(element.entry.key, len(place)))
        if not isinstance(data, dict | list):  # the node is the value of `<<`
            raise self._error(self._line(node.start))
        lines: list[str] = []
        for number, element in enumerate(elements):
            lines += _comment_lines(element.head, indent, is_first=number == 0)
            step: Any = element.entry.key
            child = data.get(step) if isinstance(data, dict) else data[step]
            lines += self._element_lines(element, child, (*path, step), indent)
        return [*lines, *_comment_lines(trailing, indent, is_first=not lines)]

    def _block_elements(
        self, node: YamlNode, owner: int, foot: Sequence[_CommentLine]
    ) -> tuple[list[_Element], list[_CommentLine]]:
        """Return the entries or items of a mapping or list without braces, and the comments after the last one."""
        elements: list[_Element] = []
        previous_line = owner
        column = 0
        for entry in node.entries:
            value, token = entry.value, self._dash(node, entry) if entry.is_item else entry.token
            first, column = self._line(token), self._column(token)
            head = self._comments_between(previous_line + 1, first)
            if elements:
                head = _move_to_foot(elements[-1], head, column)
            if not _is_block(value):
                previous_line = token if entry.is_item else self._text.index(":", entry.end)
                head += (
                    _CommentLine(0, comment) for comment in COMMENT.findall(self._text, previous_line, value.token)
                )
            elements.append(_Element(entry, token, head, self._note(entry, token), []))
            previous_line = self._line(value.end)
        return elements, _move_to_foot(elements[-1], list(foot), column)

    def _dash(self, items: YamlNode, item: Entry) -> int:
        """Return the offset of the dash of a list item. All dashes of a list are in the same column."""
        column, number = self._column(items.start), self._line(item.token)
        while self._lines[number][column : column + 1] != "-" or "#" in self._lines[number][:column]:
            number -= 1
        return self._starts[number] + column

    def _note(self, entry: Entry, token: int) -> str:
        """Return the comment on the line of a value.

        For a mapping or list without braces or brackets, return the comment on the line of its key or dash.
        """
        value = entry.value
        if _is_block(value):
            start = token + 1 if entry.is_item else self._text.index(":", entry.end) + 1
            first = value.entries[0].token if value.entries else value.start
            line = _ANCHOR.sub("", self._text[start:first].partition("\n")[0], count=1)
        else:
            line = self._text[value.end : self._starts[self._line(value.end) + 1] - 1]
        note = _NOTE.fullmatch(line)
        if note is None:
            raise self._error(self._line(value.start))
        return (note["note"] or "").rstrip()

    def _flow_elements(self, node: YamlNode) -> tuple[list[_Element], list[_CommentLine]]:
        """Return the entries or items in braces or brackets, and the comments after the last one."""
        elements: list[_Element] = []
        offset = node.start + 1
        for entry in node.entries:
            head = self._comments_in_braces(offset, entry.token, elements)
            elements.append(_Element(entry, entry.token, head, "", []))
            offset = entry.value.end
        return elements, self._comments_in_braces(offset, node.end - 1, elements)

    def _comments_in_braces(self, start: int, end: int, elements: list[_Element]) -> list[_CommentLine]:
        """Return the comment lines between two entries or items in braces or brackets.

        `start` and `end` are the offsets of the text between the two entries or items. A comment on the first line
        becomes the `note` of the last entry or item in `elements`.
        """
        first, *following = self._text[start:end].split("\n")
        head = [_CommentLine(0, line.strip()) for line in following if line.strip().startswith("#")]
        if elements and "#" in first:
            elements[-1] = elements[-1]._replace(note=f"  {first[first.index('#') :].rstrip()}")
        return head

    def _element_lines(self, element: _Element, data: Any, path: Path, indent: int) -> list[str]:
        """Return the lines of an entry or item: the key or the dash, and the value."""
        blanks, node, is_item = " " * indent, element.entry.value, element.entry.is_item
        name = "-" if is_item else f"{self._key(element.entry, is_flow=False)}:"
        start = f"{blanks}{name} {self._anchor(node)}".rstrip()
        if not _is_block(node) and self._fits(node, data, len(start)):
            is_collection = node.form == "list" or node.is_flow
            written = [self._flow_without_anchor(node, data)] if is_collection else self._scalar(node, data, indent)
            header = HEADER.match(self._text, node.start, node.end) if node.form == "scalar" else None
            note = (header["note"] or "").rstrip() if header else ""
            lines = [f"{start} {written[0]}{note}", *written[1:]]
            return [*lines[:-1], f"{lines[-1]}{element.note}"]
        child_indent = indent + 2 if is_item or node.form == "mapping" else indent
        owner = self._line(element.token if is_item else self._text.index(":", element.entry.end))
        lines = self._block(node, data, path, child_indent, owner, element.foot)
        brace_note = _NOTE.fullmatch(self._text[node.start + 1 : node.end].partition("\n")[0]) if node.is_flow else None
        note = element.note or ((brace_note["note"] or "").rstrip() if brace_note else "")
        if not start.endswith("-"):
            return [f"{start}{note}", *lines]
        comments_above = [note.strip()] if note else []
        # The dash and the first key must be on the same line, so the comments move above the dash.
        while lines[0].lstrip().startswith("#"):
            comments_above.append(lines.pop(0).strip())
        return [*(f"{blanks}{line}" for line in comments_above), f"{start} {lines[0].lstrip()}", *lines[1:]]

    def _key(self, entry: Entry, *, is_flow: bool) -> str:
        anchor = self._text[entry.token : entry.start]
        return f"{anchor}{entry.key if entry.key == '<<' else in_line(entry.key, is_flow=is_flow)}"

    def _anchor(self, node: YamlNode) -> str:
        match = _ANCHOR.match(self._text, node.token) if node.form != "alias" else None
        return match[0] if match else ""

    def _fits(self, node: YamlNode, data: Any, column: int) -> bool:
        """Test whether a value fits on the line of its key or dash, after the first `column` characters of the line."""
        if node.form in ("scalar", "alias") or not node.entries:
            return True
        written = self._text[node.start : node.end]
        if "\n" not in written:
            return True
        if any("\n" in self._text[start:end] for start, end in node.leaves()) or self._has_comments(node):
            return False
        return column + 1 + len(self._flow_without_anchor(node, data)) <= _WIDTH

    def _has_comments(self, node: YamlNode) -> bool:
        offset = node.start
        for start, end in sorted(node.leaves()):
            if COMMENT.search(self._text, offset, start):
                return True
            offset = end
        return COMMENT.search(self._text, offset, node.end) is not None

    def _flow(self, node: YamlNode, data: Any) -> str:
        """Return the text of a value in braces or brackets, on one line."""
        anchor, text = self._anchor(node), self._flow_without_anchor(node, data)
        return f"{anchor} {text}" if anchor else text

    def _flow_without_anchor(self, node: YamlNode, data: Any) -> str:
        if node.form == "mapping":
            pairs = (
                f"{self._key(entry, is_flow=True)}: "
                f"{self._flow(entry.value, data.get(entry.key) if isinstance(data, dict) else None)}"
                for entry in node.entries
            )
            return f"{{{', '.join(pairs)}}}"
        if node.form == "list":
            items = data if isinstance(data, list) else [None] * len(node.entries)
            pairs = (self._flow(entry.value, item) for entry, item in zip(node.entries, items, strict=True))
            return f"[{', '.join(pairs)}]"
        return self._scalar(node, data, 0, is_flow=True)[0]

    def _scalar(self, node: YamlNode, data: Any, indent: int, *, is_flow: bool = False) -> list[str]:
        """Return the lines of a scalar or an alias. The caller writes the first line on the line of the key."""
        written = self._text[node.start : node.end]
        if node.form == "alias" or (isinstance(data, int | float) and not isinstance(data, bool)):
            return [written]
        if not isinstance(data, str):
            return [in_line(data)]
        blanks = " " * (indent + 2)
        header = HEADER.match(written)
        if header:
            lines = block_lines(data) if written.startswith("|") else None
            lines = lines or _dedented(header["header"], written, data)
            if lines:
                return [lines[0], *(f"{blanks}{line}" if line else "" for line in lines[1:])]
        elif "\n" in written:
            first, *following = written.split("\n")
            lines = [line.strip(" \t") for line in following]  # YAML has no other whitespace
            return [first.rstrip(" \t"), *(f"{blanks}{line}" if line else "" for line in lines)]
        return [in_line(data, is_flow=is_flow)]


def _is_block(node: YamlNode) -> bool:
    return node.form in ("mapping", "list") and not node.is_flow and bool(node.entries)


def _move_to_foot(element: _Element, lines: list[_CommentLine], column: int) -> list[_CommentLine]:
    """Move comment lines to the `foot` of `element`, if the comments belong to the end of its value.

    These comment lines are the first of `lines`, as long as the comments are indented deeper than `column`. Return the
    other lines. If the value is a scalar, or is in braces or brackets, return all lines.
    """
    if not _is_block(element.entry.value):
        return lines
    foot, remaining = _split(lines, column)
    element.foot.extend(foot)
    return remaining


def _split(lines: list[_CommentLine], column: int) -> tuple[list[_CommentLine], list[_CommentLine]]:
    """Split comment lines. The first list has the first comments, as long as these are indented deeper than `column`.

    The second list has all other lines. Empty lines between the two lists are in the second list.
    """
    end = 0
    for number, line in enumerate(lines, start=1):
        if line.text and line.column <= column:
            break
        if line.text:
            end = number
    return lines[:end], lines[end:]


def _comment_lines(lines: Sequence[_CommentLine], indent: int, *, is_first: bool) -> Iterator[str]:
    """Yield comment lines with a new indentation. Omit repeated empty lines, and the first line if it is empty."""
    was_empty = is_first
    for line in lines:
        if line.text or not was_empty:
            yield f"{' ' * indent}{line.text}" if line.text else ""
        was_empty = not line.text


def _dedented(header: str, written: str, data: str) -> list[str] | None:
    """Return the header and the lines of a block scalar, without the indentation of the lines.

    A block scalar is a text that begins with `|` or `>`. Return None if its header contains an indentation indicator,
    or if the lines without the indentation no longer represent `data`.

    Args:
        header: the header of the block scalar, such as `|-`.
        written: the block scalar in the file, with its header.
        data: the string that the block scalar represents.
    """
    lines = written.split("\n")[1:]
    first = next((line for line in lines if line.strip(" ")), "")
    if re.search("[0-9]", header) or not first:
        return None
    indent = len(first) - len(first.lstrip(" "))
    dedented = [line[indent:] for line in lines]
    block = "".join(f"  {line}\n" if line else "\n" for line in dedented)
    read = parse(f"a: {header}\n{block}", "block").documents
    return [header, *dedented] if read and read[0].data == {"a": data} else None
