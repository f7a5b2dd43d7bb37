"""Tests of the JSON text for digests, which equals the text of Go. tests/equal/test_graphs.py compares with Helm."""

from __future__ import annotations

import math

import pytest

from tfgen.text.canonical_json import canonical, digest


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"b": 1, "a": [True, None, {}]}, '{"a":[true,null,{}],"b":1}'),
        ({"Z": 1, "a": 2, "é": 3, "\uff5e": 4, "😀": 5}, '{"Z":1,"a":2,"é":3,"\uff5e":4,"😀":5}'),
        ('<&>"\\\t\n/', '"<&>\\"\\\\\\t\\n/"'),
        ("\u2028\u2029", '"\\u2028\\u2029"'),
        (0, "0"),
        (-5, "-5"),
        (5.0, "5"),
        (0.5, "0.5"),
        (2**53 - 1, "9007199254740991"),
        (2**60, "1152921504606847000"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (-1.5e300, "-1.5e+300"),
        (0.000001, "0.000001"),
        (0.00000125, "0.00000125"),
        (1e-7, "1e-7"),
        (1.5e-10, "1.5e-10"),
    ],
)
def test_the_text_is_gos(data: object, expected: str) -> None:
    assert canonical(data) == expected


def test_a_digest_is_the_beginning_of_sha256sum() -> None:
    """The digest comes from `printf '{"a":"é"}' | sha256sum`."""
    assert digest({"a": "é"}) == "b3a092a6af48"


@pytest.mark.parametrize("data", [math.inf, -math.inf, math.nan])
def test_json_has_no_infinity(data: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical(data)


@pytest.mark.parametrize("data", [b"x", {1, 2}, object()])
def test_json_has_no_such_thing(data: object) -> None:
    with pytest.raises(TypeError):
        canonical(data)
