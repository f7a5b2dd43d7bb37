"""The summary of the tests that did not run."""

from __future__ import annotations

from tests.support.not_run import summarize


def test_each_reason_has_its_number_and_the_commands_are_named():
    needs = "needs kustomize 5: see `make tools`"
    assert [*summarize([needs, "needs a cluster", needs], "not train and not e2e and not long")] == [
        "    2  needs kustomize 5: see `make tools`",
        "    1  needs a cluster",
        "       Run the command that a line names, then this one again.",
        "       Commands of the other tests: make e2e, make long, make train",
    ]


def test_a_run_of_all_its_tests_has_no_summary():
    assert [*summarize([], "")] == []
