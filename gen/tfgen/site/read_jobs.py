"""Collects the facts about the jobs of a repository for the site: requests, values, objects, problems and history."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from tfgen import data_path
from tfgen.change.field_diff import field_changes, in_words
from tfgen.check.checked import Checked, CheckedJobs
from tfgen.errors import Problem
from tfgen.git.history import Revision, histories
from tfgen.git.tree import DISK, by_repository, has_commit
from tfgen.graph.built import BuiltJob, build, variant_objects
from tfgen.job.facts import name_of
from tfgen.job.origin import origins
from tfgen.kubernetes import quantity
from tfgen.kubernetes.object import Object
from tfgen.kubernetes.pods import gpu_product, pod_requests, pods_of, queue_name, totals
from tfgen.pictures.describe import describe_built
from tfgen.pictures.svg import as_svg
from tfgen.places import CHARTS, OVERLAYS
from tfgen.record import Record
from tfgen.site.facts import (
    BrokenJob,
    Change,
    EnvironmentFacts,
    JobFacts,
    ObjectText,
    ProblemLine,
    Requests,
    ValueOrigin,
)
from tfgen.text.document import Document
from tfgen.text.parse import parse
from tfgen.text.yaml_text import dump
from tfgen.words import count, path_name, shown
from tfgen.workers import map_items

if TYPE_CHECKING:
    from tfgen.kubernetes.quantity import Amount


# -- problems ----------------------------------------------------------------------------------------------------------


def problem_lines(problems: Iterable[Problem]) -> Iterator[ProblemLine]:
    """Yield each problem with the text of its line in the file. Read each file once."""
    lines: dict[str, list[str]] = {}
    for problem in problems:
        if problem.file not in lines:
            lines[problem.file] = _read(problem.file)
        number = problem.position.line - 1
        of_file = lines[problem.file]
        yield ProblemLine(problem, of_file[number] if number < len(of_file) else "")


def _read(file: str) -> list[str]:
    try:
        return Path(file).read_bytes().decode("utf-8-sig", errors="replace").splitlines()
    except (OSError, ValueError):
        return []


# -- jobs with errors --------------------------------------------------------------------------------------------------


_PAGE: Final = re.compile(r"[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?")
"""Pattern of job names that are valid file names on every operating system."""
_UNNAMED: Final = "file"


def broken_jobs(jobs: Checked, pages: Iterable[str]) -> Iterator[BrokenJob]:
    """Yield the jobs with errors in their job file or in a layer. A layer is a tfgen.yaml with defaults for jobs.

    Args:
        jobs: the checked files.
        pages: the names of the pages of the jobs without errors.
    """
    taken = {*pages}
    whole = {file.source.file for file in jobs.valid_files}
    for file in jobs.files:
        if file.source.file in whole:
            continue
        files = {file.source.file, *(layer.file for layer in file.source.layers())}
        problems = tuple(problem_lines(problem for problem in jobs.problems if problem.file in files))
        for name in file.result.names or ("",):
            page = _free_page(name if _PAGE.fullmatch(name) else _UNNAMED, taken)
            taken.add(page)
            yield BrokenJob(name or file.source.file, file.source.file, page, problems)


def _free_page(name: str, taken: set[str]) -> str:
    """Return a name for a page that no other page has: `name`, or `name` with an added number."""
    page, number = name, 1
    while page in taken:
        number += 1
        page = f"{name}-{number}"
    return page


# -- history -----------------------------------------------------------------------------------------------------------


_MOST_FIELDS: Final = 8
"""Maximum number of changed fields that are listed for a commit. A last text has the number of the remaining fields."""
_LONGEST_CHANGE: Final = 40
"""Maximum number of characters of a value in the list."""
_NEW: Final = ("the job is new",)

Data = Mapping[str, Any]


def changes(file: str, job: str, revisions: Sequence[Revision], most: int) -> Iterator[Change]:
    """Yield the commits that changed a job, the newest first.

    Args:
        file: path of the job file, which the parser needs for messages.
        job: name of the job. A file may contain several jobs.
        revisions: the last `most` + 1 revisions of the file, the newest first. If the file has fewer revisions, the
            last item is the commit that created the file.
        most: the maximum number of commits to examine.
    """
    versions = [job_data(file, job, revision.content) for revision in revisions]
    if len(revisions) <= most:
        versions.append(None)
    for revision, (data, before) in zip(revisions, pairwise(versions), strict=False):
        words = difference(before, data)
        if words:
            yield Change(revision.commit[:10], revision.date, words)


def job_data(file: str, job: str, content: bytes | None) -> Data | None:
    """Return the data of a job in a version of the job file; None if the version lacks the job or is not valid YAML."""
    if content is None:
        return None
    parsed = parse(content.decode("utf-8-sig", errors="replace"), file)
    for document in parsed.documents:
        metadata = document.data.get("metadata") if isinstance(document.data, dict) else None
        if isinstance(metadata, dict) and metadata.get("name") == job:
            data: Data = document.data
            return data
    return None


def difference(before: Data | None, after: Data | None) -> tuple[str, ...]:
    """Return a text for each field that differs between two versions of a job; empty for equal versions."""
    if before is None or after is None:
        return () if before is after else _NEW if before is None else ("the job is removed",)
    changed = field_changes(before, after)
    words = [f"{field.path} {in_words(field.before, field.after, _LONGEST_CHANGE)}" for field in changed[:_MOST_FIELDS]]
    remaining = len(changed) - len(words)
    return (*words, *([f"and {count(remaining, 'more field')}"] if remaining else []))


# -- facts about a job -------------------------------------------------------------------------------------------------


_CLAIM: Final = "PersistentVolumeClaim"
_OWNER_LABELS: Final = ("team", "owner")
_PROJECT: Final = ("spec", "gitops", "argocd", "project")
_LONGEST: Final = 80
"""Maximum number of characters of a value in the table of a job's values."""


