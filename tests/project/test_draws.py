"""Failing tests that draw their values end within a time limit."""

from __future__ import annotations

import time

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.internal.conjecture import engine

from tests.support.draws import SHRINKING_SECONDS, bound_shrinking


def test_the_search_for_a_smaller_example_is_bounded(monkeypatch):
    assert engine.MAX_SHRINKING_SECONDS == SHRINKING_SECONDS
    monkeypatch.setattr(engine, "MAX_SHRINKING_SECONDS", 0.2)
    examples = 0

    @hypothesis.settings(database=None, derandomize=True, deadline=None)
    @given(st.lists(st.integers(0, 10**9), min_size=50, max_size=60))
    def fails(numbers: list[int]) -> None:
        nonlocal examples
        examples += 1
        time.sleep(0.01)
        assert len({*numbers}) <= 45

    with pytest.raises(AssertionError):
        fails()
    assert examples < 100  # 18 on an idle machine, and 232 with a limit of nine seconds


def test_a_developer_may_ask_for_the_whole_search(monkeypatch):
    monkeypatch.setattr(engine, "MAX_SHRINKING_SECONDS", 300)
    bound_shrinking("shrink")
    assert engine.MAX_SHRINKING_SECONDS == 300
