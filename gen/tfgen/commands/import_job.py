"""What `tfgen import` does: it reads the manifests of others, writes job.yaml, and accounts for each of their lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from tfgen.check.jobs import check
from tfgen.data_path import Path
from tfgen.errors import UsageError
from tfgen.importers import FORMS, hand_written
from tfgen.importers.account import REFUSED, Account, Entry
from tfgen.importers.foreign_job import ForeignJob
from tfgen.importers.job_data import job_data
from tfgen.importers.job_text import job_text
from tfgen.importers.objects import drop_server_fields, keep, kind, objects
from tfgen.importers.options import Options
from tfgen.importers.part import Part
from tfgen.job.training_job import PROFILES
from tfgen.problems import Position, Problem, has_errors, in_order
from tfgen.record import Record
from tfgen.text.document import Document, SourceTree, decode, parse
from tfgen.words import either

RULES: Final[Mapping[str, str]] = {
    REFUSED: "A manifest of others says what no job.yaml can.",
}
"""What `tfgen import` reports of a manifest."""

_OF_PROFILE: Final = ("pod-security", "volume-profile", "root-user")
"""The rules that ask for a weaker Pod Security profile."""

_FILE: Final = "job.yaml"


class Source(Record):
    """A file of foreign manifests, and its name."""

    file: str
    content: bytes


class ImportedJob(Record):
    """One job.

    Attributes:
        form: what it was.
        origin: the foreign object.
        data: the document of job.yaml.
        text: and its text.
    """

    form: str
    origin: Part
    data: Mapping[str, Any]
    text: str


class Imported(Record):
    """All jobs of some files; none where there are problems that are errors.

    Attributes:
        entries: what became of each part of the files.
        problems: what is wrong with them, or with the jobs that come of them.
    """

    jobs: tuple[ImportedJob, ...]
    entries: tuple[Entry, ...]
    problems: tuple[Problem, ...]

    @property
    def text(self) -> str:
        """The text of all jobs, as one file."""
        return "---\n".join(job.text for job in self.jobs)


def import_jobs(sources: Iterable[Source], options: Options) -> Imported:
    """Read all jobs in some files.

    Raises:
        UsageError: the files hold no job of a form that tfgen knows.
    """
    documents, problems = _documents(sources)
    if has_errors(problems):
        return Imported((), (), in_order(problems))
    parts = [part for part in objects(documents) if part.value is not None]
    account = Account()
    jobs = [job for job in _jobs(parts, options, account) if job]
    if has_errors(account.problems):
        return Imported((), tuple(account.entries), in_order(account.problems))
    for part in parts:
        _account_for(part, account)
    imported = [_write(job, account) for job in jobs]
    problems = [problem for one in imported for problem in _mapped(one, account)]
    if has_errors(problems):
        return Imported((), tuple(account.entries), in_order(problems))
    entries = sorted(account.entries, key=lambda entry: (entry.file, entry.position))
    return Imported(tuple(imported), tuple(entries), in_order(problems))


def _documents(sources: Iterable[Source]) -> tuple[list[Document], list[Problem]]:
    documents: list[Document] = []
    problems: list[Problem] = []
    for source in sources:
        text = decode(source.content, source.file)
        if isinstance(text, Problem):
            problems.append(text)
            continue
        parsed = parse(text, source.file)
        documents += parsed.documents
        problems += parsed.problems
    return documents, problems


def _jobs(parts: Sequence[Part], options: Options, account: Account) -> Iterator[ForeignJob | None]:
    """The jobs of one object each, and what the tasks are that stand beside them."""
    forms = [(part, form) for part in parts for form in FORMS if form.matches(part)]
    tasks = [part for part in parts if hand_written.is_task(part)]
    if not forms and not tasks:
        kinds = ", ".join(sorted({kind(part) or "no kind" for part in parts})) or "nothing"
        known = either([*(form.name for form in FORMS), "tasks that are told of a cluster of TensorFlow's"])
        raise UsageError(f"no job that tfgen can import: found {kinds}; it knows {known}")
    for part, form in forms:
        yield form.read(part, [other for other in parts if other is not part], options, account)
    if tasks:
        yield hand_written.read(
            tasks, [other for other in parts if not any(other is task for task in tasks)], options, account
        )


def _account_for(part: Part, account: Account) -> None:
    """Say what becomes of an object that no job was made of, or of what its reader has no word for."""
    unread = list(account.unread(part))
    if len(unread) == sum(1 for _ in part.leaves()):
        keep(part, account)
        return
    drop_server_fields(part, account)
    for leaf in account.unread(part):
        account.drop(leaf, "job.yaml has no word for it")


def _write(job: ForeignJob, account: Account) -> ImportedJob:
    """The job by the strictest Pod Security profile that its pods meet."""
    data = job_data(job, account)
    comments = dict(job.comments)
    for profile in PROFILES:
        if profile != PROFILES[0]:
            security = data["spec"].get("security", {})
            spec = {
                **data["spec"],
                "security": {"profile": profile, **{k: v for k, v in security.items() if k != "profile"}},
            }
            data = {**data, "spec": spec}
            comments["spec", "security", "profile"] = "The strictest Pod Security profile that these pods meet."
        head = [f"From the {job.form} {job.name} in {job.root.file}, by tfgen import."]
        text = job_text(data, head, comments)
        if not any(problem.rule in _OF_PROFILE for problem in check(text, _FILE).problems):
            break
    return ImportedJob(job.form, job.root, data, text)


def _mapped(job: ImportedJob, account: Account) -> Iterator[Problem]:
    """What is wrong with the job, at the lines of the source that it comes from."""
    checked = check(job.text, _FILE)
    (document,) = parse(job.text, _FILE).documents
    paths = dict(_positions(document.root))
    sources = account.sources()
    for problem in checked.problems:
        path = paths.get(problem.position, ())
        entry = next((sources[path[:n]] for n in range(len(path), 0, -1) if path[:n] in sources), None)
        file, position = (entry.file, entry.position) if entry else (job.origin.file, job.origin.position)
        yield problem.replaced(file=file, position=position)


def _positions(tree: SourceTree, path: Path = ()) -> Iterator[tuple[Position, Path]]:
    """The path of what stands at each position; of two at one, the inner."""
    yield tree.position, path
    for key, (position, inner) in tree.children.items():
        yield position, (*path, key)
        yield from _positions(inner, (*path, key))
