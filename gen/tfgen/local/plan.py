"""Plan the local processes for the tasks of a job: their commands, variables, folders and ports."""

from __future__ import annotations

import ast
import os
import re
import shutil
import site
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tfgen import data_path
from tfgen.data_path import Path as DataPath
from tfgen.disk_file import errors_at
from tfgen.errors import Problem, ProblemsError, UsageError, in_order
from tfgen.graph.graph import Pod, gpu_count, pods, task_objects
from tfgen.graph.storage import TMP
from tfgen.job.facts import name_of
from tfgen.kubernetes.pods import claimed_devices, device_templates, expand, find_program_file
from tfgen.local.folders import Folders, LocalVolumes
from tfgen.local.run import Ending, Failure, Task
from tfgen.local.variables import (
    VISIBLE,
    config_maps,
    find_gpus,
    loopback,
    port_of,
    replace_addresses,
    shares,
    unknown_sources,
    variables,
)
from tfgen.record import EMPTY, Record
from tfgen.schema import kinds
from tfgen.text.document import Document
from tfgen.words import count, either

RULES: Final[Mapping[str, str]] = {
    "local-command": "This machine does not have the program of a task.",
    "local-import": "A program imports a package that the Python of this machine does not have.",
    "local-variable": "The value of a variable is in the cluster and not on this machine.",
}
"""The description of each rule, by the id of the rule, for the problems of `tfgen local`."""


_IMAGE: Final = ", or run the image by itself: see docs/local.md#a-program-of-the-image"
_LOGS: Final = "logs"
_PYTHON: Final = re.compile(r"python[0-9.]*")


class LocalOptions(Record):
    """The options of `tfgen local`.

    Attributes:
        environment: the environment of the job; None for the job without an environment.
        workdir: the folder of the training code.
        python: the Python program for the tasks; None for the Python on the PATH.
        folders: the local folder of each volume that the user passes with `--mount`, by the name of the volume.
        variables: the values of the variables from `--env-file`, by the name of the variable.
        failures: the tasks that tfgen kills on purpose, to test the restart.
        retries: the number of restarts of a failed task; None for the default.
    """

    environment: str | None
    workdir: Path
    python: str | None = None
    folders: Mapping[str, Path] = EMPTY
    variables: Mapping[str, str] = EMPTY
    failures: tuple[Failure, ...] = ()
    retries: int | None = None


class LocalJob(Record):
    """A job that is ready to start.

    Attributes:
        tasks: the tasks.
        ending: the condition that ends the run.
        folders: the local folders of the volumes that remain after the run, by the name of the volume.
        notes: the differences from a run in the cluster.
        mounts: the name of each mounted volume, by the mount path in the pods.
    """

    tasks: tuple[Task, ...]
    ending: Ending
    folders: Mapping[str, Path]
    notes: tuple[str, ...]
    mounts: Mapping[str, str]


class LocalDocument(Record):
    """The job to run, with the values of --set, and the warnings about the job."""

    document: Document
    warnings: tuple[Problem, ...]


def plan_local_job(job: LocalDocument, options: LocalOptions, root: Path) -> LocalJob:
    """Plan the local processes for the tasks of a job.

    Args:
        job: the job, with its warnings.
        options: the options of the run.
        root: the folder for the logs and the volumes of the run.

    Raises:
        UsageError: an option does not match the job, or the workload kind of the job needs a cluster.
        ProblemsError: this machine lacks a program, a package or a variable of a task.
    """
    document = job.document
    if kinds.of_spec(document.data["spec"]) == "ElasticDL":
        raise UsageError(
            f"{document.file}: the master of an ElasticDL job creates its workers as pods of a cluster, so tfgen local "
            "cannot run this job"
        )
    return _Planner(job, options, root).plan()


