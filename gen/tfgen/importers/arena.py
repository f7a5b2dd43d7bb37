"""Reader of Arena's command line: `arena submit tfjob --name=mnist --workers=2 ... "python train.py"`.

The import converts a command to the TFJob that Arena's chart creates, and `tf_job` reads the TFJob. Each field of the
TFJob has the position of the flag that sets the field, for messages.

Flags: https://github.com/kubeflow/arena/blob/master/docs/training/tfjob/.
Defaults: charts/tfjob of the same repository.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from tfgen.importers import shell, tf_job
from tfgen.importers.command_line import Word, shell_value_message
from tfgen.importers.fields import FieldReader, Fields, carried, dropped
from tfgen.importers.foreign_job import ForeignJob
from tfgen.importers.import_report import ImportReport
from tfgen.importers.options import Options
from tfgen.importers.part import Part, mapping, scalar_part, sequence
from tfgen.record import Record
from tfgen.text.document import MAX_PROBLEMS
from tfgen.words import meant, nearest

GROUP: Final = "arena"
"""The API group of the object that the import makes from a command. No cluster has this group."""
_TYPES: Final = ("tf", "tfjob")

_ALIASES: Final[Mapping[str, str]] = {
    "a": "annotation",
    "d": "data",
    "e": "env",
    "l": "label",
    "n": "namespace",
    "p": "priority",
}
_SWITCHES: Final = (
    "chief",
    "evaluator",
    "gang",
    "host-ipc",
    "host-network",
    "host-pid",
    "queue",
    "rdma",
    "tensorboard",
)
"""Flags without a value."""
_DROPPED: Final[Mapping[str, str]] = {
    "config-file": "create a ConfigMap from the file, and mount the ConfigMap with spec.storage",
    "loglevel": "the flag is an option of the arena command itself, and has no effect on the job",
    **dict.fromkeys(("model-name", "model-source"), "the flag is for Arena's model registry"),
    "queue": "to submit the job to a queue of Kueue, set spec.gang",
    "retry": "Arena's chart for TFJobs ignores the flag; use spec.retries",
    "role-sequence": "tfgen starts all tasks together, and TensorFlow waits until each ps is ready",
    "sync-image": "tfgen uses its own image to fetch the code; to change the image, set spec.code.git.image",
    **{
        f"{role}-affinity-{key}": "to choose nodes for the tasks, set spec.placement"
        for role in ("ps", "worker")
        for key in ("constraint", "policy")
    },
}
"""Flag without an equivalent in job.yaml -> reason why the import drops the flag."""
_AMOUNTS: Final = [f"{amount}{limit}" for amount in ("cpu", "memory") for limit in ("", "-limit")]
_FLAG_NAMES: Final = {
    *_SWITCHES,
    *_DROPPED,
    *("annotation", "clean-task-policy", "data", "data-dir", "device", "env", "gpus", "image", "image-pull-policy"),
    *("image-pull-secret", "label", "logdir", "name", "namespace", "priority", "ps", "ps-gpus", "ps-image"),
    *("running-timeout", "scheduler", "selector", "share-memory", "shell", "starting-timeout", "success-policy"),
    *("sync-mode", "sync-source", "tensorboard-image", "toleration", "ttl-after-finished", "worker-image", "workers"),
    *("working-dir", "chief-port", "ps-port", "worker-port"),
    *(f"{role}-{key}" for role in ("chief", "evaluator", "ps", "worker") for key in ("selector", *_AMOUNTS)),
}

_GIT_SECRETS: Final = ("GIT_SYNC_USERNAME", "GIT_SYNC_PASSWORD")
"""Variables of --env that Arena also uses as credentials for the git repository with the code."""
_WORKING_DIR: Final = "/root"
_SHARED_MEMORY: Final = "2Gi"
_LOG_DIR: Final = "/training_logs"
_SECONDS: Final[Mapping[str, int]] = {"s": 1, "m": 60, "h": 3600}


class _Flags(Record):
    """The flags and the training program of an Arena command.

    Attributes:
        start: the first word of the command.
        flags: the values of each flag, in the order of the command. Example: {"data": [first value, second value]}. A
            flag with an old name has its current name as key.
        program: the words of the training program after the flags.
    """

    start: Part
    flags: Mapping[str, Sequence[Part]]
    program: Sequence[Word]

    def value(self, name: str) -> Part | None:
        """Return the last value of the flag `name`, or None if the command does not have the flag."""
        values = self.flags.get(name)
        return values[-1] if values else None

    def pairs(self, name: str, by: str = "=") -> Iterator[tuple[str, Part]]:
        """Yield the key and the value of each `KEY=VALUE` pair that the command sets with the flag `name`.

        `by` is the separator between key and value.
        """
        for part in self.flags.get(name, ()):
            key, _, value = part.as_text.partition(by)
            yield key, part.replaced(value=value, text=value)

    def is_on(self, name: str) -> bool:
        """Return whether a flag without a value, such as `--gang`, is set."""
        part = self.value(name)
        return part is not None and part.value != "false"

    def is_git_secret(self, variable: str) -> bool:
        """Return whether a variable is a credential for the git repository. The tasks do not get such a variable."""
        return variable in _GIT_SECRETS and "sync-source" in self.flags


def is_command(words: Sequence[Word]) -> bool:
    """Return whether a command is `arena submit tfjob` or `arena submit tf`."""
    return [word.text for word in words[:2]] == ["arena", "submit"] and len(words) > 2 and words[2].text in _TYPES


def job(words: Sequence[Word], file: str, report: ImportReport) -> Part | None:
    """Convert an Arena command to a TFJob. Return None if the command has problems."""
    before = len(report.problems)
    flags = _flags(words, file, report)
    if flags.value("name") is None:
        report.refuse(flags.start, "the command does not name the job; add --name")
    for part in flags.flags.get("sync-mode", ()):
        if part.value != "git":
            report.refuse(part, f"found {part.as_text}, expected git; copy the code into the image, or use git")
    return None if len(report.problems) > before else _tf_job(flags)


def canonical(item: Part) -> Part:
    """Return the TFJob of a command in the shape of kubeflow.org/v1. `job` made this TFJob from the command.

    The result omits the flags that have no field in a TFJob, such as `--gang`.
    """
    fields = {key: part for key, part in item.value.items() if key != GROUP}
    version = item.value["apiVersion"].replaced(value="kubeflow.org/v1")
    return tf_job.canonical(item.replaced(value={**fields, "apiVersion": version}))


def read(item: Part, companions: Sequence[Part], options: Options, report: ImportReport) -> ForeignJob | None:
    """Convert the TFJob of a command to a `ForeignJob`. Return None if the import report has problems.

    `job` made this TFJob from the command.
    """
    job = tf_job.read(canonical(item), companions, options, report)
    return _ArenaJob(item, job, options, report).read() if job else None


class _ArenaJob(FieldReader):
    """Reader of the flags that have no field in a TFJob, such as the flags for the code, the gang and TensorBoard."""

    def __init__(self, item: Part, job: ForeignJob, options: Options, report: ImportReport) -> None:
        super().__init__(report)
        self.item, self.job, self.is_tf_job = item, job, options.kind == "TFJob"
        self.flags = dict(item.entries(GROUP))
        self.data = {"spec": dict(job.spec)}
        self.storage: Mapping[str, Any] = {}

    def read(self) -> ForeignJob:
        """Return the `ForeignJob`, with the settings of the flags that have no field in a TFJob."""
        no_limit = dropped("a TFJob has no time limit for the start of its tasks")
        table: Fields = {
            **{key: dropped(why) for key, why in _DROPPED.items()},
            "gang": self._gang,
            "git-secret": self._git_secret,
            "selector": dropped("Arena ignores this selector, because the selector of each role replaces it"),
            "starting-timeout": no_limit if self.is_tf_job else carried("spec", "startDeadline"),
            "sync-mode": carried("spec", "code", "git", sets=False),
            "sync-source": self._code,
            "tensorboard": self._tensorboard,
        }
        self.fields(self.item.get(GROUP), table)
        for key in ("logdir", "tensorboard-image"):
            if key in self.flags and "tensorboard" not in self.spec:
                self.report.drop(self.flags[key], "the flag is for TensorBoard, but the job has no TensorBoard")
        # The report omits the defaults of Arena's chart, because the user did not write them.
        default = self.item.value["kind"].name
        entries = self.report.entries
        self.report.entries = [entry for entry in entries if (entry.outcome, entry.source) != ("carried", default)]
        return self.job.replaced(format="Arena job", spec=self.spec, tensorboard_storage=self.storage)

    def _code(self, _key: str, source: Part) -> None:
        project = source.as_text.rstrip("/").rpartition("/")[2].removesuffix(".git")
        folder = self.flags["working-dir"].as_text if "working-dir" in self.flags else _WORKING_DIR
        self.set_value({"mountPath": f"{folder}/code/{project}", "git": {"repository": source.as_text}}, "spec", "code")
        self.report.change(
            source,
            "spec",
            "code",
            "git",
            "repository",
            why="in the imported job, the folder with the code is read-only",
        )

    def _git_secret(self, _key: str, secrets: Part) -> None:
        why = (
            "the variable is a credential for git; create a Secret with the credential, "
            "and set code.git.secretName to the name of the Secret"
        )
        for secret in secrets.items():
            self.report.drop(secret, why)

    def _gang(self, _key: str, part: Part) -> None:
        self.set_value({"scheduler": "coscheduling"}, "spec", "gang")
        if self.is_tf_job:
            self.set_value("PodGroup", "spec", "workload", "tfJob", "gang")
        why = (
            "Arena defines the gang by labels of the pods; tfgen creates a PodGroup of the Kubernetes scheduler plugins"
        )
        self.report.change(part, "spec", "gang", "scheduler", why=why)

    def _tensorboard(self, _key: str, board: Part) -> None:
        pod = next(iter(self.job.roles.values())).pod
        self.storage = {name: volume for name, volume in pod.storage.items() if "claim" in volume}
        if not self.storage:
            why = "TensorBoard cannot read the logs, because the tasks keep them in the pods; write the logs to a claim"
            self.report.drop(board, why)
            return
        self.set_value({"logDir": _LOG_DIR}, "spec", "tensorboard")
        self.report.carry(board, "spec", "tensorboard")
        board_fields = {"logdir": "logDir", "tensorboard-image": "image"}
        self.fields(
            self.item.get(GROUP), {flag: carried("spec", "tensorboard", key) for flag, key in board_fields.items()}
        )
        image = self.job.roles.get("worker", next(iter(self.job.roles.values()))).pod.role.get("image")
        if image and "tensorboard-image" not in self.flags:
            self.set_value(image, "spec", "tensorboard", "image")
            self.report.note(
                board, "TensorBoard runs in the image of the workers, not in Arena's image for TensorBoard"
            )


# -- the flags ---------------------------------------------------------------------------------------------------


def _flags(words: Sequence[Word], file: str, report: ImportReport) -> _Flags:
    flags: dict[str, list[Part]] = {}
    program: list[Word] = []
    pending = iter(words[3:])
    for word in pending:
        if len(report.problems) >= MAX_PROBLEMS:
            break
        flag_match = re.fullmatch(r"--?([A-Za-z][-A-Za-z]*)(?:=(.*))?", word.text, re.DOTALL)
        if program or flag_match is None:
            program.append(word)
            if word.expands:
                report.refuse(scalar_part(file, word.position, "program", word.text), shell_value_message(word))
            continue
        name, value, value_word = _current_name(flag_match[1]), flag_match[2], word
        if value is None and name not in _SWITCHES and name in _FLAG_NAMES:
            value_word = next(pending, Word("", word.position))
            value = value_word.text
        part = scalar_part(
            file,
            word.position,
            f"--{flag_match[1]}" if len(flag_match[1]) > 1 else f"-{flag_match[1]}",
            value or "true",
        )
        if name not in _FLAG_NAMES:
            report.refuse(part, f"arena submit tfjob has no such flag{meant(nearest(name, _FLAG_NAMES))}")
        elif word.expands or value_word.expands:
            report.refuse(part, shell_value_message(value_word))
        else:
            flags.setdefault(name, []).append(part)
    return _Flags(scalar_part(file, words[0].position, "arena", "tfjob"), flags, program)


def _current_name(flag: str) -> str:
    """Return the current name of a flag. Earlier versions of Arena had flags such as `--psImage` and `--ChiefCpu`."""
    return _ALIASES.get(flag) or re.sub(r"(?<=[a-z])(?=[A-Z])", "-", flag).lower()


# -- the TFJob ---------------------------------------------------------------------------------------------------


class _Flag(NamedTuple):
    """The flags of Arena that can set one field of the TFJob.

    Attributes:
        names: the names of the flags. If a command sets several of these flags, the first name has precedence. `{role}`
            is a placeholder for the role.
        default: the value of the field for a command without these flags; None for no value.
        convert: the function that converts the value of the flag to the value of the field.
    """

    names: Sequence[str]
    default: Any = None
    convert: Callable[[Part], Part | None] = lambda part: part

    def part(self, flags: _Flags, role: str) -> Part | None:
        """Return the value of the field for a command. Without any of the flags, return the default or None."""
        part = next((part for name in self.names if (part := flags.value(name.format(role=role)))), None)
        default = None if self.default is None else flags.start.scalar(self.default)
        return default if part is None else self.convert(part)


def _build(shape: Any, flags: _Flags, role: str = "") -> Part | None:
    """Build the value of a TFJob field from the flags of a command. Return None if the TFJob omits the field.

    Args:
        shape: the description of the value. A constant is the value itself. A `_Flag` names the flags that set the
            value. A function computes the value from the flags and the role. A mapping or a list contains such
            descriptions. An example is `{"image": _Flag(...), "name": "tensorflow"}`.
        flags: the flags.
        role: the role to which the field belongs, such as "worker"; empty for a field of the whole TFJob.
    """
    if isinstance(shape, _Flag):
        return shape.part(flags, role)
    if callable(shape):
        build_part: Part | None = shape(flags, role)
        return build_part
    if isinstance(shape, Mapping):
        return mapping(flags.start, {key: _build(value, flags, role) for key, value in shape.items()})
    if isinstance(shape, list):
        return _list([part for item in shape if (part := _build(item, flags, role))])
    return flags.start.scalar(shape)


def _list(parts: Sequence[Part]) -> Part | None:
    return sequence(parts[0], parts) if parts else None


def _number(part: Part) -> Part:
    return part.replaced(value=int(part.as_text)) if re.fullmatch(r"\d{1,9}", part.as_text) else part


def _duration(part: Part) -> Part:
    """Convert a duration in the syntax of Go, such as `1h30m`, to seconds."""
    if not re.fullmatch(r"(\d{1,9}[smh])+", part.as_text):
        return _number(part)
    return part.scalar(sum(int(number) * _SECONDS[unit] for number, unit in re.findall(r"(\d+)([smh])", part.as_text)))


def _mapping_of(*names: str) -> Callable[[_Flags, str], Part | None]:
    """Return a function that builds a mapping from the `KEY=VALUE` pairs of a flag.

    If the command sets several of the flags `names`, the function uses only the flag that is first in `names`.
    """

    def build_mapping(flags: _Flags, role: str) -> Part | None:
        pairs = (entries for name in names if (entries := dict(flags.pairs(name.format(role=role)))))
        entries = next(pairs, {})
        return mapping(next(iter(entries.values())), entries) if entries else None

    return build_mapping


def _list_of(name: str, convert: Callable[[Part], Part]) -> Callable[[_Flags, str], Part | None]:
    """Return a function that builds a list from the values of the flag `name`.

    The function `convert` converts each value.
    """
    return lambda flags, _role: _list([convert(part) for part in flags.flags.get(name, ())])


def _toleration(part: Part) -> Part:
    """Parse a toleration: `all`, the key of a taint, or `KEY=VALUE:EFFECT,OPERATOR`."""
    match = re.fullmatch(r"([^=:,]+)(?:=([^:,]*))?(?::(\w+))?(?:,(\w+))?", part.as_text)
    if part.value == "all" or match is None:
        return mapping(part, {"operator": part.scalar("Exists")})
    key, value, effect, operator = match.groups()
    operator = operator or ("Equal" if value else "Exists")
    fields = {"key": key, "operator": operator, "value": value, "effect": effect}
    return mapping(part, {name: part.scalar(text) for name, text in fields.items() if text})


def _command(flags: _Flags, _role: str) -> Part | None:
    """Return the command of the container: the program, or `sh -c PROGRAM` for a program that needs a shell."""
    # The documentation of Arena puts a second pair of quotes around the program. Arena removes these quotes.
    program = re.sub(r"^'([^']*)'$", r"\1", " ".join(word.text for word in flags.program))
    shell_name = flags.value("shell")
    words = shell.words(program) or [shell_name.as_text if shell_name else "sh", "-c", program]
    return _list(
        [scalar_part(flags.start.file, flags.program[0].position, "program", word) for word in words if flags.program]
    )


def _env(flags: _Flags, _role: str) -> Part | None:
    pairs = [(key, part) for key, part in flags.pairs("env") if not flags.is_git_secret(key)]
    return _list([mapping(part, {"name": part.scalar(key), "value": part}) for key, part in pairs])


def _image(flags: _Flags, role: str) -> Part | None:
    return flags.value("ps-image" if role == "ps" else "worker-image") or flags.value("image")


def _ports(flags: _Flags, role: str) -> Part | None:
    port = flags.value(f"{role}-port")
    if port is None or port.value == "0":
        return None
    fields = {"name": flags.start.scalar(tf_job.PORT_NAME), "containerPort": _number(port)}
    return _list([mapping(port, fields)])


def _resources(flags: _Flags, role: str) -> Part | None:
    gpus = flags.value("ps-gpus" if role == "ps" else "gpus")
    devices: dict[str, Part] = {"nvidia.com/gpu": gpus} if gpus and gpus.as_text != "0" else {}
    devices |= dict(flags.pairs("device")) if role != "ps" else {}
    if rdma := flags.value("rdma"):
        devices["rdma/hca"] = rdma.scalar("1")
    requests = {amount: flags.value(f"{role}-{amount}") for amount in ("cpu", "memory")}
    limits = {amount: flags.value(f"{role}-{amount}-limit") or request for amount, request in requests.items()}
    parts = {"requests": {**devices, **requests}, "limits": {**devices, **limits}}
    is_set = any(parts["limits"].values())
    return mapping(flags.start, {key: mapping(flags.start, part) for key, part in parts.items()}) if is_set else None


def _capabilities(flags: _Flags, role: str) -> Part | None:
    shape = {"capabilities": {"add": [_Flag(["rdma"], convert=lambda part: part.scalar("IPC_LOCK"))]}}
    return _build(shape, flags, role) if flags.value("rdma") else None


def _volumes(flags: _Flags) -> Iterator[tuple[str, Part, Mapping[str, Any], Part]]:
    """Yield each volume that the flags define, as (name, value of the flag, volume source, mount path)."""
    memory = {"medium": "Memory", "sizeLimit": _Flag(["share-memory"], _SHARED_MEMORY)}
    yield "dshm", flags.start, {"emptyDir": _build(memory, flags)}, flags.start.scalar("/dev/shm")  # noqa: S108 - in a pod
    for name, path in flags.pairs("data", ":"):
        claim = mapping(path, {"claimName": path.scalar(name)})
        yield name, path, {"persistentVolumeClaim": claim}, path
    for number, (host, path) in enumerate(flags.pairs("data-dir", ":")):
        source = mapping(path, {"path": path.scalar(host)})
        yield f"data-dir-{number}", path, {"hostPath": source}, path if path.value else path.scalar(host)


def _volume_sources(flags: _Flags, _role: str) -> Part | None:
    start = flags.start
    return _list([mapping(part, {"name": start.scalar(name), **source}) for name, part, source, _ in _volumes(flags)])


def _mounts(flags: _Flags, _role: str) -> Part | None:
    fields = [(path, {"name": flags.start.scalar(name), "mountPath": path}) for name, _, _, path in _volumes(flags)]
    return _list([mapping(path, mount) for path, mount in fields])


def _dns_policy(flags: _Flags, _role: str) -> Part | None:
    return flags.start.scalar("ClusterFirstWithHostNet") if flags.value("host-network") else None


def _host(name: str) -> _Flag:
    return _Flag([name], convert=lambda part: part.replaced(value=True))


_CONTAINER: Final = {
    "name": "tensorflow",
    "image": _image,
    "imagePullPolicy": _Flag(["image-pull-policy"], "Always"),
    "command": _command,
    "workingDir": _Flag(["working-dir"], _WORKING_DIR),
    "env": _env,
    "ports": _ports,
    "resources": _resources,
    "securityContext": _capabilities,
    "volumeMounts": _mounts,
}
_POD: Final = {
    "containers": [_CONTAINER],
    "volumes": _volume_sources,
    # The flag of a role replaces the flag for all roles (transformSelectorArrayToMap in Arena).
    "nodeSelector": _mapping_of("{role}-selector", "selector"),
    "tolerations": _list_of("toleration", _toleration),
    "priorityClassName": _Flag(["priority"]),
    "schedulerName": _Flag(["scheduler"]),
    "imagePullSecrets": _list_of("image-pull-secret", lambda part: mapping(part, {"name": part})),
    "dnsPolicy": _dns_policy,
    "hostNetwork": _host("host-network"),
    "hostIPC": _host("host-ipc"),
    "hostPID": _host("host-pid"),
}


def _one_task(switch: Part) -> Part:
    return switch.scalar(0 if switch.value == "false" else 1)


_REPLICAS: Final[Mapping[str, _Flag]] = {
    "Chief": _Flag(["chief"], convert=_one_task),
    "PS": _Flag(["ps"], convert=_number),
    "Worker": _Flag(["workers"], 1, _number),
    "Evaluator": _Flag(["evaluator"], convert=_one_task),
}
"""Replica type of a TFJob -> flag that sets the number of tasks."""


def _replica(flags: _Flags, replica_type: str) -> Part | None:
    role, number = replica_type.lower(), _REPLICAS[replica_type].part(flags, "")
    if number is None or number.value == 0:
        return None
    shape = {
        "restartPolicy": "OnFailure" if role == "worker" and flags.is_on("chief") else "Never",
        "template": {
            "metadata": {"labels": _mapping_of("label"), "annotations": _mapping_of("annotation")},
            "spec": _POD,
        },
    }
    replica = _build(shape, flags, role)
    return replica and mapping(replica, {"replicas": number, **replica.value})


_SPEC: Final = {
    "runPolicy": {
        "cleanPodPolicy": _Flag(["clean-task-policy"], "Running"),
        "activeDeadlineSeconds": _Flag(["running-timeout"], convert=_duration),
        "ttlSecondsAfterFinished": _Flag(["ttl-after-finished"], convert=_duration),
    },
    "successPolicy": _Flag(
        ["success-policy"], convert=lambda part: part.scalar("") if part.value == "ChiefWorker" else part
    ),
}
_JOB_FLAGS: Final = (*_DROPPED, "sync-mode", "sync-source", "gang", "tensorboard", "tensorboard-image", "logdir")
"""Flags that have no field in a TFJob."""


def _tf_job(flags: _Flags) -> Part:
    replicas = {key: part for key in _REPLICAS if (part := _replica(flags, key))}
    extra = {key: flags.value(key) for key in _JOB_FLAGS if key in flags.flags}
    extra["starting-timeout"] = _Flag(["starting-timeout"], convert=_duration).part(flags, "")
    if all(f"{key.lower()}-selector" in flags.flags for key in replicas):
        extra["selector"] = flags.value("selector")
    if "sync-source" in flags.flags:
        extra["git-secret"] = _list([part for key, part in flags.pairs("env") if flags.is_git_secret(key)])
        extra["working-dir"] = flags.value("working-dir")
    spec = _build(_SPEC, flags) or flags.start
    shape = {
        "apiVersion": f"{GROUP}/v1",
        "kind": "TFJob",
        "metadata": {"name": _Flag(["name"]), "namespace": _Flag(["namespace"])},
    }
    head = _build(shape, flags) or flags.start
    fields = {
        "spec": spec.with_part(("tfReplicaSpecs",), mapping(flags.start, replicas)),
        GROUP: mapping(flags.start, extra),
    }
    return mapping(flags.start, {**head.value, **fields}).replaced(path=())
