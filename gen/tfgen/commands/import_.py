"""``tfgen import``: convert manifests that tfgen did not render to a job.yaml."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias, get_args

from tfgen.check.jobs import check
from tfgen.cli.arguments import choice, flag, option, path, repeatable
from tfgen.cli.output import OK, PROBLEMS, print_message, report
from tfgen.data_path import Path as DataPath
from tfgen.data_path import at, has, texts
from tfgen.errors import Position, Problem, TfgenError, UsageError, has_errors, in_order
from tfgen.graph.graph import plain_objects
from tfgen.importers import COMMANDS, hand_written
from tfgen.importers import FORMATS as JOB_FORMATS
from tfgen.importers.compare import ReportEntry, VariantComparison, bare_job
from tfgen.importers.foreign_job import ForeignJob, with_companions
from tfgen.importers.job_yaml import (
    EnvironmentName,
    base_name,
    comments_on_rights,
    job_data,
    job_text,
    job_with_environments,
    refuse_at,
    source_of,
)
from tfgen.importers.part import WORKFLOWS, Part, is_generated, kind, name, objects, scalar_part
from tfgen.importers.table import REFUSED, Notes, Options, Outcome, refuse_misshapen
from tfgen.importers.tf_config import commands, config_texts
from tfgen.kubernetes.pods import PROFILES, Profile
from tfgen.places import JOB_FILE
from tfgen.record import EMPTY, Record
from tfgen.text.document import Document, YamlNode
from tfgen.text.parse import MAX_BYTES, decode, parse
from tfgen.text.reader import forbidden_character_message
from tfgen.text.yaml_text import find_forbidden_character
from tfgen.tree.new_files import NewFile, add_files
from tfgen.words import command_line, count, either, path_name, printable

EXAMPLE: Final = "tfgen import tfjob.yaml --out mnist/job.yaml"

_KINDS: Final = ("StatefulSet", "Job", "TFJob", "VolcanoJob", "JobSet")


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "files",
        nargs="*",
        type=path,
        metavar="FILE",
        help="manifests, scripts with `arena submit tfjob` or `elasticdl train`, or a folder of kustomize overlays, "
        "one for each environment; - is standard input",
    )
    text = "a command that submits a job: arena submit tfjob ..., or elasticdl train ..."
    repeatable(parser, "--command", "COMMAND", text)
    repeatable(parser, "--env", "NAME=FILE", "the manifests or the overlay of the job in an environment", _environment)
    text = "the job file to write (default: standard output); DIR/ writes a file NAME/job.yaml for each job"
    option(parser, "-o --out", "JOB", text, _destination)
    option(parser, "--name", "NAME", "a new name for the job, if the original name is not valid in tfgen")
    text = "the workload kind of the job (default: StatefulSet, which needs no operator)"
    choice(parser, "--workload", _KINDS, text, _KINDS[0])
    text = "the version of the training operator that ran the job; some defaults of a TFJob depend on the version"
    option(parser, "--operator-version", "X.Y", text, _version)
    flag(parser, "--verify", "exit with code 1 if the imported job differs from its source without a reason")


def _destination(text: str) -> tuple[Path, bool]:
    """Return the value of ``--out``, and whether it is a folder: it ends with a slash, or the folder exists."""
    file = path(text)
    return file, text.endswith("/") or file.is_dir()


def _version(text: str) -> tuple[int, int]:
    major, _, minor_and_patch = text.removeprefix("v").partition(".")
    minor = minor_and_patch.partition(".")[0]
    if not major.isdecimal() or not minor.isdecimal():
        raise ArgumentTypeError(
            f"{text!r} is not a version; write the version of the Kubeflow training operator, such as 1.7"
        )
    return int(major), int(minor)


def run(args: Namespace) -> int:
    options = Options(kind=args.workload, name=args.name, operator=args.operator_version)
    sources, environments = read_manifests(args.files, args.command, args.env)
    imported = import_jobs(sources, options, environments)
    if has_errors(imported.problems):
        report(args, imported.problems, written={"entries": entry_rows(imported.entries)})
        return PROBLEMS
    out, is_folder = args.out or (None, False)
    if out and is_folder:
        files = [NewFile(f"{job.data['metadata']['name']}/{JOB_FILE}", job.text) for job in imported.jobs]
        add_files(out, files)
    elif out:
        add_files(out.parent, [NewFile(out.name, imported.text)])
    elif args.format == "text":
        print(imported.text, end="")
    rows = {"entries": entry_rows(imported.entries), "verified": verified_rows(imported)}
    report(args, imported.problems, written={**rows, "job": imported.text})
    if args.format == "text":
        print_message(report_text(imported), end="")
        if out:
            print_message(f"\nNext:\n\n  {command_line('check', out)}\n  {command_line('render', out)}")
        print_message(advice(imported.jobs), end="")
    return PROBLEMS if args.verify and not imported.is_explained else OK


def _environment(text: str) -> tuple[str, Path]:
    name, _, file = text.partition("=")
    if not re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", name) or not file:
        raise ArgumentTypeError(
            f"{text!r} is not NAME=FILE; write the name of an environment and its file, such as prod=prod.yaml"
        )
    return name, path(file)


_LIVE: Final = (
    "kubectl get tfjobs.kubeflow.org -o yaml | tfgen import -",
    "kubectl get jobs.batch.volcano.sh -o yaml | tfgen import -",
    "kubectl get jobsets.jobset.x-k8s.io -o yaml | tfgen import -",
    "kubectl get trainjobs,trainingruntimes,clustertrainingruntimes -o yaml | tfgen import -",
    "kubectl get statefulsets,deployments,jobs,pods,services,configmaps -o yaml | tfgen import -",
)
"""One command for each kind of live jobs."""

INSTEAD: Final = {"--cluster": "\n  ".join(["pass the live objects to the standard input:", *_LIVE])}
"""An option that the command does not have -> the command lines to use instead, for the error message."""


_STDIN: Final = Path("-")
STDIN_NAME: Final = "<stdin>"
"""The name of standard input in messages."""
_REASONS: Final[Mapping[str, str]] = {
    "PersistentVolumeClaim": "the job refers to the claim by name; keep the claim, which may contain the model",
    "PersistentVolume": "a claim of the job may use this volume; do not delete the volume",
    **dict.fromkeys(
        ("ConfigMap", "Secret", "ServiceAccount"), "the job refers to the object by name; continue to apply the object"
    ),
    "Experiment": (
        "the import reads only the manifest of its trials; in job.yaml, replace each ${trialParameters.NAME} by a value"
    ),
    **dict.fromkeys(
        WORKFLOWS,
        "the import reads only the manifests of its resource templates; in job.yaml, replace each {{NAME}} by a value",
    ),
    "Namespace": "the job runs in the namespace; continue to apply the namespace",
    "Service": "tfgen creates the Services of the job; continue to apply this Service only if a client uses its name",
}
"""Kind of an object that the import did not convert to a job -> reason to keep the object."""
_CREATORS: Final = ("Experiment", *WORKFLOWS)
"""The kinds of objects whose inner manifests the import reads."""

_PROFILE_RULES: Final = ("pod-security", "volume-profile", "root-user")
"""The rules whose problems can disappear if the job gets a weaker Pod Security profile."""

_FILE: Final = "job.yaml"

_LONGEST_TEXT: Final = 1 << 18
"""Maximum number of characters of a text in a job. Kubernetes has this limit for the sum of an object's annotations.

