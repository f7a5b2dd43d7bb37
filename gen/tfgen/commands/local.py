"""``tfgen local``: a job's tasks as processes of this machine, made of its filled objects."""

from __future__ import annotations

import os
import re
import shutil
import site
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tfgen import data_path
from tfgen.check.jobs import check_all
from tfgen.commands.set import set_values
from tfgen.data_path import Path as DataPath
from tfgen.errors import UsageError
from tfgen.graph.built import TaskObjects, task_objects
from tfgen.graph.gpu_count import gpu_count
from tfgen.graph.objects.storage import TMP
from tfgen.graph.task_pods import Pod, pods
from tfgen.job.facts import check_environment, name_of
from tfgen.job.named_job import choose_job
from tfgen.job.sources import read_sources
from tfgen.kubernetes.expansion import expand
from tfgen.kubernetes.program_file import find_program_file
from tfgen.local import containers
from tfgen.local.addresses import loopback, replace_addresses
from tfgen.local.failure import Failure
from tfgen.local.folders import Folders, Volumes
from tfgen.local.gpus import VISIBLE, find_gpus, shares
from tfgen.local.program_imports import find_missing_packages
from tfgen.local.run import Ending
from tfgen.local.task import Task
from tfgen.local.variables import ConfigMaps, config_maps, unknown_sources, variables
from tfgen.plural import count
from tfgen.problems import Problem, has_errors, in_order
from tfgen.record import EMPTY, Record
from tfgen.schema import workload_kinds as kinds
from tfgen.text.document import Document
from tfgen.tree.disk_file import errors_at, read_text
from tfgen.words import either

RULES: Final[Mapping[str, str]] = {
    "local-command": "A task's program is not on this machine.",
    "local-import": "A program imports a package that the Python of this machine lacks.",
    "local-variable": "A variable's value is kept in the cluster, and not on this machine.",
}
"""What `tfgen local` finds wrong."""

_LOGS: Final = "logs"
_PYTHON: Final = re.compile(r"python[0-9.]*")
_DEFAULT_NAMESPACE: Final = "default"
_ASSIGNMENT: Final = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_.-]*)=(.*)")


class LocalOptions(Record):
    """What the user says of a run.

    Attributes:
        environment: the job's environment; None for the job itself.
        workdir: the folder that the code is in.
        python: the Python that tasks run with; None for that of the PATH.
        folders: the user's folders, by the volume's name.
        given: variables, by name.
        in_containers: whether the tasks are containers of the job's image.
        failures: the tasks that are killed on purpose.
        retries: how often a task that fails is started again; None for the default.
    """

    environment: str | None
    workdir: Path
    python: str | None = None
    folders: Mapping[str, Path] = EMPTY
    given: Mapping[str, str] = EMPTY
    in_containers: bool = False
    failures: tuple[Failure, ...] = ()
    retries: int | None = None


class LocalJob(Record):
    """A job that can be started, or what is wrong with it.

    Attributes:
        tasks: all of them.
        ending: when the run ends.
        folders: those of the volumes that stay, by the volume's name.
        notes: what is otherwise than in the cluster.
        problems: why it cannot be started; there are no tasks then.
    """

    tasks: tuple[Task, ...] = ()
    ending: Ending = Ending("Chief")
    folders: Mapping[str, Path] = EMPTY
    notes: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


class LocalDocument(Record):
    """The job in a file as it is to run here, or none where it has errors; and its problems."""

    document: Document | None
    problems: tuple[Problem, ...]


def read_job(file: Path, assignments: Sequence[str], environment: str | None, name: str | None = None) -> LocalDocument:
    """The one job in a file, or the job of that name, with other values, as `tfgen set` would set them.

    Raises:
        UsageError: the file has another number of jobs, the job has no such environment, or an assignment is none.
    """
    if not file.is_file():
        raise UsageError(f"{file}: no file; one job runs at a time")
    (source,) = read_sources([file])
    if assignments:
        edited = set_values(source, read_text(file), assignments, environment, name)
        if has_errors(edited.problems):
            return LocalDocument(None, edited.problems)
        source = source.replaced(content=edited.text)
    jobs = check_all([source])
    if has_errors(jobs.problems):
        return LocalDocument(None, jobs.problems)
    document = choose_job(jobs.documents, str(file), name)
    if environment is not None:
        check_environment(document, environment)
    return LocalDocument(document, jobs.problems)


