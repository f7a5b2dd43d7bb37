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
from tfgen.workers import map_items

if TYPE_CHECKING:
    from tfgen.check.source import Team
    from tfgen.rules.rule import AcrossRule, Clash
    from tfgen.text.document import Document


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
    checker = Checker(is_guarded=is_guarded)
    return checker.judge(
        CheckedFile(source, (), (), Weighed(), tuple(known[source.file]), is_known=True)
        if source.file in known
        else checker.check(source)
        for source in sources
    )


def check_in_processes(sources: Sequence[Source]) -> Checked:
    """Check several files together, each read in one of some processes: no document is in memory in the end."""
    checker = Checker()
    checker.read_defaults(sources)
    return checker.judge(
        CheckedFile(source, (), (), *of_file)
        for source, of_file in zip(sources, map_items(checker.check_without_documents, sources), strict=True)
    )


class Checker:
    """Checks files one by one, and then beside each other. It reads the defaults under them once.

    Args:
        is_guarded: as `check_all` has it.
    """

    def __init__(self, *, is_guarded: bool = True) -> None:
        self._is_guarded = is_guarded
        self._teams: dict[str, Team] = {}

    def read_defaults(self, sources: Iterable[Source]) -> tuple[Document, ...]:
        """The nearest defaults under each file that have no errors. `judge` tells the errors of the others."""
        from tfgen.check.source import read_team  # 60 ms, which files that are known need not pay

        layers = {source.defaults.file: source.defaults for source in sources if source.defaults}
        teams = [read_team(layer, self._teams, is_guarded=self._is_guarded) for layer in layers.values()]
        return tuple(team.defaults for team in teams if team.defaults)

    def check(self, source: Source) -> CheckedFile:
        """Check one file by itself."""
        from tfgen.check.source import check_source  # 60 ms, which files that are known need not pay

        return check_source(source, self._teams, is_guarded=self._is_guarded)

    def check_without_documents(self, source: Source) -> tuple[Weighed, tuple[JobRecord, ...], tuple[str, ...]]:
        """Check one file by itself; give the `weighed`, `records` and `names` of its `CheckedFile`, which are small."""
        file = self.check(source)
        return file.weighed, file.records, file.names

    def judge(self, checked: Iterable[CheckedFile]) -> Checked:
        """Judge files beside each other. One without documents is read again where a job of it clashes."""
        files = [*checked]
        weighed = self._weigh_clashes(files)
        weighed += (file.weighed for file in files)
        problems = [problem for some in weighed for problem in some.problems]
        problems += (problem for team in self._teams.values() for problem in team.problems)
        return Checked(tuple(files), in_order(problems), tuple(one for some in weighed for one in some.ignored))

    def _weigh_clashes(self, files: list[CheckedFile]) -> list[Weighed]:
        """What is wrong with jobs beside each other, which is noted in `files`; of what is known, the file is read."""
        places = [(number, at) for number, file in enumerate(files) for at in range(len(file.records))]
        clashes: dict[int, list[tuple[int, AcrossRule, Clash]]] = {}
        for rule, clash in find_clashes([record for file in files for record in file.records]):
            number, at = places[clash.number]
            clashes.setdefault(number, []).append((at, rule, clash))
        weighed: list[Weighed] = []
        for number, of_file in clashes.items():
            from tfgen.check.source import weigh_clash  # 60 ms, which files that are known need not pay

            file = files[number]
            read = file if file.accepted else self.check(file.source)
            if file.is_known:  # of many such files the documents are too much for the memory
                file = CheckedFile(file.source, (), (), read.weighed, read.records, read.names)
            files[number] = file.replaced(clashes=True)
            weighed += (weigh_clash(read, at, rule, clash, is_guarded=self._is_guarded) for at, rule, clash in of_file)
        return weighed
