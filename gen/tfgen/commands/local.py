"""``tfgen local``: run the tasks of a job as processes on this machine. TF_CONFIG lists free ports of this machine."""

from __future__ import annotations

import argparse
import itertools
import os
import re
import shutil
import signal
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, TextIO

from tfgen.check.jobs import check_all
from tfgen.cli.arguments import number, path, run_arguments
from tfgen.cli.output import COLOURS, OK, is_in_colour, print_json, print_message
from tfgen.commands.set import set_values
from tfgen.disk_file import read_text
from tfgen.errors import UsageError, stop_at_errors
from tfgen.job.facts import check_environment, choose_job, name_of
from tfgen.job.sources import read_sources
from tfgen.live.training_log import TrainingError, find_error, loss_line, losses
from tfgen.local.plan import LocalDocument, LocalJob, LocalOptions, new_root, plan_local_job
from tfgen.local.run import CAN_END_ALL, Failure, Processes, Run, read_failure
from tfgen.words import count, either

EXAMPLE: Final = "tfgen local job.yaml --env dev --set roles.worker.replicas=2"

_NO_PATH: Final = re.compile(r"No such file or directory|Permission denied|Read-only file system|(?i:not ?found)")
"""Pattern of a log line about a path that a program cannot open or create."""

_STOPS: Final = (signal.SIGINT, signal.SIGTERM)


def arguments(parser: ArgumentParser) -> None:
    run_arguments(parser)
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        dest="assignments",
        metavar="PATH=VALUE",
        help="set a value for this run only, such as roles.worker.replicas=2; repeatable",
    )
    parser.add_argument(
        "--workdir",
        type=_folder,
        metavar="DIR",
        help="the folder of the training code, and the working directory of the tasks (default: the folder of JOB)",
    )
    parser.add_argument(
        "--python", type=_program, metavar="PROGRAM", help="the Python for the tasks (default: python on the PATH)"
    )
    parser.add_argument(
        "--mount",
        action="append",
        default=[],
        type=_mount,
        metavar="VOLUME=DIR",
        help="a local folder for a volume, such as data=./data (default: a temporary folder)",
    )
    parser.add_argument(
        "--env-file",
        action="append",
        default=[],
        type=path,
        metavar="FILE",
        help="a file with a variable NAME=VALUE on each line, for variables from Secrets of the cluster",
    )
    parser.add_argument(
        "--fail",
        action="append",
        default=[],
        type=_failure,
        metavar="ROLE=INDEX@SECONDSs",
        help="kill a task and start the task again; worker=1@30s kills worker 1 after 30 seconds",
    )
    parser.add_argument(
        "--retries",
        type=number,
        metavar="N",
        help="the number of restarts of a failed task (default: 0; with --fail: the number in the job)",
    )


def run(args: Namespace) -> int:
    job = read_job(args.job, args.assignments, args.env, args.job_name)
    options = _options(args, Path(job.document.file).parent)
    with new_root(job.document) as root:
        plan = plan_local_job(job, options, root)
        for note in plan.notes:
            print_message(f"note: {note}")
        if not CAN_END_ALL:
            print_message(
                "note: on this system, a process that leaves the process group of its task may outlive the run"
            )
        with Processes(root) as processes:
            run = _watch(args, plan, processes)
    _print_end(args, plan, run)
    return run.code or OK


def _options(args: Namespace, folder: Path) -> LocalOptions:
    """Return the options of the run. `folder` is the folder of the job file."""
    return LocalOptions(
        environment=args.env,
        workdir=(args.workdir or folder).resolve(),
        python=args.python,
        folders=dict(args.mount),
        variables={name: value for file in args.env_file for name, value in read_variables(file).items()},
        failures=tuple(args.fail),
        retries=args.retries,
    )


