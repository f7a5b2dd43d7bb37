"""Check of a single job file: YAML, the schema, the rules, the layers of the file, and the severities of its problems.

    tfgen.yaml      rules: {latest-tag: {severity: error}}
    job.yaml        image: tf:latest  # tfgen: ignore latest-tag it moves on purpose

A problem that is an error by default remains an error, because a cluster would refuse the job, or the chart would give
different objects than the overlays. The exceptions are the errors of a soft rule (`Rule.is_soft`), which have settings
and comments as warnings have. A comment with a reason ignores a warning, even if `severity: error` or
`warningsAsErrors` makes the warning an error. With `ignorable: false`, no comment ignores the problems of a rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

from tfgen import data_path
from tfgen.check.checked import CheckResult, ReadFile, Reported, record_job
from tfgen.check.namespace import RULES as NAMESPACE_RULES
from tfgen.check.object_table import WARNINGS as OBJECT_WARNINGS
from tfgen.data_path import until_unknown
from tfgen.errors import Place, Problem
from tfgen.fix import NO_HINT, Fix, Hint, Rename, Replacement, meant, removal
from tfgen.job import sources
from tfgen.job.sources import Source, parse_source
from tfgen.rails.allowed import find_disallowed
from tfgen.rails.enforce import check_enforced_paths, find_overrides
from tfgen.rails.rail import GUARD_RAIL, LOOSENED, severities_of
from tfgen.rails.versions import GUARD_RAILS, ReadLayer, check_rails
from tfgen.record import EMPTY
from tfgen.rules.across import ACROSS
from tfgen.rules.rule import AcrossRule, Clash, Rule
from tfgen.rules.table import RULES as JOB_RULES
from tfgen.rules.view import View, views
from tfgen.schema import validate as schema
from tfgen.text.document import MAX_SIZE, Directive, Document, YamlNode
from tfgen.words import ALSO, in_environments, nearest, path_name, shown

MAX_PROBLEMS: Final = 100
"""Maximum number of problems of one rule in one document, because a hostile file may have a million problems."""


_NAME: Final = ("metadata", "name")

_MIN_COST: Final = 170
"""Cost of checking the smallest job, as a number of values."""

_MAX_ENVIRONMENTS: Final = 50
"""Maximum number of environments. The schema refuses more environments, so the rules do not check such a job."""

_Read: TypeAlias = Callable[[Iterable[Any]], Iterator[Any]]
"""Function that yields the items of an iterable: all items, or the items before the use of an unknown value."""


def check_source(source: Source, layers: dict[str, ReadLayer], *, is_guarded: bool) -> ReadFile:
    """Check one job file: the YAML, the schema, the rules, and the guard rails of its tfgen.yaml files.

    Args:
        source: the file.
        layers: the layers that tfgen has already read, by the name of the file. The function adds the layers of the
            source.
        is_guarded: True if the guard rails of tfgen.yaml apply.
    """
    layer = read_layer(source.defaults, layers, is_guarded=is_guarded)
    parsed = parse_source(source)
    documents: list[Document] = []
    accepted: list[Document] = []
    problems = [*parsed.problems]
    ignored: list[Problem] = []
    # The parser replaces an invalid value, so the schema would report the same position again.
    refused = {problem.place for problem in parsed.problems}
    size = 0
    for read in parsed.documents:
        document = sources.merge_job(read, layer.defaults) if layer.defaults else read
        documents.append(document)
        size += _size(document)
        if size > MAX_SIZE:
            message = (
                f"with this document, the file has more than {MAX_SIZE:,} values (a value of a job counts once for "
                "each environment); move each document to a separate file, or split the job"
            )
            problems.append(Problem(document.file, document.value(()), message, "yaml-size"))
            break
        if layer.problems:
            of_values = schema.check_alone(document)
            problems += (problem for problem in of_values if problem.place not in refused)
            continue
        validated = schema.validate(document)
        problems += (problem for problem in validated.problems if problem.place not in refused)
        if not validated.problems:
            accepted.append(document)
        reported = _rule_report(validated, is_guarded=is_guarded)
        problems += reported.problems
        ignored += reported.ignored
    problems += check_comments(documents) if is_guarded else ()
    result = CheckResult(
        reported=Reported(tuple(problems), tuple(ignored)),
        records=tuple(map(record_job, accepted)),
        names=tuple(name for document in documents if isinstance(name := data_path.at(document.data, _NAME), str)),
    )
    return ReadFile(source, tuple(documents), tuple(accepted), result)


def report_clash(file: ReadFile, at: int, rule: AcrossRule, clash: Clash, *, is_guarded: bool) -> Reported:
    """Return the problem that reports a conflict between two or more jobs.

    Args:
        file: the job file with the job at which tfgen reports the conflict.
        at: the index of this job in `file.accepted`.
        rule: the rule that found the conflict.
        clash: the conflict.
        is_guarded: True if the severities and the ignore comments of the job apply to the problem.
    """
    document = file.accepted[at]
    place = Place(document.source(clash.path), document.value(clash.path))
    problem = Problem(*place, clash.message, rule.id, rule.severity, rule.fixes(document, clash))
    return set_severities(document, (problem,), is_guarded=is_guarded)


def _size(document: Document) -> int:
    """Return the cost of checking a document, which is the number of values times the number of variants."""
    environments = data_path.at(document.data, ("spec", "environments"))
    variants = 1 + (len(environments) if isinstance(environments, dict) else 0)
    size = _MIN_COST + sum(_count_values(layer.root) for layer in document.layers())
    return size * (variants if variants <= _MAX_ENVIRONMENTS + 1 else 1)


def _count_values(tree: YamlNode) -> int:
    return 1 + sum(_count_values(entry.value) for entry in tree.children.values())


def read_layer(source: Source | None, layers: dict[str, ReadLayer], *, is_guarded: bool) -> ReadLayer:
    """Return the layer of the tfgen.yaml `source` from `layers`. If `layers` lacks the file, read and add the file."""
    if source is None:
        return ReadLayer()
    if source.file not in layers:
        parent = read_layer(source.defaults, layers, is_guarded=is_guarded)
        layers[source.file] = _new_layer(source, parent, is_guarded=is_guarded)
    return layers[source.file]


def _new_layer(source: Source, parent: ReadLayer, *, is_guarded: bool) -> ReadLayer:
    parsed = parse_source(source)
    problems = list(parsed.problems)
    for document in parsed.documents[1:]:
        message = "a tfgen.yaml has only one document; move the content into the first document"
        problems.append(Problem(document.file, document.value(()), message, "wrong-kind"))
    refused = {problem.place for problem in problems}
    documents, check = parsed.documents[:1], schema.check_defaults_alone
    if not parent.problems:
        documents = tuple(sources.merge_layer(document, parent.defaults) for document in documents)
        check = schema.check_defaults
    schema_problems = [problem for document in documents for problem in check(document)]
    problems += (problem for problem in schema_problems if problem.place not in refused)
    problems += check_comments(documents) if is_guarded else ()
    problems += parent.problems
    if is_guarded and not problems:
        problems += _guard_rail_problems(source, documents[0])
    return ReadLayer(problems=tuple(problems)) if problems else ReadLayer(documents[0])


def _overrides(document: Document) -> Iterator[Problem]:
    """Yield a problem for each value of a job, or of a tfgen.yaml, that breaks a guard rail of a parent folder."""
    yield from find_overrides(document)
    yield from find_disallowed(document)


def _guard_rail_problems(source: Source, document: Document) -> Iterator[Problem]:
    """Yield the problems of a tfgen.yaml's guard rails, including rails that are looser than in a parent folder."""
    yield from check_severities(document)
    yield from check_rails(document)
    yield from check_enforced_paths(document)
    yield from _overrides(document)
    left_out = source.left_out
    while left_out is not None:
        for layer in parse_source(left_out).documents[:1]:
            if rail := next((key for key in GUARD_RAILS if data_path.at(layer.data, (key,))), None):
                place = Place(layer.file, layer.key((rail,)))
                fix = removal(("root",), "root")
                message = f"root: true excludes {rail} of {place}, which must apply to this folder; {fix.words}"
                yield Problem(*document.place(("root",)), message, GUARD_RAIL, fixes=(fix,))
        left_out = left_out.defaults or left_out.left_out


