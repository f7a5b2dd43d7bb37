"""Print an import report, and the differences between the imported jobs and their originals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, get_args

from tfgen.commands.importing.import_jobs import ImportedJob
from tfgen.commands.importing.verify_import import Difference, Verified
from tfgen.importers.import_report import Entry, Outcome
from tfgen.words import either, path_name, printable


def entry_rows(entries: Iterable[Entry]) -> list[dict[str, Any]]:
    """The entries for JSON."""
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
    """The number of entries of each outcome."""
    return ", ".join(f"{sum(entry.outcome == outcome for entry in entries)} {outcome}" for outcome in get_args(Outcome))


def advice(jobs: Iterable[ImportedJob]) -> str:
    """How a user moves to imported jobs and keeps the data of their claims. Empty for jobs without claims."""
    claims = sorted({claim for job in jobs for claim in _claims(job.data)})
    if not claims:
        return ""
    are_many = len(claims) > 1
    nouns = ("claims", "their old names", "them") if are_many else ("claim", "its old name", "it")
    return (
        f"\nThe job uses the {nouns[0]} {either(claims, 'and')} by {nouns[1]}, and makes none. To keep the model:\n\n"
        f"  1. See that nothing deletes {nouns[2]} together with the old job: Helm keeps what has the annotation\n"
        "     helm.sh/resource-policy: keep, and a GitOps tool prunes what leaves its path.\n"
        "  2. Let the old job end, or delete it: both jobs would write to one place.\n"
        "  3. Apply the new one.\n"
    )


def _claims(data: Mapping[str, Any]) -> Iterator[str]:
    spec = data["spec"]
    for values in (spec, *spec.get("environments", {}).values()):
        for volume in values.get("storage", {}).values():
            claim = (volume or {}).get("claim") or {}
            if "name" in claim:
                yield claim["name"]


def verified_rows(verified: Iterable[Verified]) -> list[dict[str, Any]]:
    """The differences for JSON."""
    return [
        {
            "form": one.job.format,
            "job": one.job.data["metadata"]["name"],
            "environment": one.environment,
            "differences": [{"field": d.field, "change": d.change, "why": d.why} for d in one.differences],
        }
        for one in verified
    ]


def verified_text(verified: Iterable[Verified]) -> str:
    """The reasons for all differences, and each difference that has no reason."""
    return "".join(f"{printable(line)}\n" for one in verified for line in _lines(one))


def _lines(one: Verified) -> Iterator[str]:
    unexplained = [difference for difference in one.differences if not difference.why]
    verdict = "differs:" if unexplained else "equal, but for:" if one.differences else "equal"
    place = f" in {one.environment}" if one.environment else ""
    yield f"{one.job.format} {one.job.data['metadata']['name']}{place}: {verdict}"
    yield from (f"  {_unexplained(difference)}" for difference in unexplained)
    reasons = dict.fromkeys(difference.why for difference in one.differences if difference.why)
    yield from (f"  {why}" for why in reasons)


def _unexplained(difference: Difference) -> str:
    return f"{difference.field} {difference.change}, for no reason that tfgen knows"
