"""Prints the verdicts of `tfgen plan` as text and as plain data. A verdict shows whether a run fits a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from tfgen.kubernetes.pods import amount
from tfgen.scheduling.amounts import PODS, amount_of
from tfgen.scheduling.verdict import Doubt, Lack, Verdict
from tfgen.words import count, either, printable


def verdict_text(verdict: Verdict) -> str:
    """Return the verdict on a run in one line.

    Example: "mnist: does not fit: worker lacks 3 nvidia.com/gpu (3 pods without a node)".
    """
    competitors = f"together with {either(verdict.competitors, 'and')}: " if verdict.competitors else ""
    reasons = [*_lack_texts(verdict.lacks), *map(_doubt_text, verdict.doubts)]
    text = ": ".join(filter(None, (verdict.run.title, verdict.answer, competitors + "; ".join(reasons))))
    return printable(text)


def rows(verdicts: Iterable[Verdict]) -> list[dict[str, Any]]:
    """Return the verdicts on the runs as plain data for JSON."""
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
    """Yield a text for each role whose pods do not all fit.

    Example: "worker lacks 3 nvidia.com/gpu (3 pods without a node)".
    """
    for _, of_role in groupby(lacks, key=lambda lack: lack.role):
        first, *remaining = of_role
        nodes = f" on {first.nodes}" if first.nodes else ""
        unplaced = f"{count(first.pods, 'pod')} without a node"
        if first.resource:
            amounts = either([_amount_text(lack) for lack in (first, *remaining)], "and")
            yield f"{first.role} lacks {amounts}{nodes} ({unplaced})"
        else:
            yield f"{first.role} has {unplaced}{nodes}: {first.reason}"


def _amount_text(lack: Lack) -> str:
    return f"{_amount(lack)} {lack.resource}" if lack.resource != PODS else f"room for {count(lack.count, 'pod')}"


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
