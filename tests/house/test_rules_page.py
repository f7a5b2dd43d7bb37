"""docs/rules.md has every rule and no other rule, and each example has the problem of its rule."""

from __future__ import annotations

import re
from itertools import chain

from tests.support.problems import all_problems
from tests.support.rules_page import PAGE, Section, blocks, ids_of_the_reader, sections
from tfgen.change import new_run
from tfgen.change.new_run import NOT_FRESH
from tfgen.check import files as drift
from tfgen.check import namespace, object_table, repository
from tfgen.check import objects as object_problems
from tfgen.check import source as check_source
from tfgen.check.jobs import check
from tfgen.check.object_schemas import ObjectSchemas
from tfgen.commands import rerun
from tfgen.errors import Problem
from tfgen.graph.graph import build
from tfgen.importers import table as importers
from tfgen.live import profile
from tfgen.local import plan as local
from tfgen.pipeline import check as pipeline_check
from tfgen.pipeline import read
from tfgen.rails import enforce, limits
from tfgen.rails.rail import GUARD_RAIL, LOOSENED
from tfgen.report.problems import as_text
from tfgen.report.sarif import rule_summaries
from tfgen.rules import roles
from tfgen.rules.across import ACROSS
from tfgen.rules.table import RULES
from tfgen.text import edit, layout

# Rules without an example: bytes that are not text, large files, the name of a Helm release, and other files.
TOO_LARGE = {"annotations-size", "code-size", "object-size", "program-size", "yaml-size"}
OF_TFGEN_YAML = {
    GUARD_RAIL,
    LOOSENED,
    roles.tolerations_replaced.id,
    roles.environment_of_all.id,
    *enforce.RULES,
    *limits.RULES,
}
NOT_OF_THE_JOB = {
    *OF_TFGEN_YAML,
    *drift.RULES,
    *importers.RULES,
    *namespace.RULES,
    *read.RULES,
    *pipeline_check.RULES,
    *repository.RULES,
    *edit.RULES,
    *layout.RULES,
}
OF_A_CHANGE = {*new_run.RULES}
WITHOUT_EXAMPLE = {"yaml-encoding", "service-name", *TOO_LARGE, *NOT_OF_THE_JOB, *local.RULES, *profile.RULES}

# A name that is too long for a host is also too long for a StatefulSet. A wrong ignore comment ignores no problem.
COMES_WITH = {"host-name": {"statefulset-name"}, "ignore-comment": {"latest-tag"}}


SECTIONS = sections()
BASE = blocks(PAGE)[0]
SUMMARIES = rule_summaries()
WARNINGS = {rule.id for rule in (*RULES, *ACROSS) if rule.severity == "warning"} | {
    *object_table.WARNINGS,
    NOT_FRESH,
    *namespace.RULES,
    check_source.UNUSED_IGNORE,
    LOOSENED,
}


def laid_over(example: str) -> str:
    """Return the job of the page with the keys of an example. A complete example replaces the job."""
    ours, base = keys(example, ""), keys(BASE, "")
    if "apiVersion" in ours or not ours:
        return example
    kept = [text for key, text in base.items() if key not in ours]
    if "spec" in ours:
        inner = keys(base["spec"], "  ")
        kept += ["spec:\n", *(text for key, text in inner.items() if key not in keys(ours["spec"], "  "))]
        ours["spec"] = ours["spec"].removeprefix("spec:\n")
    # The spec is the last key, because its remaining keys come before the keys of the example.
    return "".join(chain((text for key, text in ours.items() if key != "spec"), kept, [ours.get("spec", "")]))


def keys(text: str, indent: str) -> dict[str, str]:
    """Return the text of each key at an indentation. The text of a duplicate key contains both entries."""
    found: dict[str, str] = {}
    for part in re.split(rf"^(?={indent}\w)", text, flags=re.MULTILINE):
        match = re.match(rf"{indent}(\w+):", part)
        if match:
            found[match[1]] = found.get(match[1], "") + part
    return found


def test_the_page_has_every_rule_and_no_other() -> None:
    assert sorted(section.id for section in SECTIONS) == sorted({*ids_of_the_reader(), *SUMMARIES})


def test_rules_stand_in_order() -> None:
    for part in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]:
        ids = re.findall(r"^### `(.*)`$", part, flags=re.MULTILINE)
        assert ids == sorted(ids)


def test_the_job_of_the_page_has_no_problem() -> None:
    assert check(BASE, "job.yaml").problems == ()


def test_a_section_begins_with_the_summary_of_its_rule() -> None:
    for section in SECTIONS:
        if section.id in SUMMARIES:
            assert " ".join(section.text.split()).startswith(SUMMARIES[section.id]), section.id
            assert ("Severity: warning." in section.text) == (section.id in WARNINGS), section.id


def test_an_example_has_the_problem_of_its_rule_and_the_corrected_one_has_none() -> None:
    assert [section.id for section in SECTIONS if not section.examples] == [
        section.id for section in SECTIONS if section.id in WITHOUT_EXAMPLE
    ]
    for section in SECTIONS:
        if not section.examples:
            continue
        *committed, wrong, mended = section.examples
        assert not committed or section.id in OF_A_CHANGE, section.id
        expected = {section.id, *COMES_WITH.get(section.id, ())}
        before = committed[0] if committed else BASE
        assert {problem.rule for problem in problems(section, before, wrong)} == expected, section.id
        assert as_text(problems(section, before, mended)) == "", section.id


def problems(section: Section, before: str, example: str) -> list[Problem]:
    """Return the problems of an example, also as a change of the committed job."""
    checked = check(laid_over(example), "job.yaml")
    if section.id in object_table.SUMMARIES:
        return [*all_problems(laid_over(example))]
    if section.id in object_problems.RULES:
        (job,) = checked.documents
        return [*checked.problems, *object_problems.check_objects(job, build(job.data), ObjectSchemas("1.31"))]
    if section.id == check_source.UNUSED_IGNORE:
        return [*checked.problems, *check_source.find_unused(checked.documents, checked.ignored)]
    if section.id == NOT_FRESH:
        (job,) = checked.documents
        return [*checked.problems, *rerun.not_fresh(job, None)]
    if section.id not in OF_A_CHANGE:
        return list(checked.problems)
    ((was,), (now,)) = check(laid_over(before), "job.yaml").documents, checked.documents
    return [*checked.problems, *new_run.find_new_runs(was, now), *new_run.find_runs_back(was, now)]
