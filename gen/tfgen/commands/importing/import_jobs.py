"""Convert manifests of other tools to job.yaml, and report the outcome for each line of the manifests."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from tfgen.check.jobs import check
from tfgen.data_path import Path, at, has, texts
from tfgen.errors import Position, Problem, UsageError, has_errors, in_order
from tfgen.importers import COMMANDS, FORMATS, hand_written, rights
from tfgen.importers.command_line import Word, commands
from tfgen.importers.environments import EnvironmentName, Variant, base_name, job_with_environments
from tfgen.importers.foreign_job import ForeignJob
from tfgen.importers.import_report import REFUSED, Entry, ImportReport
from tfgen.importers.job_data import job_data
from tfgen.importers.job_text import job_text
from tfgen.importers.objects import keep_object, kind, mark_server_fields_read, name, objects
from tfgen.importers.options import Options
from tfgen.importers.part import Part, scalar_part
from tfgen.importers.service_account import with_service_account
from tfgen.kubernetes.pods import PROFILES
from tfgen.record import EMPTY, Record
from tfgen.text.document import Document, YamlNode
from tfgen.text.parse import decode, parse
from tfgen.text.reader import forbidden_character_message
from tfgen.text.yaml_text import find_forbidden_character
from tfgen.words import either, path_name

RULES: Final[Mapping[str, str]] = {
    REFUSED: "The manifest that `tfgen import` reads has a setting that job.yaml cannot express.",
}
"""Rule id -> description, for the problems of `tfgen import`."""

_PROFILE_RULES: Final = ("pod-security", "volume-profile", "root-user")
"""The rules whose problems can disappear if the job gets a weaker Pod Security profile."""

NO_EQUIVALENT: Final = "job.yaml has no equivalent"
"""The reason in the import report for a value that no importer reads."""

_FILE: Final = "job.yaml"

_LONGEST_TEXT: Final = 1 << 18
"""Maximum number of characters of a text in a job. Kubernetes has this limit for the sum of an object's annotations.