class _Planner:
    """Plan the local processes of a job from its pod templates and the folders, programs and GPUs of this machine."""

    def __init__(self, job: LocalDocument, options: LocalOptions, root: Path) -> None:
        self._document, self._warnings, self._options, self._root = job.document, job.warnings, options, root
        self._built = task_objects(job.document.data, options.environment)
        self._maps = config_maps(self._built.objects)
        self._pods = tuple(pods(self._built.objects, job.document.data["metadata"].get("namespace") or "default"))
        self._volumes = LocalVolumes(self._built.structure, root, options.folders, options.workdir, self._maps)
        self._addresses = loopback(self._maps)
        self._problems: list[Problem] = []
        self._programs: set[Path] = set()  # the programs whose imports are already checked

    def plan(self) -> LocalJob:
        self._volumes.check_user_folders(self._pods)
        self._check_failures()
        templates = device_templates(self._built.objects)
        numbers = [
            int(sum(claimed_devices(pod.spec, templates).values())) or gpu_count(pod.container) for pod in self._pods
        ]
        gpus = find_gpus() if any(numbers) else []
        tasks = [
            self._task(pod, share, number)
            for pod, share, number in zip(self._pods, shares(numbers, gpus), numbers, strict=True)
        ]
        if self._problems:
            raise ProblemsError((*self._warnings, *in_order(self._problems)))
        (self._root / _LOGS).mkdir()
        return LocalJob(
            tuple(tasks),
            self._ending(),
            self._volumes.remaining_folders(self._pods),
            tuple(dict.fromkeys(self._notes(sum(numbers), len(gpus)))),
            {m["mountPath"]: m["name"] for pod in self._pods for m in pod.container.get("volumeMounts", ())},
        )

    def _task(self, pod: Pod, gpus: str, number: int) -> Task:
        resolved = variables(pod, self._maps, self._options.variables)
        for name, source in resolved.missing.items():
            message = (
                f"{name} comes from {source}, which exists only in the cluster; write {name}=VALUE into a file, and "
                "add --env-file FILE"
            )
            self._problem(pod, message, "local-variable", ("env", name))
        values = {name: replace_addresses(value, self._addresses) for name, value in resolved.values.items()}
        folders = self._volumes.folders(pod, values)
        executable, arguments = pod.container.get("command", ()), pod.container.get("args", ())
        words = [expand(word, resolved.values) for word in (*executable, *arguments)]
        values = {name: folders.replace_paths(value) for name, value in values.items()}
        environ = self._environ(pod, values, folders, gpus, number)
        command = [folders.replace_paths(replace_addresses(word, self._addresses)) for word in words]
        working_dir = pod.container.get("workingDir")
        folder = Path(folders.local_path(working_dir)) if working_dir else self._options.workdir
        folder = folder if folder.is_dir() else self._options.workdir
        if executable:
            command[0] = self._program(pod, command[0], environ)
            self._check_program_file(pod, words, command, folder, environ)
        else:
            text = f"is in the image, which this machine does not use; set the key command{_IMAGE}"
            self._problem(pod, f"the command of the {pod.role} {text}")
        return Task(
            name=pod.task,
            role=pod.role,
            index=pod.index,
            command=tuple(command),
            variables=environ,
            folder=folder,
            log=self._root / _LOGS / f"{pod.task}.log",
            grace=pod.spec.get("terminationGracePeriodSeconds", 30),
            retries=pod.retries,
            port=port_of(environ),
        )

    def _environ(self, pod: Pod, values: Mapping[str, str], folders: Folders, gpus: str, number: int) -> dict[str, str]:
        """Return the environment variables of a task.

        The result contains the variables of this machine, of tfgen and of the pod. If a name occurs twice, a variable
        of the pod in `values` has precedence. `gpus` is the value of CUDA_VISIBLE_DEVICES, and `number` is the number
        of GPUs that the pod requests.
        """
        tmp = next((str(folder) for folder in folders.mounts.values() if folder.name == TMP), "")
        environ = {key: value for key, value in os.environ.items() if key not in ("TF_CONFIG", VISIBLE)}
        process = {
            "PYTHONUNBUFFERED": "1",  # no delay of log lines
            "PYTHONUSERBASE": site.getuserbase(),  # HOME is the folder of the pod, without the packages of the user
            "HOSTNAME": pod.name,
            **({"TMPDIR": tmp} if tmp else {}),
        }
        if not number:
            process[VISIBLE] = ""
        elif gpus:
            process[VISIBLE] = gpus
            process["TF_FORCE_GPU_ALLOW_GROWTH"] = "true"  # by default, a task takes all memory of a shared GPU
        if self._options.python:
            folder = str(Path(self._options.python).parent)
            environ["PATH"] = os.pathsep.join((folder, environ.get("PATH", os.defpath)))
        return {**environ, **process, **values}

    def _program(self, pod: Pod, program: str, environ: Mapping[str, str]) -> str:
        """Return the path, on this machine, of the program with which the command of a pod begins.

        For Python, the path is the value of `--python` or the Python on the PATH. If the program is missing, the method
        adds a problem.
        """
        name = Path(program).name
        is_python = _PYTHON.fullmatch(name) is not None
        if is_python and self._options.python:
            return self._options.python
        names = [program, name, "python3", sys.executable] if is_python else [program]
        for candidate in names:
            path = shutil.which(candidate, path=environ.get("PATH"))
            if path:
                return path
        text = f"starts {program}, which is not on this machine; install {program} here{_IMAGE}"
        self._problem(pod, f"the command of the {pod.role} {text}")
        return program

    def _check_program_file(
        self, pod: Pod, words: Sequence[str], command: Sequence[str], folder: Path, environ: Mapping[str, str]
    ) -> None:
        """Check that this machine has the file that an interpreter runs, and the packages that the file imports.

        Args:
            pod: the pod.
            words: the command of the pod.
            command: the same command with the paths of this machine.
            folder: the working directory of the command.
            environ: the environment variables of the command.
        """
        file, local = find_program_file(words), find_program_file(command)
        if not local or local == command[0]:
            return
        program = folder / local
        if not program.exists():
            text = f"runs {file}, which is not on this machine; set the folder of the file with --workdir"
            self._problem(pod, f"the command of the {pod.role} {text}")
        elif _PYTHON.fullmatch(Path(words[0]).name) and program not in self._programs:
            self._programs.add(program)
            missing = find_missing_packages(command[0], program, environ)
            if missing:
                lines = ", ".join(f"{name} (line {line})" for name, line in missing.items())
                fix = advice(missing, command[0], program.with_name("requirements.txt"))
                message = f"{program} imports {lines}, which {command[0]} of this machine does not have; {fix}"
                self._problem(pod, message, "local-import")

    def _ending(self) -> Ending:
        retries = self._options.retries
        if retries is None and not self._options.failures:
            retries = 0
        grace = data_path.at(self._built.values, ("completion", "evaluatorGrace")) or 0
        ignored = data_path.at(self._built.values, ("restart", "ignoreExitCodes")) or ()
        return Ending(
            by=self._built.structure.completion,
            grace=grace,
            retries=retries,
            failures=self._options.failures,
            ignored_codes=tuple(ignored),
            restarts_successful=kinds.of_spec(self._document.data["spec"]) == "StatefulSet",
        )

    def _notes(self, number: int, gpus: int) -> Iterator[str]:
        if gpus < number:
            available = f"only {gpus}; the tasks share the GPUs" if gpus else "none"
            yield f"the tasks request {count(number, 'GPU')}, and this machine has {available}"
        for name in self._volumes.volumes_without_content(self._pods):
            yield (
                f"the volume {name} is empty, because its content is in the cluster; to use a local folder, add "
                f"--mount {name}=DIR"
            )
        for pod in self._pods:
            for source in unknown_sources(pod, self._maps):
                yield f"the variables of the {source} exist only in the cluster; to set them, add --env-file FILE"
            for container in (*pod.spec.get("initContainers", ()), *pod.spec["containers"]):
                if container is not pod.container and not container["name"].startswith("lock-"):
                    yield f"tfgen local does not run the container {container['name']} of the {pod.role}"

    def _check_failures(self) -> None:
        names = [pod.task for pod in self._pods]
        messages = [
            f"--fail {failure.task}: the job does not have this task; the tasks are {either(names, 'and')}"
            for failure in self._options.failures
            if failure.task not in names
        ]
        if messages:
            raise UsageError("\n".join(messages))

    def _problem(
        self, pod: Pod, message: str, rule: str = "local-command", keys: tuple[str, ...] = ("command",)
    ) -> None:
        """Add a problem at the value in job.yaml that a pod gets for a key, such as ("spec", "env", "HOME").

        The method searches the role in the environment, then the environment, then the role in the job, then the job.
        If no value exists, the problem is at the role. `keys` is the path of the key below `spec` or below a role, for
        example `("env", "HOME")`.
        """
        parents: list[DataPath] = [("spec",)]
        if self._options.environment is not None:
            parents.insert(0, ("spec", "environments", self._options.environment))
        candidates = [(*parent, *role, *keys) for parent in parents for role in (("roles", pod.role), ())]
        data = self._document.data
        path = next((path for path in candidates if data_path.has(data, path)), ("spec", "roles", pod.role))
        self._problems.append(Problem(*self._document.place(path), message, rule))


