"""Cached results of job files: the results of the last check, for files that have not changed since.

    cached = read_cached_files(sources)
    cached["jobs/mnist/job.yaml"].rule_problems  ->  (Problem("jobs/mnist/job.yaml", ... "latest-tag"),)

The cache has a result for a file without errors. The result is valid while the bytes of the file, the bytes of all
defaults under the file and this tfgen are unchanged. tfgen then does not parse the file: the problems come from the
cache (`tree.cache`), and the jobs are compared with other jobs by their records. The documents of the jobs are read
separately (`read_cached_jobs`), because they are as long as the file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from tfgen.check.across import JobRecord
from tfgen.check.checked import CheckedFile, CheckResult, Reported
from tfgen.job.sources import Source
from tfgen.problems import Position, Problem
from tfgen.record import Record
from tfgen.tree import cache

if TYPE_CHECKING:
    from tfgen.check.manifests import Manifest


class CachedFile(Record):
    """The results of a file whose jobs have no errors.

    Attributes:
        rule_problems: the warnings of rules.
        object_problems: the warnings about the objects of the jobs.
        unused: the problems of comments that ignore nothing.
        records: the data by which the jobs are compared with the jobs of all files.
        ledgers: the digest of each job's ledger.
    """

    rule_problems: tuple[Problem, ...]
    object_problems: tuple[Problem, ...]
    unused: tuple[Problem, ...]
    records: tuple[JobRecord, ...]
    ledgers: Mapping[str, str]


def read_cached_files(sources: Iterable[Source], manifests: Sequence[Manifest] = ()) -> dict[str, CachedFile]:
    """Return the cached results of files, by name. The rendered files on disk may have changed since.

    Args:
        sources: the files, and all defaults under them.
        manifests: the objects of the repository that apply to the namespaces of the jobs.
    """
    return {source.file: file for source in sources if (file := _read(_key(source, manifests)))}


def from_cache(source: Source, cached: CachedFile) -> CheckedFile:
    """Return a file with the result of its last check."""
    names = tuple(record.job for record in cached.records)
    return CheckedFile(source, CheckResult(Reported(cached.rule_problems), cached.records, names), is_cached=True)


def read_cached_jobs(source: Source) -> Any:
    """Return the data of the documents of a cached file; None if the cache has lost the file."""
    data = cache.cached_result(_key(source, ()))
    try:
        return None if data is None else json.loads(data["jobs"])
    except _WRONG_SHAPE:
        return None


def store(source: Source, results: CachedFile, jobs: str, manifests: Sequence[Manifest] = ()) -> None:
    """Store the results of a file. The results are valid while the ledgers of the jobs are on disk.

    Args:
        source: the file, and all defaults under the file.
        results: the results.
        jobs: the data of the documents, with the defaults under the documents, as a JSON list.
        manifests: the objects of the repository that apply to the namespaces of the jobs.
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
"""The errors for an entry that tfgen did not write. The cache treats such an entry as absent."""


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
