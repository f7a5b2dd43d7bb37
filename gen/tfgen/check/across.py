"""What no job has wrong alone: several jobs together, by a small record of each.

    find_clashes([record_job(mnist), record_job(cifar)])
      ->  (AcrossRule("duplicate-job", ...), Clash(1, ("metadata", "name"), "the job ... is at ... already ..."))

A record is data that JSON carries, of about a kilobyte. It says all that the rules ask of a job, so a job that has not
changed is judged beside the others without being read again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tfgen.job.facts import name_of
from tfgen.record import Record
from tfgen.rules.across import ACROSS
from tfgen.rules.rule import AcrossRule, Clash, Recorded
from tfgen.text.document import Document


class JobRecord(Record):
    """What a job is judged by beside others.

    Attributes:
        job: its name.
        of_rules: what each rule wants to know of it, by the rule's id; nothing of what it has no part in.
    """

    job: str
    of_rules: Mapping[str, Any]


def record_job(document: Document) -> JobRecord:
    """The record of a job that the schema accepts."""
    records = {rule.id: rule.record(document) for rule in ACROSS}
    return JobRecord(name_of(document), {rule: record for rule, record in records.items() if record})


def find_clashes(records: Sequence[JobRecord]) -> Iterator[tuple[AcrossRule, Clash]]:
    """All clashes, with the rule that each is against; a clash has the number of its job in these records."""
    for rule in ACROSS:
        of_rule = [
            Recorded(number, record.job, record.of_rules[rule.id])
            for number, record in enumerate(records)
            if rule.id in record.of_rules
        ]
        yield from ((rule, clash) for clash in rule.check(of_rule))
