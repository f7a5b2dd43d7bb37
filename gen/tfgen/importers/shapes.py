"""Check of the types of values in foreign objects, except in pod templates. `pod_template` checks pod templates.

    refuse_misshapen(item, {"metadata": METADATA, "spec": {"tasks": [{"name": SCALAR}]}}, report)

A shape describes the type of a value. The shape of a mapping is a mapping with the shape of each key. The shape of a
list is a list with one shape for all items. The shape of a scalar is `SCALAR`. Null is always allowed, and a field that
the shape does not name may have any type.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from tfgen.importers.import_report import ImportReport
from tfgen.importers.part import Part
from tfgen.schema.messages import found_words

SCALAR: Final = "a text or a number"
"""The shape of a value that is neither a mapping nor a list."""

ANY_KEY: Final = "*"
"""The key in a shape for all keys that the shape does not name."""

TEXTS: Final = {ANY_KEY: SCALAR}
"""The shape of a mapping with any keys, such as labels."""

METADATA: Final = {
    **dict.fromkeys(("name", "generateName", "namespace"), SCALAR),
    **dict.fromkeys(("labels", "annotations"), TEXTS),
}


def refuse_misshapen(part: Part, shape: Any, report: ImportReport) -> bool:
    """Report a problem for each value that does not have the type in the shape. Return True after a problem."""
    misshapen = list(_misshapen(part, shape))
    for value, expected in misshapen:
        report.refuse(value, f"found {found_words(value.value, value.text or '')}, expected {expected}")
    return bool(misshapen)


def _misshapen(part: Part, shape: Any) -> Iterator[tuple[Part, str]]:
    """Yield each value that does not have the type in the shape, with the name of the expected type."""
    if isinstance(shape, Mapping) and isinstance(part.value, Mapping):
        for key, field in part.entries():
            if (field_shape := shape.get(key, shape.get(ANY_KEY))) is not None:
                yield from _misshapen(field, field_shape)
    elif isinstance(shape, list) and isinstance(part.value, list):
        for item in part.value:
            yield from _misshapen(item, shape[0])
    elif shape != SCALAR or isinstance(part.value, (Mapping, list)):
        yield part, shape if shape == SCALAR else "a mapping" if isinstance(shape, Mapping) else "a list"
