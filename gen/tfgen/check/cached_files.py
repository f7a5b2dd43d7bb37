"""Cache the check results of job files, so that tfgen need not parse an unchanged file again.

    cached = read_cached_files(sources)
    cached["jobs/mnist/job.yaml"].rule_problems  # (Problem("jobs/mnist/job.yaml", ... "latest-tag"),)

The cache has results for files without errors. A result is valid until the content of the file, its tfgen.yaml files or
the version of tfgen changes. `read_cached_jobs` reads the data of the jobs separately, because the data is as long as
the file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from tfgen.check.across import JobRecord
from tfgen.check.checked import CheckedFile, CheckResult, Reported
from tfgen.errors import Position, Problem
from tfgen.job.sources import Source
from tfgen.record import Record
from tfgen.tree import cache

if TYPE_CHECKING:
    from tfgen.check.manifests import Manifest


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
    return {source.file: file for source in sources if (file := _read(_key(source, manifests)))}


def from_cache(source: Source, cached: CachedFile) -> CheckedFile:
    """Convert `cached`, the cached results of the job file `source`, to a `CheckedFile`."""
    names = tuple(record.job for record in cached.records)
    return CheckedFile(source, CheckResult(Reported(cached.rule_problems), cached.records, names), is_cached=True)


def read_cached_jobs(source: Source) -> Any:
    """Return the data of the jobs in a cached file; None if the cache no longer has the file."""
    data = cache.cached_result(_key(source, ()))
    try:
        return None if data is None else json.loads(data["jobs"])
    except _WRONG_SHAPE:
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
    cache.store_results({_key(source, manifests): {**_data_of(results), "jobs": jobs}})


# -- the cache -----------------------------------------------------------------------------------------------------


def _key(source: Source, manifests: Sequence[Manifest]) -> str:
    parts = (source.name, repr(manifests), repr(source.identity))
    return cache.cache_key(part.encode("utf-8", "surrogatepass") for part in parts)


def _data_of(file: CachedFile) -> Any:
    return {
        "rule_problems": [_problem_data(problem) for problem in file.rule_problems],
        "object_problems": [_problem_data(problem) for problem in file.object_problems],
        "unused": [_problem_data(problem) for problem in file.unused],
        "records": [[record.job, record.data_by_rule] for record in file.records],
        "ledgers": file.ledgers,
    }


def _problem_data(problem: Problem) -> Any:
    return [problem.file, problem.position, problem.message, problem.rule, problem.severity]


def _read(key: str) -> CachedFile | None:
    data = cache.cached_result(key)
    try:
        return None if data is None else _cached_file(data)
    except _WRONG_SHAPE:
        return None


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
