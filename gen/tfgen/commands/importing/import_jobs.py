"""What `tfgen import` does: it reads the manifests of others, writes job.yaml, and accounts for each of their lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from tfgen.check.jobs import check
from tfgen.data_path import Path, at, has, texts
from tfgen.errors import UsageError
from tfgen.importers import COMMANDS, FORMATS, hand_written, rights
from tfgen.importers.command_line import Word, commands
from tfgen.importers.environments import EnvironmentName, Variant, base_name, job_with_environments
from tfgen.importers.foreign_job import ForeignJob
from tfgen.importers.import_report import REFUSED, Entry, ImportReport
from tfgen.importers.job_data import job_data
from tfgen.importers.job_text import job_text
from tfgen.importers.objects import drop_server_fields, keep_object, kind, name, objects
from tfgen.importers.options import Options
from tfgen.importers.part import Part, scalar_part
from tfgen.job.training_job import PROFILES
from tfgen.problems import Position, Problem, has_errors, in_order
from tfgen.record import EMPTY, Record
from tfgen.text.document import Document, SourceTree
from tfgen.text.parse import decode, parse
from tfgen.text.reader import uncarried_message
from tfgen.text.yaml_text import uncarried
from tfgen.words import either, path_name

RULES: Final[Mapping[str, str]] = {
    REFUSED: "A manifest of others says what no job.yaml can.",
}
"""What `tfgen import` reports of a manifest."""

_OF_PROFILE: Final = ("pod-security", "volume-profile", "root-user")
"""The rules that ask for a weaker Pod Security profile."""

_FILE: Final = "job.yaml"

_LONGEST_TEXT: Final = 1 << 18
"""Characters of a text: an object's annotations may have as many bytes in all, and an argument half of them.

https://github.com/kubernetes/kubernetes/blob/v1.33.0/staging/src/k8s.io/apimachinery/pkg/api/validation/objectmeta.go
"""

_MOST_WORDS: Final = 1_000
"""Words of a script; commands that people write have some dozens."""

_SCRIPT: Final = re.compile(r"\s*(#![^\n]*sh\b|(#[^\n]*\n\s*)*(\$\s+)?(arena|elasticdl)\s)")
"""How a file of commands begins."""


class Source(Record):
    """A file of foreign manifests, and its name."""

    file: str
    content: bytes


class Origin(Record):
    """What a job, or one of its environments, was imported from.

    Attributes:
        root: the foreign object.
        entries: what became of each part of it.
    """

    root: Part
    entries: tuple[Entry, ...]


class ImportedJob(Record):
    """One job.

    Attributes:
        form: what it was.
        origins: the foreign objects by environment; None stands for the job itself.
        data: the document of job.yaml.
        text: and its text.
    """

    format: str
    origins: Mapping[EnvironmentName, Origin]
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


class _Reading(Record):
    """The files of one environment, read.

    Attributes:
        parts: all objects in them.
        report: what becomes of those that are no job.
        variants: the jobs, each with its own account.
    """

    parts: tuple[Part, ...]
    report: ImportReport
    variants: tuple[Variant, ...]


_Job: TypeAlias = tuple[str, Mapping[EnvironmentName, Variant]]
"""A job's name, and its variants."""


def import_jobs(
    sources: Iterable[Source], options: Options, environments: Mapping[str, Sequence[Source]] = EMPTY
) -> Imported:
    """Read all jobs in some files.

    Args:
        sources: the files of the jobs themselves; none where there are environments alone.
        options: how they are read.
        environments: the files of the same jobs in each environment.

    Raises:
        UsageError: the files hold no object.
    """
    files: dict[EnvironmentName, Sequence[Source]] = {None: tuple(sources)}
    files.update(environments)
    parsed = {env: _documents(own) for env, own in files.items() if own or env is not None}
    problems = [problem for own in parsed.values() for problem in own.problems]
    if has_errors(problems):
        return Imported((), (), in_order(problems))
    readings = _read_all(parsed, options)
    report = ImportReport()
    for reading in readings.values():
        report.problems += reading.report.problems
    _refuse_second_names(readings, report)
    jobs = [] if has_errors(report.problems) else _grouped(readings, options, report)
    if has_errors(report.problems):
        return Imported((), tuple(_entries(readings)), in_order(report.problems))
    for reading in readings.values():
        for part in reading.parts:
            _account_for(part, reading.parts, reading.report)
    imported = [job for name, variants in jobs if (job := _write(name, variants))]
    problems = [problem for reading in readings.values() for problem in reading.report.problems]
    if not has_errors(problems):
        problems += [problem for job in imported for problem in _mapped(job)]
    if has_errors(problems):
        return Imported((), tuple(_entries(readings)), in_order(problems))
    entries = sorted(_entries(readings), key=lambda entry: (entry.file, entry.position))
    return Imported(tuple(imported), tuple(entries), in_order(problems))


