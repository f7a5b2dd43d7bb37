"""Paths into plain data."""

from __future__ import annotations

import pytest

from tfgen.data_path import at, has, shared

DATA = {"spec": {"args": ["a"], "gang": None, "roles": {"ps": {"replicas": 0}}}}


@pytest.mark.parametrize(
    ("path", "value", "is_there"),
    [
        ((), DATA, True),
        (("spec", "roles", "ps", "replicas"), 0, True),
        (("spec", "gang"), None, True),
        (("spec", "gang", "queue"), None, False),
        (("spec", "roles", "worker"), None, False),
        (("spec", "args", 0), None, False),
    ],
)
def test_what_stands_at_a_path(path, value, is_there):
    assert at(DATA, path) == value
    assert has(DATA, path) == is_there


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        ([], ()),
        ([("spec", "args", 0)], ("spec", "args", 0)),
        ([("spec", "roles", "ps"), ("spec", "roles", "worker")], ("spec", "roles")),
        ([("spec",), ("spec", "run")], ("spec",)),
        ([("spec",), ("metadata",)], ()),
    ],
)
def test_what_several_begin_with(paths, expected):
    assert shared(paths) == expected
