"""Everything that is checked before anything is rendered: YAML, the schema, the rules.

    checked = check("apiVersion: tfgen/v1alpha1 ...", "job.yaml")
    checked.problems     -> (Problem("job.yaml", Position(12, 7), "...", "unknown-key"), ...)

All problems come at once. None is there that only follows from another: the rules see just the documents that the
schema accepts. The caller decides by `problems.has_errors` whether to render.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from tfgen.check.across import JobRecord, find_clashes
from tfgen.check.checked import Checked, CheckedFile, Weighed
from tfgen.job.sources import Source
from tfgen.problems import in_order
from tfgen.record import EMPTY

if TYPE_CHECKING:
    from tfgen.check.source import Team


def check(content: str | bytes, file: str, under: Source | None = None) -> Checked:
    """Check one file. `content` is its text, or its bytes as they stand on disk; `under` a team's defaults."""
    return check_all([Source(file, content, under)])


def check_all(
    sources: Iterable[Source], known: Mapping[str, Sequence[JobRecord]] = EMPTY, *, is_guarded: bool = True
) -> Checked:
    """Check several files together, each with the defaults under it.

    Where a team's defaults have errors, the jobs over them are not known. Then a job's problems are only those of its
    own keys and values.

    Args:
        sources: the files.
        known: the records of files that have no errors by themselves, by name. Such a file is read only where a job of
            it clashes with another.
        is_guarded: whether the guard rails of tfgen.yaml count; they do not for what is committed already.
    """
    teams: dict[str, Team] = {}
    files = [
        CheckedFile(source, (), (), Weighed(), tuple(known[source.file]), is_known=True)
        if source.file in known
        else _check_source(source, teams, is_guarded=is_guarded)
        for source in sources
    ]
    weighed = _weigh_clashes(files, teams, is_guarded=is_guarded)
    weighed += (file.weighed for file in files)
    problems = [problem for some in weighed for problem in some.problems]
    problems += (problem for team in teams.values() for problem in team.problems)
    return Checked(tuple(files), in_order(problems), tuple(one for some in weighed for one in some.ignored))


def _check_source(source: Source, teams: dict[str, Team], *, is_guarded: bool) -> CheckedFile:
    from tfgen.check.source import check_source  # 60 ms, which files that are known need not pay

    return check_source(source, teams, is_guarded=is_guarded)


def _weigh_clashes(files: list[CheckedFile], teams: dict[str, Team], *, is_guarded: bool) -> list[Weighed]:
    """What is wrong with jobs beside each other. A file that has such a job is read, and takes its place in `files`."""
    places = [(number, at) for number, file in enumerate(files) for at in range(len(file.records))]
    clashes = [*find_clashes([record for file in files for record in file.records])]
    if not clashes:
        return []
    from tfgen.check.source import weigh_clash  # 60 ms, which files that are known need not pay

    weighed = []
    for rule, clash in clashes:
        number, at = places[clash.number]
        file = files[number]
        if file.is_known:
            file = _check_source(file.source, teams, is_guarded=is_guarded)
        files[number] = file.replaced(clashes=True)
        weighed.append(weigh_clash(file, at, rule, clash, is_guarded=is_guarded))
    return weighed
