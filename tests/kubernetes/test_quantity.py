from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.quantities import CANONICAL
from tfgen.kubernetes.quantity import canonical, is_quantity, parse


@pytest.mark.parametrize(
    ("quantity", "number"),
    [
        # The examples and the table of suffixes in the grammar:
        # https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
        ("1.5Gi", 1610612736),
        ("128974848", 128974848),
        ("129e6", 129_000_000),
        ("129M", 129_000_000),
        ("123Mi", 123 * 2**20),
        ("100m", Fraction(1, 10)),
        ("1n", Fraction(1, 10**9)),
        ("1u", Fraction(1, 10**6)),
        ("1k", 10**3),
        ("1G", 10**9),
        ("1T", 10**12),
        ("1P", 10**15),
        ("1E", 10**18),
        ("1Ki", 2**10),
        ("1Ti", 2**40),
        ("1Pi", 2**50),
        ("1Ei", 2**60),
        # E as an exponent, and not as the suffix exa
        ("1E3", 1000),
        ("1e-3", Fraction(1, 1000)),
        ("12e+2", 1200),
        ("1E0", 1),
        # Numbers without a suffix
        ("0", 0),
        ("-1", -1),
        ("+.5", Fraction(1, 2)),
        ("5.", 5),
        ("007", 7),
        ("0.000000001", Fraction(1, 10**9)),
        (2, 2),
        (2.0, 2),
        (0.5, Fraction(1, 2)),
        (1e-300, Fraction(1, 10**300)),
    ],
)
def test_number(quantity: str | float, number: int | Fraction) -> None:
    assert parse(quantity) == number


@pytest.mark.parametrize(
    "text",
    [
        *["m", ".", "1gi", "1K", "1ki", "1mi", "1e", "1e1.5", "1e3Ki", "1_000", "0x10", "1e1000", "٣", "NaN"],
        "",
        "1 Gi",
        "1\n",
    ],
)
def test_no_quantity(text: str) -> None:
    with pytest.raises(ValueError, match="not a Kubernetes quantity"):
        parse(text)


@pytest.mark.parametrize("value", [[4], {"a": 1}, None, True, "x"])
def test_a_value_of_any_kind_may_be_none(value: object) -> None:
    assert parse(1) == 1
    assert not is_quantity(value)


@given(st.integers(0, 10**12), st.sampled_from(["m", "", "k", "Ki", "M", "Mi", "e3"]))
def test_order_is_that_of_numbers(number: int, suffix: str) -> None:
    assert parse(f"{number}{suffix}") < parse(f"{number + 1}{suffix}")
    assert parse(f"{number}{suffix}") <= parse(f"{number}.0001{suffix}")


@pytest.mark.parametrize("text", CANONICAL)
def test_the_text_is_the_one_that_the_api_server_keeps(text: str) -> None:
    assert canonical(text) == CANONICAL[text]


@given(st.integers(0, 10**12), st.sampled_from(["m", "", "k", "Ki", "M", "Mi", "e3"]))
def test_an_amount_has_one_text(number: int, suffix: str) -> None:
    text = canonical(f"{number}{suffix}")
    assert parse(text) == parse(f"{number}{suffix}")
    assert canonical(text) == text
