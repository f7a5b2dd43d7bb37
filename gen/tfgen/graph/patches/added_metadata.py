"""Labels and annotations that patches add to objects. Patches override the labels and annotations of the job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from tfgen.graph.holes import (
    AllOf,
    AnyOf,
    Equal,
    Expression,
    MapOf,
    Node,
    Not,
    Value,
    When,
)
from tfgen.graph.objects import labels
from tfgen.graph.patches.change_objects import change_objects
from tfgen.record import Record
from tfgen.schema.chart_values import ENVIRONMENT

IN_ENVIRONMENT: Final = Value(ENVIRONMENT, "string")


class AddedMetadata(Record):
    """Labels or annotations that a patch adds to objects.

    Attributes:
        field: `labels` or `annotations`.
        entries: the labels or annotations.
        test: the condition under which the patch applies; None for a patch without a condition.
    """

    field: str
    entries: Mapping[str, str]
    test: Expression | None


def join_added_metadata(by_variant: Mapping[str, Sequence[AddedMetadata]]) -> list[AddedMetadata]:
    """Join the labels and annotations that patches add in each variant into a single list, for all variants.

    The list begins with the items that all variants add first. Each later item gets a test, so that the item applies
    only in its variant.

    Args:
        by_variant: the items of each variant, by the name of the environment. The name "" is for the job without an
            environment.
    """
    first = by_variant[""]
    common = 0
    while all(added[common : common + 1] == first[common : common + 1] != [] for added in by_variant.values()):
        common += 1
    joined = [*first[:common]]
    environments = [Equal(IN_ENVIRONMENT, name) for name in by_variant if name]
    for name, added in by_variant.items():
        if name:
            in_variant: Expression = Equal(IN_ENVIRONMENT, name)
        else:
            in_variant = Not(environments[0] if len(environments) == 1 else AnyOf((*environments,)))
        joined += [
            item.replaced(test=in_variant if item.test is None else AllOf((in_variant, item.test)))
            for item in added[common:]
        ]
    return joined


def with_added_metadata(node: Node, added: Sequence[AddedMetadata]) -> Node:
    """Add the labels and annotations in `added` to each object in a template's node, and return the changed node."""
    by_field: dict[str, list[Expression]] = {"labels": [], "annotations": []}
    for item in added:
        entries = MapOf(dict(item.entries.items()))
        by_field[item.field].append(entries if item.test is None else When(item.test, entries, MapOf({})))
    return change_objects(
        node, lambda changed: labels.with_overriding_metadata(changed, by_field["labels"], by_field["annotations"])
    )
