"""Tests of the words of a shell script: their limits, texts and positions."""

from __future__ import annotations

import pytest

from tfgen.importers.tf_config import commands


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("a b", [["a 1:1", "b 1:3"]]),
        ("a \\\n  --b=c", [["a 1:1", "--b=c 2:3"]]),
        ("a 'b c'\"d e\"f", [["a 1:1", "b cd ef 1:3"]]),
        ("a b\\ c", [["a 1:1", "b c 1:3"]]),
        ("# a\na # b\nb", [["a 2:1"], ["b 3:1"]]),
        ("a; b && c || d & e", [["a 1:1"], ["b 1:4"], ["c 1:9"], ["d 1:14"], ["e 1:18"]]),
        ('a $B \'$C\' "$D" "\\$E"', [["a 1:1", "$B 1:3 expands", "$C 1:6", "$D 1:11 expands", "$E 1:16"]]),
        ("a 'b\nc' d", [["a 1:1", "b\nc 1:3", "d 2:4"]]),
        ("a 'b", [["a 1:1", "' 1:3", "b 1:4"]]),
        ("\n\n", []),
    ],
)
def test_a_script_is_commands_of_words(script: str, expected: list[list[str]]) -> None:
    shown = [
        [f"{word.text} {word.position.line}:{word.position.column}{' expands' * word.expands}" for word in words]
        for words in commands(script)
    ]
    assert shown == expected
