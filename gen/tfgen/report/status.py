"""Prints the states of runs as text, as a table, and as plain data."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import repeat
from typing import Any, Final

from tfgen.live.clusters import UndeclaredRun
from tfgen.live.run_state import RoleState, RunState
from tfgen.live.tasks import LostNode, TaskState
from tfgen.words import columns, command_line, count, either, printable

_TASKS: Final = 8
"""Maximum number of tasks that are listed for a healthy role. For a healthy role with more tasks, no task is listed."""
_OUT_OF_SERVICE: Final = "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute"
"""The node taint that makes Kubernetes delete all pods of the node and detach the volumes of the pods:
https://kubernetes.io/docs/concepts/cluster-administration/node-shutdown/#non-graceful-node-shutdown."""
_DELETED: Final = "the run was deleted"
_RELEASE: Final = "to free the nodes now: tfgen release"


def as_table(states: Sequence[RunState], now: datetime) -> str:
    """Return a table of the states of runs, with one line for each run."""
    rows = [["RUN", "NAMESPACE", "PHASE", "READY", "GPUS", "AGE", "WHY"]]
    for state in states:
        ready, requested = sum(role.ready for role in state.roles), sum(role.requested for role in state.roles)
        reason = state.causes[0].reason if state.causes else None
        text = f"{reason.word}: {printable(reason.message)}" if reason else ""
        rows.append(
            [
                state.run.title,
                state.namespace,
                state.phase,
                f"{ready}/{requested}",
                str(state.gpus),
                age(state.since, now),
                text if len(text) <= 60 else f"{text[:57]}...",
            ]
        )
    return columns(rows)


def undeclared_text(runs: Sequence[UndeclaredRun], *, has_jobs: bool) -> str:
    """Return the lines about runs whose job file is gone. `has_jobs` tells whether the command found any job."""
    lines = [
        f"{run.title} in {run.namespace}: {count(run.pods, 'pod')} and {count(run.gpus, 'GPU')} in use, but no job "
        f"file of the repository has the job {run.job}; to end the run, delete the Application, the Kustomization or "
        f"the Helm release that applies the run, or run {command_line('delete', run.job)} if tfgen apply started the "
        "run\n"
        for run in runs
    ]
    if lines or has_jobs:
        return "".join(lines)
    return "the jobs were removed, and no pod of a removed job runs in their namespaces\n"


def undeclared_rows(runs: Iterable[UndeclaredRun]) -> list[dict[str, Any]]:
    """Return the runs whose job file is gone as plain data for JSON."""
    return [
        {"run": run.title, "job": run.job, "namespace": run.namespace, "pods": run.pods, "gpus": run.gpus}
        for run in runs
    ]


def as_text(state: RunState, now: datetime) -> str:
    """Return all lines of `tfgen status` about one run."""
    lines = [title(state, now)]
    if state.phase in ("Absent", "Disabled") and not any(role.tasks for role in state.roles):
        lines += reason_lines(state, now)
    else:
        table = [["TASK", "READY", "STATE", "RESTARTS", "NODE", "AGE"]]
        for role in state.roles:
            table.append([role.role, f"{role.ready}/{role.requested}", "", str(role.restarts), "", ""])
            for task in listed_tasks(role):
                ready, since = "yes" if task.is_ready else "", age(task.since, now)
                table.append([f"  {task.task}", ready, task.word, str(task.restarts), task.node, since])
        lines += ["", *columns(table).splitlines(), "", *progress_lines(state)]
        lines += (*reason_lines(state, now), *note_lines(state))
    return "".join(f"{line}\n" for line in lines)


def as_line(state: RunState) -> str:
    """Return the state of a run in one line, such as "mnist: Running, 7/7 ready, step 600"."""
    ready, requested = sum(role.ready for role in state.roles), sum(role.requested for role in state.roles)
    parts = [f"{state.run.title}: {state.phase}"]
    if state.phase not in ("Absent", "Disabled"):
        parts.append(f"{ready}/{requested} ready")
    if state.step is not None:
        parts.append(f"step {state.step}")
    parts += map(str, state.causes)
    if state.is_deleted:
        parts.append(_DELETED)
    if state.is_stuck:
        log = f": {printable(state.finisher_log)}" if state.finisher_log else ""
        parts += [f"finisher: {state.finisher}{log}", f"held: nodes of {either(state.unreleased, 'and')}; {_RELEASE}"]
    return ", ".join(parts)


def rows(states: Iterable[RunState]) -> list[dict[str, Any]]:
    """Return the states of runs as plain data for JSON."""
    return [_row(state) for state in states]