def _rule_report(validated: schema.Validated, *, is_guarded: bool) -> Reported:
    """Return the problems that the guard rails and the rules find in a job and its environments.

    If the schema refuses a part of the job, a rule finds only mistakes that do not depend on this part.
    """
    document = validated.document
    read = until_unknown if validated.problems else iter
    overrides = tuple(read(_overrides(document))) if is_guarded else ()
    # The error on an enforced value replaces the warnings at the same position.
    overridden = {problem.place for problem in overrides}
    rule_problems = (
        problem
        for problem in read(_rule_problems(document, read))
        if problem.severity == "error" or problem.place not in overridden
    )
    reported = set_severities(document, rule_problems, is_guarded=is_guarded)
    return Reported((*overrides, *reported.problems), reported.ignored)


def _rule_problems(document: Document, read: _Read) -> Iterator[Problem]:
    """Yield a problem for each mistake that the rules find. `read` ends the findings of a rule at an unknown value."""
    variants = views(document)
    for rule in JOB_RULES:
        for (place, _), occurrence in _findings(rule, variants, read).items():
            # The message also names environments with a different message.
            differ = len(set(occurrence.messages)) > 1
            named = (name for name in occurrence.environments if name is not None)
            where = in_environments(occurrence.environments) or (in_environments(named, ALSO) if differ else "")
            message = f"{occurrence.messages[0]}{where}"
            yield Problem(*place, message, rule.id, rule.severity, occurrence.fixes, rule.is_soft)


