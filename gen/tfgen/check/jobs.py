"""The check of job files before they are rendered: YAML, the schema, the rules.

    checked = check("apiVersion: tfgen/v1alpha1 ...", "job.yaml")
    checked.problems     -> (Problem("job.yaml", Position(12, 7), "...", "unknown-key"), ...)

A check returns all problems at once, without problems that only follow from another problem: the rules check only the
documents that the schema accepts. The caller decides by `problems.has_errors` whether to render.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from tfgen.check.across import find_clashes
from tfgen.check.checked import Checked, CheckedFile, CheckedJobs, CheckResult, ReadFile, Reported
from tfgen.job.sources import Source
from tfgen.problems import in_order
from tfgen.record import EMPTY
from tfgen.workers import map_items

if TYPE_CHECKING:
    from tfgen.check.source import Team
    from tfgen.rules.rule import AcrossRule, Clash
    from tfgen.text.document import Document


def check(content: str | bytes, file: str, under: Source | None = None) -> CheckedJobs:
    """Check one file. `content` is its text, or its bytes as they are on disk; `under` is the tfgen.yaml of a team."""
    return check_all([Source(file, content, under)])


def check_all(
    sources: Iterable[Source], cached: Mapping[str, CheckedFile] = EMPTY, *, is_guarded: bool = True
) -> CheckedJobs:
    """Check several files together, each with the defaults under it.

    Where a tfgen.yaml has errors, the values that its jobs inherit are unknown. Such a job has only the problems of the
    keys and values in its file.

    Args:
        sources: the files.
        cached: the files whose results come from the cache, by name. Such a file is read only where a job of it
            clashes with a job of the checked files.
        is_guarded: whether the guard rails of tfgen.yaml apply. They do not apply to committed jobs.
    """
    checker = Checker(is_guarded=is_guarded)
    sources = [*sources]
    read = {source.file: checker.check(source) for source in sources if source.file not in cached}
    files = (cached.get(source.file) or CheckedFile(source, read[source.file].result) for source in sources)
    checked = checker.check_together(files, read)
    return CheckedJobs(checked.files, checked.problems, checked.ignored, read)


def check_in_processes(sources: Sequence[Source]) -> Checked:
    """Check several files together, each in one of several processes. No document stays in memory."""
    checker = Checker()
    checker.read_defaults(sources)
    results = map_items(checker.check_alone, sources)
    return checker.check_together(map(CheckedFile, sources, results))


class Checker:
    """Checker of single files and of all files together, which reads each layer once.

    Args:
        is_guarded: the argument of `check_all`.
    """

    def __init__(self, *, is_guarded: bool = True) -> None:
        self._is_guarded = is_guarded
        self._teams: dict[str, Team] = {}

    def read_defaults(self, sources: Iterable[Source]) -> tuple[Document, ...]:
        """Return the nearest layer of each file, without layers that have errors, which `check_together` reports."""
        from tfgen.check.source import read_team  # 60 ms, which cached files save

        layers = {source.defaults.file: source.defaults for source in sources if source.defaults}
        teams = [read_team(layer, self._teams, is_guarded=self._is_guarded) for layer in layers.values()]
        return tuple(team.defaults for team in teams if team.defaults)

    def check(self, source: Source) -> ReadFile:
        """Check one file by itself."""
        from tfgen.check.source import check_source  # 60 ms, which cached files save

        return check_source(source, self._teams, is_guarded=self._is_guarded)

    def check_alone(self, source: Source) -> CheckResult:
        """Check one file by itself, and drop its documents."""
        return self.check(source).result

    def check_together(self, checked: Iterable[CheckedFile], read: Mapping[str, ReadFile] = EMPTY) -> Checked:
        """Compare the jobs of all files with each other.

        Args:
            checked: the files.
            read: the files with documents in memory, by name. Any file whose job clashes is read again if it is not
                among them.
        """
        files = [*checked]
        reported = self._report_clashes(files, read)
        reported += (file.result.reported for file in files)
        problems = [problem for report in reported for problem in report.problems]
        ignored = tuple(problem for report in reported for problem in report.ignored)
        problems += (problem for team in self._teams.values() for problem in team.problems)
        return Checked(tuple(files), in_order(problems), ignored)

    def _report_clashes(self, files: list[CheckedFile], read: Mapping[str, ReadFile]) -> list[Reported]:
        """Return the problems of jobs that clash, and mark their files in `files`."""
        places = [(number, at) for number, file in enumerate(files) for at in range(len(file.result.records))]
        clashes: dict[int, list[tuple[int, AcrossRule, Clash]]] = {}
        for rule, clash in find_clashes([record for file in files for record in file.result.records]):
            number, at = places[clash.number]
            clashes.setdefault(number, []).append((at, rule, clash))
        reported: list[Reported] = []
        for number, of_file in clashes.items():
            from tfgen.check.source import report_clash  # 60 ms, which cached files save

            source = files[number].source
            file = read.get(source.file) or self.check(source)
            files[number] = CheckedFile(source, file.result, clashes=True)
            reported += (
                report_clash(file, at, rule, clash, is_guarded=self._is_guarded) for at, rule, clash in of_file
            )
        return reported
