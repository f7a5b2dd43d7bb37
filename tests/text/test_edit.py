"""Tests of edits in place, and of the text of one document in a file with several documents."""

from __future__ import annotations

import pytest

from tfgen.data_path import Path
from tfgen.errors import ProblemsError
from tfgen.fix import REMOVED, Assignment
from tfgen.report.problems import as_text
from tfgen.text.edit import assign, split_off
from tfgen.text.parse import parse


@pytest.mark.parametrize(
    ("text", "number", "content", "around"),
    [
        ("a: 1\n---\nb: 2\n", 0, "a: 1\n", "---\nb: 2\n"),
        ("# first\na: 1\n---\nb: 2\n", 0, "# first\na: 1\n", "---\nb: 2\n"),
        ("# file\n---\na: 1\n---\nb: 2\n", 0, "---\na: 1\n", "# file\n---\nb: 2\n"),
        ("a: 1\n--- # b\nb: |\n  ---\n---\nc: 3\n", 1, "--- # b\nb: |\n  ---\n", "a: 1\n---\nc: 3\n"),
        ("a: 1\n---\n---\nb: 2", 1, "---\nb: 2", "a: 1\n---\n"),
        ("--- {a: 1}\n--- {b: 2}\n", 0, "--- {a: 1}\n", "--- {b: 2}\n"),
        ("a: 1\r\n---\r\nb: 2\r\n---\r\nc: 3\r\n", 1, "---\r\nb: 2\r\n", "a: 1\r\n---\r\nc: 3\r\n"),
        ("\ufeffa: \u2713\n---\nb: 2\n---\nc: 3\n", 1, "---\nb: 2\n", "\ufeffa: \u2713\n---\nc: 3\n"),
        ("\ufeffa: 1\n---\nb: 2\n", 0, "a: 1\n", "\ufeff---\nb: 2\n"),
        ("a: &x 1\n---\nb: &x 2\nc: *x\n", 1, "---\nb: &x 2\nc: *x\n", "a: &x 1\n"),
    ],
)
def test_the_parts_of_a_file(text: str, number: int, content: str, around: str) -> None:
    document = parse(text.removeprefix("\ufeff"), "jobs.yaml").documents[number]
    assert split_off(text, document) == (content, around)


def test_an_error_names_the_line_of_a_document_that_cannot_be_removed_alone() -> None:
    text = "a\n---\nb: 2\n...\n%YAML 1.1\n---\nc: 3\n"
    document = parse(text, "jobs.yaml").documents[1]
    with pytest.raises(ProblemsError) as raised:
        split_off(text, document)
    assert as_text(raised.value.problems) == (
        "jobs.yaml:3:1: cannot remove the document without a change of other documents in the file; "
        "remove the lines of the document by hand [edit]\n"
    )


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        ("a:\n  # why\n  b: 1\nc: 2\n", ("a", "b"), "a: {}\n  # why\nc: 2\n"),
        ("a: # of a\n  # why\n  b: 1 # of b\nc: 2\n", ("a", "b"), "a: {} # of a\n  # why\nc: 2\n"),
        ("a:\n  # why\n  - b\n# end\n", ("a", 0), "a: []\n  # why\n# end\n"),
        ("a:\r\n  # why\r\n  b: 1\r\n", ("a", "b"), "a: {}\r\n  # why\r\n"),
        ("a:\n  # why\n  b: 1\n  c: 2\n", ("a", "b"), "a:\n  # why\n  c: 2\n"),
    ],
)
def test_a_comment_above_a_removed_key_stays(text: str, path: Path, expected: str) -> None:
    document = parse(text, "job.yaml").documents[0]
    assert assign(text, document, [Assignment(path, REMOVED)]) == expected