def _watch(args: Namespace, plan: LocalJob, processes: Processes) -> Run:
    """Run the tasks, and print their output. The first Ctrl-C stops the tasks; a second Ctrl-C kills the tasks."""
    run = Run(plan.tasks, plan.ending, processes, time.monotonic)
    screen = _Screen([task.name for task in plan.tasks], sys.stderr if args.format == "json" else sys.stdout)
    stops: list[int] = []
    previous = {number: signal.signal(number, lambda number, _: stops.append(number)) for number in _STOPS}
    try:
        for line in run.lines():
            if line is not None:
                screen.print_line(line.task, line.text)
            screen.show_status(run)
            while stops:
                run.stop(128 + stops.pop(), "the user")
    finally:
        screen.clear_status()
        for number, handler in previous.items():
            signal.signal(number, handler)
    return run


class _Screen:
    """Printer of the output of all tasks. Each line begins with the task name. A terminal also has a status line."""

    def __init__(self, tasks: Sequence[str], stream: TextIO) -> None:
        width = max(map(len, tasks))
        self._prefixes = {task: f"{task:<{width}} | " for task in tasks}
        if is_in_colour(stream):
            colours = itertools.cycle(COLOURS)
            self._prefixes = {t: f"\033[{next(colours)}m{prefix}\033[0m" for t, prefix in self._prefixes.items()}
        self._stream = stream
        self._has_status = sys.stderr.isatty()
        self._status = ""

    def print_line(self, task: str, text: str) -> None:
        """Print an output line of a task, with the name of the task in front."""
        self.clear_status()
        print(f"{self._prefixes[task]}{text}", file=self._stream, flush=True)

    def show_status(self, run: Run) -> None:
        """Update the status line, which has the number of running tasks of each role and the time since the start."""
        if not self._has_status:
            return
        text = _status(run)[: shutil.get_terminal_size().columns - 1]
        if text != self._status:
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
            self._status = text

    def clear_status(self) -> None:
        """Erase the status line."""
        if self._status:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
            self._status = ""


def _status(run: Run) -> str:
    roles: dict[str, list[bool]] = {}
    for state in run.states.values():
        roles.setdefault(state.task.role, []).append(state.is_running)
    minutes, seconds = divmod(int(run.seconds), 60)
    parts = [f"{role} {sum(running)}/{len(running)}" for role, running in roles.items()]
    return "  ".join([*parts, f"{minutes}:{seconds:02}"])


def _training_errors(run: Run) -> Iterator[tuple[str, TrainingError]]:
    """Yield (name of the first task with the error, error), for each common training error in the logs of a run."""
    names: set[str] = set()
    for name, state in run.states.items():
        text = state.task.log.read_text(errors="replace") if state.task.log.exists() else ""
        error = find_error(text, has_failed=bool(run.code))
        if error and error.name not in names:
            names.add(error.name)
            yield name, error


def _path_advice(plan: LocalJob, run: Run) -> Iterator[str]:
    """Yield one line for each mount path that a failed run did not find, because the program contains the path."""
    paths = {path: name for path, name in plan.mounts.items() if run.code and not Path(path).exists()}
    named: set[str] = set()
    for state in run.states.values() if paths else ():
        text = state.task.log.read_text(errors="replace") if state.task.log.exists() else ""
        failures = "\n".join(line for line in text.splitlines() if _NO_PATH.search(line))
        for mount, volume in paths.items():
            if mount in named or not re.search(rf"{re.escape(mount)}(?![\w.-])", failures):
                continue
            named.add(mount)
            yield (
                f"{state.task.name}: the program contains {mount}, the mount path of the volume {volume}, which is not "
                f"on this machine; read the path from a variable or an argument, or create {mount} here and add "
                f"--mount {volume}={mount}"
            )


def _loss_line(run: Run) -> str:
    """Return a line with the loss curve of the first task that prints losses; empty if no task prints losses."""
    for name, state in run.states.items():
        if state.task.log.exists():
            with state.task.log.open(encoding="utf-8", errors="replace", newline="\n") as log:
                line = loss_line(name, losses(log))
            if line:
                return line
    return ""


