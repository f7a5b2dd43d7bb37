"""Prints the verdicts of `tfgen plan` and the nodes, as text and as plain data.

A verdict shows whether a run fits a cluster. In the text of the nodes, equal nodes share a line, and each letter shows
a GPU that a task uses:

NODES             SLOTS              TASKS
gpu-1 and 2 more  [WW WW WW WW]      4 worker
gpu-4             [WW ## ....]       chief, worker

GPUs: W worker 26, # running pods 2, . free 4
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from tfgen.kubernetes.pods import amount
from tfgen.scheduling.place import (
    SHARED_LETTER,
    NodeSlots,
    RoleKey,
    grouped,
    role_counts,
    slot_letters,
)
from tfgen.scheduling.pods import PODS, amount_of
from tfgen.scheduling.verdict import FITS, Lack, Verdict
from tfgen.words import count, either, printable


def verdict_text(verdict: Verdict) -> str:
    """Return the verdict on a run in one line.

    Example: "mnist: does not fit: worker lacks 3 nvidia.com/gpu (3 pods without a node)".
    """
    competitors = f"together with {either(verdict.competitors, 'and')}: " if verdict.competitors else ""
    reasons = [
        *_lack_texts(verdict.lacks),
        *(f"{either(doubt.roles, 'and')}: {doubt.reason}" if doubt.roles else doubt.reason for doubt in verdict.doubts),
    ]
    text = ": ".join(filter(None, (verdict.run.title, verdict.answer, competitors + "; ".join(reasons))))
    if verdict.assumptions:
        text += f" (tfgen assumes that {either(verdict.assumptions, 'and')})"
    if verdict.run.earlier_pods and verdict.answer != FITS:
        pods = count(verdict.run.earlier_pods, "pod")
        text += f"; the plan counts {pods} of an earlier run, which tfgen apply deletes"
    return printable(text)


def rows(verdicts: Iterable[Verdict]) -> list[dict[str, Any]]:
    """Return the verdicts on the runs as plain data for JSON."""
    return [
        {
            "run": verdict.run.title,
            "answer": verdict.answer,
            "lacks": [
                {
                    "role": lack.role or None,
                    "pods": lack.pods,
                    "resource": lack.resource or None,
                    "amount": _amount(lack) if lack.resource else None,
                    "nodes": lack.nodes or None,
                    "reason": lack.reason or None,
                }
                for lack in verdict.lacks
            ],
            "beside": [*verdict.competitors],
            "assumes": [*verdict.assumptions],
            "earlierPods": verdict.run.earlier_pods,
            "doubts": [{"roles": [*doubt.roles], "reason": doubt.reason} for doubt in verdict.doubts],
        }
        for verdict in verdicts
    ]


def _lack_texts(lacks: Iterable[Lack]) -> Iterator[str]:
    """Yield a text for each role whose pods do not all fit, and for each reason why Kubernetes refuses objects.

    Example: "worker lacks 3 nvidia.com/gpu (3 pods without a node)".
    """
    for role, of_role in groupby(lacks, key=lambda lack: lack.role):
        if not role:
            yield from (lack.reason for lack in of_role)
            continue
        first, *remaining = of_role
        nodes = f" on {first.nodes}" if first.nodes else ""
        unplaced = f"{count(first.pods, 'pod')} without a node"
        if first.resource:
            amounts = [
                f"{_amount(lack)} {lack.resource}" if lack.resource != PODS else f"room for {count(lack.count, 'pod')}"
                for lack in (first, *remaining)
            ]
            yield f"{first.role} lacks {either(amounts, 'and')}{nodes} ({unplaced})"
        else:
            yield f"{first.role} has {unplaced}{nodes}: {first.reason}"


def _amount(lack: Lack) -> str:
    return amount(lack.resource, amount_of(lack.resource, lack.count))


_MOST: Final = 20
"""Maximum number of lines about nodes. A last line has the number of the remaining nodes."""
_MOST_GPUS: Final = 64
_RUNNING, _FREE, _WAITING = "#", ".", "?"
_INVERSE: Final = 7


def node_lines(nodes: Sequence[NodeSlots], colours: Sequence[int] = ()) -> Iterator[str]:
    """Yield the lines about the nodes of a plan.

    Args:
        nodes: the nodes, with the placed pods.
        colours: the terminal's colour codes for the letters; empty for plain text.
    """
    groups = grouped(nodes)
    letters = slot_letters(nodes)
    shown, hidden = groups[:_MOST], groups[_MOST:]
    painted = {letter: colours[number % len(colours)] for number, letter in enumerate(letters.values()) if colours}
    is_single = len({item.run for node in nodes for item in node.placed}) == 1
    rows = [("NODES", "SLOTS" if _gpus(nodes) else "", "TASKS")]
    for group in shown:
        first, *others = map(printable, group.names)
        names = f"{first} and {len(others)} more" if len(others) > 1 else ", ".join((first, *others))
        counts = role_counts(group.slots).items()
        tasks = [text if is_single and run else f"{run or 'waiting'}: {text}" for run, text in counts]
        rows.append((names, _cells(group.slots, letters), printable("; ".join(tasks))))
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    for names, cells, tasks_text in rows:
        gap = " " * (widths[1] - len(cells))
        slot_text = cells if " of " in cells else _painted(cells, painted)
        text = f"{names:<{widths[0]}}  {slot_text}{gap}{'  ' if widths[1] else ''}{tasks_text}"
        yield text.rstrip()
    if hidden:
        remaining = [group.slots.replaced(name=name) for group in hidden for name in group.names]
        yield f"and {len(remaining)} more nodes: {_free(remaining)} of {_gpus(remaining)} GPUs free"
    if _gpus(nodes):
        yield ""
        yield f"GPUs: {', '.join(_legend(nodes, letters, is_single, painted))}"


def node_rows(nodes: Iterable[NodeSlots]) -> list[dict[str, Any]]:
    """Return the nodes of a plan as plain data for JSON."""
    return [
        {
            "node": node.name,
            "gpus": node.gpus,
            "running": list(node.running),
            "free": node.free,
            "tasks": [
                {"run": item.run or None, "role": item.role, "pods": item.pods, "gpus": item.gpus}
                for item in node.placed
            ],
        }
        for node in nodes
    ]


def _cells(node: NodeSlots, letters: Mapping[RoleKey, str]) -> str:
    """Return the GPU slots of a node as text, such as `[WW ## ..]`. Each character shows one GPU.

    Blanks separate the GPUs of different pods. A node with more than `_MOST_GPUS` GPUs has numbers instead.
    """
    if not node.gpus:
        return ""
    if node.gpus > _MOST_GPUS:
        return f"[{node.gpus - node.free} of {node.gpus}]"
    pods: list[str] = []
    for item in (item for item in node.placed if item.gpus):
        letter = letters[item.run, item.role] if item.run else _WAITING
        pods += [letter * item.gpus] * item.pods
    pods += [_RUNNING * gpus for gpus in node.running]
    return f"[{' '.join(filter(None, (*pods, _FREE * node.free)))}]"


def _painted(cells: str, colours: Mapping[str, int]) -> str:
    return "".join(f"\033[{_INVERSE};{colours[cell]}m{cell}\033[0m" if cell in colours else cell for cell in cells)


def _legend(
    nodes: Sequence[NodeSlots], letters: Mapping[RoleKey, str], is_single: bool, colours: Mapping[str, int]
) -> Iterator[str]:
    """Yield a text for each letter or symbol in the picture, such as "W worker 26".

    The text has the letter, the meaning of the letter, and the number of GPUs.
    """
    sums: dict[RoleKey, int] = {}
    for item in (item for node in nodes for item in node.placed if item.gpus):
        key = (item.run, item.role) if item.run else ("", "")
        sums[key] = sums.get(key, 0) + item.pods * item.gpus
    for (run, role), gpus in sums.items():
        if run and letters[run, role] != SHARED_LETTER:
            yield f"{_painted(letters[run, role], colours)} {printable(role if is_single else f'{run} {role}')} {gpus}"
    shared = sum(gpus for key, gpus in sums.items() if letters.get(key) == SHARED_LETTER)
    running = sum(sum(node.running) for node in nodes)
    for symbol, text, gpus in (
        (SHARED_LETTER, "other roles", shared),
        (_WAITING, "waiting pods", sums.get(("", ""), 0)),
        (_RUNNING, "running pods", running),
        (_FREE, "free", _free(nodes)),
    ):
        if gpus:
            yield f"{symbol} {text} {gpus}"


def _gpus(nodes: Iterable[NodeSlots]) -> int:
    return sum(node.gpus for node in nodes)


def _free(nodes: Iterable[NodeSlots]) -> int:
    return sum(node.free for node in nodes)
