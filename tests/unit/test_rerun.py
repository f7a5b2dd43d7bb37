"""The next run's name, put where the last one stands, with every other byte kept."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tfgen.document import parse
from tfgen.errors import TfgenError, UsageError
from tfgen.rerun import next_run, rerun


@pytest.mark.parametrize(
    ("run", "after"),
    [
        ("", "2"),
        ("1", "2"),
        ("9", "10"),
        ("09", "10"),
        ("lr-3", "lr-4"),
        ("warm", "warm-2"),
        ("a1b", "a1b-2"),
        ("v1-9", "v1-10"),
    ],
)
def test_next_run(run: str, after: str) -> None:
    assert next_run(run) == after


def test_a_run_that_would_be_too_long_is_the_users_to_name() -> None:
    with pytest.raises(TfgenError, match="name it yourself"):
        next_run("a" * 20)


CASES = {
    "no run yet": (
        """\
        spec:
          # the image
          image: a:1
        """,
        """\
        spec:
          # the image
          run: "2"
          image: a:1
        """,
    ),
    "a run with a comment": (
        """\
        spec:
          image: a:1   # kept
          run: '7'  # after the fix
        """,
        """\
        spec:
          image: a:1   # kept
          run: "8"  # after the fix
        """,
    ),
    "a plain run": ("spec: {run: lr-1, image: a:1}\n", "spec: {run: lr-2, image: a:1}\n"),
    "a flow mapping": ("spec: {image: a:1}\n", 'spec: {run: "2", image: a:1}\n'),
}


@pytest.mark.parametrize(("before", "after"), CASES.values(), ids=CASES)
def test_rerun(before: str, after: str) -> None:
    head = "metadata: {name: mnist}\n"
    text = head + dedent(before)
    (document,) = parse(text, "job.yaml").documents
    assert rerun(text, document, None, resume=False).text == head + dedent(after)


def test_an_environment_has_a_run_of_its_own() -> None:
    text = "metadata: {name: m}\nspec:\n  run: a\n  environments:\n    dev: {}\n    prod:\n      image: b:1\n"
    (document,) = parse(text, "job.yaml").documents
    assert 'dev: {run: "a-2"}' in rerun(text, document, "dev", resume=False).text.replace("a-2", '"a-2"')
    assert "prod:\n      run: a-2\n      image: b:1\n" in rerun(text, document, "prod", resume=False).text
    with pytest.raises(UsageError, match="it has dev, prod"):
        rerun(text, document, "staging", resume=False)
