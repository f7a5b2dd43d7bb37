"""Tests of the conversion of a foreign mapping by a table, into data of the job and entries of the import report."""

from __future__ import annotations

from tfgen.importers.fields import KEY, ROLE, FieldReader, Fields, carried, changed, dropped
from tfgen.importers.import_report import ImportReport
from tfgen.importers.part import Part, part_of
from tfgen.importers.shapes import ANY_KEY

AT = ("spec", "roles", ROLE)


def read(data: dict[str, object], table: Fields) -> tuple[object, list[tuple[str, str, object, str]]]:
    reader = FieldReader(ImportReport(), "worker")
    reader.fields(part_of(data), table)
    return reader.data, [(e.outcome, e.source, e.target, e.why) for e in reader.report.entries]


def test_a_row_sets_its_target_and_reports_the_field() -> None:
    data, entries = read({"limit": 3}, {"limit": changed("spec", "retries", why="{key} counts each task")})
    assert data == {"spec": {"retries": 3}}
    assert entries == [("changed", "limit", ("spec", "retries"), "limit counts each task")]


def test_a_target_has_the_role_and_the_key() -> None:
    data, entries = read({"image": "a"}, {ANY_KEY: carried(*AT, KEY)})
    assert data == {"spec": {"roles": {"worker": {"image": "a"}}}}
    assert entries == [("carried", "image", ("spec", "roles", "worker", "image"), "")]


def test_a_default_and_a_row_without_a_value_set_nothing() -> None:
    table = {"a": carried("spec", "a", default=False), "b": carried("spec", "b", sets=False), "c": dropped("unused")}
    data, entries = read({"a": False, "b": 1, "c": 2}, table)
    assert data == {"spec": {}}
    assert entries == [
        ("carried", "a", None, "tfgen's default"),
        ("carried", "b", ("spec", "b"), ""),
        ("dropped", "c", None, "unused"),
    ]


def test_a_function_reads_its_field_and_none_leaves_the_field_to_another_step() -> None:
    calls: list[tuple[str, object]] = []

    def note(key: str, part: Part) -> None:
        calls.append((key, part.value))

    assert read({"a": 1, "b": 2, "c": 3}, {"a": note, "b": None}) == ({"spec": {}}, [])
    assert calls == [("a", 1)]