def job_facts(
    document: Document, problems: Sequence[ProblemLine], history: Sequence[Change], waiting: Sequence[str]
) -> JobFacts:
    """Return the facts about a job that has no errors.

    Args:
        document: the document of the job.
        problems: the problems of the job file.
        history: the commits that changed the job file, the newest first.
        waiting: texts that describe the uncommitted changes of the job.
    """
    built = build(document.data)
    names: Sequence[str | None] = [*built.environments] or [None]
    picture = describe_built(document, built)
    delivery = (
        f"{panel.title}: {text}" for panel in picture.panels for label, text in panel.notes if label == "delivery"
    )
    return JobFacts(
        name=built.job.name,
        file=document.file,
        team=_team(document),
        environments=tuple(_environment(document, built, name) for name in names),
        problems=tuple(problems),
        history=tuple(history),
        waiting=tuple(waiting),
        delivery=tuple(dict.fromkeys(delivery)),
        picture=as_svg(picture),
    )


def _team(document: Document) -> str:
    """Return the team of a job: the value of a label, or else the project of Argo CD, or else the name of a folder.

    The label is `team` or `owner`. The folder is the parent of the job's folder, such as `ads` for
    jobs/ads/mnist/job.yaml.
    """
    labels = document.data["spec"].get("labels") or {}
    for name in _OWNER_LABELS:
        for key, value in labels.items():
            if key.rpartition("/")[2] == name and value:
                return str(value)
    project = data_path.at(document.data, _PROJECT)
    if project:
        return str(project)
    folders = PurePosixPath(document.file).parent.parent.parts
    return folders[-1] if len(folders) > 1 else ""


def _environment(document: Document, built: BuiltJob, name: str | None) -> EnvironmentFacts:
    job = built.job
    variant = next((item for item in job.environments if item.name == name), None)
    objects = variant_objects(built, name)
    return EnvironmentFacts(
        name=name or "",
        namespace=(variant.namespace if variant else job.namespace) or "",
        cluster=(variant.cluster if variant else None) or "",
        queue=queue_name(objects),
        is_enabled=variant is None or variant.enabled,
        requests=_requests(objects),
        objects=tuple(ObjectText(f"{item['kind']} {item['metadata']['name']}", dump(item)) for item in objects),
        origins=tuple(
            ValueOrigin(path_name(item.path), shown(item.value, _LONGEST), str(item))
            for item in origins(document, name)
            if item.place is not None
        ),
    )


