"""Check of job files before tfgen renders the jobs. The check covers the YAML, the schema and the rules.

A check returns the problems of the schema and of the rules in one round. The rules find only mistakes that do not
depend on a value that the schema refuses (`data_path.UNKNOWN`). The caller decides by `errors.has_errors` whether to
render.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from tfgen.check.checked import Checked, CheckedFile, CheckedJobs, CheckResult, ReadFile, Reported, find_clashes
from tfgen.errors import in_order
from tfgen.job.sources import Source
from tfgen.record import EMPTY
from tfgen.workers import map_items

if TYPE_CHECKING:
    from tfgen.check.source import LayerResult
    from tfgen.rules.rule import AcrossRule, Clash
    from tfgen.text.document import Document


def check(content: str | bytes, file: str, under: Source | None = None) -> CheckedJobs:
    """Check one file, given its text or its bytes. `under` is the tfgen.yaml that applies to the file."""
    return check_all([Source(file, content, under)])


def check_all(
    sources: Iterable[Source], cached: Mapping[str, CheckedFile] = EMPTY, *, is_guarded: bool = True
) -> CheckedJobs:
    """Check several files together, each with the tfgen.yaml files that apply to the file.

    If a tfgen.yaml has errors, tfgen does not know the values that the jobs of the folder inherit. The check of such a
    job covers only the keys and values in the job file.

    Args:
        sources: the files.
        cached: the results from the cache, by the name of the file. tfgen reads such a file only if a job of the file
            conflicts with a job of a different file.
        is_guarded: True if the guard rails of tfgen.yaml apply, and False for committed jobs.
    """
    checker = Checker(is_guarded=is_guarded)
    sources = [*sources]
    read = {source.file: checker.check(source) for source in sources if source.file not in cached}
    files = (cached.get(source.file) or CheckedFile(source, read[source.file].result) for source in sources)
    checked = checker.check_together(files, read)
    return CheckedJobs(checked.files, checked.problems, checked.ignored, read)


def check_in_processes(sources: Sequence[Source]) -> Checked:
    """Check several files together in several processes, and keep no document in memory."""
    checker = Checker()
    checker.read_defaults(sources)
    results = map_items(checker.check_alone, sources)
    return checker.check_together(map(CheckedFile, sources, results))


class Checker:
    """Checker of single files, and of several files together. The checker reads each layer only once.

    Args:
        is_guarded: as in `check_all`.
    """

    def __init__(self, *, is_guarded: bool = True) -> None:
        self._is_guarded = is_guarded
        self._layers: dict[str, LayerResult] = {}

    def read_defaults(self, sources: Iterable[Source]) -> tuple[Document, ...]:
        """Read the nearest tfgen.yaml of each file, and return the tfgen.yaml files without errors.

        Each returned tfgen.yaml occurs once, merged with the tfgen.yaml files of parent folders. The checker keeps the
        layers in memory, so that `check` does not read the layers again.
        """
        from tfgen.check.source import read_layer  # takes 60 ms, which a check of only cached files saves

        files = {source.defaults.file: source.defaults for source in sources if source.defaults}
        results = [read_layer(source, self._layers, is_guarded=self._is_guarded) for source in files.values()]
        return tuple(layer.defaults for layer in results if layer.defaults)

    def check(self, source: Source) -> ReadFile:
        """Check one file, without a comparison with other files."""
        from tfgen.check.source import check_source  # takes 60 ms, which a check of only cached files saves

        return check_source(source, self._layers, is_guarded=self._is_guarded)

    def check_alone(self, source: Source) -> CheckResult:
        """Check one file as `check` does, but return no documents, because documents need much memory."""
        return self.check(source).result

    def check_together(self, checked: Iterable[CheckedFile], read: Mapping[str, ReadFile] = EMPTY) -> Checked:
        """Compare the jobs of all files with each other.

        Args:
            checked: the files.
            read: the files that are already in memory, by the name of the file. If a job of any other file conflicts
                with another job, tfgen reads that file again.
        """
        files = [*checked]
        reported = self._report_clashes(files, read)
        reported += (file.result.reported for file in files)
        problems = [problem for report in reported for problem in report.problems]
        ignored = tuple(problem for report in reported for problem in report.ignored)
        problems += (problem for layer in self._layers.values() for problem in layer.problems)
        return Checked(tuple(files), in_order(problems), ignored)

    def _report_clashes(self, files: list[CheckedFile], read: Mapping[str, ReadFile]) -> list[Reported]:
        """Return the problems of jobs that conflict with each other.

        The function also replaces each file with such a job in the list `files` by a copy with `clashes=True`.
        """
        places = [(number, at) for number, file in enumerate(files) for at in range(len(file.result.records))]
        clashes: dict[int, list[tuple[int, AcrossRule, Clash]]] = {}
        for rule, clash in find_clashes([record for file in files for record in file.result.records]):
            number, at = places[clash.number]
            clashes.setdefault(number, []).append((at, rule, clash))
        reported: list[Reported] = []
        for number, of_file in clashes.items():
            from tfgen.check.source import report_clash  # takes 60 ms, which a check of only cached files saves

            source = files[number].source
            file = read.get(source.file) or self.check(source)
            files[number] = CheckedFile(source, file.result, clashes=True)
            reported += (
                report_clash(file, at, rule, clash, is_guarded=self._is_guarded) for at, rule, clash in of_file
            )
        return reported
