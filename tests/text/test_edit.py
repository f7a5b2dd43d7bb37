"""Tests of the text of one document in a file with several documents."""

from __future__ import annotations

import pytest

from tfgen.errors import ProblemsError
from tfgen.report.problems import as_text
from tfgen.text.edit import split_off
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