def age(timestamp: str, now: datetime) -> str:
    """Return the time since a timestamp in at most two units, such as 2d3h. The format is that of kubectl."""
    if not timestamp:
        return ""
    seconds = max(int((now - datetime.fromisoformat(timestamp)) / timedelta(seconds=1)), 0)
    for size, unit, smaller, small_unit in ((86400, "d", 3600, "h"), (3600, "h", 60, "m"), (60, "m", 1, "s")):
        if seconds >= size:
            small_units = seconds % size // smaller
            is_shown = small_units and seconds < 10 * size
            return f"{seconds // size}{unit}{f'{small_units}{small_unit}' if is_shown else ''}"
    return f"{seconds}s"


def title(state: RunState, now: datetime) -> str:
    """Return the first line about a run, such as "mnist in ml: Partial for 8s"."""
    since = f" for {age(state.since, now)}" if state.since and not state.end else ""
    if state.end:
        since = f" {age(state.end.at, now)} ago" if state.end.at else ""
    deleted = f"; {_DELETED}" if state.is_deleted else ""
    return f"{state.run.title} in {state.namespace}: {state.phase}{since}{deleted}"


def reason_lines(state: RunState, now: datetime) -> Iterator[str]:
    """Yield the lines about the reasons why a run waits or fails, the lost nodes, and the errors of failed tasks."""
    for cause in state.causes:
        yield f"why:      {cause}"
    for node in state.lost:
        yield from _lost_lines(node, now)
    yield from error_lines(state)


def error_lines(state: RunState) -> Iterator[str]:
    """Yield the lines with the common training errors of a run's failed tasks."""
    yield from (f"error:    {error}" for error in state.errors)


def progress_lines(state: RunState) -> Iterator[str]:
    """Yield the lines about the training step, the GPUs and the finisher of a run."""
    if state.step is not None:
        yield f"step:     {state.step}"
    yield f"GPUs:     {state.gpus} in use"
    if state.finisher:
        log = f": {printable(state.finisher_log)}" if state.unreleased and state.finisher_log else ""
        yield f"finisher: {state.finisher}{log}"
    if state.unreleased and state.finisher:
        yield f"held:     nodes of {either(state.unreleased, 'and')}; {_RELEASE}"


def note_lines(state: RunState) -> Iterator[str]:
    """Yield the lines about what differs from job.yaml, and about objects that tfgen could not read."""
    for text in (*state.differences, *map(str, state.edits)):
        yield f"differs:  {printable(text)}"
    for text in state.unreadable:
        yield f"not seen: {printable(text)}"


def listed_tasks(role: RoleState, most: int = _TASKS) -> tuple[TaskState, ...]:
    """Return the tasks of a role that `tfgen status` shows on separate lines.

    The result is empty if one line about the whole role suffices: the role has more than `most` tasks, all tasks are
    ready, and no task has restarted.
    """
    is_well = role.ready == role.requested and not role.restarts
    return role.tasks if not is_well or len(role.tasks) <= most else ()


def _lost_lines(node: LostNode, now: datetime) -> Iterator[str]:
    """Yield the lines about a node that is not ready: pods, GPUs and claims on the node, and two possible fixes."""
    since = f" for {age(node.since, now)}" if node.since else ""
    message = f" ({printable(node.message)})" if node.message else ""
    claims = "claim" if len(node.claims) == 1 else "claims"
    holds = [
        *([count(node.gpus, "GPU")] if node.gpus else []),
        *([f"the {claims} {either(node.claims, 'and')}"] if node.claims else []),
    ]
    pods = f"{either(node.tasks, 'and')} on {node.name}, which has not been ready{since}{message}"
    resources = f"; still in use: {either(holds, 'and')}" if holds else ""
    yield f"lost:     {pods}{resources}"
    if node.is_silent:
        yield f"fix:      if {node.name} is off: kubectl taint nodes {node.name} {_OUT_OF_SERVICE}"
        yield "fix:      or delete only these pods: tfgen release --lost"


def _row(state: RunState) -> dict[str, Any]:
    return {
        "job": state.run.job,
        "environment": state.run.environment,
        "run": state.run.run,
        "namespace": state.namespace,
        "phase": state.phase,
        "since": state.since or None,
        "endedAt": (state.end.at or None) if state.end else None,
        "gpus": state.gpus,
        "step": state.step,
        "finisher": state.finisher or None,
        "finisherLog": state.finisher_log or None,
        "held": list(state.unreleased),
        "roles": [
            {
                "role": role.role,
                "wanted": role.requested,
                "ready": role.ready,
                "restarts": role.restarts,
                "tasks": [_task_row(task) for task in role.tasks],
            }
            for role in state.roles
        ],
        "why": [
            {"subjects": list(cause.subjects), "reason": cause.reason.word, "message": cause.reason.message}
            for cause in state.causes
        ],
        "lost": [_lost_row(node) for node in state.lost],
        "errors": [
            {"task": item.task, "error": item.error.name, "meaning": item.error.meaning, "page": item.error.page}
            for item in state.errors
        ],
        "differences": list(state.differences),
        "templateEdits": [
            {
                "role": edit.role,
                "owners": list(edit.owners),
                "container": edit.container,
                "field": edit.field,
                "found": edit.found,
                "expected": edit.expected,
                "onlyInPods": edit.is_of_pods,
            }
            for edit in state.edits
        ],
        "notSeen": list(state.unreadable),
    }