@contextmanager
def new_root(document: Document) -> Iterator[Path]:
    """Create a folder for a local run. At the end of the run, delete the files of the tasks, and keep the logs.

    Raises:
        TfgenError: the disk fails.
    """
    with errors_at(tempfile.gettempdir()):
        root = Path(tempfile.mkdtemp(prefix=f"tfgen-{name_of(document)}-"))
    try:
        yield root
    finally:
        shutil.rmtree(root / "tasks", ignore_errors=True)
        if not (root / _LOGS).exists():
            shutil.rmtree(root, ignore_errors=True)


# -- the packages that a program imports -------------------------------------------------------------------------------
#
# A task that imports a missing package would end with a ModuleNotFoundError. tfgen reports the missing packages before
# a task starts.


_FIND: Final = """
import importlib.util, sys
sys.path.insert(0, sys.argv[1])
print(*[name for name in sys.argv[2:] if importlib.util.find_spec(name) is None])
"""
"""Python code that prints the missing packages. The arguments are the folder of the program and the packages."""

_DISTRIBUTIONS: Final[Mapping[str, str]] = {
    "PIL": "pillow",
    "cv2": "opencv-python",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}
"""The usual packages whose name for `pip install` differs from the name in the import statement."""


def find_missing_packages(python: str, program: Path, environ: Mapping[str, str]) -> dict[str, int]:
    """Return the packages that a program imports at its start but that the interpreter `python` cannot find.

    The result has the number of the first line that imports the package, by the name in the import statement. The name
    for `pip install` may differ.

    The result is empty if the program is not valid Python or if the interpreter fails, because the task itself then
    reports the error.
    """
    lines = _imported_packages(program)
    if not lines:
        return {}
    try:
        command = (python, "-c", _FIND, str(program.parent), *lines)  # with names that `ast` has read
        done = subprocess.run(command, env={**environ}, capture_output=True, text=True, timeout=30, check=True)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return {}
    return {name: lines[name] for name in done.stdout.split()}


