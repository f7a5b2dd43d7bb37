"""Everything that is wrong with one file of jobs by itself: YAML, the schema, the rules, and the defaults under it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from tfgen import data_path
from tfgen.check.across import record_job
from tfgen.check.allowed import check_allowed, find_disallowed
from tfgen.check.checked import CheckResult, ReadFile, Reported
from tfgen.check.enforced import find_overrides
from tfgen.check.enforced_paths import check_enforced_paths
from tfgen.check.enforced_security import find_security_overrides
from tfgen.check.limits import check_limits
from tfgen.check.severities import GUARD_RAIL, check_comments, check_severities, set_severities
from tfgen.job import defaults
from tfgen.job.documents import parse_source
from tfgen.job.sources import Source
from tfgen.problems import Place, Problem
from tfgen.record import Record
from tfgen.rules.rule import AcrossRule, Clash, Rule
from tfgen.rules.table import RULES
from tfgen.rules.view import View, find_in_variants, views
from tfgen.schema import validate as schema
from tfgen.text.document import MAX_SIZE, Document, SourceTree
from tfgen.words import ALSO, in_environments

MOST: Final = 100
"""Problems of one rule in one document. More help nobody, and a hostile file may have a million."""


GUARD_RAILS: Final = (
    "allowedEnvironments",
    "allowedNamespaces",
    "argocd",
    "enforce",
    "limits",
    "policies",
    "rules",
    "warningsAsErrors",
)
"""The keys of a tfgen.yaml that hold for all below it."""

_NAME: Final = ("metadata", "name")

_ANY_JOB: Final = 170
"""What the check of the smallest job costs, in values."""

_MOST_ENVIRONMENTS: Final = 50
"""More are refused by the schema, and not looked at."""


class Team(Record):
    """The defaults of a folder over those above it, or what is wrong with any of them."""

    defaults: Document | None = None
    problems: tuple[Problem, ...] = ()


def check_source(source: Source, teams: dict[str, Team], *, is_guarded: bool) -> ReadFile:
    """Check one file.

    Args:
        source: the file.
        teams: the defaults that are known, by file; those under this one come to them.
        is_guarded: whether the guard rails of tfgen.yaml count.
    """
    team = read_team(source.defaults, teams, is_guarded=is_guarded)
    parsed = parse_source(source)
    documents: list[Document] = []
    accepted: list[Document] = []
    problems = [*parsed.problems]
    ignored: list[Problem] = []
    # What the parser refused reads as something else: what the schema says of that is no news.
    refused = {(problem.file, problem.position) for problem in parsed.problems}
    size = 0
    for read in parsed.documents:
        document = defaults.under(read, team.defaults) if team.defaults else read
        documents.append(document)
        size += _size(document)
        if size > MAX_SIZE:
            problems.append(_too_large(document))
            break
        schema_problems = schema.check_alone(document) if team.problems else schema.check(document)
        problems += (problem for problem in schema_problems if (problem.file, problem.position) not in refused)
        if not schema_problems and not team.problems:
            accepted.append(document)
            overrides = tuple(_overrides(document)) if is_guarded else ()
            problems += overrides
            # What is enforced there says more than a warning does.
            refused = {(problem.file, problem.position) for problem in overrides}
            of_rules = (
                problem
                for problem in _rule_problems(document)
                if problem.severity == "error" or (problem.file, problem.position) not in refused
            )
            reported = set_severities(document, of_rules, is_guarded=is_guarded)
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
    """What is wrong with a job beside others: the one at an index of the file's accepted ones."""
    document = file.accepted[at]
    place = Place(document.source(clash.path), document.value(clash.path))
    return set_severities(document, (Problem(*place, clash.message, rule.id, rule.severity),), is_guarded=is_guarded)


def _size(document: Document) -> int:
    """What the check of a document costs, in values: those of a job are looked at again in each environment."""
    environments = data_path.at(document.data, ("spec", "environments"))
    forms = 1 + (len(environments) if isinstance(environments, dict) else 0)
    size = _ANY_JOB + sum(_values(layer.root) for layer in document.layers())
    return size * (forms if forms <= _MOST_ENVIRONMENTS + 1 else 1)


def _values(tree: SourceTree) -> int:
    return 1 + sum(_values(inner) for _, inner in tree.children.values())


