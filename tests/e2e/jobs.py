"""Jobs for the tests, checked and rendered as `tfgen render` does it.

mnist = write_job(TEXT, tmp_path)
cluster.kubectl("apply", "--server-side", "-k", mnist.overlay(None), "-n", namespace)
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tests.support.rendered import Rendered
from tests.support.tools import ROOT
from tfgen.check.jobs import check
from tfgen.problems import has_errors
from tfgen.report.problems import as_text

EXAMPLES = sorted(ROOT.glob("examples/*/job.yaml"))


def write_job(text: str, folder: Path) -> Rendered:
    """Renders one job, as its job.yaml has it, into an empty folder.

    Raises:
        AssertionError: With what is wrong with it.
    """
    checked = check(text, "job.yaml")
    assert not has_errors(checked.problems), as_text(checked.problems)
    (document,) = checked.documents
    return Rendered.write(document.data, folder)


def environments(jobs: Iterable[Path]) -> list[tuple[Path, str | None]]:
    """Each job with each of its environments, and once as it is without one (None)."""
    pairs: list[tuple[Path, str | None]] = []
    for path in jobs:
        (document,) = check(path.read_text(encoding="utf-8"), str(path)).documents
        pairs += [(path, name) for name in (None, *document.data["spec"].get("environments", {}))]
    return pairs