def _task_row(task: TaskState) -> dict[str, Any]:
    return {
        "task": task.task,
        "pod": task.pod,
        "state": task.word,
        "ready": task.is_ready,
        "restarts": task.restarts,
        "node": task.node or None,
        "since": task.since,
        "gpus": task.gpus,
    }


def _lost_row(node: LostNode) -> dict[str, Any]:
    return {
        "node": node.name,
        "since": node.since or None,
        "message": node.message or None,
        "answers": not node.is_silent,
        "tasks": list(node.tasks),
        "pods": list(node.pods),
        "gpus": node.gpus,
        "claims": list(node.claims),
    }


_LABEL: Final = 10
"""Number of characters of a label such as "why:", including the spaces after the label."""
_READY, _WAITING = "█", "░"
_LONGEST_BAR: Final = 20
"""Maximum number of characters of a bar. A shorter bar has one character for each task."""
_GREEN, _YELLOW = 32, 33


def tree_lines(states: Sequence[RunState], now: datetime) -> list[str]:
    """Return the lines of the tree. For several runs, the tree omits the tasks of roles that are ready."""
    is_single = len(states) == 1
    lines = []
    for state in states:
        run = "" if is_single else f"{state.run.title}: "
        lines += [f"{line[:_LABEL]}{run}{line[_LABEL:]}" for line in reason_lines(state, now)]
    lines += [""] if lines else []
    for state in states:
        roles = [role for role in state.roles if role.tasks or state.phase not in ("Absent", "Disabled")]
        lines += [title(state, now), *_role_lines(roles, now, is_single=is_single)]
        if is_single and roles:
            lines += ["", *progress_lines(state), *note_lines(state)]
    return lines


def screen(lines: Iterable[str], columns: int, rows: int, *, colour: bool) -> str:
    """Join lines into a text that fits a terminal. If lines do not fit, the last line shows their number."""
    # A long line has at most three lines. The later lines are indented by the width of a label such as "why:".
    wrapper = textwrap.TextWrapper(
        columns, subsequent_indent=" " * _LABEL, max_lines=3, placeholder=" ...", break_on_hyphens=False
    )
    fitting = [part for line in lines for part in (wrapper.wrap(line) if len(line) > columns else [line])]
    room = max(rows - 1, 1)
    if len(fitting) > room:
        fitting = [*fitting[: room - 1], f"... and {count(len(fitting) - room + 1, 'more line')}"]
    text = "".join(f"{line}\n" for line in fitting)
    for symbol, code in ((_READY, _GREEN), (_WAITING, _YELLOW)) if colour else ():
        text = re.sub(f"({symbol}+)", f"\033[{code}m\\1\033[0m", text)
    return text


def _role_lines(roles: Sequence[RoleState], now: datetime, *, is_single: bool) -> Iterator[str]:
    bars = [_bar(role) for role in roles]
    names_width = max((len(role.role) for role in roles), default=0)
    bars_width = max(map(len, bars), default=0)
    tasks = [listed_tasks(role) if is_single else listed_tasks(role, 0) for role in roles]
    texts = [(task.task, task.word, task.node) for of_role in tasks for task in of_role]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    for (branch, indent), role, bar, of_role in zip(_tree_prefixes(roles), roles, bars, tasks, strict=True):
        restarts = f"  {count(role.restarts, 'restart')}" if role.restarts else ""
        yield f"{branch}{role.role:<{names_width}}  {bar:<{bars_width}}  {role.ready}/{role.requested}{restarts}"
        for (task_branch, _), task in zip(_tree_prefixes(of_role), of_role, strict=True):
            cells = zip((task.task, task.word, task.node), widths, strict=True)
            text = "".join(f"{cell:<{width}}  " for cell, width in cells)
            task_restarts = f"  {count(task.restarts, 'restart')}" if task.restarts else ""
            yield f"{indent}{task_branch}{text}{age(task.since, now)}{task_restarts}".rstrip()


def _tree_prefixes(items: Sequence[object]) -> Iterator[tuple[str, str]]:
    """Yield two prefixes for each item of the tree: for the line of the item, and for the lines below.

    Example: ("├─ ", "│  "), and for the last item ("└─ ", "   ").
    """
    if items:
        yield from repeat(("├─ ", "│  "), len(items) - 1)
        yield "└─ ", "   "


def _bar(role: RoleState) -> str:
    """Return a bar that shows the share of ready tasks. The last character is full only if all tasks are ready."""
    size = min(role.requested, _LONGEST_BAR)
    ready = min(role.ready, role.requested) * size // max(role.requested, 1)
    return _READY * ready + _WAITING * (size - ready)
