"""Records with the facts about jobs that the pages of the web site show."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from tfgen import data_path
from tfgen.change.field_diff import FieldChange, field_changes, in_words
from tfgen.check.checked import Checked, CheckedJobs
from tfgen.errors import Problem
from tfgen.git.history import Revision, histories
from tfgen.git.tree import DISK, by_repository, has_commit
from tfgen.graph.graph import BuiltJob, build, variant_objects
from tfgen.job.facts import name_of, origins
from tfgen.kubernetes import quantity
from tfgen.kubernetes.object import Object
from tfgen.kubernetes.pods import (
    amount,
    claimed_devices,
    counts_gpus,
    device_name,
    device_templates,
    gpu_product,
    pod_requests,
    pods_of,
    queue_name,
    totals,
)
from tfgen.pictures.describe import describe_built
from tfgen.pictures.picture import as_svg
from tfgen.places import CHARTS, OVERLAYS
from tfgen.record import Record
from tfgen.text.document import Document
from tfgen.text.parse import parse
from tfgen.text.yaml_text import dump
from tfgen.words import count, path_name, shown
from tfgen.workers import map_items

if TYPE_CHECKING:
    from tfgen.kubernetes.quantity import Amount


class Requests(Record):
    """The resources that pods and claims request.

    Attributes:
        cpu: number of CPU cores; None if no pod requests CPU.
        memory: number of bytes; None if no pod requests memory.
        storage: number of bytes that the claims request; None without a claim.
        gpus: number of GPUs of each model. For a job that selects no model, the name of the resource replaces the
            model. Example: {"NVIDIA-A100": 8, "nvidia.com/gpu": 2}.
    """

    pods: int
    cpu: Amount | None
    memory: Amount | None
    storage: Amount | None
    gpus: Mapping[str, Amount]

    @property
    def gpu_text(self) -> str:
        """Return the GPUs as text, such as `8 NVIDIA-A100, 2 nvidia.com/gpu`."""
        return ", ".join(f"{amount('', number)} {product}" for product, number in sorted(self.gpus.items()))

    @property
    def gpu_count(self) -> Amount:
        """Return the number of all GPUs together."""
        return sum(self.gpus.values())


def total(requests: Iterable[Requests]) -> Requests:
    """Return the sum of several requests."""
    parts = [*requests]
    products = sorted({product for part in parts for product in part.gpus})
    return Requests(
        pods=sum(part.pods for part in parts),
        cpu=_sum(part.cpu for part in parts),
        memory=_sum(part.memory for part in parts),
        storage=_sum(part.storage for part in parts),
        gpus={product: sum(part.gpus.get(product, 0) for part in parts) for product in products},
    )


def _sum(amounts: Iterable[Amount | None]) -> Amount | None:
    present = [value for value in amounts if value is not None]
    return sum(present) if present else None


ProblemLine: TypeAlias = tuple[Problem, str]
"""A problem, and the text of the line that has the problem. The text is empty if the file cannot be read."""


class LiveState(Record):
    """The state of a run in the cluster of the run.

    Attributes:
        ready: the number of ready tasks and the number of all tasks, such as 3/4.
        reason: the first reason why the run waits or fails; empty without a reason.
    """

    phase: str
    ready: str
    reason: str


class EnvironmentFacts(Record):
    """The facts about an environment of a job, or about the job itself if the job has no environments.

    Attributes:
        name: name of the environment; empty for the job itself.
        cluster: name of the cluster; empty for the cluster in which the GitOps tool runs.
        queue: name of the queue of Volcano or Kueue; empty without a queue.
        is_enabled: whether the job runs in the environment.
        objects: kind and name of each object, and the object in YAML.
        origins: path, value and file of each value that job.yaml or a layer sets. Defaults of the schema are not
            included.
        state: the state of the run in the cluster; None if tfgen has not read the cluster.
    """

    name: str
    namespace: str
    cluster: str
    queue: str
    is_enabled: bool
    requests: Requests
    objects: tuple[tuple[str, str], ...]
    origins: tuple[tuple[str, str, str], ...]
    state: LiveState | None = None


class Change(Record):
    """A commit that changed a job file.

    Attributes:
        commit: the shortened id of the commit.
        date: the date of the commit, such as 2026-11-25.
        words: a text for each changed field of the job, such as "spec.retries was 3 and is 5"; or "the job is new" for
            the first commit.
        first: environment -> the first of these texts about a field of this environment. The key is empty for the
            fields that all environments share.
    """

    commit: str
    date: str
    words: tuple[str, ...]
    first: Mapping[str, str]

    def of(self, environment: str) -> str | None:
        """Return the first text about an environment; None if the change does not concern the environment."""
        return self.first.get(environment, self.first.get(""))


class JobFacts(Record):
    """All facts that the page of a job shows.

    Attributes:
        file: path of the job file from the root of the repository.
        team: the team that owns the job, from a label, from the project of Argo CD, or from the job's folder.
        problems: the problems of the job file, in order.
        history: the last changes of the job file, the newest first.
        waiting: texts that describe the uncommitted changes of the job.
        waits_in: the environments with an uncommitted change. The empty name stands for all environments.
        delivery: texts that describe how GitOps tools apply the job.
        picture: the picture of the job as SVG.
    """

    name: str
    file: str
    team: str
    environments: tuple[EnvironmentFacts, ...]
    problems: tuple[ProblemLine, ...]
    history: tuple[Change, ...]
    waiting: tuple[str, ...]
    waits_in: frozenset[str]
    delivery: tuple[str, ...]
    picture: str

    def last_change(self, environment: str) -> tuple[str, str] | None:
        """Return the date and the text of the last commit that changed an environment; None without a commit."""
        found = ((change.date, text) for change in self.history if (text := change.of(environment)))
        return next(found, (self.history[-1].date, "no later change") if self.history else None)


class BrokenJob(Record):
    """A job with errors in its job file or in a layer.

    Attributes:
        name: name of the job; the path of the file for a job without a name.
        file: path of the job file from the root of the repository.
        page: file name of the job's page, without the extension.
        problems: the problems of the job file and of its layers.
    """

    name: str
    file: str
    page: str
    problems: tuple[ProblemLine, ...]

    @property
    def errors(self) -> int:
        """Return the number of errors."""
        return sum(problem.severity == "error" for problem, _ in self.problems)


class Site(Record):
    """All facts that the pages of the site show.

    Attributes:
        jobs: jobs without errors, in the order of their names.
        broken: jobs with errors, in the order of their files.
        notes: messages about clusters that tfgen could not read.
        live_at: the time at which tfgen read the states of runs from the clusters, as text; empty without the states.
    """

    title: str
    jobs: tuple[JobFacts, ...]
    broken: tuple[BrokenJob, ...] = ()
    notes: tuple[str, ...] = ()
    live_at: str = ""

    @property
    def empty_columns(self) -> frozenset[str]:
        """Return the columns of the table of jobs that have no value in any row."""
        environments = [environment for job in self.jobs for environment in job.environments]
        values = {
            "Team": (job.team for job in self.jobs),
            "Queue": (environment.queue for environment in environments),
            "Cluster": (environment.cluster for environment in environments),
            "Namespace": (environment.namespace for environment in environments),
        }
        return frozenset(column for column, texts in values.items() if not any(texts))


def problem_lines(problems: Iterable[Problem]) -> Iterator[ProblemLine]:
    """Yield each problem with the text of its line in the file. Read each file once."""
    lines: dict[str, list[str]] = {}
    for problem in problems:
        if problem.file not in lines:
            try:
                text = Path(problem.file).read_bytes().decode("utf-8-sig", errors="replace")
            except (OSError, ValueError):
                text = ""
            lines[problem.file] = text.splitlines()
        number, of_file = problem.position.line - 1, lines[problem.file]
        yield problem, of_file[number] if number < len(of_file) else ""


_PAGE: Final = re.compile(r"[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?")
"""Pattern of job names that are valid file names on every operating system."""


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
            first = page = name if _PAGE.fullmatch(name) else "file"
            number = 1
            while page in taken:
                number += 1
                page = f"{first}-{number}"
            taken.add(page)
            yield BrokenJob(name or file.source.file, file.source.file, page, problems)


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
        if words := difference(before, data):
            yield Change(revision.commit[:10], revision.date, words, first_by_environment(before, data))


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
    """Return a text for each of the first eight fields that differ between two versions of a job.

    A last text has the number of the remaining fields. The result is empty for equal versions.
    """
    if before is None or after is None:
        return () if before is after else ("the job is new" if before is None else "the job is removed",)
    changed = field_changes(before, after)
    words = list(map(_words, changed[:8]))
    remaining = len(changed) - len(words)
    return (*words, *([f"and {count(remaining, 'more field')}"] if remaining else []))


def first_by_environment(before: Data | None, after: Data | None) -> dict[str, str]:
    """Return the first text of `difference` about each environment, and about all environments with an empty key."""
    if before is None or after is None:
        return {"": words[0]} if (words := difference(before, after)) else {}
    first: dict[str, str] = {}
    for field in field_changes(before, after):
        match field.path.steps:
            case ("spec", "environments", str(environment), *_):
                first.setdefault(environment, _words(field))
            case _:
                first.setdefault("", _words(field))
    return first


def _words(field: FieldChange) -> str:
    return f"{field.path} {in_words(field.before, field.after, longest=40)}"


_HISTORY: Final = 10
"""Maximum number of commits that the page of a job lists."""


class JobInput(Record):
    """The data from which tfgen computes the facts about one job.

    Attributes:
        document: the document of a job that has no errors.
        problems: the problems of the job file.
        revisions: the revisions of the job file, the newest first.
        is_in_git: whether the job file is in a git repository that has a commit.
        changed_files: number of the job's rendered files that differ from the last commit.
    """

    document: Document
    problems: tuple[Problem, ...]
    revisions: tuple[Revision, ...]
    is_in_git: bool
    changed_files: int


def job_facts(item: JobInput) -> JobFacts:
    """Return the facts about a job that has no errors."""
    document, name = item.document, name_of(item.document)
    waiting: list[str] = []
    waits_in: set[str] = set()
    if item.is_in_git:
        committed = job_data(document.file, name, item.revisions[0].content) if item.revisions else None
        current = job_data(document.file, name, Path(document.file).read_bytes())
        waiting += difference(committed, current)
        waits_in |= first_by_environment(committed, current).keys()
    if item.changed_files:
        waiting.append(f"changes to {count(item.changed_files, 'rendered file')} are not committed")
        waits_in |= set() if waits_in else {""}  # the rendered files of a changed job follow its job file
    built = build(document.data)
    names: Sequence[str | None] = [*built.environments] or [None]
    picture = describe_built(document, built)
    delivery = (
        f"{panel.title}: {text}" for panel in picture.panels for label, text in panel.notes if label == "delivery"
    )
    return JobFacts(
        name=name,
        file=document.file,
        team=_team(document),
        environments=tuple(_environment(document, built, environment) for environment in names),
        problems=tuple(problem_lines(item.problems)),
        history=tuple(changes(document.file, name, item.revisions, _HISTORY)),
        waiting=tuple(waiting),
        waits_in=frozenset(waits_in),
        delivery=tuple(dict.fromkeys(delivery)),
        picture=as_svg(picture),
    )


def _team(document: Document) -> str:
    """Return the team of a job: the value of a label, or else the project of Argo CD, or else the name of a folder.

    The label is `team` or `owner`. The folder is the parent of the job's folder, such as `ads` for
    jobs/ads/mnist/job.yaml.
    """
    labels = document.data["spec"].get("labels") or {}
    owners = [labels[key] for name in ("team", "owner") for key in labels if key.rpartition("/")[2] == name]
    folders = PurePosixPath(document.file).parent.parent.parts
    folder = folders[-1] if len(folders) > 1 else ""
    project = data_path.at(document.data, ("spec", "gitops", "argocd", "project"))
    return str(next(filter(None, (*owners, project)), folder))


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
        objects=tuple((f"{item['kind']} {item['metadata']['name']}", dump(item)) for item in objects),
        origins=tuple(
            (path_name(item.path), shown(item.value, longest=80), str(item))
            for item in origins(document, name)
            if item.place is not None
        ),
    )


def _requests(objects: Sequence[Object]) -> Requests:
    """Return the sum of the requests of all pods and claims, even of pods that do not run at the same time."""
    sums, templates = totals(objects), device_templates(objects)
    gpus: dict[str, Amount] = {}
    for pods in (pods for item in objects for pods in pods_of(item)):
        for resource, value in (pod_requests(pods.spec) | claimed_devices(pods.spec, templates)).items():
            if counts_gpus(resource):
                product = gpu_product(pods.spec) or device_name(resource)
                gpus[product] = gpus.get(product, 0) + value * pods.count
    return Requests(
        pods=sums.pods,
        cpu=sums.requests.get("cpu"),
        memory=sums.requests.get("memory"),
        storage=_sum(
            quantity.parse(item["spec"]["resources"]["requests"]["storage"])
            for item in objects
            if item["kind"] == "PersistentVolumeClaim"
        ),
        gpus={key: value for key, value in gpus.items() if value},
    )


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
    repositories = by_repository(paths.values())
    in_git = {path for root_of_git, names in repositories.items() if has_commit(root_of_git) for path in names}
    rendered = Counter(path.split("/")[1] for path in DISK.changed(root, places=(CHARTS, OVERLAYS)))
    items = [
        JobInput(
            document,
            tuple(problem for problem in jobs.problems if problem.file == document.file),
            revisions[paths[document.file]],
            paths[document.file] in in_git,
            rendered[name_of(document)],
        )
        for document in documents
    ]
    return sorted(map_items(job_facts, items), key=lambda job: job.name)