def read_variables(file: Path) -> dict[str, str]:
    """The variables in a file: `NAME=VALUE` a line, as docker's `--env-file` and shells have it.

    Raises:
        UsageError: it cannot be read, or a line is none; the message has all of them.
    """
    given, wrong = {}, []
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "is not UTF-8"
        raise UsageError(f"{file}: {why}") from error
    for number, line in enumerate(lines, start=1):
        stripped = line.strip()
        match = _ASSIGNMENT.fullmatch(stripped)
        if match:
            given[match[1]] = _unquoted(match[2])
        elif stripped and not stripped.startswith("#"):
            wrong.append(f"{file}:{number}: no variable; write NAME=VALUE")  # never the line: it may be a secret
    if wrong:
        raise UsageError("\n".join(wrong))
    return given


def plan_local_job(document: Document, options: LocalOptions, root: Path) -> LocalJob:
    """A job's tasks on this machine.

    Args:
        document: the job, which has no errors.
        options: what the user says.
        root: the run's own folder, in which its logs and volumes are made.

    Raises:
        UsageError: an option does not fit the job, or its kind does not run here.
    """
    if kinds.of_spec(document.data["spec"]) == "ElasticDL":
        raise UsageError(f"{document.file}: an ElasticDL job's master makes its workers itself, of a cluster's pods")
    built = task_objects(document.data, options.environment)
    return _Planner(document, options, root, built).plan()


