r"""Separate the text of one document from a file with several documents.

    >>> text = "name: a\n---\nname: b\n---\nname: c\n"
    >>> split_off(text, parse(text, "jobs.yaml").documents[1])
    ('---\nname: b\n', 'name: a\n---\nname: c\n')

The text of a document begins with the line `---`, or at the start of the file, and ends before the next line `---`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

from tfgen.errors import TfgenError
from tfgen.text.document import Document
from tfgen.text.edit import EDIT
from tfgen.text.parse import BYTE_ORDER_MARK, parse


def split_off(text: str, document: Document) -> tuple[str, str]:
    """Return the text of a document, and the text of the file without the document.

    Args:
        text: the text of the file, as `disk_file.read_text` returns it.
        document: a document of the file, in which the YAML reader finds no problem.

    Raises:
        TfgenError: the removal would change another document of the file.
    """
    mark = BYTE_ORDER_MARK if text.startswith(BYTE_ORDER_MARK) else ""
    text = text.removeprefix(mark)
    documents = parse(text, document.file).documents
    line = document.root.position.line - 1
    starts = _starts(text)
    number = max(number for number, (first_line, _) in enumerate(starts) if first_line <= line)
    start = starts[number][1]
    end = starts[number + 1][1] if number + 1 < len(starts) else len(text)
    without = text[:start] + text[end:]
    expected = [parsed.data for parsed in documents if parsed.root.position != document.root.position]
    if _data(without, document.file) != expected:
        raise TfgenError(
            f"{document.file}:{line + 1}: cannot remove the document without a change of other documents in the "
            f"file; remove the lines of the document by hand [{EDIT}]"
        )
    return text[start:end], mark + without


def _starts(text: str) -> list[tuple[int, int]]:
    """Return the line number and the offset of the start of each document.

    A document begins with the line `---`, or at the start of the file. The number of the first line is 0.
    """
    events: Iterator[Any] = yaml.parse(text, Loader=yaml.CSafeLoader)
    starts = (event for event in events if isinstance(event, yaml.DocumentStartEvent))
    marks = (start.start_mark if start.explicit else None for start in starts)
    return [(mark.line, mark.index) if mark else (0, 0) for mark in marks]


def _data(text: str, file: str) -> list[Any]:
    return [document.data for document in parse(text, file).documents]
