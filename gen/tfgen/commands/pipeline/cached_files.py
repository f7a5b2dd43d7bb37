"""The job files of which nothing has changed since they were last rendered or checked, and what was worked out then.

    known = recall_files(sources)
    known["jobs/mnist/job.yaml"].of_rules  ->  (Problem("jobs/mnist/job.yaml", ... "latest-tag"),)

A file is known where its bytes, those of all defaults under it and this tfgen are as they were, and its jobs had no
errors. It is not read again: what is said of it is said from the cache (`tree.cache`), and it is judged beside other
jobs by its records. What its jobs say is asked for by itself (`recall_jobs`): it is as long as the file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from tfgen.check.across import JobRecord
from tfgen.check.checked import CheckedFile, CheckResult, Weighed
from tfgen.job.sources import Source
from tfgen.problems import Position, Problem
from tfgen.record import Record
from tfgen.tree import cache

if TYPE_CHECKING:
    from tfgen.check.manifests import Manifest


class KnownFile(Record):
    """What was worked out for a file whose jobs have no errors.

    Attributes:
        of_rules: the warnings of rules.
        of_objects: the warnings about what comes of the jobs.
        unused: the comments that ignore nothing.
        records: what the jobs are judged by beside others.
        ledgers: the digest of each job's ledger.
    """

    of_rules: tuple[Problem, ...]
    of_objects: tuple[Problem, ...]
    unused: tuple[Problem, ...]
    records: tuple[JobRecord, ...]
    ledgers: Mapping[str, str]


def recall_files(sources: Iterable[Source], manifests: Sequence[Manifest] = ()) -> dict[str, KnownFile]:
    """The files that were rendered or checked as they are, by name, whatever is on disk of them now.

    Args:
        sources: the files, and all defaults under them.
        manifests: what the objects are held against beside.
    """
    return {source.file: file for source in sources if (file := _recall(_key(source, manifests)))}


def cached_file(source: Source, known: KnownFile) -> CheckedFile:
    """Return a file with the result of its last check."""
    names = tuple(record.job for record in known.records)
    return CheckedFile(source, CheckResult(Weighed(known.of_rules), known.records, names), is_cached=True)


def recall_jobs(source: Source) -> Any:
    """What the documents of a file say that is known; None where it is known no more."""
    data = cache.recall(_key(source, ()))
    try:
        return None if data is None else json.loads(data["jobs"])
    except _WRONG_SHAPE:
        return None


def keep(source: Source, known: KnownFile, jobs: str, manifests: Sequence[Manifest] = ()) -> None:
    """Keep what is known of a file. It counts while its ledgers are on disk.

    Args:
        source: the file, and all defaults under it.
        known: what is known of it.
        jobs: what its documents say, with the defaults under them, as the text of a list in JSON.
        manifests: what the objects were held against beside.
    """
    cache.keep({_key(source, manifests): {**_data_of(known), "jobs": jobs}})


# -- the cache -----------------------------------------------------------------------------------------------------


def _key(source: Source, manifests: Sequence[Manifest]) -> str:
    parts = (source.name, repr(manifests), repr(source.identity))
    return cache.key(part.encode("utf-8", "surrogatepass") for part in parts)


def _data_of(file: KnownFile) -> Any:
    return {
        "of_rules": [_problem_data(problem) for problem in file.of_rules],
        "of_objects": [_problem_data(problem) for problem in file.of_objects],
        "unused": [_problem_data(problem) for problem in file.unused],
        "records": [[record.job, record.of_rules] for record in file.records],
        "ledgers": file.ledgers,
    }


def _problem_data(problem: Problem) -> Any:
    return [problem.file, problem.position, problem.message, problem.rule, problem.severity]


def _recall(key: str) -> KnownFile | None:
    data = cache.recall(key)
    try:
        return None if data is None else _known(data)
    except _WRONG_SHAPE:
        return None


_WRONG_SHAPE: Final = (AttributeError, LookupError, TypeError, ValueError)
"""The errors of an entry of another shape, which counts as absent: somebody wrote the entry by hand."""


def _known(data: Any) -> KnownFile:
    if not isinstance(data["jobs"], str):
        raise TypeError("jobs is no text")
    of_rules, of_objects, unused = (
        tuple(Problem(file, Position(*position), *rest) for file, position, *rest in data[part])
        for part in ("of_rules", "of_objects", "unused")
    )
    records = tuple(JobRecord(job, record) for job, record in data["records"])
    ledgers = {str(file): str(digest) for file, digest in data["ledgers"].items()}
    return KnownFile(of_rules, of_objects, unused, records, ledgers)