class _Planner:
    """What a plan is made of: the filled objects, and what this machine has."""

    def __init__(self, document: Document, options: LocalOptions, root: Path, built: TaskObjects) -> None:
        self._document, self._options, self._root, self._built = document, options, root, built
        self._maps: ConfigMaps = config_maps(built.objects)
        self._pods = tuple(pods(built.objects, document.data["metadata"].get("namespace") or _DEFAULT_NAMESPACE))
        self._volumes = Volumes(built.structure, root, options.folders, options.workdir, self._maps)
        self._addresses = loopback(self._maps)
        self._runtime = containers.find_runtime() if options.in_containers else None
        self._problems: list[Problem] = []
        self._programs: set[Path] = set()  # tasks share programs, and one check of the imports is enough

    def plan(self) -> LocalJob:
        self._volumes.check_given(self._pods)
        self._check_failures()
        numbers = [gpu_count(pod.container) for pod in self._pods]
        gpus = find_gpus() if any(numbers) else []
        tasks = [
            self._task(pod, share, number)
            for pod, share, number in zip(self._pods, shares(numbers, gpus), numbers, strict=True)
        ]
        if self._problems:
            return LocalJob(problems=in_order(self._problems))
        (self._root / _LOGS).mkdir()
        return LocalJob(
            tuple(tasks),
            self._ending(),
            self._volumes.shared(self._pods),
            tuple(dict.fromkeys(self._notes(sum(numbers), len(gpus)))),
        )

    def _task(self, pod: Pod, gpus: str, number: int) -> Task:
        told = variables(pod, self._maps, self._options.given)
        for lack in told.lacking:
            self._lacks(pod, lack.name, lack.source)
        own = {name: replace_addresses(value, self._addresses) for name, value in told.values.items()}
        folders = self._volumes.folders(pod, own)
        words = [expand(word, told.values) for word in pod.container.get("command", ())]
        arguments = [expand(word, told.values) for word in pod.container.get("args", ())]
        if self._runtime:
            own = {**own, **({VISIBLE: ""} if not number else {})}
            return self._container(self._runtime, pod, words, arguments, own, folders, gpus)
        own = {name: folders.replace_paths(value) for name, value in own.items()}
        environ = self._environ(pod, own, folders, gpus, number)
        command = [folders.replace_paths(replace_addresses(word, self._addresses)) for word in (*words, *arguments)]
        if command and words:
            command[0] = self._program(pod, command[0], environ)
            self._check_program_file(pod, [*words, *arguments], command, self._folder(pod, folders), environ)
        else:
            self._problem(pod, "command", "is the image's own, which this machine does not have; say it, or --image")
        return Task(
            name=pod.task,
            role=pod.role,
            index=pod.index,
            command=tuple(command),
            variables=environ,
            folder=self._folder(pod, folders),
            log=self._log(pod),
            grace=pod.spec.get("terminationGracePeriodSeconds", 30),
            retries=pod.retries,
        )

    def _container(
        self,
        runtime: containers.Runtime,
        pod: Pod,
        words: Sequence[str],
        arguments: Sequence[str],
        own: Mapping[str, str],
        folders: Folders,
        gpus: str,
    ) -> Task:
        name = f"tfgen-{name_of(self._document)}-{pod.task}-{os.getpid()}"
        given = {key: value for key, value in self._options.given.items() if own.get(key) == value}
        local = [replace_addresses(word, self._addresses) for word in (*words, *arguments)]
        command = containers.run_command(runtime, name, pod, local, own, given.keys(), folders.mounts, gpus)
        return Task(
            name=pod.task,
            role=pod.role,
            index=pod.index,
            command=command,
            variables={**os.environ, **given},
            folder=self._options.workdir,
            log=self._log(pod),
            grace=pod.spec.get("terminationGracePeriodSeconds", 30),
            retries=pod.retries,
            after=containers.remove_command(runtime, name),
        )

    def _environ(self, pod: Pod, own: Mapping[str, str], folders: Folders, gpus: str, number: int) -> dict[str, str]:
        """A task's whole environment: this machine's, what suits a process here, and over both the pod's own."""
        tmp = next((str(mount.folder) for mount in folders.mounts if mount.folder.name == TMP), "")
        environ = {key: value for key, value in os.environ.items() if key not in ("TF_CONFIG", VISIBLE)}
        suited = {
            "PYTHONUNBUFFERED": "1",  # lines are seen as they are printed
            "PYTHONUSERBASE": site.getuserbase(),  # HOME is the pod's, and the user's packages are not there
            "HOSTNAME": pod.name,
            **({"TMPDIR": tmp} if tmp else {}),
        }
        if not number:
            suited[VISIBLE] = ""
        elif gpus:
            suited[VISIBLE] = gpus
            suited["TF_FORCE_GPU_ALLOW_GROWTH"] = "true"  # a task that shares a GPU is not to take all of its memory
        if self._options.python:
            folder = str(Path(self._options.python).parent)
            environ["PATH"] = os.pathsep.join((folder, environ.get("PATH", os.defpath)))
        return {**environ, **suited, **own}

    def _program(self, pod: Pod, program: str, environ: Mapping[str, str]) -> str:
        """The program of a command on this machine: for a Python the one that is said, or that of the PATH."""
        name = Path(program).name
        is_python = _PYTHON.fullmatch(name) is not None
        if is_python and self._options.python:
            return self._options.python
        names = [program, name, "python3", sys.executable] if is_python else [program]
        for candidate in names:
            path = shutil.which(candidate, path=environ.get("PATH"))
            if path:
                return path
        self._problem(pod, "command", f"starts {program}, which this machine does not have; install it, or --image")
        return program

    def _check_program_file(
        self, pod: Pod, words: Sequence[str], command: Sequence[str], folder: Path, environ: Mapping[str, str]
    ) -> None:
        """Check that this machine has the file that an interpreter runs, and the packages that the file imports."""
        file, local = find_program_file(words), find_program_file(command)
        if not local or local == command[0]:
            return
        program = folder / local
        if not program.exists():
            self._problem(
                pod, "command", f"runs {file}, which this machine does not have; --workdir names the program's folder"
            )
        elif _PYTHON.fullmatch(Path(words[0]).name) and program not in self._programs:
            self._programs.add(program)
            self._check_imports(pod, command[0], program, environ)

    def _check_imports(self, pod: Pod, python: str, program: Path, environ: Mapping[str, str]) -> None:
        missing = find_missing_packages(python, program, environ)
        if missing:
            lines = ", ".join(f"{package.name} (line {package.line})" for package in missing)
            requirements = program.with_name("requirements.txt")
            # Without a requirements.txt, the names of the distributions are unknown: `import PIL` needs pillow.
            cure = (
                f"run {python} -m pip install -r {requirements}" if requirements.is_file() else "install the packages"
            )
            message = f"{program} imports {lines}, which {python} does not have; {cure}"
            self._problem_at(self._path(pod, "command"), message, "local-import")

    def _folder(self, pod: Pod, folders: Folders) -> Path:
        path = pod.container.get("workingDir")
        folder = Path(folders.local_path(path)) if path else self._options.workdir
        return folder if folder.is_dir() else self._options.workdir

    def _log(self, pod: Pod) -> Path:
        return self._root / _LOGS / f"{pod.task}.log"

    def _ending(self) -> Ending:
        retries = self._options.retries
        if retries is None and not self._options.failures:
            retries = 0
        grace = data_path.at(self._built.values, ("completion", "evaluatorGrace")) or 0
        ignored = data_path.at(self._built.values, ("restart", "ignoreExitCodes")) or ()
        return Ending(self._built.structure.completion, grace, retries, self._options.failures, tuple(ignored))

    def _notes(self, number: int, gpus: int) -> Iterator[str]:
        if gpus < number:
            here = f"here, which the tasks share: {gpus}" if gpus else "here"
            yield f"the tasks ask for {count(number, 'GPU')}; there {'is none' if not gpus else 'are less'} {here}"
        for name in self._volumes.unmounted(self._pods):
            yield f"the volume {name} is empty: its content is in the cluster; --mount {name}=DIR gives it a folder"
        for pod in self._pods:
            for source in unknown_sources(pod, self._maps):
                yield f"the variables of the {source} are not here; --env-file gives them"
            for container in (*pod.spec.get("initContainers", ()), *pod.spec["containers"]):
                if container is not pod.container and not container["name"].startswith("lock-"):
                    yield f"the container {container['name']} of the {pod.role} does not run here"

    def _check_failures(self) -> None:
        names = [pod.task for pod in self._pods]
        wrong = [
            f"--fail {failure.task}: no such task; there are {either(names, 'and')}"
            for failure in self._options.failures
            if failure.task not in names
        ]
        if wrong:
            raise UsageError("\n".join(wrong))

    def _lacks(self, pod: Pod, name: str, source: str) -> None:
        message = f"{name} is {source}, which is not on this machine; write {name}=... into a file, and --env-file FILE"
        self._problem_at(self._path(pod, "env", name), message, "local-variable")

    def _problem(self, pod: Pod, key: str, message: str) -> None:
        self._problem_at(self._path(pod, key), f"the {key} of the {pod.role} {message}", "local-command")

    def _problem_at(self, path: DataPath, message: str, rule: str) -> None:
        self._problems.append(Problem(*self._document.place(path), message, rule))

    def _path(self, pod: Pod, *keys: str) -> DataPath:
        """Where the job says something of a pod: for its environment or for all, of its role or of all."""
        above: list[DataPath] = [("spec",)]
        if self._options.environment is not None:
            above.insert(0, ("spec", "environments", self._options.environment))
        candidates = [(*under, *role, *keys) for under in above for role in (("roles", pod.role), ())]
        data = self._document.data
        return next((path for path in candidates if data_path.has(data, path)), ("spec", "roles", pod.role))


def _unquoted(text: str) -> str:
    """A value without the quotes around it."""
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


@contextmanager
def new_root(document: Document) -> Iterator[Path]:
    """A folder for one run, whose name has the job's. What its tasks alone needed goes at the end; a run's logs stay.

    Raises:
        TfgenError: the disk refuses it.
    """
    with errors_at(tempfile.gettempdir()):
        root = Path(tempfile.mkdtemp(prefix=f"tfgen-{name_of(document)}-"))
    try:
        yield root
    finally:
        shutil.rmtree(root / "tasks", ignore_errors=True)
        if not (root / _LOGS).exists():
            shutil.rmtree(root, ignore_errors=True)