def _requests(objects: Sequence[Object]) -> Requests:
    """Return the sum of the requests of all pods and claims, even of pods that do not run at the same time."""
    sums = totals(objects)
    gpus: dict[str, Amount] = {}
    for pods in (pods for item in objects for pods in pods_of(item)):
        for resource, value in pod_requests(pods.spec).items():
            if resource.endswith("/gpu"):
                product = gpu_product(pods.spec) or resource
                gpus[product] = gpus.get(product, 0) + value * pods.count
    return Requests(
        pods=sums.pods,
        cpu=sums.requests.get("cpu", 0),
        memory=sums.requests.get("memory", 0),
        storage=sum(
            quantity.parse(item["spec"]["resources"]["requests"]["storage"])
            for item in objects
            if item["kind"] == _CLAIM
        ),
        gpus={key: value for key, value in gpus.items() if value},
    )


# -- jobs --------------------------------------------------------------------------------------------------------------


_HISTORY: Final = 10
"""Maximum number of commits that the page of a job lists."""


def read_jobs(jobs: CheckedJobs, root: Path) -> list[JobFacts]:
    """Return the facts about the jobs without errors, sorted by the name of the job.

    Args:
        jobs: the checked jobs.
        root: the folder with charts/ and overlays/.

    Raises:
        TfgenError: git fails.
    """
    documents = jobs.valid_jobs
    paths = {document.file: Path(document.file) for document in documents}
    revisions = histories(paths.values(), _HISTORY + 1)
    committed = {
        path: is_committed
        for root_of_git, names in by_repository(paths.values()).items()
        for is_committed in [has_commit(root_of_git)]  # only one git process for each repository
        for path in names
    }
    rendered = _changed_files(root)
    items = [
        _Input(
            document,
            tuple(problem for problem in jobs.problems if problem.file == document.file),
            revisions[paths[document.file]],
            committed[paths[document.file]],
            rendered.get(name_of(document), 0),
        )
        for document in documents
    ]
    return sorted(map_items(_facts, items), key=lambda job: job.name)


class _Input(Record):
    """The data from which tfgen computes the facts about one job.

    Attributes:
        revisions: the revisions of the job file, the newest first.
        is_in_git: whether the job file is in a git repository that has a commit.
        changed_files: number of the job's rendered files that differ from the last commit.
    """

    document: Document
    problems: tuple[Problem, ...]
    revisions: tuple[Revision, ...]
    is_in_git: bool
    changed_files: int


def _facts(item: _Input) -> JobFacts:
    file, name = item.document.file, name_of(item.document)
    history = tuple(changes(file, name, item.revisions, _HISTORY))
    return job_facts(item.document, tuple(problem_lines(item.problems)), history, tuple(_uncommitted_changes(item)))


def _uncommitted_changes(item: _Input) -> Iterator[str]:
    """Yield a text for each uncommitted change of a job."""
    file, name = item.document.file, name_of(item.document)
    if item.is_in_git:
        committed = job_data(file, name, item.revisions[0].content) if item.revisions else None
        yield from difference(committed, job_data(file, name, Path(file).read_bytes()))
    if item.changed_files:
        yield f"changes to {count(item.changed_files, 'rendered file')} are not committed"


def _changed_files(root: Path) -> Mapping[str, int]:
    """Return the number of changed files in charts/ and overlays/ for each job, by name of the job."""
    numbers: dict[str, int] = {}
    for path in DISK.changed(root, places=(CHARTS, OVERLAYS)):
        name = path.split("/")[1]
        numbers[name] = numbers.get(name, 0) + 1
    return numbers