https://github.com/kubernetes/kubernetes/blob/v1.33.0/staging/src/k8s.io/apimachinery/pkg/api/validation/objectmeta.go
"""

_MAX_WORDS: Final = 1_000
"""Maximum number of words in a script of commands. A typical command has a few dozen words."""

_SCRIPT: Final = re.compile(r"\s*(#![^\n]*sh\b|(#[^\n]*\n\s*)*(\$\s+)?(arena|elasticdl)\s)")
"""Pattern of the beginning of a script, for example `arena submit tfjob`."""


class ImportSource(Record):
    """A file with manifests, or with commands such as `arena submit tfjob`, that tfgen imports."""

    file: str
    content: bytes


class ImportedJob(Record):
    """An imported job.

    Attributes:
        format: the name of the original format, such as TFJob.
        variants: the foreign job of each environment. The job without an environment has the key None.
        data: the data of job.yaml.
        text: the text of job.yaml.
        comparisons: the comparison of each variant with the objects of the job.
    """

    format: str
    variants: Mapping[EnvironmentName, ForeignJob]
    data: Mapping[str, Any]
    text: str
    comparisons: Mapping[EnvironmentName, VariantComparison] = EMPTY


class Imported(Record):
    """The result of an import.

    Attributes:
        jobs: the imported jobs; empty if the problems contain an error.
        entries: the entries of the import report; empty if the problems contain an error.
        problems: the problems of the files and of the imported jobs.
        ignored: the number of objects that belong to no job.
    """

    jobs: tuple[ImportedJob, ...]
    entries: tuple[ReportEntry, ...]
    problems: tuple[Problem, ...]
    ignored: int = 0

    @property
    def is_explained(self) -> bool:
        """Whether each difference between the imported jobs and their sources has a reason."""
        return all(entry.is_explained for entry in self.entries)

    @property
    def text(self) -> str:
        """The text of one YAML file with all imported jobs."""
        return "---\n".join(job.text for job in self.jobs)


class _EnvironmentJobs(Record):
    """The jobs that were read from the files of an environment.

    Attributes:
        parts: all objects in the files.
        notes: the notes about the objects that belong to no job.
        variants: the jobs.
        generated: the number of objects that a controller or tfgen created.
    """

    parts: tuple[Part, ...]
    notes: Notes
    variants: tuple[ForeignJob, ...]
    generated: int = 0


_Job: TypeAlias = tuple[str, Mapping[EnvironmentName, ForeignJob]]
"""The name of a job, and environment -> variant of the job."""


def import_jobs(
    sources: Iterable[ImportSource], options: Options, environments: Mapping[str, Sequence[ImportSource]] = EMPTY
) -> Imported:
    """Import all jobs in the files.

    Args:
        sources: the files of the jobs; may be empty if `environments` is not empty.
        options: the options of the import.
        environments: for each environment, the files with the variants of the jobs in this environment.

    Raises:
        UsageError: the files contain no object.
    """
    problems: list[Problem] = []
    base = tuple(sources)
    parsed: dict[EnvironmentName, _Files] = {None: _parse_files(base, problems)} if base else {}
    parsed |= {env: _parse_files(env_sources, problems) for env, env_sources in environments.items()}
    if has_errors(problems):
        return Imported((), (), in_order(problems))
    jobs_by_env = _read_all(parsed, options)
    notes = Notes()
    for env_jobs in jobs_by_env.values():
        notes.problems += env_jobs.notes.problems
    _refuse_second_names(jobs_by_env, notes)
    jobs = [] if has_errors(notes.problems) else _grouped(jobs_by_env, options, notes)
    if has_errors(notes.problems):
        return Imported((), (), in_order(notes.problems))
    imported = [job for name, variants in jobs if (job := _write(name, variants))]
    problems = [problem for env_jobs in jobs_by_env.values() for problem in env_jobs.notes.problems]
    if not has_errors(problems):
        problems += [problem for job in imported for problem in _problems_in_source(job)]
    if has_errors(problems):
        return Imported((), (), in_order(problems))
    compared = tuple(job.replaced(comparisons=_comparisons(job)) for job in imported)
    entries: list[ReportEntry] = []
    ignored = sum(env_jobs.generated for env_jobs in jobs_by_env.values())
    for env, env_jobs in jobs_by_env.items():
        comparisons = [job.comparisons[env] for job in compared if env in job.comparisons]
        entries += (entry for comparison in comparisons for entry in comparison.entries)
        for part in env_jobs.parts:
            is_creator = kind(part) in _CREATORS
            known = next((comparison for comparison in comparisons if comparison.knows(part)), None)
            if known and not is_creator:
                entries += known.report(part)
            elif part.file == STDIN_NAME and not is_creator and not _is_named(name(part), part, env_jobs.parts):
                ignored += 1
            else:
                entries.append(_kept(part, env_jobs.parts))
    # A value that sets a field of several roles has several entries, which are equal if the job sets the field.
    in_file = sorted(dict.fromkeys(entries), key=lambda entry: (entry.file, entry.position))
    problems += (
        Problem(entry.file, entry.position, f"{entry.outcome} {entry.source}: {entry.why}", REFUSED, "warning")
        for entry in in_file
        if not entry.is_explained
    )
    return Imported(compared, tuple(in_file), in_order(problems), ignored)


def _comparisons(job: ImportedJob) -> dict[EnvironmentName, VariantComparison]:
    """Compare each variant of an imported job with the objects of the job in the environment of the variant."""
    bare = bare_job(job.data)
    return {
        env: VariantComparison(variant, job.data, env, plain_objects(job.data, env), plain_objects(bare, env))
        for env, variant in job.variants.items()
    }


_Files: TypeAlias = tuple[list[Document], list[tuple[str, str]]]
"""The YAML documents in the files of an environment, and the name and the text of each script."""


def _parse_files(sources: Iterable[ImportSource], problems: list[Problem]) -> _Files:
    """Parse the files of an environment, and add the problems of the files to `problems`."""
    documents: list[Document] = []
    scripts: list[tuple[str, str]] = []
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
        if parsed.problems and "{{" in text:  # a Helm template, and therefore not valid YAML
            index = text.index("{{")
            position = Position(text.count("\n", 0, index) + 1, index - text.rfind("\n", 0, index))
            message = "found a Helm template, expected YAML; run helm template CHART | tfgen import -"
            problems.append(Problem(source.file, position, message, REFUSED))
        else:
            problems += parsed.problems
    return documents, scripts


def _read_all(parsed: Mapping[EnvironmentName, _Files], options: Options) -> dict[EnvironmentName, _EnvironmentJobs]:
    """Read the jobs of all environments.

    If the jobs have several workers in some environments and a single task in others, import the single task as worker
    0 and not as a chief. So the jobs have the same strategy in all environments.
    """
    jobs_by_env = {env: _read(files, options) for env, files in parsed.items()}
    strategies = {variant.strategy for env_jobs in jobs_by_env.values() for variant in env_jobs.variants}
    if len(parsed) > 1 and strategies == {"Single", "MultiWorkerMirrored"}:
        mirrored = options.replaced(single_task_strategy="MultiWorkerMirrored")
        jobs_by_env = {env: _read(files, mirrored) for env, files in parsed.items()}
    return jobs_by_env


def _read(files: _Files, options: Options) -> _EnvironmentJobs:
    documents, scripts = files
    notes = Notes()
    items = list(objects(documents))
    found = [item for item in items if isinstance(item, Part)]
    notes.problems += [item for item in items if isinstance(item, Problem)]
    parts = [part for part in found if not is_generated(part)]
    for file, script in scripts:
        parts += _submitted(script, file, notes)
    if notes.problems:
        return _EnvironmentJobs((), notes, ())
    variants = tuple(job for job in _jobs(parts, options, notes) if job)
    return _EnvironmentJobs(tuple(parts), notes, variants, sum(map(is_generated, found)))


def _submitted(script: str, file: str, notes: Notes) -> Iterator[Part]:
    """Yield the jobs that the commands of a script submit, such as `arena submit tfjob`."""
    number = 0
    for words in commands(script):
        number += len(words)
        start = scalar_part(file, words[0].position, words[0].text, words[0].text)
        if number > _MAX_WORDS:
            notes.refuse(start, f"the script has more than {_MAX_WORDS:,} words; split the script before this command")
            return
        read = next((read for matches, read in COMMANDS if matches(words)), None)
        if read is None:
            notes.reason(start, "the command does not submit a TensorFlow job")
            continue
        forbidden = [(word, match[0]) for word in words if (match := find_forbidden_character(word.text))]
        for word, character in forbidden:
            notes.refuse(scalar_part(file, word.position, "command", word.text), forbidden_character_message(character))
        if not forbidden and (job := read(words, file, notes)):
            yield job


def _jobs(parts: Sequence[Part], options: Options, notes: Notes) -> Iterator[ForeignJob | None]:
    """Yield each job in the files, or None after a problem.

    An object such as a TFJob is one job. All hand-written objects that run tasks, for example StatefulSets that set
    TF_CONFIG, make one job together.
    """
    jobs = [(part, job_format) for part in parts for job_format in JOB_FORMATS if job_format.matches(part)]
    configs = config_texts(parts)
    tasks = [part for part in parts if hand_written.is_task(part, configs)]
    if not parts:
        raise UsageError("the files contain no object that tfgen can import")
    if not jobs and not tasks:
        kinds = either(sorted({_kind_in_words(part) for part in parts}), "and")
        sources = [job_format.source for job_format in JOB_FORMATS]
        expected = either([*sources, "objects that configure a TensorFlow cluster"], "and")
        notes.refuse(parts[0], f"found {kinds}, but tfgen can import only {expected}")
    # Two jobs cannot create the same ServiceAccount or TensorBoard.
    is_only = len(jobs) + bool(tasks) == 1
    for part, job_format in jobs:
        companions = [item for item in parts if item is not part]
        job = None if refuse_misshapen(part, notes) else job_format.read(part, companions, options, Notes(notes))
        yield with_companions(job, companions) if job and is_only else job
    if tasks:
        companions = [item for item in parts if not any(item is task for task in tasks)]
        job = hand_written.read(tasks, companions, options, Notes(notes))
        yield with_companions(job, companions) if job and is_only else job


def _kind_in_words(item: Part) -> str:
    version = item.get("apiVersion")
    if not kind(item):
        return "an object without a kind"
    return f"{kind(item)} of {version.as_text}" if version and version.as_text else f"{kind(item)} without apiVersion"


def _grouped(jobs_by_env: Mapping[EnvironmentName, _EnvironmentJobs], options: Options, notes: Notes) -> list[_Job]:
    """Return each job with its variants from all environments.

    The name of a variant may contain the environment. For example, mnist-dev and mnist-prod are variants of the job
    mnist.
    """
    if len(jobs_by_env) > 1 and all(len(env_jobs.variants) == 1 for env_jobs in jobs_by_env.values()):
        variants = {env: env_jobs.variants[0] for env, env_jobs in jobs_by_env.items()}
        name = options.name or base_name({env: variant.name for env, variant in variants.items()})
        if name:
            return [(name, variants)]
        names = [f"{variant.name} ({env or 'the job itself'})" for env, variant in variants.items()]
        message = f"the job has the names {either(names, 'and')}; set one name for all environments with --name"
        notes.refuse([*variants.values()][-1].root, message)
        return []
    jobs: dict[str, dict[EnvironmentName, ForeignJob]] = {}
    for env, env_jobs in jobs_by_env.items():
        for variant in env_jobs.variants:
            jobs.setdefault(_name(variant, env, jobs_by_env), {})[env] = variant
    return [*jobs.items()]


def _name(variant: ForeignJob, env: EnvironmentName, jobs_by_env: Mapping[EnvironmentName, _EnvironmentJobs]) -> str:
    """Return the name of the job to which a variant belongs.

    If the import has several environments, remove the environment from the name. For example, mnist-dev in the
    environment dev is a variant of the job mnist.
    """
    return (len(jobs_by_env) > 1 and base_name({env: variant.name})) or variant.name


def _refuse_second_names(jobs_by_env: Mapping[EnvironmentName, _EnvironmentJobs], notes: Notes) -> None:
    """Report an error for two jobs with the same name in an environment. Both jobs would have the same chart."""
    for env, env_jobs in jobs_by_env.items():
        names: set[str] = set()
        for variant in env_jobs.variants:
            name = _name(variant, env, jobs_by_env)
            if name in names:
                message = f"two jobs of the files have the name {name}; import this job separately, with --name"
                notes.refuse(variant.root, message)
            names.add(name)


def _kept(item: Part, parts: Sequence[Part]) -> ReportEntry:
    """Return the entry for an object from which the import has read no value."""
    why = _REASONS.get(kind(item), "the object is not part of the job; continue to apply the object")
    if kind(item) == "ConfigMap" and not _is_named(name(item), item, parts):
        why = "no object of these files uses the ConfigMap; continue to apply it only if another program uses it"
    return ReportEntry(item.file, item.key, "kept", item.name, None, why, is_told=True)


def _is_named(text: str, item: Part, parts: Sequence[Part]) -> bool:
    """Return True if an object other than `item` contains a value that is equal to `text`."""
    return any(scalar.as_text == text for part in parts if part is not item for scalar in part.leaves())


def _write(name: str, variants: Mapping[EnvironmentName, ForeignJob]) -> ImportedJob | None:
    """Return an imported job, with the strictest Pod Security profile that the pods of the job meet.

    Return None after a problem.
    """

    def build(profile: Profile) -> tuple[EnvironmentName, dict[str, Any]]:
        if [*variants] == [None]:
            return None, job_data(variants[None], profile)
        return job_with_environments(name, variants, profile)

    base, data = build(PROFILES[0])
    for place, text in texts(data):
        # Before the slow check of the job.
        if len(text) > _LONGEST_TEXT:
            message = f"{path_name(place)} has {len(text):,} characters; Kubernetes accepts at most {_LONGEST_TEXT:,}"
            refuse_at(place, variants[base], data, message)
    if variants[base].notes.problems:
        return None
    job = variants[base]
    comments = {path: text for path, text in {**job.comments, **comments_on_rights(data)}.items() if has(data, path)}
    least = at(data, ("spec", "security", "profile")) or PROFILES[0]
    for profile in PROFILES[PROFILES.index(least) :]:
        if profile != least:
            _, data = build(profile)
            comments["spec", "security", "profile"] = "The strictest Pod Security profile that these pods meet."
        files = dict.fromkeys(variant.root.file for variant in variants.values())
        head = [f"From the {job.format} {data['metadata']['name']} in {either(files, 'and')}, by tfgen import."]
        text = job_text(data, head, comments)
        if not any(problem.rule in _PROFILE_RULES for problem in check(text, _FILE).problems):
            break
    why = f"the name of the job is {data['metadata']['name']} in every environment"
    for variant in variants.values():
        if variant.name != data["metadata"]["name"]:
            variant.notes.change_target(("metadata", "name"), why, "changed", data["metadata"]["name"])
    return ImportedJob(job.format, {base: variants[base], **variants}, data, text)


def _problems_in_source(job: ImportedJob) -> Iterator[Problem]:
    """Check an imported job. Yield each problem with the position in the original manifest that causes the problem.

    The error of a soft rule is a warning, because the import writes the job in spite of the error.
    """
    checked = check(job.text, _FILE)
    (document,) = parse(job.text, _FILE).documents
    paths = dict(_positions(document.root))
    first = next(iter(job.variants.values())).root
    for problem in checked.problems:
        path = paths.get(problem.position, ())
        found = (source_of(path, variant, job.data, env) for env, variant in job.variants.items())
        file, position = next((place for place in found if place), (first.file, first.position))
        fix = "; set another name with --name" if path == ("metadata", "name") else ""
        if problem.is_soft:  # The job is correct, and its author corrects the text in job.yaml.
            problem, fix = problem.replaced(severity="warning"), " (tfgen render refuses the job)"
        yield problem.replaced(file=file, position=position, message=f"{problem.message}{fix}")


def _positions(tree: YamlNode, path: DataPath = ()) -> Iterator[tuple[Position, DataPath]]:
    """Yield each position in a document with the path of the value at this position.

    If several values have the same position, yield the innermost value last.
    """
    yield tree.position, path
    for key, entry in tree.children.items():
        yield entry.position, (*path, key)
        yield from _positions(entry.value, (*path, key))


def read_manifests(
    files: Iterable[Path], commands: Iterable[str], environments: Iterable[tuple[str, Path]]
) -> tuple[list[ImportSource], dict[str, list[ImportSource]]]:
    """Read the files of an import.

    The first element of the result contains the files of the jobs without an environment. The second element contains
    the files of each environment.

    Args:
        files: manifests, scripts, kustomize overlays, or folders that contain an overlay for each environment; -
            is standard input.
        commands: commands that submit a job.
        environments: the name and the file or overlay of each environment.

    Raises:
        UsageError: the arguments name no input, or a file cannot be read.
        TfgenError: kustomize fails.
    """
    sources: list[ImportSource] = []
    by_environment: dict[str, list[ImportSource]] = {}
    for file in files:
        if file.is_dir() and not _kustomization(file):
            for name, overlay in _overlays(file).items():
                by_environment.setdefault(name, []).append(_source(overlay))
        else:
            sources.append(_source(file))
    sources += [ImportSource("--command", os.fsencode(command)) for command in commands]
    for name, file in environments:
        by_environment.setdefault(name, []).append(_source(file))
    if not sources and not by_environment:
        raise UsageError("nothing to import; add a file, - for standard input, --command or --env NAME=FILE")
    return sources, by_environment


def _source(file: Path) -> ImportSource:
    if file.is_dir():
        return ImportSource(f"kustomize build {file}", _build(file))
    if file == _STDIN:
        if sys.stdin is None:
            raise UsageError("-: the standard input is closed")
        return ImportSource(STDIN_NAME, sys.stdin.buffer.read(MAX_BYTES + 1))
    try:
        with file.open("rb") as stream:
            return ImportSource(str(file), stream.read(MAX_BYTES + 1))
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from error


_FILES: Final = ("kustomization.yaml", "kustomization.yml", "Kustomization")
"""The file names that kustomize accepts for a kustomization."""
_BASE: Final = "base"
"""The usual name of the kustomize base, which is not an environment."""


def _kustomization(folder: Path) -> Path | None:
    """Return the kustomization in a folder, so that kustomize can build the folder; None for another folder."""
    return next((file for name in _FILES if (file := folder / name).is_file()), None)


def _overlays(folder: Path) -> Mapping[str, Path]:
    """Return the path of each overlay in a folder, by the name of the overlay. Omit the base and kustomize components.

    Raises:
        UsageError: the folder has no overlay.
    """
    overlays: dict[str, Path] = {}
    for place in sorted(folder.iterdir()):
        file = _kustomization(place) if place.name != _BASE else None
        if file:
            with file.open("rb") as stream:
                text = decode(stream.read(MAX_BYTES + 1), str(file))
            documents = parse(text, str(file)).documents if isinstance(text, str) else ()
            kinds = [document.data.get("kind") for document in documents if isinstance(document.data, dict)]
            if "Component" not in kinds:
                overlays[place.name] = place
    if not overlays:
        raise UsageError(f"{folder}: no kustomize overlay; expected a {_FILES[0]} in the folder or in its subfolders")
    return overlays


def _build(folder: Path) -> bytes:
    """Return the output of kustomize for an overlay.

    Raises:
        TfgenError: kustomize is missing, or cannot build the folder.
    """
    programs = [name for name in ("kustomize", "kubectl") if shutil.which(name)]
    if not programs:
        raise TfgenError(f"{folder}: the PATH has no kustomize and no kubectl; install kustomize or kubectl")
    command = ("kustomize", "build") if programs[0] == "kustomize" else ("kubectl", "kustomize")
    argv = (*command, "--", str(folder))
    process = subprocess.run(argv, capture_output=True, check=False)  # noqa: S603 - no shell
    if process.returncode:
        reason = process.stderr.decode("utf-8", errors="replace").strip()
        raise TfgenError(f"{shlex.join(argv)} ended with code {process.returncode}: {reason}")
    return process.stdout


def entry_rows(entries: Iterable[ReportEntry]) -> list[dict[str, Any]]:
    """Return the entries of an import report as plain data for JSON."""
    return [
        {
            "file": entry.file,
            "line": entry.position.line,
            "column": entry.position.column,
            "outcome": entry.outcome,
            "source": entry.source,
            "target": path_name(entry.target) if entry.target else None,
            "why": entry.why,
        }
        for entry in entries
    ]


def advice(jobs: Iterable[ImportedJob]) -> str:
    """Return text with the steps that replace an old job by the new job without a loss of the data in the claims.

    The text is empty if no new job uses an existing claim.
    """
    claims = sorted({claim for job in jobs for claim in _claims(job.data)})
    if not claims:
        return ""
    noun, subject = ("claims", "the claims stay") if len(claims) > 1 else ("claim", "the claim stays")
    return (
        f"\nThe job uses the existing {noun} {either(claims, 'and')}, and creates no claim. To keep the model:\n\n"
        f"  1. Make sure that {subject} when the old job is deleted. For Helm, add the annotation\n"
        "     helm.sh/resource-policy: keep. For Argo CD or Flux, disable pruning of the object.\n"
        "  2. Let the old job end, or delete the old job: two jobs would write to the same folder.\n"
        "  3. Apply the new job.\n"
    )


def _claims(data: Mapping[str, Any]) -> Iterator[str]:
    spec = data["spec"]
    for values in (spec, *spec.get("environments", {}).values()):
        for volume in values.get("storage", {}).values():
            claim = (volume or {}).get("claim") or {}
            if "name" in claim:
                yield claim["name"]
    yield from (text for path, text in texts(spec) if path[-1] == "claimName")


def verified_rows(imported: Imported) -> list[dict[str, Any]]:
    """Return the differences between imported jobs and their sources as plain data for JSON."""
    return [
        {
            "form": job.format,
            "job": job.data["metadata"]["name"],
            "environment": environment,
            "differences": [
                {"field": entry.source, "change": entry.outcome, "why": entry.why if entry.is_explained else ""}
                for entry in comparison.all_entries
                if entry.outcome != "carried"
            ],
        }
        for job in imported.jobs
        for environment, comparison in job.comparisons.items()
    ]


def report_text(imported: Imported) -> str:
    """Return the import report as text: the changed and dropped settings, the objects to keep, and the rest as numbers.

    The report omits the differences without a reason, which are warnings.
    """
    told = [entry for entry in imported.entries if entry.is_told and entry.is_explained]
    ordered = sorted(told, key=lambda entry: get_args(Outcome).index(entry.outcome))
    quiet = [entry for entry in imported.entries if not entry.is_told and entry.why and entry.outcome != "carried"]
    reasons = Counter((entry.outcome, entry.why) for entry in quiet)
    lines = [str(entry) for entry in ordered]
    lines += [f"{count(number, 'setting')} {outcome}: {why}" for (outcome, why), number in reasons.items()]
    if imported.ignored:
        lines.append(f"{count(imported.ignored, 'object')} ignored, which belong to no job")
    outcomes = [entry.outcome for entry in imported.entries]
    summary = ", ".join(f"{outcomes.count(outcome)} {outcome}" for outcome in get_args(Outcome))
    lines.append(f"{count(len(imported.jobs), 'job')}: {summary}")
    lines += [_verdict(job, environment) for job in imported.jobs for environment in job.comparisons]
    of_jobs = [entry for job in imported.jobs for variant in job.comparisons.values() for entry in variant.all_entries]
    if not all(entry.is_explained or entry in of_jobs for entry in imported.entries):
        lines.append("other objects: differ; see the warnings")
    return "".join(f"{printable(line)}\n" for line in lines)


def _verdict(job: ImportedJob, environment: str | None) -> str:
    place = f" in {environment}" if environment else ""
    differences = [entry for entry in job.comparisons[environment].all_entries if entry.outcome != "carried"]
    is_equal = all(entry.is_explained for entry in differences)
    verdict = "differs; see the warnings" if not is_equal else "equal, except for the above" if differences else "equal"
    return f"{job.format} {job.data['metadata']['name']}{place}: {verdict}"
