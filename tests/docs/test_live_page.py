"""Tests that the pages show the output of tfgen for recorded runs."""

from __future__ import annotations

import re

from tests.support.tools import ROOT

RECORDED = {path.read_text(encoding="utf-8") for path in (ROOT / "tests" / "live").glob("*/status.txt")}


def test_a_status_is_that_of_a_recorded_run() -> None:
    text = (ROOT / "docs" / "live.md").read_text(encoding="utf-8")
    shown = re.findall(r"^```\n(mnist in ml: .*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert len(shown) == 1
    assert set(shown) <= RECORDED


def test_a_plan_is_that_of_a_case() -> None:
    page = (ROOT / "docs" / "live.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^```\n(mnist: .*)\n```$", page, re.MULTILINE)
    cases = (ROOT / "tests" / "scheduling" / "plans").glob("*.yaml")
    assert f"# {shown}" in {path.read_text(encoding="utf-8").splitlines()[0] for path in cases}