def _entries(readings: Mapping[EnvironmentName, _Reading]) -> Iterator[Entry]:
    for reading in readings.values():
        yield from reading.report.entries
        for variant in reading.variants:
            yield from variant.report.entries


class _Files(Record):
    """The files of an environment, parsed: the documents in them, the scripts, and what is wrong with them."""

    documents: tuple[Document, ...]
    scripts: tuple[tuple[str, str], ...]
    problems: tuple[Problem, ...]


def _documents(sources: Iterable[Source]) -> _Files:
    documents: list[Document] = []
    scripts: list[tuple[str, str]] = []
    problems: list[Problem] = []
    for source in sources:
        text = decode(source.content, source.file)
        if isinstance(text, Problem):
            problems.append(text)
            continue
        if _SCRIPT.match(text):
            scripts.append((source.file, text))
            continue
        parsed = parse(text, source.file)
        documents += parsed.documents
        problems += [_template(text, source.file)] if parsed.problems and "{{" in text else parsed.problems
    return _Files(tuple(documents), tuple(scripts), tuple(problems))


def _template(text: str, file: str) -> Problem:
    """What is said of a template, which is YAML only when Helm has filled it."""
    place = text.index("{{")
    line, column = text.count("\n", 0, place) + 1, place - text.rfind("\n", 0, place)
    message = "this is a template, and not yet YAML; fill it, as by: helm template CHART | tfgen import -"
    return Problem(file, Position(line, column), message, REFUSED)


def _read_all(parsed: Mapping[EnvironmentName, _Files], options: Options) -> dict[EnvironmentName, _Reading]:
    """The jobs of all environments: one task alone is worker 0 of a job that has more workers elsewhere."""
    readings = {env: _read(files, options) for env, files in parsed.items()}
    strategies = {variant.job.strategy for reading in readings.values() for variant in reading.variants}
    if len(parsed) > 1 and strategies == {"Single", "MultiWorkerMirrored"}:
        mirrored = options.replaced(single_task_strategy="MultiWorkerMirrored")
        readings = {env: _read(files, mirrored) for env, files in parsed.items()}
    return readings


def _read(files: _Files, options: Options) -> _Reading:
    report = ImportReport()
    parts = [part for part in objects(files.documents) if part.value is not None]
    for file, script in files.scripts:
        parts += _submitted(script, file, report)
    if report.problems:
        return _Reading((), report, ())
    variants = [Variant(job, own) for job, own in _jobs(parts, options, report) if job]
    return _Reading(tuple(parts), report, tuple(variants))


def _submitted(script: str, file: str, report: ImportReport) -> Iterator[Part]:
    """The jobs that the commands of a script submit."""
    number = 0
    for words in commands(script):
        number += len(words)
        if number > _MOST_WORDS:
            start = scalar_part(file, words[0].position, words[0].text, words[0].text)
            report.refuse(start, f"with this command the script has more than {_MOST_WORDS:,} words; split it")
            return
        read = next((read for matches, read in COMMANDS if matches(words)), None)
        if read:
            job = None if _refuse_uncarried(words, file, report) else read(words, file, report)
            if job:
                yield job
        else:
            word = scalar_part(file, words[0].position, words[0].text, words[0].text)
            report.drop(word, "it submits no job of TensorFlow's")


