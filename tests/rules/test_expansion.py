"""Tests of references between variables, and of the cache for the texts with references."""

from __future__ import annotations

from tfgen.rules.programs import _names_in_short, find_references


def test_nothing_is_kept_of_the_long_texts_of_a_job() -> None:
    before = _names_in_short.cache_info().currsize
    for number in range(3):
        assert find_references(f"{number}$(A)" + "x" * 2_000 + "$(B)$(A)") == ("A", "B")
    assert _names_in_short.cache_info().currsize == before
