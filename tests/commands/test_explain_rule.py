"""`tfgen explain RULE`: the command knows each rule, and prints the text of docs/rules.md."""

from __future__ import annotations

import pytest

from tests.support.rules_page import ids_of_the_reader, sections
from tfgen import cli
from tfgen.commands.explain import explain_rule, rule_ids
from tfgen.report.rule_summaries import rule_summaries


def test_every_id_of_a_problem_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    summaries = rule_summaries()
    for rule in {*summaries, *ids_of_the_reader()}:
        assert cli.run(["explain", rule]) == cli.OK, rule
        assert summaries.get(rule, "") in " ".join(capsys.readouterr().out.split())


def test_the_text_of_a_rule() -> None:
    assert explain_rule("latest-tag") == (
        "latest-tag\n\n"
        "  An image has no fixed version. Severity: warning. The image can then change without a commit, and two "
        "tasks of one job\n  could run different versions. Set a tag with a version, or a "
        "digest (`mnist@sha256:...`).\n\n"
        "    spec:\n      image: registry.ml.internal/ml/mnist\n\n"
        "    spec:\n      image: registry.ml.internal/ml/mnist:1.4.0\n"
    )
    assert rule_ids() == tuple(section.id for section in sections())


@pytest.mark.parametrize(
    ("word", "message"),
    [("latest-tga", "the most similar rule is latest-tag"), ("lmits-below-request", "limits-below-requests")],
)
def test_a_misspelt_rule_has_the_nearest_one(word: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["explain", word]) == cli.USAGE
    assert message in capsys.readouterr().err


def test_a_misspelt_key_has_the_nearest_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["explain", "spec.retris"]) == cli.USAGE
    assert 'did you mean "retries"?' in capsys.readouterr().err


def test_a_name_of_a_key_and_of_a_rule_explains_both(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["explain", "affinity"]) == cli.OK
    printed = capsys.readouterr().out
    assert "spec.affinity" in printed
    assert "The rule affinity\n" in printed
