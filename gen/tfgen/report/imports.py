"""Prints an import report, and the differences between imported jobs and the original objects.

An import report is a list that shows how `tfgen import` converted each line of the source.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, get_args

from tfgen.commands.importing.import_jobs import ImportedJob
from tfgen.commands.importing.verify_import import Difference, Verified
from tfgen.importers.import_report import Entry, Outcome
from tfgen.words import either, path_name, printable


def entry_rows(entries: Iterable[Entry]) -> list[dict[str, Any]]:
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


def summary(entries: Sequence[Entry]) -> str:
    """Return the number of entries in an import report for each outcome, such as "12 carried, 3 changed, 1 dropped"."""
    return ", ".join(f"{sum(entry.outcome == outcome for entry in entries)} {outcome}" for outcome in get_args(Outcome))


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


def verified_rows(verified: Iterable[Verified]) -> list[dict[str, Any]]:
    """Return the differences between imported jobs and the original objects as plain data for JSON."""
    return [
        {
            "form": result.job.format,
            "job": result.job.data["metadata"]["name"],
            "environment": result.environment,
            "differences": [{"field": d.field, "change": d.change, "why": d.why} for d in result.differences],
        }
        for result in verified
    ]


def verified_text(verified: Iterable[Verified]) -> str:
    """Return the differences between imported jobs and the original objects as text.

    If the import report explains a difference, the text has the explanation in place of the difference.
    """
    return "".join(f"{printable(line)}\n" for result in verified for line in _lines(result))


def _lines(result: Verified) -> Iterator[str]:
    unexplained = [difference for difference in result.differences if not difference.why]
    verdict = "differs:" if unexplained else "equal, except for:" if result.differences else "equal"
    place = f" in {result.environment}" if result.environment else ""
    yield f"{result.job.format} {result.job.data['metadata']['name']}{place}: {verdict}"
    yield from (f"  {_unexplained(difference)}" for difference in unexplained)
    reasons = dict.fromkeys(difference.why for difference in result.differences if difference.why)
    yield from (f"  {reason}" for reason in reasons)


def _unexplained(difference: Difference) -> str:
    return f"{difference.field} {difference.change}; the import report does not explain this difference"
