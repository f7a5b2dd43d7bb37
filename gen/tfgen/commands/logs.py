"""``tfgen logs``: print the output of the tasks of a run. Each line begins with the name of its task."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from tfgen.cli.arguments import number, release_arguments, run_arguments, seconds
from tfgen.cli.live import check_role, clusters_of, read_run
from tfgen.cli.output import COLOURS, OK, PROBLEMS, is_in_colour, print_message
from tfgen.live.api import FOLLOWING, ONCE
from tfgen.live.clusters import read_progress, read_states
from tfgen.live.logs import Follower, LogChoice, read_logs
from tfgen.live.tasks import failed_pods, task_errors, task_name
from tfgen.report.status import as_line

if TYPE_CHECKING:
    from tfgen.live.logs import TaskLine
    from tfgen.live.run import DeclaredRun, Snapshot


EXAMPLE: Final = "tfgen logs job.yaml --env prod --role worker --index 0 --follow --since 10m"

_LAST_LINES: Final = 200
"""Number of the last log lines of a task in which tfgen searches for common errors."""


def arguments(parser: ArgumentParser) -> None:
    run_arguments(parser, may_be_removed=True)
    parser.add_argument("--role", metavar="ROLE", help="only the tasks of this role, such as worker")
    parser.add_argument("--index", type=number, metavar="N", help="only the task with this index in each role")
    parser.add_argument(
        "-f",
        "--follow",
        action="store_true",
        help="print new lines until the run ends or is deleted, including new pods",
    )
    parser.add_argument("--all", action="store_true", help="include all containers of the tasks, and the finisher")
    parser.add_argument("--since", type=seconds, metavar="TIME", help="only lines of the last TIME, such as 10m")
    parser.add_argument("--tail", type=number, metavar="N", help="only the last N lines of each container")
    release_arguments(parser)


def run(args: Namespace) -> int:
    run = read_run(args)
    check_role(args.role, run)
    clusters = clusters_of(args, FOLLOWING if args.follow else ONCE)
    run = clusters.with_release_names(run, args.release)
    live = clusters.place(run)
    choice = LogChoice(args.role, args.index, args.all, args.since, args.tail)
    api = clusters.api(live.context)
    ends = _LogEnds()
    if not args.follow:
        progress = read_progress(api, live.namespace, run)
        _print_lines(args, ends.pass_on(read_logs(api, live.namespace, run, choice, progress.pods)))
        _print_errors(run, progress, choice, ends)
        return OK
    with Follower(api, live.namespace, run, choice) as follower:
        _print_lines(args, ends.pass_on(follower.lines()))
    _print_errors(run, follower.progress, choice, ends)
    if follower.end and follower.end.result != "NotStarted":
        return OK
    (state,) = read_states(clusters, [run], with_logs=True)
    print_message(as_line(state.replaced(is_deleted=follower.is_deleted)))
    return PROBLEMS


class _LogEnds:
    """Buffer of the last log lines of each task, in which tfgen searches for common errors."""

    def __init__(self) -> None:
        self._lines: defaultdict[str, deque[str]] = defaultdict(lambda: deque(maxlen=_LAST_LINES))

    def pass_on(self, lines: Iterable[TaskLine]) -> Iterator[TaskLine]:
        """Yield all lines unchanged, and store the last lines of each task."""
        for item in lines:
            if not item.container:
                self._lines[item.task].append(item.line.text)
            yield item

    def text(self, task: str) -> str:
        """Return the last log lines of a task."""
        return "\n".join(self._lines.get(task, ()))


def _print_errors(run: DeclaredRun, progress: Snapshot, choice: LogChoice, ends: _LogEnds) -> None:
    """Print the common training errors in the logs of tasks, with the fix for each error. Failed tasks come first.

    Args:
        run: the run.
        progress: the pods and other objects of the run.
        choice: the tasks that the user selected on the command line.
        ends: the last log lines of each task.
    """
    pods = [pod for pod in (*failed_pods(run, progress), *progress.pods_of(run)) if choice.takes(pod, run)]
    for error in task_errors(pods, {pod["metadata"]["name"]: ends.text(task_name(pod)) for pod in pods}):
        print_message(str(error))


def _print_lines(args: Namespace, lines: Iterable[TaskLine]) -> None:
    for text in _as_json(lines) if args.format == "json" else _as_text(lines):
        print(text, flush=args.follow)


def _as_text(lines: Iterable[TaskLine]) -> Iterator[str]:
    prefixes: dict[tuple[str, str], str] = {}
    is_coloured = is_in_colour(sys.stdout)
    for item in lines:
        key = (item.task, item.container)
        if key not in prefixes:
            name = f"{'/'.join(filter(None, key)):<10} | "
            colour = COLOURS[len(prefixes) % len(COLOURS)]
            prefixes[key] = f"\033[{colour}m{name}\033[0m" if is_coloured else name
        yield f"{prefixes[key]}{item.line.text}"


def _as_json(lines: Iterable[TaskLine]) -> Iterator[str]:
    for item in lines:
        row = {"task": item.task, "container": item.container or None, "time": item.line.time, "text": item.line.text}
        yield json.dumps(row, ensure_ascii=False)
