"""Check jobs before their files are committed or pushed."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tfgen.commands.pipeline.check_files import FileResults
from tfgen.commands.pipeline.check_report import Report
from tfgen.commands.pipeline.full_check import full_check
from tfgen.commands.pipeline.loosened_rails import find_loosened_rails
from tfgen.problems import in_order, stop_at_errors
from tfgen.tree.spool import Spool

NOT_COMMITTED: Final = "nothing was committed: the jobs have errors"


def check_for_commit(results: FileResults, spool: Spool, out: Path, against: str, pushed: str = "") -> Report:
    """Check jobs before tfgen writes their files. Compare the jobs with a revision, and with the last pushed commit.

    Args:
        results: the jobs.
        spool: the spool with the rendered files.
        out: the output folder.
        against: the revision to compare with.
        pushed: the last pushed commit, if HEAD has commits that are not pushed; empty if HEAD is pushed.

    Raises:
        ProblemsError: the jobs have errors.
        UsageError: a revision does not exist, or a tfgen.yaml cannot be read.
        TfgenError: git or the disk fails, or a ledger cannot be read.
    """
    report = _check_with_rails(results, spool, out, against)
    stop_at_errors(report.problems, NOT_COMMITTED)
    if pushed:
        stop_at_errors(
            _check_with_rails(results, spool, out, pushed).problems,
            "nothing was committed or pushed: the jobs have errors when compared with the last pushed commit "
            f"{pushed[:12]}",
        )
    return report


def _check_with_rails(results: FileResults, spool: Spool, out: Path, against: str) -> Report:
    report = full_check(results, spool, against=against, out=out, is_written=True)
    loosened = find_loosened_rails([out], results.checked.sources, against)
    return report.replaced(problems=in_order((*report.problems, *loosened)))
