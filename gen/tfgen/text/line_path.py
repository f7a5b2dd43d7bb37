r"""Find the path of the value on each line of a YAML text.

    >>> [path for path in line_paths("a:\n  b: 1\n# the next\nc: |\n  two\n  lines\n")]
    [('a',), ('a', 'b'), ('c',), ('c',), ('c',), ('c',)]

A comment and an empty line have the path of the next value. A line with several values has the path of the last value.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate

from tfgen.data_path import Path
from tfgen.text.document import YamlNode
from tfgen.text.parse import parse
from tfgen.text.yaml_text import FORBIDDEN_CHARACTER


@lru_cache(maxsize=1)
def line_paths(text: str) -> list[Path]:
    """Return the path of the value on each line of a valid YAML or JSON text with a single document."""
    # libyaml refuses these characters, and a JSON text may contain them.
    readable = re.sub(FORBIDDEN_CHARACTER, "?", text)
    (document,) = parse(readable, "").documents
    lines = readable.removesuffix("\n").split("\n")
    starts = [0, *accumulate(len(line) + 1 for line in lines[:-1])]
    paths: list[Path | None] = [None] * len(lines)
    for start, end, path in _spans(document.root, ()):
        first, last = (bisect_right(starts, offset) - 1 for offset in (start, end))
        paths[first : last + 1] = [path] * (last + 1 - first)
    following: Path = ()
    for number in reversed(range(len(paths))):
        following = paths[number] or following
        paths[number] = following
    return [path or () for path in paths]


def _spans(node: YamlNode, path: Path) -> Iterator[tuple[int, int, Path]]:
    """Yield the start offset, the end offset and the path of each key, list item, scalar and closing brace."""
    for entry in node.entries:
        value, part = entry.value, (*path, entry.key)
        yield entry.start, entry.start if value.entries else max(entry.start, value.end - 1), part
        yield from _spans(value, part)
        if value.entries and value.is_flow:
            yield value.end - 1, value.end - 1, part
