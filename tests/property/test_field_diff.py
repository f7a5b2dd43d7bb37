"""Laws of the difference of two values: equal values have no changes, and the changes turn one value into the other."""

from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tfgen.change.field_diff import NOTHING, FieldChange, Item, Order, field_changes
from tfgen.kubernetes.merge import KUSTOMIZE_KEYS

SCALARS = st.one_of(st.none(), st.booleans(), st.integers(0, 2), st.sampled_from(["", "a", "a.b", "1"]))
NAMES = st.sampled_from(["a", "b", "c"])


def keyed(field: str, values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Draw lists of a field whose items have merge keys. Some lists contain the same item twice, or are empty."""
    names = KUSTOMIZE_KEYS[field]
    item = st.tuples(st.fixed_dictionaries(dict.fromkeys(names[:1], NAMES)), st.dictionaries(NAMES, values, max_size=2))
    return st.lists(item.map(lambda pair: {**pair[1], **pair[0]}), max_size=3)


def data(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    fields = {field: keyed(field, values) for field in ("env", "containers", "topologySpreadConstraints")}
    return st.one_of(
        st.lists(values, max_size=2),
        st.dictionaries(st.sampled_from(["a", "b/c", "d.e"]), values, max_size=3),
        st.fixed_dictionaries({}, optional=fields),
    )


DATA = st.dictionaries(NAMES, st.recursive(SCALARS, data, max_leaves=12), max_size=3)


def same(one: Any, other: Any) -> bool:
    """Test whether two values are equal, but for the order of items with merge keys. The values true and 1 differ."""
    return not [change for change in field_changes(one, other) if not isinstance(change.path.steps[-1], Order)]


def applied(before: Any, changes: tuple[FieldChange, ...]) -> Any:
    after = copy.deepcopy(before)
    for change in changes:
        *above, last = change.path.steps
        if isinstance(last, Order):
            continue
        place, field = after, ""
        for step in above:
            place = item_of(place, field, step) if isinstance(step, Item) else place[step]
            field = step if isinstance(step, str) else ""
        if isinstance(last, Item):
            found = item_of(place, field, last)
            place[:] = [item for item in place if item is not found]
            place += [] if change.after is NOTHING else [change.after]
        elif change.after is NOTHING:
            del place[last]
        else:
            place[last] = change.after
    return after


def item_of(items: list[Any], field: str, step: Item) -> Any:
    names = KUSTOMIZE_KEYS[field]
    return next((item for item in items if tuple(item[n] for n in names if n in item) == step.keys), None)


@given(DATA)
def test_equal_data_have_no_difference(value: Any) -> None:
    assert field_changes(value, copy.deepcopy(value)) == ()


@given(DATA, DATA)
def test_difference_leads_from_one_to_the_other(before: Any, after: Any) -> None:
    changes = field_changes(before, after)
    assert (changes == ()) == (json.dumps(before, sort_keys=True) == json.dumps(after, sort_keys=True))
    assert same(applied(before, changes), after)


@given(DATA, DATA)
def test_each_field_is_named_once(before: Any, after: Any) -> None:
    paths = [change.path for change in field_changes(before, after)]
    assert len(paths) == len(set(paths))
