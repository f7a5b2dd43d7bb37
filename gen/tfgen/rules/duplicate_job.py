"""Jobs with the same name, which tfgen would render to the same folders."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from tfgen.rules.rule import AcrossRule, Clash, Recorded
from tfgen.text.document import Document
from tfgen.words import shown

_NAME: Final = ("metadata", "name")


def _record(document: Document) -> Any:
    return [document.file, document.value(_NAME).line]


def _check(jobs: Sequence[Recorded]) -> Iterator[Clash]:
    jobs_by_name: dict[str, Recorded] = {}
    for job in jobs:
        namesake = jobs_by_name.setdefault(job.job, job)
        if namesake is not job:
            file, line = namesake.record
            message = (
                f"the job {shown(job.job)} is already in {file}:{line}, and both jobs write to charts/{job.job}; "
                "rename one of the jobs"
            )
            yield Clash(job.number, _NAME, message)


RULES: Final = (AcrossRule("duplicate-job", "error", "Two jobs have the same name.", _record, _check),)
