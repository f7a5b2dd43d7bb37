"""Whether runs fit, as text and as rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from tfgen.check.totals import amount
from tfgen.plural import count
from tfgen.scheduling.amounts import PODS, amount_of
from tfgen.scheduling.verdict import Doubt, Lack, Verdict
from tfgen.words import either, printable


def verdict_text(verdict: Verdict) -> str:
    """The answer for a run in one line, such as "mnist: does not fit: worker lacks 3 nvidia.com/gpu"."""
    beside = f"beside {either(verdict.competitors, 'and')}: " if verdict.competitors else ""
    reasons = [*_lack_texts(verdict.lacks), *map(_doubt_text, verdict.doubts)]
    text = ": ".join(filter(None, (verdict.run.title, verdict.answer, beside + "; ".join(reasons))))
    return printable(text)


def rows(verdicts: Iterable[Verdict]) -> list[dict[str, Any]]:
    """The runs for JSON."""
    return [
        {
            "run": verdict.run.title,
            "answer": verdict.answer,
            "lacks": [_lack_row(lack) for lack in verdict.lacks],
            "beside": [*verdict.competitors],
            "doubts": [{"roles": [*doubt.roles], "reason": doubt.reason} for doubt in verdict.doubts],
        }
        for verdict in verdicts
    ]


def _lack_texts(lacks: Iterable[Lack]) -> Iterator[str]:
    """A text for each role."""
    for _, of_role in groupby(lacks, key=lambda lack: lack.role):
        first, *more = of_role
        where = f" on {first.nodes}" if first.nodes else ""
        without = f"{count(first.pods, 'pod')} without a place"
        if first.resource:
            amounts = either([_amount_text(lack) for lack in (first, *more)], "and")
            yield f"{first.role} lacks {amounts}{where} ({without})"
        else:
            yield f"{first.role} has {without}{where}: {first.reason}"


def _amount_text(lack: Lack) -> str:
    return f"{_amount(lack)} {lack.resource}" if lack.resource != PODS else f"{count(lack.count, 'place')} for a pod"


def _doubt_text(doubt: Doubt) -> str:
    return f"{either(doubt.roles, 'and')}: {doubt.reason}"


def _lack_row(lack: Lack) -> dict[str, Any]:
    return {
        "role": lack.role,
        "pods": lack.pods,
        "resource": lack.resource or None,
        "amount": _amount(lack) if lack.resource else None,
        "nodes": lack.nodes or None,
        "reason": lack.reason or None,
    }


def _amount(lack: Lack) -> str:
    return amount(lack.resource, amount_of(lack.resource, lack.count))
