"""Two values in one message, whose texts differ even if the values are long."""

from __future__ import annotations

from tfgen.words import shown, shown_pair


def test_two_long_values_show_where_they_differ() -> None:
    before, after = f"{'a' * 200}1{'b' * 200}", f"{'a' * 200}2{'b' * 200}"
    assert shown(before) == shown(after)
    assert shown_pair(before, after, 30) == ("...aaaaaaaaaaaa1bbbbbbbbbbb...", "...aaaaaaaaaaaa2bbbbbbbbbbb...")


def test_values_whose_beginnings_differ_begin_with_them() -> None:
    assert shown_pair("a" * 100, "b" * 100, 20) == (shown("a" * 100, 20), shown("b" * 100, 20))
    assert shown_pair("one", "two") == ('"one"', '"two"')
    assert shown_pair(None, "two") == ("null", '"two"')