https://github.com/kubernetes/kubernetes/blob/v1.33.0/staging/src/k8s.io/apimachinery/pkg/api/validation/objectmeta.go
"""

_MAX_WORDS: Final = 1_000
"""Maximum number of words in a script of commands. A typical command has a few dozen words."""

_SCRIPT: Final = re.compile(r"\s*(#![^\n]*sh\b|(#[^\n]*\n\s*)*(\$\s+)?(arena|elasticdl)\s)")
"""Pattern of the beginning of a script, for example `arena submit tfjob`."""


class Source(Record):
    """A file with manifests, or with commands such as `arena submit tfjob`, that tfgen imports."""

    file: str
    content: bytes


class Origin(Record):
    """The object from which tfgen imported a job, or an environment of a job.

    Attributes:
        root: the object.
        entries: the entries of the import report about the object.
    """

    root: Part
    entries: tuple[Entry, ...]


class ImportedJob(Record):
    """An imported job.

    Attributes:
        format: the name of the original format, such as TFJob.
        origins: the imported object of each environment, with its report entries. The job without an environment has
            the key None.
        data: the data of job.yaml.
        text: the text of job.yaml.
    """

    format: str
    origins: Mapping[EnvironmentName, Origin]
    data: Mapping[str, Any]
    text: str


class Imported(Record):
    """The result of an import.

    Attributes:
        jobs: the imported jobs; empty if the problems contain an error.
        entries: the entries of the import report.
        problems: the problems of the files and of the imported jobs.
    """

    jobs: tuple[ImportedJob, ...]
    entries: tuple[Entry, ...]
    problems: tuple[Problem, ...]

    @property
    def text(self) -> str:
        """The text of one YAML file with all imported jobs."""
        return "---\n".join(job.text for job in self.jobs)


class _EnvironmentJobs(Record):
    """The jobs that were read from the files of an environment.

    Attributes:
        parts: all objects in the files.
        report: the import report about the objects that belong to no job.
        variants: the jobs with their import reports.
    """

    parts: tuple[Part, ...]
    report: ImportReport
    variants: tuple[Variant, ...]


_Job: TypeAlias = tuple[str, Mapping[EnvironmentName, Variant]]
"""The name of a job, and environment -> variant of the job."""


def import_jobs(
    sources: Iterable[Source], options: Options, environments: Mapping[str, Sequence[Source]] = EMPTY
) -> Imported:
    """Import all jobs in the files.

    Args:
        sources: the files of the jobs; may be empty if `environments` is not empty.
        options: the options of the import.
        environments: for each environment, the files with the variants of the jobs in this environment.

    Raises:
        UsageError: the files contain no object.
    """
    files: dict[EnvironmentName, Sequence[Source]] = {None: tuple(sources)}
    files.update(environments)
    parsed = {env: _parse_files(env_sources) for env, env_sources in files.items() if env_sources or env is not None}
    problems = [problem for parsed_files in parsed.values() for problem in parsed_files.problems]
    if has_errors(problems):
        return Imported((), (), in_order(problems))
    jobs_by_env = _read_all(parsed, options)
    report = ImportReport()
    for env_jobs in jobs_by_env.values():
        report.problems += env_jobs.report.problems
    _refuse_second_names(jobs_by_env, report)
    jobs = [] if has_errors(report.problems) else _grouped(jobs_by_env, options, report)
    if has_errors(report.problems):
        return Imported((), tuple(_entries(jobs_by_env)), in_order(report.problems))
    for env_jobs in jobs_by_env.values():
        for part in env_jobs.parts:
            _report_object(part, env_jobs.parts, env_jobs.report)
    imported = [job for name, variants in jobs if (job := _write(name, variants))]
    problems = [problem for env_jobs in jobs_by_env.values() for problem in env_jobs.report.problems]
    if not has_errors(problems):
        problems += [problem for job in imported for problem in _problems_in_source(job)]
    if has_errors(problems):
        return Imported((), tuple(_entries(jobs_by_env)), in_order(problems))
    entries = sorted(_entries(jobs_by_env), key=lambda entry: (entry.file, entry.position))
    return Imported(tuple(imported), tuple(entries), in_order(problems))


def _entries(jobs_by_env: Mapping[EnvironmentName, _EnvironmentJobs]) -> Iterator[Entry]:
    for env_jobs in jobs_by_env.values():
        yield from env_jobs.report.entries
        for variant in env_jobs.variants:
            yield from variant.report.entries


class _ParsedFiles(Record):
    """The parsed files of an environment.

    Attributes:
        documents: the YAML documents.
        scripts: the name and the text of each script.
        problems: the problems of the files.
    """

    documents: tuple[Document, ...]
    scripts: tuple[tuple[str, str], ...]
    problems: tuple[Problem, ...]


def _parse_files(sources: Iterable[Source]) -> _ParsedFiles:
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
        problems += [_template_problem(text, source.file)] if parsed.problems and "{{" in text else parsed.problems
    return _ParsedFiles(tuple(documents), tuple(scripts), tuple(problems))


def _template_problem(text: str, file: str) -> Problem:
    """Return the problem for a file that is a Helm template, and therefore not valid YAML."""
    index = text.index("{{")
    line, column = text.count("\n", 0, index) + 1, index - text.rfind("\n", 0, index)
    message = "found a Helm template, expected YAML; run helm template CHART | tfgen import -"
    return Problem(file, Position(line, column), message, REFUSED)


def _read_all(
    parsed: Mapping[EnvironmentName, _ParsedFiles], options: Options
) -> dict[EnvironmentName, _EnvironmentJobs]:
    """Read the jobs of all environments.

    If the jobs have several workers in some environments and a single task in others, import the single task as worker
    0 and not as a chief. So the jobs have the same strategy in all environments.
    """
    jobs_by_env = {env: _read(files, options) for env, files in parsed.items()}
    strategies = {variant.job.strategy for env_jobs in jobs_by_env.values() for variant in env_jobs.variants}
    if len(parsed) > 1 and strategies == {"Single", "MultiWorkerMirrored"}:
        mirrored = options.replaced(single_task_strategy="MultiWorkerMirrored")
        jobs_by_env = {env: _read(files, mirrored) for env, files in parsed.items()}
    return jobs_by_env


def _read(files: _ParsedFiles, options: Options) -> _EnvironmentJobs:
    report = ImportReport()
    parts = [part for part in objects(files.documents) if part.value is not None]
    for file, script in files.scripts:
        parts += _submitted(script, file, report)
    if report.problems:
        return _EnvironmentJobs((), report, ())
    variants = [Variant(job, job_report) for job, job_report in _jobs(parts, options, report) if job]
    return _EnvironmentJobs(tuple(parts), report, tuple(variants))


def _submitted(script: str, file: str, report: ImportReport) -> Iterator[Part]:
    """Yield the jobs that the commands of a script submit, such as `arena submit tfjob`."""
    number = 0
    for words in commands(script):
        number += len(words)
        if number > _MAX_WORDS:
            start = scalar_part(file, words[0].position, words[0].text, words[0].text)
            report.refuse(start, f"the script has more than {_MAX_WORDS:,} words; split the script before this command")
            return
        read = next((read for matches, read in COMMANDS if matches(words)), None)
        if read:
            job = None if _refuse_forbidden_characters(words, file, report) else read(words, file, report)
            if job:
                yield job
        else:
            word = scalar_part(file, words[0].position, words[0].text, words[0].text)
            report.drop(word, "the command does not submit a TensorFlow job")


def _refuse_forbidden_characters(words: Sequence[Word], file: str, report: ImportReport) -> bool:
    """Report each word of a command that contains a character forbidden in YAML. Return True after such a report."""
    refused = [(word, match[0]) for word in words if (match := find_forbidden_character(word.text))]
    for word, character in refused:
        report.refuse(scalar_part(file, word.position, "command", word.text), forbidden_character_message(character))
    return bool(refused)


def _jobs(
    parts: Sequence[Part], options: Options, report: ImportReport
) -> Iterator[tuple[ForeignJob | None, ImportReport]]:
    """Yield each job in the files with its import report. The job is None if the import report has problems.

    An object such as a TFJob is one job. All hand-written objects that run tasks, for example StatefulSets that set
    TF_CONFIG, make one job together.
    """
    jobs = [(part, job_format) for part in parts for job_format in FORMATS if job_format.matches(part)]
    tasks = [part for part in parts if hand_written.is_task(part)]
    if not parts:
        raise UsageError("the files contain no object that tfgen can import")
    if not jobs and not tasks:
        kinds = either(sorted({_kind_in_words(part) for part in parts}), "and")
        sources = [job_format.source for job_format in FORMATS]
        expected = either([*sources, "objects that configure a TensorFlow cluster"], "and")
        report.refuse(parts[0], f"found {kinds}, but tfgen can import only {expected}")
    # Two jobs cannot create the same ServiceAccount.
    is_only = len(jobs) + bool(tasks) == 1
    for part, job_format in jobs:
        job_report = ImportReport(report)
        companions = [item for item in parts if item is not part]
        job = job_format.read(part, companions, options, job_report)
        yield job and with_service_account(job, companions if is_only else (), job_report), job_report
    if tasks:
        job_report = ImportReport(report)
        companions = [item for item in parts if not any(item is task for task in tasks)]
        job = hand_written.read(tasks, companions, options, job_report)
        yield job and with_service_account(job, companions if is_only else (), job_report), job_report


def _kind_in_words(item: Part) -> str:
    version = item.get("apiVersion")
    if not kind(item):
        return "an object without a kind"
    return f"{kind(item)} of {version.as_text}" if version and version.as_text else f"{kind(item)} without apiVersion"


def _grouped(
    jobs_by_env: Mapping[EnvironmentName, _EnvironmentJobs], options: Options, report: ImportReport
) -> list[_Job]:
    """Return each job with its variants from all environments.

    The name of a variant may contain the environment. For example, mnist-dev and mnist-prod are variants of the job
    mnist.
    """
    if len(jobs_by_env) == 1:
        ((env, env_jobs),) = jobs_by_env.items()
        return [(_name(variant, env, jobs_by_env), {env: variant}) for variant in env_jobs.variants]
    if all(len(env_jobs.variants) == 1 for env_jobs in jobs_by_env.values()):
        variants = {env: env_jobs.variants[0] for env, env_jobs in jobs_by_env.items()}
        name = options.name or base_name({env: variant.job.name for env, variant in variants.items()})
        if name:
            return [(name, variants)]
        names = [f"{variant.job.name} ({env or 'the job itself'})" for env, variant in variants.items()]
        message = f"the job has the names {either(names, 'and')}; set one name for all environments with --name"
        report.refuse([*variants.values()][-1].job.root, message)
        return []
    jobs: dict[str, dict[EnvironmentName, Variant]] = {}
    for env, env_jobs in jobs_by_env.items():
        for variant in env_jobs.variants:
            jobs.setdefault(_name(variant, env, jobs_by_env), {})[env] = variant
    return [*jobs.items()]


def _name(variant: Variant, env: EnvironmentName, jobs_by_env: Mapping[EnvironmentName, _EnvironmentJobs]) -> str:
    """Return the name of the job to which a variant belongs.

    If the import has several environments, remove the environment from the name. For example, mnist-dev in the
    environment dev is a variant of the job mnist.
    """
    return (len(jobs_by_env) > 1 and base_name({env: variant.job.name})) or variant.job.name


def _refuse_second_names(jobs_by_env: Mapping[EnvironmentName, _EnvironmentJobs], report: ImportReport) -> None:
    """Report an error for two jobs with the same name in an environment. Both jobs would have the same chart."""
    for env, env_jobs in jobs_by_env.items():
        names: set[str] = set()
        for variant in env_jobs.variants:
            name = _name(variant, env, jobs_by_env)
            if name in names:
                message = f"two jobs of the files have the name {name}; import this job separately, with --name"
                report.refuse(variant.job.root, message)
            names.add(name)


def _report_object(part: Part, parts: Sequence[Part], report: ImportReport) -> None:
    """Report an object as kept if the import has read no value of the object.

    For all other objects, report the unread values as dropped. Skip the fields that the API server added.
    """
    unread = list(report.unread(part))
    if len(unread) == sum(1 for _ in part.leaves()):
        if kind(part) == "ConfigMap" and not _is_named(name(part), part, parts):
            why = "no object of these files uses the ConfigMap; continue to apply it only if another program uses it"
            report.keep(part, why)
        else:
            keep_object(part, report)
        return
    mark_server_fields_read(part, report)
    for scalar in report.unread(part):
        report.drop(scalar, NO_EQUIVALENT)


def _is_named(text: str, item: Part, parts: Sequence[Part]) -> bool:
    """Return True if an object other than `item` contains a value that is equal to `text`."""
    return any(scalar.as_text == text for part in parts if part is not item for scalar in part.leaves())


def _refuse_long_texts(data: Any, variant: Variant) -> None:
    """Report an error for each text that is too long for Kubernetes, before the slow check of the job."""
    for path, text in texts(data):
        if len(text) > _LONGEST_TEXT:
            message = f"{path_name(path)} has {len(text):,} characters; Kubernetes accepts at most {_LONGEST_TEXT:,}"
            variant.report.refuse_target(path, variant.job.root, message)


def _write(name: str, variants: Mapping[EnvironmentName, Variant]) -> ImportedJob | None:
    """Return an imported job, with the strictest Pod Security profile that the pods of the job meet.

    Return None if the import report has problems.
    """
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
        if not any(problem.rule in _PROFILE_RULES for problem in check(text, _FILE).problems):
            break
    _rename(variants, data["metadata"]["name"])
    for variant in variants.values():
        # A value that sets a field of several roles has several entries, which are equal if the job sets the field.
        variant.report.entries = list(dict.fromkeys(variant.report.entries))
    origins = {env: Origin(variant.job.root, tuple(variant.report.entries)) for env, variant in variants.items()}
    return ImportedJob(job.format, {base: origins[base], **origins}, data, text)


def _rename(variants: Mapping[EnvironmentName, Variant], name: str) -> None:
    """Report the name of a job as changed in each environment in which the foreign job had a different name."""
    for variant in variants.values():
        if variant.job.name != name:
            why = f"the name of the job is {name} in every environment"
            variant.report.entries = [
                entry.replaced(outcome="changed", why=why)
                if entry.target == ("metadata", "name") and entry.outcome == "carried"
                else entry
                for entry in variant.report.entries
            ]


def _problems_in_source(job: ImportedJob) -> Iterator[Problem]:
    """Check an imported job. Yield each problem with the position in the original manifest that causes the problem."""
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
        fix = "; set another name with --name" if path == ("metadata", "name") else ""
        yield problem.replaced(file=file, position=position, message=f"{problem.message}{fix}")


def _positions(tree: YamlNode, path: Path = ()) -> Iterator[tuple[Position, Path]]:
    """Yield each position in a document with the path of the value at this position.

    If several values have the same position, yield the innermost value last.
    """
    yield tree.position, path
    for key, entry in tree.children.items():
        yield entry.position, (*path, key)
        yield from _positions(entry.value, (*path, key))
