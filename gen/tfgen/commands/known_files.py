"""The job files of which nothing has changed since they were last rendered or checked, and what was worked out then.

    known = find_known(sources, Path("."))
    known["jobs/mnist/job.yaml"].of_rules  ->  (Problem("jobs/mnist/job.yaml", ... "latest-tag"),)

A file is known where its bytes, those of all defaults under it and this tfgen are as they were, its jobs had no errors,
and what was rendered of them is on disk. It is not read again: what is said of it is said from the cache
(`tree.cache`), and it is judged beside other jobs by its records.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tfgen.check.across import JobRecord
from tfgen.check.admission.folder import folder_paths
from tfgen.check.jobs import Checked, CheckedFile
from tfgen.check.limits import layers_with_sums
from tfgen.check.manifests import Manifest
from tfgen.check.severities import Weighed, find_unused, weigh
from tfgen.commands.rendered_job import RenderedJob
from tfgen.job.facts import name_of, rendered_branch
from tfgen.job.sources import Source, source_name
from tfgen.problems import Position, Problem, has_errors
from tfgen.record import Record
from tfgen.tree import cache
from tfgen.tree.file_tree import digest_of
from tfgen.tree.plan import WritePlan
from tfgen.tree.write import find_unchanged


class KnownFile(Record):
    """What was worked out for a file whose jobs have no errors.

    Attributes:
        of_rules: the warnings of rules.
        of_objects: the warnings about what comes of the jobs.
        unused: the comments that ignore nothing.
        records: what the jobs are judged by beside others.
        ledgers: the digest of each job's ledger.
        paths: what was rendered of the jobs, and is on disk.
    """

    of_rules: tuple[Problem, ...]
    of_objects: tuple[Problem, ...]
    unused: tuple[Problem, ...]
    records: tuple[JobRecord, ...]
    ledgers: Mapping[str, str]
    paths: tuple[str, ...] = ()


def find_known(sources: Iterable[Source], out: Path, manifests: Sequence[Manifest] = ()) -> dict[str, KnownFile]:
    """The files that are known, by name.

    Args:
        sources: the files, and all defaults under them.
        out: the output folder.
        manifests: what the objects are held against beside.

    Raises:
        TfgenError: the disk cannot be read.
    """
    files = {source.file: file for source in sources if (file := _recall(_key(source, manifests)))}
    ledgers = {job: digest for file in files.values() for job, digest in file.ledgers.items()}
    unchanged = find_unchanged(out, ledgers)
    return {
        name: file.replaced(paths=tuple(path for job in file.ledgers for path in unchanged[job]))
        for name, file in files.items()
        if file.ledgers.keys() <= unchanged.keys()
    }


def keep_files(
    checked: Checked, results: Iterable[RenderedJob], plan: WritePlan, manifests: Sequence[Manifest] = ()
) -> None:
    """Keep what is known of the files whose jobs have no errors. It counts once the disk is as the plan has it.

    Args:
        checked: the jobs of the files.
        results: what came of those without errors.
        plan: what a render of those writes.
        manifests: what the objects were held against beside.
    """
    ledgers = {job.rendering.job: digest_of(job.target.to_text()) for job in plan.jobs}
    weighed = {
        result.rendering.job: result.weighed
        for result in results
        if result.rendering.job in ledgers and not has_errors(result.weighed.problems)
    }
    files = (file for file in checked.whole_files if not file.is_known and _stands_alone(file))
    cache.keep(
        {
            _key(file.source, manifests): _data_of(_known_file(file, weighed, ledgers))
            for file in files
            if weighed.keys() >= set(map(name_of, file.documents))
        }
    )


def _stands_alone(file: CheckedFile) -> bool:
    """Whether no other job has a part in what is said of a file: it clashes with none, and no limit is of a sum.

    Of a job whose files are in a branch of their own, those on disk say nothing; and where policies are in folders,
    their files count as well.
    """
    return not file.clashes and not any(
        rendered_branch(document) or folder_paths(document) or any(True for _ in layers_with_sums(document))
        for document in file.documents
    )


def _known_file(file: CheckedFile, weighed: Mapping[str, Weighed], ledgers: Mapping[str, str]) -> KnownFile:
    of_jobs = {name_of(document): weighed[name_of(document)] for document in file.documents}
    ignored = [problem for one in (file.weighed, *of_jobs.values()) for problem in one.ignored]
    unused = (weigh(document, find_unused((document,), ignored)) for document in file.documents)
    return KnownFile(
        of_rules=file.weighed.problems,
        of_objects=tuple(problem for one in of_jobs.values() for problem in one.problems),
        unused=tuple(problem for one in unused for problem in one.problems),
        records=file.records,
        ledgers={job: ledgers[job] for job in of_jobs},
    )


# -- the cache -----------------------------------------------------------------------------------------------------


def _key(source: Source, manifests: Sequence[Manifest]) -> str:
    around = (source_name(Path(source.file)), repr(manifests))
    return cache.key((*map(_encoded, around), *_contents(source)))


def _contents(source: Source | None) -> Iterator[bytes]:
    """The names and the contents of a file, and of all that is under it or left out of it."""
    if source is None:
        yield b""
        return
    yield _encoded(source.file)
    yield source.content if isinstance(source.content, bytes) else _encoded(source.content)
    yield from _contents(source.defaults)
    yield from _contents(source.left_out)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


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
    if data is None:
        return None
    of_rules, of_objects, unused = (
        tuple(Problem(file, Position(*position), *rest) for file, position, *rest in data[part])
        for part in ("of_rules", "of_objects", "unused")
    )
    records = tuple(JobRecord(job, record) for job, record in data["records"])
    return KnownFile(of_rules, of_objects, unused, records, data["ledgers"])