def advice(missing: Iterable[str], python: str, requirements: Path) -> str:
    """Return what to do about missing packages on this machine, as the last clause of a message.

    Args:
        missing: the names of the missing packages in the import statements.
        python: the interpreter of the tasks.
        requirements: the path of the requirements.txt beside the program, which may not exist.
    """
    names = [_DISTRIBUTIONS.get(name, name) for name in missing]
    if requirements.is_file():
        text = requirements.read_text(encoding="utf-8", errors="replace")
        listed = [_normalized(name) for name in re.findall(r"^\s*([A-Za-z0-9][\w.-]*)", text, re.MULTILINE)]
        # A listed distribution, such as tensorflow, can require an unlisted one, such as numpy.
        if any(other.startswith(_normalized(name)) for name in names for other in listed):
            return f"run {python} -m pip install -r {requirements}"
    return f"run {python} -m pip install {' '.join(names)}"


def _normalized(name: str) -> str:
    """Return the name of a distribution as the Python Package Index compares names.

    https://packaging.python.org/en/latest/specifications/name-normalization/
    """
    return re.sub(r"[-_.]+", "-", name).lower()


def _imported_packages(program: Path) -> dict[str, int]:
    """Return the line of the first import of each package that a program imports, by name of the package.

    Example: {"tensorflow": 3}. An import in a function, a condition or a `try` does not count, because such an import
    may never run.
    """
    try:
        module = ast.parse(program.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return {}
    lines: dict[str, int] = {}
    for statement in module.body:
        if isinstance(statement, ast.Import):
            names = [alias.name for alias in statement.names]
        elif isinstance(statement, ast.ImportFrom) and statement.module and not statement.level:
            names = [statement.module]
        else:
            continue
        for name in names:
            lines.setdefault(name.partition(".")[0], statement.lineno)
    return lines