def _too_large(document: Document) -> Problem:
    message = (
        f"with this document the file has more than {MAX_SIZE:,} values, those of a job counted again for each of "
        "its environments; split the file or the job"
    )
    return Problem(document.file, document.value(()), message, "yaml-size")


def read_team(source: Source | None, teams: dict[str, Team], *, is_guarded: bool) -> Team:
    """The defaults in a file, or none. `teams` has those that are known, by file; what is read comes to them."""
    if source is None:
        return Team()
    if source.file not in teams:
        above = read_team(source.defaults, teams, is_guarded=is_guarded)
        teams[source.file] = _new_team(source, above, is_guarded=is_guarded)
    return teams[source.file]


def _new_team(source: Source, above: Team, *, is_guarded: bool) -> Team:
    parsed = parse_source(source)
    problems = list(parsed.problems)
    for document in parsed.documents[1:]:
        message = "the defaults are one document; put what this one says into the first"
        problems.append(Problem(document.file, document.value(()), message, "wrong-kind"))
    refused = {(problem.file, problem.position) for problem in problems}
    documents = parsed.documents[:1]
    if above.problems:
        schema_problems = [problem for document in documents for problem in schema.check_defaults_alone(document)]
    else:
        documents = tuple(defaults.over(document, above.defaults) for document in documents)
        schema_problems = [problem for document in documents for problem in schema.check_defaults(document)]
    problems += (problem for problem in schema_problems if (problem.file, problem.position) not in refused)
    problems += check_comments(documents) if is_guarded else ()
    problems += above.problems
    if is_guarded and not problems:
        problems += _guard_rail_problems(source, documents[0])
    return Team(problems=tuple(problems)) if problems else Team(documents[0])


def _overrides(document: Document) -> Iterator[Problem]:
    """Yield what a job, or a tfgen.yaml, sets against the guard rails of the files under it."""
    yield from find_overrides(document)
    yield from find_security_overrides(document)
    yield from find_disallowed(document)


def _guard_rail_problems(source: Source, document: Document) -> Iterator[Problem]:
    """What is wrong with the guard rails of a tfgen.yaml, by themselves and beside those above them."""
    yield from check_severities(document)
    yield from check_limits(document)
    yield from check_enforced_paths(document)
    yield from check_allowed(document)
    yield from _overrides(document)
    above = source.left_out
    while above is not None:
        for layer in parse_source(above).documents[:1]:
            if rail := next((key for key in GUARD_RAILS if data_path.at(layer.data, (key,))), None):
                place = Place(layer.file, layer.key((rail,)))
                message = f"root: true leaves out {rail} of {place}, which holds for this folder too; remove root"
                yield Problem(*document.place(("root",)), message, GUARD_RAIL)
        above = above.defaults or above.left_out


def _rule_problems(document: Document) -> Iterator[Problem]:
    """What the rules find in a job and in its environments; what several of them have at one place comes once."""
    forms = views(document)
    for rule in RULES:
        for (place, _), occurrence in _findings(rule, forms).items():
            yield Problem(*place, f"{occurrence.messages[0]}{_where(occurrence)}", rule.id, rule.severity)


class _Occurrence(NamedTuple):
    """A mistake in several forms: the messages, the first of which is told, and the environments.

    An environment is None where the place itself names the form: for the job, and for an environment's own lines.
    """

    messages: list[str]
    environments: list[str | None]


def _where(occurrence: _Occurrence) -> str:
    """The environments of a mistake: all of them where the first message is not true of each, as in a number."""
    differ = len(set(occurrence.messages)) > 1
    named = (name for name in occurrence.environments if name is not None)
    return in_environments(occurrence.environments) or (in_environments(named, ALSO) if differ else "")


def _findings(rule: Rule, forms: Sequence[View]) -> dict[tuple[Place, str], _Occurrence]:
    """The first `MOST` mistakes that a rule finds, by place and cause."""
    messages: dict[tuple[Place, str], _Occurrence] = {}
    for view, (path, message, cause) in find_in_variants(rule.check, forms):
        place, environment = view.locate(path)
        of_cause = messages.setdefault((place, cause or message), _Occurrence([], []))
        of_cause.messages.append(message)
        of_cause.environments.append(environment)
        if len(messages) == MOST:
            break
    return messages
