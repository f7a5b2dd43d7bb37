"""Tests of the conversion of a foreign mapping by a table, into data of the job and notes for the comparison."""

from __future__ import annotations

from tfgen.importers.part import Part, part_of
from tfgen.importers.table import ANY_KEY, KEY, ROLE, FieldReader, Fields, Notes, carried, changed, dropped

AT = ("spec", "roles", ROLE)


def read(data: dict[str, object], table: Fields) -> tuple[object, dict[str, object], dict[str, tuple[str, str]]]:
    reader = FieldReader(Notes(), "worker")
    reader.fields(part_of(data), table)
    targets = {str(place.path[-1]): found for place, (found,) in reader.notes.targets.items()}
    reasons = {str(place.path[-1]): (reason.outcome, reason.why) for place, reason in reader.notes.reasons.items()}
    return reader.data, targets, reasons


def test_a_row_sets_its_target_and_notes_the_reason() -> None:
    data, targets, reasons = read({"limit": 3}, {"limit": changed("spec", "retries", why="{key} counts each task")})
    assert data == {"spec": {"retries": 3}}
    assert targets == {"limit": ("spec", "retries")}
    assert reasons == {"limit": ("changed", "limit counts each task")}


def test_a_target_has_the_role_and_the_key() -> None:
    data, targets, reasons = read({"image": "a"}, {ANY_KEY: carried(*AT, KEY)})
    assert data == {"spec": {"roles": {"worker": {"image": "a"}}}}
    assert targets == {"image": ("spec", "roles", "worker", "image")}
    assert reasons == {}


def test_a_default_and_a_row_without_a_value_set_nothing() -> None:
    table = {"a": carried("spec", "a", default=False), "b": carried("spec", "b", sets=False), "c": dropped("unused")}
    data, targets, reasons = read({"a": False, "b": 1, "c": 2}, table)
    assert data == {"spec": {}}
    assert targets == {"b": ("spec", "b")}
    assert reasons == {"a": ("carried", "tfgen's default"), "c": ("dropped", "unused")}


def test_a_function_reads_its_field_and_none_leaves_the_field_to_another_step() -> None:
    calls: list[tuple[str, object]] = []

    def note(key: str, part: Part) -> None:
        calls.append((key, part.value))

    assert read({"a": 1, "b": 2, "c": 3}, {"a": note, "b": None}) == ({"spec": {}}, {}, {})
    assert calls == [("a", 1)]
