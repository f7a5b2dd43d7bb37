"""The shapes of what foreign objects say around their pod templates, whose fields `pod_template` checks itself.

    refuse_misshapen(item, {"metadata": METADATA, "spec": {"tasks": [{"name": SCALAR}]}}, account)

A shape is a mapping of shapes by key, a list of one shape for all items, or `SCALAR`. A field that a shape does not
have may be anything; one that is null says nothing to Kubernetes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from tfgen.importers.import_report import ImportReport
from tfgen.importers.part import Part
from tfgen.schema.messages import found_words

SCALAR: Final = "a text or a number"
"""What is neither a mapping nor a list."""

ANY_KEY: Final = "*"
"""The key that stands for all keys of a mapping."""

TEXTS: Final = {ANY_KEY: SCALAR}
"""Any keys, such as those of labels."""

METADATA: Final = {
    **dict.fromkeys(("name", "generateName", "namespace"), SCALAR),
    **dict.fromkeys(("labels", "annotations"), TEXTS),
}


def refuse_misshapen(part: Part, shape: Any, report: ImportReport) -> bool:
    """Refuse all in a part that has another shape; whether anything has."""
    misshapen = list(_misshapen(part, shape))
    for below, expected in misshapen:
        report.refuse(below, f"found {found_words(below.value, below.text or '')}, expected {expected}")
    return bool(misshapen)


def _misshapen(part: Part, shape: Any) -> Iterator[tuple[Part, str]]:
    """What has another shape, and what is expected in its place."""
    if isinstance(shape, Mapping) and isinstance(part.value, Mapping):
        for key, below in part.entries():
            if (own := shape.get(key, shape.get(ANY_KEY))) is not None:
                yield from _misshapen(below, own)
    elif isinstance(shape, list) and isinstance(part.value, list):
        for item in part.value:
            yield from _misshapen(item, shape[0])
    elif shape != SCALAR or isinstance(part.value, (Mapping, list)):
        yield part, shape if shape == SCALAR else "a mapping" if isinstance(shape, Mapping) else "a list"
