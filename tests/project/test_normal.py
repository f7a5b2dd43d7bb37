"""tests/support/normal.py reads manifests like Go, and shows differences."""

from __future__ import annotations

import pytest

from tests.support.normal import assert_equal, by_identity, read


def value(text: str) -> object:
    (item,) = read(f"{{apiVersion: v1, kind: A, metadata: {{name: a}}, value: {text}}}").values()
    return item["value"]


# Cases from goyaml.v2/resolve_test.go and decode_test.go of sigs.k8s.io/yaml.
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *((text, True) for text in ("y", "Yes", "on", "true", "TRUE")),
        *((text, False) for text in ("n", "No", "off", "false")),
        *((text, None) for text in ("~", "null", "")),
        *(("0o17", 15), ("017", 15), ("0x1F", 31), ("0b11", 3), ("1_000", 1000), ("-1", -1)),
        *(("1e3", 1000.0), (".5", 0.5), ("08", 8.0), ("1.", 1.0), ("+.5", 0.5)),
        *((text, text) for text in ("2026-01-01", "12:30:45", "1e400", ".5_", "0b2", "1e", "yEs", "nil", "a")),
        *((f'"{text}"', text) for text in ("y", "1e3", "08", "")),
    ],
)
def test_a_plain_scalar_is_what_go_takes_it_for(text, expected):
    assert value(text) == expected
    assert type(value(text)) is type(expected)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{1: a}", "the key 1 is no string"),
        ("{y: a}", "the key True is no string"),
        ('{"a": 1, "a": 2}', "a key stands there twice"),
    ],
)
def test_a_key_that_is_no_string_or_there_twice_is_an_error(text, says):
    with pytest.raises(AssertionError, match=says):
        value(text)


def item(**more: object) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "A", "metadata": {"name": "a"}, **more}


@pytest.mark.parametrize("other", ["1", 1.0, True, [1], None])
def test_what_differs_is_shown(other):
    one, two = by_identity([item(x=1)]), by_identity([item(x=other)])
    with pytest.raises(AssertionError, match=r"(?s)--- one: v1 A a\n\+\+\+ two: v1 A a.*- \"x\": 1\n"):
        assert_equal({"one": one, "two": two})


def test_an_object_too_few_is_a_difference():
    with pytest.raises(AssertionError, match=r'-  "name": "a"'):
        assert_equal({"one": by_identity([item()]), "two": {}})


def test_an_object_twice_is_an_error():
    with pytest.raises(AssertionError, match="is there twice"):
        by_identity([item(), item()])


def test_who_wrote_an_object_is_left_out():
    labels = {"app.kubernetes.io/managed-by": "Helm", "helm.sh/chart": "a-1", "app.kubernetes.io/name": "a"}
    one = by_identity([{**item(), "metadata": {"name": "a", "labels": labels}}])
    assert one == by_identity([{**item(), "metadata": {"name": "a", "labels": {"app.kubernetes.io/name": "a"}}}])