def _refuse_uncarried(words: Sequence[Word], file: str, report: ImportReport) -> bool:
    """Refuse each word with a character that no reader of YAML carries, and return whether a word has one."""
    refused = [(word, match[0]) for word in words if (match := uncarried(word.text))]
    for word, character in refused:
        report.refuse(scalar_part(file, word.position, "command", word.text), uncarried_message(character))
    return bool(refused)


def _jobs(
    parts: Sequence[Part], options: Options, report: ImportReport
) -> Iterator[tuple[ForeignJob | None, ImportReport]]:
    """The jobs of one object each, and what the tasks are that stand beside them; each with its account."""
    forms = [(part, job_format) for part in parts for job_format in FORMATS if job_format.matches(part)]
    tasks = [part for part in parts if hand_written.is_task(part)]
    if not parts:
        raise UsageError("no job that tfgen can import: found nothing")
    if not forms and not tasks:
        kinds = ", ".join(sorted({_kind_in_words(part) for part in parts}))
        known = either(
            [*(job_format.source for job_format in FORMATS), "tasks that are told of a cluster of TensorFlow's"]
        )
        report.refuse(parts[0], f"no job that tfgen can import: found {kinds}; it knows {known}")
    for part, job_format in forms:
        own = ImportReport(report)
        yield job_format.read(part, [other for other in parts if other is not part], options, own), own
    if tasks:
        own = ImportReport(report)
        companions = [other for other in parts if not any(other is task for task in tasks)]
        yield hand_written.read(tasks, companions, options, own), own


def _kind_in_words(item: Part) -> str:
    version = item.get("apiVersion")
    return f"{kind(item)} of {(version and version.as_text) or 'no API version'}" if kind(item) else "no kind"


def _grouped(readings: Mapping[EnvironmentName, _Reading], options: Options, report: ImportReport) -> list[_Job]:
    """The variants of each job. Jobs of several environments are one where all but an environment's name is alike."""
    if len(readings) == 1:
        ((env, reading),) = readings.items()
        return [(_name(variant, env, readings), {env: variant}) for variant in reading.variants]
    if all(len(reading.variants) == 1 for reading in readings.values()):
        variants = {env: reading.variants[0] for env, reading in readings.items()}
        name = options.name or base_name({env: variant.job.name for env, variant in variants.items()})
        if name:
            return [(name, variants)]
        names = [f"{variant.job.name} ({env or 'the job itself'})" for env, variant in variants.items()]
        message = f"the job has a name of its own in each environment: {either(names, 'and')}; name it, by --name"
        report.refuse([*variants.values()][-1].job.root, message)
        return []
    jobs: dict[str, dict[EnvironmentName, Variant]] = {}
    for env, reading in readings.items():
        for variant in reading.variants:
            jobs.setdefault(_name(variant, env, readings), {})[env] = variant
    return [*jobs.items()]


def _name(variant: Variant, env: EnvironmentName, readings: Mapping[EnvironmentName, _Reading]) -> str:
    """A job's name, without that of its environment where there are several."""
    return (len(readings) > 1 and base_name({env: variant.job.name})) or variant.job.name


def _refuse_second_names(readings: Mapping[EnvironmentName, _Reading], report: ImportReport) -> None:
    """Refuse a job that has the name of another: their charts and overlays would be one."""
    for env, reading in readings.items():
        names: set[str] = set()
        for variant in reading.variants:
            name = _name(variant, env, readings)
            if name in names:
                message = (
                    f"another job here would have the name {name}, too; import this one alone, and name it by --name"
                )
                report.refuse(variant.job.root, message)
            names.add(name)


def _account_for(part: Part, parts: Sequence[Part], report: ImportReport) -> None:
    """Say what becomes of an object that no job was made of, or of what its reader has no word for."""
    unread = list(report.unread(part))
    if len(unread) == sum(1 for _ in part.leaves()):
        if kind(part) == "ConfigMap" and not _is_named(name(part), part, parts):
            report.keep(part, "nothing here uses it; go on applying it only if something else does")
        else:
            keep_object(part, report)
        return
    drop_server_fields(part, report)
    for scalar in report.unread(part):
        report.drop(scalar, "job.yaml has no word for it")