class _Occurrence(NamedTuple):
    """A mistake at one line, which a rule finds in one or more variants of a job.

    Attributes:
        messages: the message for each variant. tfgen reports only the first message.
        environments: for each variant, the environment that the message must name, or None. The message names no
            environment for a mistake of the job itself, or for a mistake at a line inside the mapping of an
            environment.
        fixes: the fixes in the first variant, with paths of the document.
    """

    messages: list[str]
    environments: list[str | None]
    fixes: tuple[Fix, ...]


def _findings(rule: Rule, variants: Sequence[View], read: _Read) -> dict[tuple[Place, str], _Occurrence]:
    """Return the first `MAX_PROBLEMS` mistakes that a rule finds, by the line and the cause of the mistake.

    tfgen reports a mistake once, even if several variants have the mistake with different messages. So the cause is a
    text that is equal in all variants: `Finding.cause` or, if this text is empty, the message.
    """
    occurrences: dict[tuple[Place, str], _Occurrence] = {}
    findings = ((variant, finding) for variant in variants for finding in read(rule.check(variant)))
    for view, (path, message, cause, fixes) in findings:
        place, environment = view.locate(path)
        key = (place, cause or message)
        if key not in occurrences:
            in_document = tuple(fix.moved(partial(view.written_path, path)) for fix in fixes)
            occurrences[key] = _Occurrence([], [], in_document)
        occurrence = occurrences[key]
        occurrence.messages.append(message)
        occurrence.environments.append(environment)
        if len(occurrences) == MAX_PROBLEMS:
            break
    return occurrences


# -- severities ------------------------------------------------------------------------------------------------------
#
# The settings of tfgen.yaml files for rules, and the comments that ignore a problem.


IGNORE_COMMENT: Final = "ignore-comment"
UNUSED_IGNORE: Final = "unused-ignore"

RULES: Final[Mapping[str, str]] = {
    GUARD_RAIL: "A guard rail of a tfgen.yaml is incomplete, or is looser than a guard rail in a parent folder.",
    IGNORE_COMMENT: "A comment that ignores a problem names no rule, or gives no reason.",
    UNUSED_IGNORE: "A comment ignores a problem that does not occur.",
    LOOSENED: "A change of a tfgen.yaml loosens a guard rail.",
}
"""The summary of each rule, which begins the rule's section of docs/rules.md. The last two rules report warnings."""

IGNORABLE: Final = frozenset(
    (
        *(rule.id for rule in JOB_RULES if rule.is_ignorable),
        *(rule.id for rule in ACROSS if rule.severity == "warning"),
        *NAMESPACE_RULES,
        *OBJECT_WARNINGS,
        UNUSED_IGNORE,
        LOOSENED,
    )
)
"""The rules whose severity a tfgen.yaml may set: the rules that warn, and the soft rules."""


def set_severities(document: Document, problems: Iterable[Problem], *, is_guarded: bool = True) -> Reported:
    """Apply the severities of the tfgen.yaml files and the ignore comments to the problems of a job.

    The result contains no problem of a disabled rule. The attribute `ignored` of the result lists the problems that
    comments ignore.

    Args:
        document: the job.
        problems: the problems of the job.
        is_guarded: False if no tfgen.yaml and no comment applies. A problem that these could ignore is a warning then.
    """
    if not is_guarded:
        return Reported(tuple(item.replaced(severity="warning") if item.is_soft else item for item in problems))
    severities = severities_of(document.under)
    directives = ((layer.file, directive) for layer in document.layers() for directive in layer.directives)
    comments = {(file, item.line, _rule(item)) for file, item in directives if not _fault(item)}
    reported, ignored = [], []
    for problem in problems:
        setting = severities.rules.get(problem.rule)
        reported_problem = severities.applied(problem)
        if reported_problem is None:
            continue
        if (
            problem.is_ignorable
            and not (setting and setting.not_ignorable)
            and (problem.file, problem.position.line, problem.rule) in comments
        ):
            ignored.append(problem)
        else:
            reported.append(reported_problem)
    return Reported(tuple(reported), tuple(ignored))


