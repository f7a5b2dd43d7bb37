"""Reader of a trace file of TensorFlow's profiler. The reader decodes the wire format of protocol buffers.

tfgen does not depend on a protobuf package, and reads only four message types of xplane.proto:
https://github.com/openxla/xla/blob/main/third_party/tsl/tsl/profiler/protobuf/xplane.proto
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tfgen.errors import TfgenError
from tfgen.record import Record

_VARINT, _FIXED_64, _BYTES, _FIXED_32 = 0, 1, 2, 5
_SIZES: Final = {_FIXED_64: 8, _FIXED_32: 4}
_PLANES: Final = 1
_PLANE_LINES, _PLANE_EVENT_NAMES = 3, 4
_LINE_TIMESTAMP_NS, _LINE_EVENTS = 3, 4
_EVENT_NAME, _EVENT_OFFSET_PS, _EVENT_DURATION_PS = 1, 2, 3
_MAP_KEY, _MAP_VALUE = 1, 2
_METADATA_NAME: Final = 2
_PS_PER_NS: Final = 1000


class TraceEvent(Record):
    """An event of a trace.

    Attributes:
        name: name of the event.
        start: start in nanoseconds.
        end: end in nanoseconds.
    """

    name: str
    start: float
    end: float


def read_events(data: bytes, words: tuple[str, ...]) -> Iterator[TraceEvent]:
    """Yield the events of a trace file whose names contain at least one of the given words.

    Raises:
        TfgenError: the data is not a trace file.
    """
    try:
        for number, plane in _fields(memoryview(data)):
            if number == _PLANES:
                yield from _plane_events(_message(plane), words)
    except (IndexError, TypeError, UnicodeDecodeError) as error:
        raise TfgenError(f"the trace file cannot be read: {error}") from error


def _plane_events(plane: memoryview, words: tuple[str, ...]) -> Iterator[TraceEvent]:
    names: dict[int, str] = {}
    for number, entry in _fields(plane):
        if number == _PLANE_EVENT_NAMES:
            fields = dict(_fields(_message(entry)))
            metadata = dict(_fields(_message(fields.get(_MAP_VALUE, memoryview(b"")))))
            name = bytes(_message(metadata.get(_METADATA_NAME, memoryview(b"")))).decode("utf-8")
            if any(word in name for word in words):
                names[_number(fields.get(_MAP_KEY, 0))] = name
    for number, line in _fields(plane) if names else ():
        if number == _PLANE_LINES:
            yield from _line_events(_message(line), names)


def _line_events(line: memoryview, names: dict[int, str]) -> Iterator[TraceEvent]:
    base = next((_number(value) for number, value in _fields(line) if number == _LINE_TIMESTAMP_NS), 0)
    for number, value in _fields(line):
        if number == _LINE_EVENTS:
            event = dict(_fields(_message(value)))
            name = names.get(_number(event.get(_EVENT_NAME, 0)))
            if name is not None:
                start = base + _number(event.get(_EVENT_OFFSET_PS, 0)) / _PS_PER_NS
                yield TraceEvent(name, start, start + _number(event.get(_EVENT_DURATION_PS, 0)) / _PS_PER_NS)


def _fields(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Yield the number and the value of each field in a protobuf message.

    https://protobuf.dev/programming-guides/encoding/
    """
    position = 0
    while position < len(data):
        key, position = _varint(data, position)
        number, kind = key >> 3, key & 7
        if kind == _VARINT:
            value, position = _varint(data, position)
            yield number, value
            continue
        if kind == _BYTES:
            size, position = _varint(data, position)
        elif kind in _SIZES:
            size = _SIZES[kind]
        else:
            raise TypeError(f"wire type {kind}")
        if position + size > len(data):
            raise IndexError(f"a field of {size} bytes exceeds the file")
        yield number, data[position : position + size]
        position += size


def _varint(data: memoryview, position: int) -> tuple[int, int]:
    """Return the variable-length integer at `position`, and the position after the integer."""
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7


def _message(value: int | memoryview) -> memoryview:
    if isinstance(value, int):
        raise TypeError("found a number, expected a message of Protocol Buffers")
    return value


def _number(value: int | memoryview) -> int:
    if not isinstance(value, int):
        raise TypeError("found bytes, expected a number")
    return value
