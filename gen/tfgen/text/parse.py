r"""The YAML parser of tfgen, which returns the line and the column of each key and value.

    >>> document = parse("replicas: 4\nimage: tf:1.10\n", "job.yaml").documents[0]
    >>> document.data
    {'replicas': 4, 'image': 'tf:1.10'}
    >>> document.value(("image",))
    Position(line=2, column=8)

**Plain scalars.** A plain scalar is a scalar without quotes. tfgen reads a plain scalar as null, a boolean or a number
only if YAML 1.1 (PyYAML, Ruby) and YAML 1.2 (core schema) read the same value. Any other plain scalar is a string:

- `on`, `no`, `y`, `2026-01-01` and `12:30:45`
- `017`, which is 15 or 17, and `08`, `0o17`, `0b1` and `1_000`
- `1e3`, which is a number only in YAML 1.2

A text such as `1e3` may also be a commit id (`1234e56`) or an argument of a program (`1e-3` in `--rate 1e-3`). If a
field requires a number, the schema reports the string. The opposite mistake, a string that becomes a number, would
remain unnoticed.

**Refused content.** The parser refuses content that other YAML parsers change or that a reviewer may overlook: tags,
keys that are not strings, duplicate keys, .inf and .nan, integers that Helm's float64 rounds, control characters.

Aliases and merge keys (`<<`) are allowed. With expanded aliases, a file has at most `MAX_SIZE` values and `MAX_DEPTH`
levels, so each file is parsed within about a second and some megabytes of memory.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate
from typing import Final

from tfgen.data_path import Path
from tfgen.errors import Position, Problem
from tfgen.text.document import START, Parsed, YamlNode
from tfgen.text.yaml_text import FORBIDDEN_CHARACTER

BYTE_ORDER_MARK: Final = "\ufeff"
"""The byte order mark, which some editors write at the start of a UTF-8 file."""

MAX_BYTES: Final = 1 << 20
"""Maximum size of a job file in bytes. A usual job file has some kilobytes."""


def decode(raw: bytes, file: str) -> str | Problem:
    """Decode the content of a file: at most `MAX_BYTES` of UTF-8, with or without a byte order mark."""
    if len(raw) > MAX_BYTES:
        return Problem(file, START, f"the file is larger than {MAX_BYTES:,} bytes", "yaml-size")
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return Problem(file, START, "the file is UTF-16; save it as UTF-8", "yaml-encoding")
    raw = raw.removeprefix(b"\xef\xbb\xbf")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode("utf-8").split("\n")
        message = f"the byte 0x{raw[error.start]:02x} is not UTF-8; save the file as UTF-8"
        return Problem(file, Position(len(before), len(before[-1]) + 1), message, "yaml-encoding")


def parse(text: str, file: str) -> Parsed:
    """Return the documents of a YAML text, without empty documents. A text without any content is a problem.

    Args:
        text: the text from `decode`.
        file: the file name for documents and problems.
    """
    from tfgen.text import reader  # takes 20 ms, which a cached file saves

    return reader.read(text, file)


# -- the values on the lines of a text --------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def line_paths(text: str) -> list[Path]:
    r"""Return the path of the value on each line of a valid YAML or JSON text with a single document.

    >>> [path for path in line_paths("a:\n  b: 1\n# the next\nc: |\n  two\n  lines\n")]
    [('a',), ('a', 'b'), ('c',), ('c',), ('c',), ('c',)]

    A comment and an empty line have the path of the next value. A line with several values has the path of the last
    value.
    """
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