def _print_end(args: Namespace, plan: LocalJob, run: Run) -> None:
    logs = plan.tasks[0].log.parent
    if args.format == "json":
        tasks = [
            {"task": name, "code": state.code, "starts": state.starts, "log": str(state.task.log)}
            for name, state in run.states.items()
        ]
        volumes = {name: str(folder) for name, folder in plan.folders.items()}
        print_json({"code": run.code, "endedBy": run.reason, "tasks": tasks, "volumes": volumes, "problems": []})
    for failure in run.pending_failures:
        print_message(f"note: {failure.task} was not killed: the job ended before {failure.seconds:g} s")
    for task, error in _training_errors(run):
        print_message(f"{task}: {error}")
    for line in _path_advice(plan, run):
        print_message(line)
    if line := _loss_line(run):
        print_message(line)
    if lone := run.lone_tasks:
        print_message(
            f"{count(len(lone), 'task')} trained alone, because the program opened no server of TF_CONFIG: "
            f"{either(lone, 'and')}; build a distribution strategy before the model: see docs/keras.md"
        )
    print_message(f"{run.reason} ended the job with exit code {run.code} after {run.seconds:.0f} s\nlogs: {logs}")
    for name, folder in plan.folders.items():
        print_message(f"volume {name}: {folder}")


def _folder(text: str) -> Path:
    folder = path(text)
    if not folder.is_dir():
        raise argparse.ArgumentTypeError(f"{text}: the folder does not exist")
    return folder


def _program(text: str) -> str:
    program = shutil.which(text)
    if program is None:
        raise argparse.ArgumentTypeError(f"{text}: the program does not exist on this machine")
    return os.path.abspath(program)  # noqa: PTH100 - Python finds its virtual environment by the path of this link


def _mount(text: str) -> tuple[str, Path]:
    name, _, folder = text.partition("=")
    if not name or not folder:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not VOLUME=DIR; write the name of a volume and its folder, such as data=./data"
        )
    return name, Path(folder).absolute()


def _failure(text: str) -> Failure:
    try:
        return read_failure(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


_ASSIGNMENT: Final = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_.-]*)=(.*)")


def read_job(path: Path, assignments: Sequence[str], environment: str | None, name: str | None = None) -> LocalDocument:
    """Read a job from a file or folder, and set values in the job as `tfgen set` does. The files remain unchanged.

    Args:
        path: the job file, or a folder with job files.
        assignments: the values to set, as `PATH=VALUE`.
        environment: the environment of the run; None for the job without an environment.
        name: the name of the job, if the path has several jobs.

    Raises:
        UsageError: the path has no job, the path has several jobs and `name` is None, the environment does not exist,
            or an assignment is invalid.
        ProblemsError: the job has errors.
    """
    sources = read_sources([path])
    if len(sources) > 1:
        chosen = choose_job(check_all(sources).documents, str(path), name)
        name = name_of(chosen)
        sources = [source for source in sources if source.file == chosen.file]
    (source,) = sources
    if assignments:
        edited = set_values(source, read_text(Path(source.file)), assignments, environment, name)
        stop_at_errors(edited.problems)
        source = source.replaced(content=edited.text)
    jobs = check_all([source])
    stop_at_errors(jobs.problems)
    document = choose_job(jobs.documents, source.file, name)
    if environment is not None:
        check_environment(document, environment)
    return LocalDocument(document, jobs.problems)


def read_variables(file: Path) -> dict[str, str]:
    """Read variables from a file in the syntax of `docker run --env-file`: one `NAME=VALUE` on each line.

    Raises:
        UsageError: the file cannot be read, or lines have a wrong syntax. The message lists all such lines.
    """
    values, messages = {}, []
    try:
        lines = file.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "the file is not UTF-8"
        raise UsageError(f"{file}: {reason}") from error
    for line_number, line in enumerate(lines, start=1):
        stripped = line.strip()
        match = _ASSIGNMENT.fullmatch(stripped)
        if match:
            values[match[1]] = _unquoted(match[2])
        elif stripped and not stripped.startswith("#"):
            # The message does not quote the line, because the line may contain a secret.
            messages.append(f"{file}:{line_number}: this is not a variable; write NAME=VALUE")
    if messages:
        raise UsageError("\n".join(messages))
    return values


def _unquoted(text: str) -> str:
    """Remove the quotes around a value."""
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text
