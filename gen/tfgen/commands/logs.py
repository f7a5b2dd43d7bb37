"""``tfgen logs``: print the output of the tasks of a run. Each line begins with the name of its task."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from collections import defaultdict, deque
from collections.abc import Iterable
from typing import Final, TypeAlias

from tfgen.cli.arguments import flag, number, option, release_arguments, run_arguments, seconds
from tfgen.cli.live import check_role, clusters_of, read_run
from tfgen.cli.output import COLOURS, OK, PROBLEMS, is_in_colour, print_message
from tfgen.live.api import FOLLOWING, ONCE
from tfgen.live.clusters import read_progress, read_states
from tfgen.live.logs import Follower, LogChoice, TaskLine, read_logs
from tfgen.live.run import DeclaredRun, Snapshot
from tfgen.live.tasks import failed_pods, task_errors, task_name
from tfgen.report.status import as_line

EXAMPLE: Final = "tfgen logs job.yaml --env prod --role worker --index 0 --follow --since 10m"

_LAST_LINES: Final = 200
"""Number of the last log lines of a task in which tfgen searches for common errors."""

_LogEnds: TypeAlias = defaultdict[str, deque[str]]


def arguments(parser: ArgumentParser) -> None:
    run_arguments(parser, may_be_removed=True)
    option(parser, "--role", "ROLE", "only the tasks of this role, such as worker")
    option(parser, "--index", "N", "only the task with this index in each role", number)
    flag(parser, "-f --follow", "print new lines until the run ends or is deleted, including new pods")
    flag(parser, "--all", "include all containers of the tasks, and the finisher")
    option(parser, "--since", "TIME", "only lines of the last TIME, such as 10m", seconds)
    option(parser, "--tail", "N", "only the last N lines of each container", number)
    release_arguments(parser)


def run(args: Namespace) -> int:
    run = read_run(args)
    check_role(args.role, run)
    clusters = clusters_of(args, FOLLOWING if args.follow else ONCE)
    run = clusters.with_release_names(run, args.release)
    live = clusters.place(run)
    choice = LogChoice(args.role, args.index, args.all, args.since, args.tail)
    api = clusters.api(live.context)
    # The last log lines of each task, in which tfgen searches for common errors.
    ends: _LogEnds = defaultdict(lambda: deque(maxlen=_LAST_LINES))
    if not args.follow:
        progress = read_progress(api, live.namespace, run)
        _print_lines(args, read_logs(api, live.namespace, run, choice, progress.pods), ends)
        _print_errors(run, progress, choice, ends)
        return OK
    with Follower(api, live.namespace, run, choice) as follower:
        _print_lines(args, follower.lines(), ends)
    _print_errors(run, follower.progress, choice, ends)
    if follower.end and follower.end.result != "NotStarted":
        return OK
    (state,) = read_states(clusters, [run], with_logs=True)
    print_message(as_line(state.replaced(is_deleted=follower.is_deleted)))
    return PROBLEMS


def _print_errors(run: DeclaredRun, progress: Snapshot, choice: LogChoice, ends: _LogEnds) -> None:
    """Print the common training errors in the logs of tasks, with the fix for each error. Failed tasks come first.

    Args:
        run: the run.
        progress: the pods and other objects of the run.
        choice: the tasks that the user selected on the command line.
        ends: the last log lines of each task.
    """
    pods = [pod for pod in (*failed_pods(run, progress), *progress.pods_of(run)) if choice.takes(pod, run)]
    for error in task_errors(pods, {pod["metadata"]["name"]: "\n".join(ends[task_name(pod)]) for pod in pods}):
        print_message(str(error))


def _print_lines(args: Namespace, lines: Iterable[TaskLine], ends: _LogEnds) -> None:
    """Print all lines, and add the lines of the tasks, but not of other containers, to `ends`."""
    prefixes: dict[tuple[str, str], str] = {}
    is_coloured = is_in_colour(sys.stdout)
    for item in lines:
        key, line = (item.task, item.container), item.line
        if not item.container:
            ends[item.task].append(line.text)
        if args.format == "json":
            row = {"task": item.task, "container": item.container or None, "time": line.time, "text": line.text}
            print(json.dumps(row, ensure_ascii=False), flush=args.follow)
            continue
        if key not in prefixes:
            name = f"{'/'.join(filter(None, key)):<10} | "
            colour = COLOURS[len(prefixes) % len(COLOURS)]
            prefixes[key] = f"\033[{colour}m{name}\033[0m" if is_coloured else name
        print(f"{prefixes[key]}{line.text}", flush=args.follow)
