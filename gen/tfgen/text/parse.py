r"""Text to data, with the line and column of every key and value.

    >>> document = parse("replicas: 4\nimage: tf:1.10\n", "job.yaml").documents[0]
    >>> document.data
    {'replicas': 4, 'image': 'tf:1.10'}
    >>> document.value(("image",))
    Position(line=2, column=8)

**What a plain scalar means.** A scalar without quotes is null, a boolean or a number only where YAML 1.1 (PyYAML,
Ruby) and YAML 1.2 (its core schema) agree on the value. All else is the text that it looks like: `on`, `no` and `y`;
`2026-01-01` and `12:30:45`; `017` (15 or 17), `08`, `0o17`, `0b1` and `1_000`; and `1e3`, a number to 1.2 alone,
which could as well be a short commit id (`1234e56`) or an argument to be passed on as it stands (`--rate`, `1e-3`).
Where a number is wanted, the schema then says so, at the place; the other way round nobody would notice.

**What is refused**, since no reader of the output carries it, or since a reviewer would not see it: tags, keys that
are not text, a key given twice, .inf and .nan, integers that Helm's float64 rounds, control characters. Aliases and
merge keys (`<<`) are read, but a file unfolds to at most `MAX_SIZE` values of at most `MAX_DEPTH` levels
(`text/document.py`), so no file, however it is made, costs more than about a second, or more than some megabytes.

The data is built from libyaml's events, not by a loader of PyYAML's: those recurse as deep as the file nests, unfold
aliases without end, and forget where an alias or a tag was written.
"""

from __future__ import annotations

from tfgen.problems import Position, Problem
from tfgen.text.document import START, Parsed

BYTE_ORDER_MARK = "\ufeff"
"""The mark that some editors write at the start of a UTF-8 file."""

MAX_BYTES = 1 << 20
"""Maximum size of a job file in bytes. A usual job file has some kilobytes."""


def decode(raw: bytes, file: str) -> str | Problem:
    """Return the text of a file: UTF-8, with or without a byte order mark, of at most `MAX_BYTES`."""
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
    """Return the documents of a YAML text without the empty ones. A text without any content is a problem.

    Args:
        text: the text from `decode`.
        file: the file name for documents and problems.
    """
    from tfgen.text import reader  # takes 20 ms, which a cached file saves

    return reader.read(text, file)