def _is_named(text: str, item: Part, parts: Sequence[Part]) -> bool:
    """Return whether an object beside an item has a text."""
    return any(scalar.as_text == text for other in parts if other is not item for scalar in other.leaves())


def _refuse_long_texts(data: Any, variant: Variant) -> None:
    """Refuse texts that no cluster accepts before the job is written and checked, which both take long."""
    for path, text in texts(data):
        if len(text) > _LONGEST_TEXT:
            characters = f"{len(text):,} characters; Kubernetes takes at most {_LONGEST_TEXT:,}"
            message = f"{path_name(path)} would have {characters}"
            variant.report.refuse_target(path, variant.job.root, message)


def _write(name: str, variants: Mapping[EnvironmentName, Variant]) -> ImportedJob | None:
    """The job by the strictest Pod Security profile that its pods meet; None where it has what no cluster takes."""
    if [*variants] == [None]:
        (variant,) = variants.values()
        base, data = None, job_data(variant.job, variant.report)
    else:
        base, data = job_with_environments(name, variants)
    _refuse_long_texts(data, variants[base])
    if variants[base].report.problems:
        return None
    job = variants[base].job
    comments = {path: text for path, text in {**job.comments, **rights.comments(data)}.items() if has(data, path)}
    least = at(data, ("spec", "security", "profile")) or PROFILES[0]
    for profile in PROFILES[PROFILES.index(least) :]:
        if profile != least:
            security = data["spec"].get("security", {})
            spec = {
                **data["spec"],
                "security": {"profile": profile, **{k: v for k, v in security.items() if k != "profile"}},
            }
            data = {**data, "spec": spec}
            comments["spec", "security", "profile"] = "The strictest Pod Security profile that these pods meet."
        files = dict.fromkeys(variant.job.root.file for variant in variants.values())
        head = [f"From the {job.format} {data['metadata']['name']} in {either(files, 'and')}, by tfgen import."]
        text = job_text(data, head, comments)
        if not any(problem.rule in _OF_PROFILE for problem in check(text, _FILE).problems):
            break
    _rename(variants, data["metadata"]["name"])
    for variant in variants.values():
        # What several roles say by one part of the source is one entry, now that the job says it once.
        variant.report.entries = list(dict.fromkeys(variant.report.entries))
    origins = {env: Origin(variant.job.root, tuple(variant.report.entries)) for env, variant in variants.items()}
    return ImportedJob(job.format, {base: origins[base], **origins}, data, text)


def _rename(variants: Mapping[EnvironmentName, Variant], name: str) -> None:
    """Say where a job has another name than the foreign one."""
    for variant in variants.values():
        if variant.job.name != name:
            why = f"the job is named {name} in every environment"
            variant.report.entries = [
                entry.replaced(outcome="changed", why=why)
                if entry.target == ("metadata", "name") and entry.outcome == "carried"
                else entry
                for entry in variant.report.entries
            ]


def _mapped(job: ImportedJob) -> Iterator[Problem]:
    """What is wrong with the job, at the lines of the source that it comes from."""
    checked = check(job.text, _FILE)
    (document,) = parse(job.text, _FILE).documents
    paths = dict(_positions(document.root))
    sources: dict[Path, Entry] = {}
    for origin in job.origins.values():
        for entry in origin.entries:
            if entry.target:
                sources.setdefault(entry.target, entry)
    first = next(iter(job.origins.values())).root
    for problem in checked.problems:
        path = paths.get(problem.position, ())
        source = next((sources[path[:n]] for n in range(len(path), 0, -1) if path[:n] in sources), None)
        file, position = (source.file, source.position) if source else (first.file, first.position)
        cure = "; --name gives it another" if path == ("metadata", "name") else ""
        yield problem.replaced(file=file, position=position, message=f"{problem.message}{cure}")


def _positions(tree: SourceTree, path: Path = ()) -> Iterator[tuple[Position, Path]]:
    """The path of what stands at each position; of two at one, the inner."""
    yield tree.position, path
    for key, (position, inner) in tree.children.items():
        yield position, (*path, key)
        yield from _positions(inner, (*path, key))