def check_comments(documents: Iterable[Document]) -> Iterator[Problem]:
    """Yield a problem for each incorrect `# tfgen: ignore` comment in the files."""
    for file, directives in {document.file: document.directives for document in documents}.items():
        for directive in directives:
            if fault := _fault(directive):
                yield Problem(file, directive.position, fault.text, IGNORE_COMMENT, fixes=fault.fixes)


def find_unused(documents: Iterable[Document], ignored: Iterable[Problem]) -> Iterator[Problem]:
    """Yield a problem for each comment that ignores no problem.

    Args:
        documents: the jobs after all checks.
        ignored: the problems that comments ignore.
    """
    used = {(problem.file, problem.position.line, problem.rule) for problem in ignored}
    for document in {document.file: document for document in documents}.values():
        rules = severities_of(document.under).rules if document.directives else EMPTY
        for directive in document.directives:
            if _fault(directive):
                continue
            rule = _rule(directive)
            if (document.file, directive.line, rule) in used:
                continue
            if rule in rules and (place := rules[rule].not_ignorable):
                message = f"{place} forbids comments that ignore {rule}; {_NO_COMMENT.words}"
            else:
                message = f"line {directive.line} has no problem of {rule}; {_NO_COMMENT.words}"
            yield Problem(document.file, directive.position, message, UNUSED_IGNORE, "warning", (_NO_COMMENT,))


def report_unused(documents: Iterable[Document], ignored: Sequence[Problem]) -> tuple[Problem, ...]:
    """Return the problems of `find_unused` with the severities that the tfgen.yaml files of each job set."""
    reports = (set_severities(document, find_unused((document,), ignored)) for document in documents)
    return tuple(problem for report in reports for problem in report.problems)


def check_severities(defaults: Document) -> Iterator[Problem]:
    """Yield a problem for each invalid entry of `rules` in a tfgen.yaml, such as an unknown rule."""
    layer = defaults.alone()
    for name, setting in layer.data.get("rules", EMPTY).items():
        place = layer.place(("rules", name))
        if name not in IGNORABLE:
            near = nearest(name, IGNORABLE)
            hint = meant(near, Rename(("rules", name), near or name), written=name)
            message = f"{shown(name)} is not the id of a rule whose severity a tfgen.yaml can set"
            yield Problem(*place, f"{message}{hint.text}", GUARD_RAIL, fixes=hint.fixes)
        elif setting["severity"] == "off" and not setting.get("reason"):
            message = f"{path_name(('rules', name))} has the severity off, but no reason; add reason"
            yield Problem(*place, message, GUARD_RAIL)


def _rule(directive: Directive) -> str:
    return directive.words.split()[1]


def _fault(directive: Directive) -> Hint:
    """Return the message and the fix for an incorrect `# tfgen:` comment; empty for a correct comment."""
    syntax = "write # tfgen: ignore RULE REASON"
    match directive.words.split():
        case ["ignore", rule, *_] if rule == LOOSENED:
            return Hint(f"comments cannot ignore {rule}; {_NO_COMMENT.words}", (_NO_COMMENT,))
        case ["ignore", rule, *_] if rule not in IGNORABLE:
            near = nearest(rule, IGNORABLE)
            hint = meant(near, Replacement(rf"(?<=\s){re.escape(rule)}(?=\s)", near or rule, "rest"), written=rule)
            message = f"{shown(rule)} is not the id of a rule whose problems comments can ignore{hint.text}"
            return Hint(message, hint.fixes)
        case ["ignore", _, _, *_]:
            return NO_HINT
        case ["ignore", rule]:
            return Hint(f"the comment gives no reason to ignore {rule}; {syntax}")
        case ["ignore"]:
            return Hint(f"the comment names no rule; {syntax}")
        case words:
            return Hint(f"found {shown(words[0] if words else '')}, expected ignore; {syntax}")


_NO_COMMENT: Final = Fix("remove the comment", (Replacement(r"^[ \t]*#.*\n|[ \t]*# *tfgen:[^\r\n]*", "", "line"),))
