"""Reader of Arena's command line: `arena submit tfjob --name=mnist --workers=2 ... "python train.py"`.

The import converts a command to the TFJob that Arena's chart creates, and `tf_job` reads the TFJob. Each field of the
TFJob has the position of the flag that sets the field, for messages.

Flags: https://github.com/kubeflow/arena/blob/master/docs/training/tfjob/.
Defaults: charts/tfjob of the same repository.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tfgen.importers import tf_job
from tfgen.importers.foreign_job import BY_SCHEDULER_NAME, COSCHEDULING, ForeignJob
from tfgen.importers.part import Part, build_part, mapping, scalar_part, sequence
from tfgen.importers.table import ANY_KEY, PRESENT, FieldReader, Fields, Notes, Options, carried, dropped
from tfgen.importers.tf_config import Word, plain_words, shell_value_message
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
    *("chief", "evaluator", "gang", "host-ipc", "host-network", "host-pid"),
    *("pprof", "queue", "rdma", "tensorboard", "trace"),
)
"""Flags without a value."""
_DROPPED: Final[Mapping[str, str]] = {
    "config-file": "create a ConfigMap from the file, and mount the ConfigMap with spec.storage",
    **dict.fromkeys(
        ("arena-namespace", "config", "loglevel", "pprof", "trace"),
        "the flag is an option of the arena command itself, and has no effect on the job",
    ),
    **dict.fromkeys(("model-name", "model-source"), "the flag is for Arena's model registry"),
    "queue": "to submit the job to a queue of Kueue, set spec.gang",
    "retry": "Arena's chart for TFJobs ignores the flag; use spec.retries",
    "role-sequence": "tfgen starts all tasks together, and TensorFlow waits until each ps is ready",
    "sync-image": "tfgen uses its own image to fetch the code; to change the image, set spec.code.git.image",
    **{
        f"{role}-affinity-constraint": "spec.placement is a preference, which no pod waits for"
        for role in ("ps", "worker")
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
    *("working-dir", "chief-port", "ps-port", "worker-port", "ps-affinity-policy", "worker-affinity-policy"),
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


def job(words: Sequence[Word], file: str, notes: Notes) -> Part | None:
    """Convert an Arena command to a TFJob. Return None if the command has problems."""
    before = len(notes.problems)
    flags = _flags(words, file, notes)
    if flags.value("name") is None:
        notes.refuse(flags.start, "the command does not name the job; add --name")
    for part in flags.flags.get("sync-mode", ()):
        if part.value != "git":
            notes.refuse(part, f"found {part.as_text}, expected git; copy the code into the image, or use git")
    return None if len(notes.problems) > before else _tf_job(flags)


def read(item: Part, companions: Sequence[Part], options: Options, notes: Notes) -> ForeignJob | None:
    """Convert the TFJob of a command to a `ForeignJob`. Return None if the import report has problems.

    `job` made this TFJob from the command.
    """
    version = item.value["apiVersion"].replaced(value="kubeflow.org/v1")
    # Without the flags that have no field in a TFJob, such as --gang.
    tf_job_item = tf_job.canonical(item.without(GROUP).with_part(("apiVersion",), version))
    job = tf_job.read(tf_job_item, companions, options, notes)
    return _ArenaJob(item, job, options, notes).read() if job else None


class _ArenaJob(FieldReader):
    """Reader of the flags that have no field in a TFJob, such as the flags for the code, the gang and TensorBoard."""

    def __init__(self, item: Part, job: ForeignJob, options: Options, notes: Notes) -> None:
        super().__init__(notes)
        self.item, self.job, self.is_tf_job = item, job, options.kind == "TFJob"
        self.flags = dict(item.entries(GROUP))
        self.data = {"spec": dict(job.spec)}
        self.storage: Mapping[str, Any] = {}

    def read(self) -> ForeignJob:
        """Return the `ForeignJob`, with the settings of the flags that have no field in a TFJob."""
        no_limit = dropped("a TFJob has no time limit for the start of its tasks")
        table: Fields = {
            **{key: dropped(why) for key, why in _DROPPED.items()},
            **dict.fromkeys(("ps-affinity-policy", "worker-affinity-policy"), self._affinity),
            "gang": self._gang,
            "git-secret": self._git_secret,
            "selector": dropped("Arena ignores this selector, because the selector of each role replaces it"),
            "starting-timeout": no_limit if self.is_tf_job else carried("spec", "startDeadline"),
            "shell": dropped("a program that needs a shell runs in this shell", is_quiet=True),
            "sync-mode": carried("spec", "code", "git", sets=False, becomes=PRESENT),
            "sync-source": self._code,
            "tensorboard": self._tensorboard,
            **dict.fromkeys(("logdir", "tensorboard-image"), self._of_tensorboard),
            "working-dir": None,
            ANY_KEY: dropped("no task of this job uses the flag"),
        }
        self.fields(self.item.get(GROUP), table)
        return self.job.replaced(
            format="Arena job", roots=[self.item], spec=self.spec, tensorboard_storage=self.storage
        )

    def _of_tensorboard(self, key: str, part: Part) -> None:
        if "tensorboard" not in self.spec:
            self.notes.reason(part, "the flag is for TensorBoard, but the job has no TensorBoard")
        else:
            self.put(part, part.as_text, "spec", "tensorboard", {"logdir": "logDir", "tensorboard-image": "image"}[key])

    def _affinity(self, _key: str, policy: Part) -> None:
        placement = {"spread": "spread", "binpack": "pack"}.get(policy.as_text)
        other = self.spec.get("placement", placement)
        if placement is None:
            self.notes.reason(policy, "the policy has no effect on the pods", is_quiet=True)
        elif placement != other:
            self.notes.reason(policy, f"in the imported job, all roles have the placement {other}")
        else:
            self.put(policy, placement, "spec", "placement")
            why = "in the imported job, the placement is a preference of all roles"
            self.notes.reason(policy, why, "changed", placement)

    def _code(self, _key: str, source: Part) -> None:
        project = source.as_text.rstrip("/").rpartition("/")[2].removesuffix(".git")
        folder = self.flags["working-dir"].as_text if "working-dir" in self.flags else _WORKING_DIR
        self.set_value({"mountPath": f"{folder}/code/{project}", "git": {"repository": source.as_text}}, "spec", "code")
        self.notes.target(source, "spec", "code", "git", "repository")
        self.notes.reason(source, "in the imported job, the folder with the code is read-only", "changed")

    def _git_secret(self, _key: str, secrets: Part) -> None:
        fix = "create a Secret with the credential, and set code.git.secretName to the name of the Secret"
        for secret in secrets.items():
            self.notes.reason(secret, f"the variable is a credential for git; {fix}")

    def _gang(self, _key: str, part: Part) -> None:
        self.set_value({"scheduler": "coscheduling"}, "spec", "gang")
        scheduler = next((role.pod.scheduler for role in self.job.roles.values() if role.pod.scheduler), None)
        if scheduler and scheduler.as_text in BY_SCHEDULER_NAME:
            why = "the PodGroup of a gang with --gang is for the Kubernetes scheduler plugins"
            self.notes.reason(scheduler, why, "changed", COSCHEDULING)
        elif scheduler:
            self.put(scheduler, scheduler.as_text, "spec", "gang", "schedulerName")
        roles = self.job.roles.items()
        roles_without = {name: role.replaced(pod=role.pod.replaced(scheduler=None)) for name, role in roles}
        self.job = self.job.replaced(roles=roles_without)
        if self.is_tf_job:
            self.set_value("PodGroup", "spec", "workload", "tfJob", "gang")
        why = "tfgen creates a PodGroup of the Kubernetes scheduler plugins"
        self.notes.reason(part, f"Arena defines the gang by labels of the pods; {why}", "changed")

    def _tensorboard(self, _key: str, board: Part) -> None:
        pod = next(iter(self.job.roles.values())).pod
        self.storage = {name: volume for name, volume in pod.storage.items() if "claim" in volume}
        if not self.storage:
            why = "TensorBoard cannot read the logs, because the tasks keep them in the pods; write the logs to a claim"
            self.notes.reason(board, why)
            return
        self.set_value({"logDir": _LOG_DIR}, "spec", "tensorboard")
        self.notes.target(board, "spec", "tensorboard")
        self.notes.reason(board, "spec.tensorboard shows the logs", "carried", PRESENT)
        image = self.job.roles.get("worker", next(iter(self.job.roles.values()))).pod.role.get("image")
        if image and "tensorboard-image" not in self.flags:
            self.set_value(image, "spec", "tensorboard", "image")
            why = "TensorBoard runs in the image of the workers, not in Arena's image for TensorBoard"
            self.notes.remark(board, why)


# -- the flags ---------------------------------------------------------------------------------------------------


def _flags(words: Sequence[Word], file: str, notes: Notes) -> _Flags:
    flags: dict[str, list[Part]] = {}
    program: list[Word] = []
    pending = iter(words[3:])
    for word in pending:
        if len(notes.problems) >= MAX_PROBLEMS:
            break
        flag_match = re.fullmatch(r"--?([A-Za-z][-A-Za-z]*)(?:=(.*))?", word.text, re.DOTALL)
        if program or flag_match is None:
            program.append(word)
            if word.expands:
                notes.refuse(scalar_part(file, word.position, "program", word.text), shell_value_message(word))
            continue
        # Earlier versions of Arena had flags such as `--psImage` and `--ChiefCpu`.
        name = _ALIASES.get(flag_match[1]) or re.sub(r"(?<=[a-z])(?=[A-Z])", "-", flag_match[1]).lower()
        value, value_word = flag_match[2], word
        if value is None and name not in _SWITCHES and name in _FLAG_NAMES:
            value_word = next(pending, Word("", word.position))
            value = value_word.text
        dashes = "--" if len(flag_match[1]) > 1 else "-"
        part = scalar_part(file, word.position, f"{dashes}{flag_match[1]}", value or "true")
        if name not in _FLAG_NAMES:
            notes.refuse(part, f"arena submit tfjob has no such flag{meant(nearest(name, _FLAG_NAMES))}")
        elif word.expands or value_word.expands:
            notes.refuse(part, shell_value_message(value_word))
        else:
            flags.setdefault(name, []).append(part)
    return _Flags(scalar_part(file, words[0].position, "arena", "tfjob"), flags, program)


# -- the TFJob ---------------------------------------------------------------------------------------------------


def _list(parts: Sequence[Part]) -> Part | None:
    return sequence(parts[0], parts) if parts else None


def _number(part: Part | None) -> Part | None:
    return part.replaced(value=int(part.as_text)) if part and re.fullmatch(r"\d{1,9}", part.as_text) else part


def _duration(part: Part | None) -> Part | None:
    """Convert a duration in the syntax of Go, such as `1h30m`, to seconds."""
    if part is None or not re.fullmatch(r"(\d{1,9}[smh])+", part.as_text):
        return _number(part)
    return part.scalar(sum(int(number) * _SECONDS[unit] for number, unit in re.findall(r"(\d+)([smh])", part.as_text)))


def _pairs(flags: _Flags, *names: str) -> Part | None:
    """Return a mapping with the `KEY=VALUE` pairs of the first of the flags that the command sets."""
    entries = next((entries for name in names if (entries := dict(flags.pairs(name)))), {})
    return mapping(next(iter(entries.values())), entries) if entries else None


def _toleration(part: Part) -> Part:
    """Parse a toleration: `all`, the key of a taint, or `KEY=VALUE:EFFECT,OPERATOR`."""
    match = re.fullmatch(r"([^=:,]+)(?:=([^:,]*))?(?::(\w+))?(?:,(\w+))?", part.as_text)
    if part.value == "all" or match is None:
        return mapping(part, {"operator": part.scalar("Exists")})
    key, value, effect, operator = match.groups()
    operator = operator or ("Equal" if value else "Exists")
    fields = {"key": key, "operator": operator, "value": value, "effect": effect}
    return mapping(part, {name: part.scalar(text) for name, text in fields.items() if text})


def _command(flags: _Flags) -> Part | None:
    """Return the command of the container: the program, or `sh -c PROGRAM` for a program that needs a shell."""
    # The documentation of Arena puts a second pair of quotes around the program. Arena removes these quotes.
    program = re.sub(r"^'([^']*)'$", r"\1", " ".join(word.text for word in flags.program))
    shell_name = flags.value("shell")
    words = plain_words(program) or [shell_name.as_text if shell_name else "sh", "-c", program]
    position = flags.program[0].position if flags.program else flags.start.position
    parts = [scalar_part(flags.start.file, position, "program", word) for word in words]
    return _list(parts) if flags.program else None


def _resources(flags: _Flags, role: str) -> dict[str, Any] | None:
    gpus = flags.value("ps-gpus" if role == "ps" else "gpus")
    devices: dict[str, Part] = {"nvidia.com/gpu": gpus} if gpus and gpus.as_text != "0" else {}
    devices |= dict(flags.pairs("device")) if role != "ps" else {}
    if rdma := flags.value("rdma"):
        devices["rdma/hca"] = rdma.scalar("1")
    requests = {amount: flags.value(f"{role}-{amount}") for amount in ("cpu", "memory")}
    limits = {amount: flags.value(f"{role}-{amount}-limit") or request for amount, request in requests.items()}
    is_set = devices or any(limits.values())
    return {"requests": {**devices, **requests}, "limits": {**devices, **limits}} if is_set else None


def _volumes(flags: _Flags) -> Iterator[tuple[Part, Part, Mapping[str, Any], Part]]:
    """Yield each volume that the flags define, as (name, value of the flag, volume source, mount path)."""
    memory = {"medium": "Memory", "sizeLimit": flags.value("share-memory") or _SHARED_MEMORY}
    yield flags.start.scalar("dshm"), flags.start, {"emptyDir": memory}, flags.start.scalar("/dev/shm")  # noqa: S108 - in a pod
    for name, path in flags.pairs("data", ":"):
        yield flags.start.scalar(name), path, {"persistentVolumeClaim": {"claimName": name}}, path
    for number, (host, path) in enumerate(flags.pairs("data-dir", ":")):
        mount_path = path if path.value else path.scalar(host)
        yield flags.start.scalar(f"data-dir-{number}"), path, {"hostPath": {"path": host}}, mount_path


def _replica(flags: _Flags, replica_type: str) -> Part | None:
    role, value, start = replica_type.lower(), flags.value, flags.start
    if replica_type in ("PS", "Worker"):
        number = _number(value("ps")) if role == "ps" else _number(value("workers")) or start.scalar(1)
    else:
        switch = value(role)
        number = switch and switch.scalar(int(flags.is_on(role)))
    if number is None or number.value == 0:
        return None
    volumes, rdma, port = list(_volumes(flags)), value("rdma"), value(f"{role}-port")
    ports = [port] if port and port.value != "0" else []
    port_name = start.scalar(tf_job.PORT_NAME)
    env = [(key, part) for key, part in flags.pairs("env") if not flags.is_git_secret(key)]
    capabilities = {"capabilities": {"add": _list([rdma.scalar("IPC_LOCK")])}} if rdma else None
    container = {
        "name": "tensorflow",
        "image": value("ps-image" if role == "ps" else "worker-image") or value("image"),
        "imagePullPolicy": value("image-pull-policy") or "Always",
        "command": _command(flags),
        "workingDir": value("working-dir") or _WORKING_DIR,
        "env": _list([build_part(part, {"name": key, "value": part}) for key, part in env]),
        "ports": _list([build_part(p, {"name": port_name, "containerPort": _number(p)}) for p in ports]),
        "resources": _resources(flags, role),
        "securityContext": capabilities,
        "volumeMounts": _list([build_part(path, {"name": name, "mountPath": path}) for name, _, _, path in volumes]),
    }
    pod = {
        "containers": [container],
        "volumes": _list([build_part(part, {"name": name, **source}) for name, part, source, _ in volumes]),
        # The flag of a role replaces the flag for all roles (transformSelectorArrayToMap in Arena).
        "nodeSelector": _pairs(flags, f"{role}-selector", "selector"),
        "tolerations": _list([_toleration(part) for part in flags.flags.get("toleration", ())]),
        "priorityClassName": value("priority"),
        "schedulerName": value("scheduler"),
        "imagePullSecrets": _list([build_part(p, {"name": p}) for p in flags.flags.get("image-pull-secret", ())]),
        "dnsPolicy": "ClusterFirstWithHostNet" if value("host-network") else None,
        **{
            key: part.replaced(value=True)
            for key, flag in (("hostNetwork", "host-network"), ("hostIPC", "host-ipc"), ("hostPID", "host-pid"))
            if (part := value(flag))
        },
    }
    metadata = {"labels": _pairs(flags, "label"), "annotations": _pairs(flags, "annotation")}
    restart_policy = "OnFailure" if role == "worker" and flags.is_on("chief") else "Never"
    replica = {"replicas": number, "restartPolicy": restart_policy, "template": {"metadata": metadata, "spec": pod}}
    return build_part(start, replica)


_JOB_FLAGS: Final = (*_DROPPED, "sync-mode", "sync-source", "gang", "tensorboard", "tensorboard-image", "logdir")
"""Flags that have no field in a TFJob."""


def _tf_job(flags: _Flags) -> Part:
    value = flags.value
    replicas = {key: part for key in ("Chief", "PS", "Worker", "Evaluator") if (part := _replica(flags, key))}
    extra = {key: value(key) for key in _JOB_FLAGS if key in flags.flags}
    extra["starting-timeout"] = _duration(value("starting-timeout"))
    if all(f"{key.lower()}-selector" in flags.flags for key in replicas):
        extra["selector"] = value("selector")
    if "sync-source" in flags.flags:
        extra["git-secret"] = _list([part for key, part in flags.pairs("env") if flags.is_git_secret(key)])
        extra["working-dir"] = value("working-dir")
    policy = value("success-policy")
    run_policy = {
        "cleanPodPolicy": value("clean-task-policy") or "Running",
        "activeDeadlineSeconds": _duration(value("running-timeout")),
        "ttlSecondsAfterFinished": _duration(value("ttl-after-finished")),
    }
    shape = {
        "apiVersion": f"{GROUP}/v1",
        "kind": "TFJob",
        "metadata": {"name": value("name"), "namespace": value("namespace")},
        "spec": {
            "runPolicy": run_policy,
            "successPolicy": policy.scalar("") if policy and policy.value == "ChiefWorker" else policy,
            "tfReplicaSpecs": replicas,
        },
    }
    job = build_part(flags.start, shape)
    used = {part.place for part in job.leaves()}
    unused = {name: parts[-1] for name, parts in flags.flags.items() if parts[-1].place not in used}
    return job.with_part((GROUP,), mapping(flags.start, {**unused, **extra})).replaced(path=())
