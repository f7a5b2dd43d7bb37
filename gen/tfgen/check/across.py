"""Clashes between several jobs, found by comparing a small record of each job.

A clash is a conflict between jobs, for example two jobs of the same name. A record contains all data of a job that the
rules compare, which is about a kilobyte of JSON. So tfgen does not read an unchanged job again to compare it with
changed jobs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tfgen.job.facts import name_of
from tfgen.record import Record
from tfgen.rules.across import ACROSS
from tfgen.rules.rule import AcrossRule, Clash, Recorded
from tfgen.text.document import Document


class JobRecord(Record):
    """Record of a job for the comparison with other jobs.

    Attributes:
        job: the name of the job.
        data_by_rule: the data of the job that each rule compares, by the id of the rule. A rule that needs no data of
            this job has no entry. Rules with the same function `record` share the entry of the first of these rules.
    """

    job: str
    data_by_rule: Mapping[str, Any]


_OWNER_OF_RECORD: Final = {
    rule.id: next(other.id for other in ACROSS if other.record is rule.record) for rule in ACROSS
}
"""For each rule, the id of the first rule with the same function `record`."""


def record_job(document: Document) -> JobRecord:
    """Return the record of a job that the schema accepts."""
    records = {rule.id: rule.record(document) for rule in ACROSS if _OWNER_OF_RECORD[rule.id] == rule.id}
    return JobRecord(name_of(document), {rule: record for rule, record in records.items() if record})


def find_clashes(records: Sequence[JobRecord]) -> Iterator[tuple[AcrossRule, Clash]]:
    """Yield each conflict between jobs, with the rule that finds the conflict.

    `Clash.number` is the index of a job in `records`. tfgen reports the conflict at a line of this job.
    """
    for rule in ACROSS:
        owner = _OWNER_OF_RECORD[rule.id]
        recorded = [
            Recorded(number, record.job, record.data_by_rule[owner])
            for number, record in enumerate(records)
            if owner in record.data_by_rule
        ]
        yield from ((rule, clash) for clash in rule.check(recorded))
