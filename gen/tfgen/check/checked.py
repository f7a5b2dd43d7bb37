"""Results of the check of job files, the clashes between their jobs, and the cache of the results.

    cached = read_cached_files(sources)
    cached["jobs/mnist/job.yaml"].rule_problems  # (Problem("jobs/mnist/job.yaml", ... "latest-tag"),)

A clash is a conflict between jobs, for example two jobs of the same name. A record contains all data of a job that the
rules compare, which is about a kilobyte of JSON. So tfgen does not read an unchanged job again to compare it with
changed jobs.

The cache has results for files without errors. A result is valid until the content of the file, its tfgen.yaml files or
the version of tfgen changes. `read_cached_jobs` reads the data of the jobs separately, because the data is as long as
the file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from tfgen.errors import Position, Problem, has_errors
from tfgen.job.facts import name_of
from tfgen.job.sources import Source
from tfgen.record import Record
from tfgen.rules.across import ACROSS
from tfgen.rules.rule import AcrossRule, Clash, Recorded
from tfgen.text.document import Document
from tfgen.tree import cache

if TYPE_CHECKING:
    from tfgen.check.manifests import Manifest


# -- clashes between jobs ----------------------------------------------------------------------------------------------


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


# -- results -----------------------------------------------------------------------------------------------------------


class Reported(Record):
    """Problems with the severities that the tfgen.yaml files set.

    Attributes:
        ignored: the warnings that comments ignore. `problems` does not contain these warnings.
    """

    problems: tuple[Problem, ...] = ()
    ignored: tuple[Problem, ...] = ()


def merged_reports(reports: Iterable[Reported]) -> Reported:
    """Return the problems of several reports as one report."""
    reports = [*reports]
    return Reported(
        tuple(problem for report in reports for problem in report.problems),
        tuple(problem for report in reports for problem in report.ignored),
    )


class CheckResult(Record):
    """The result of the check of one file, without the documents. Many documents would need too much memory.

    Attributes:
        reported: the problems that do not involve other files.
        records: for each job that the schema accepts, the data that tfgen compares with other jobs.
        names: the names of all jobs in the file, with and without errors.
    """

    reported: Reported
    records: tuple[JobRecord, ...]
    names: tuple[str, ...]


class ReadFile(Record):
    """A job file with its documents.

    Attributes:
        accepted: the documents that the schema accepts and whose layers have no errors.
    """

    source: Source
    documents: tuple[Document, ...]
    accepted: tuple[Document, ...]
    result: CheckResult

    @property
    def is_valid(self) -> bool:
        """Return True if the file and all its layers have no errors."""
        return not has_errors(self.result.reported.problems) and len(self.accepted) == len(self.documents)


class CheckedFile(Record):
    """A job file after its check.

    Attributes:
        clashes: True if a job of the file conflicts with another job of the checked files.
        is_cached: True if the result comes from the cache.
    """

    source: Source
    result: CheckResult
    clashes: bool = False
    is_cached: bool = False


class Checked(Record):
    """Files that were checked together.

    Attributes:
        files: the checked files, in the order in which the caller passed the files.
        problems: all problems, sorted by file and line.
        ignored: the warnings that comments ignore.
    """

    files: tuple[CheckedFile, ...]
    problems: tuple[Problem, ...]
    ignored: tuple[Problem, ...]

    @property
    def sources(self) -> tuple[Source, ...]:
        """The source of each checked file."""
        return tuple(file.source for file in self.files)

    @property
    def valid_files(self) -> tuple[CheckedFile, ...]:
        """The files without errors in the file or in a layer of the file."""
        broken = {problem.file for problem in self.problems if problem.severity == "error"}
        return tuple(
            file
            for file in self.files
            if file.source.file not in broken and not any(layer.file in broken for layer in file.source.layers())
        )


class CheckedJobs(Checked):
    """Files that were checked together, with their documents.

    Attributes:
        read: the files whose result does not come from the cache, by the name of the file.
    """

    read: Mapping[str, ReadFile]

    @property
    def documents(self) -> tuple[Document, ...]:
        """The documents of the files that were read."""
        return tuple(document for file in self.read.values() for document in file.documents)

    @property
    def valid_jobs(self) -> tuple[Document, ...]:
        """The jobs in all files that were read and have no errors. A file from the cache was not read."""
        names = [file.source.file for file in self.valid_files]
        return tuple(document for name in names if name in self.read for document in self.read[name].documents)


# -- the cache ---------------------------------------------------------------------------------------------------------


class CachedFile(Record):
    """The cached check results of a job file without errors.

    Attributes:
        rule_problems: the warnings about the jobs.
        object_problems: the warnings about the objects of the jobs.
        unused: the warnings about ignore comments that have no effect.
        records: the data of the jobs for rules that compare all jobs.
        ledgers: the digest of each job's ledger, by the name of the job.
    """

    rule_problems: tuple[Problem, ...]
    object_problems: tuple[Problem, ...]
    unused: tuple[Problem, ...]
    records: tuple[JobRecord, ...]
    ledgers: Mapping[str, str]


def read_cached_files(sources: Iterable[Source], manifests: Sequence[Manifest] = ()) -> dict[str, CachedFile]:
    """Return the cached results of job files, by the name of the file. A file without cached results has no entry.

    The function does not test whether the rendered files on disk have changed.

    Args:
        sources: the job files with their defaults.
        manifests: the hand-written manifests of the repository, such as quotas.
    """
    found: dict[str, CachedFile] = {}
    for source in sources:
        data = cache.cached_result(_key(source, manifests))
        with suppress(*_WRONG_SHAPE):
            found |= {source.file: _cached_file(data)} if data is not None else {}
    return found


def from_cache(source: Source, cached: CachedFile) -> CheckedFile:
    """Convert `cached`, the cached results of the job file `source`, to a `CheckedFile`."""
    names = tuple(record.job for record in cached.records)
    return CheckedFile(source, CheckResult(Reported(cached.rule_problems), cached.records, names), is_cached=True)


def read_cached_jobs(source: Source) -> Any:
    """Return the data of the jobs in a cached file; None if the cache no longer has the file."""
    data = cache.cached_result(_key(source, ()))
    with suppress(*_WRONG_SHAPE):
        return None if data is None else json.loads(data["jobs"])
    return None


def store(source: Source, results: CachedFile, jobs: str, manifests: Sequence[Manifest] = ()) -> None:
    """Store the check results of a job file in the cache.

    The results are valid until the job file, a tfgen.yaml of the file, a manifest or the version of tfgen changes.

    Args:
        source: the job file with its defaults.
        results: the results.
        jobs: a JSON list with the data of each job, merged with the defaults.
        manifests: the hand-written manifests of the repository, such as quotas.
    """
    data = {
        "rule_problems": [_problem_data(problem) for problem in results.rule_problems],
        "object_problems": [_problem_data(problem) for problem in results.object_problems],
        "unused": [_problem_data(problem) for problem in results.unused],
        "records": [[record.job, record.data_by_rule] for record in results.records],
        "ledgers": results.ledgers,
        "jobs": jobs,
    }
    cache.store_results({_key(source, manifests): data})


def _key(source: Source, manifests: Sequence[Manifest]) -> str:
    parts = (source.name, repr(manifests), repr(source.identity))
    return cache.cache_key(part.encode("utf-8", "surrogatepass") for part in parts)


def _problem_data(problem: Problem) -> Any:
    return [problem.file, problem.position, problem.message, problem.rule, problem.severity]


_WRONG_SHAPE: Final = (AttributeError, LookupError, TypeError, ValueError)
"""The Python errors that a cache entry of an unexpected shape causes. tfgen ignores such an entry."""


def _cached_file(data: Any) -> CachedFile:
    if not isinstance(data["jobs"], str):
        raise TypeError("jobs is not a text")
    rule_problems, object_problems, unused = (
        tuple(Problem(file, Position(*position), *fields) for file, position, *fields in data[part])
        for part in ("rule_problems", "object_problems", "unused")
    )
    records = tuple(JobRecord(job, record) for job, record in data["records"])
    ledgers = {str(file): str(digest) for file, digest in data["ledgers"].items()}
    return CachedFile(rule_problems, object_problems, unused, records, ledgers)
