"""Jobs that are submitted by Arena's command line: `arena submit tfjob --name=mnist --workers=2 ... "python train.py"`.

Each becomes the TFJob that Arena's chart makes of it, whose parts stand where the flags do. Flags and defaults:
https://github.com/kubeflow/arena/blob/master/docs/training/tfjob/, and charts/tfjob there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tfgen.data_path import with_value
from tfgen.importers import shell, tf_job
from tfgen.importers.account import Account
from tfgen.importers.command_line import Word, unknown_value
from tfgen.importers.foreign_job import ForeignJob
from tfgen.importers.objects import api_version
from tfgen.importers.options import Options
from tfgen.importers.part import Part, leaf, mapping, sequence
from tfgen.record import Record
from tfgen.text.document import MAX_PROBLEMS
from tfgen.words import meant, nearest

VERSION: Final = "arena"
"""What stands for an API version: no cluster knows one."""
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
"""Flags that need no value."""
_MANY: Final = (
    "annotation",
    "config-file",
    "data",
    "data-dir",
    "device",
    "env",
    "image-pull-secret",
    "label",
    "selector",
    "toleration",
    "chief-selector",
    "evaluator-selector",
    "ps-selector",
    "worker-selector",
)
"""Flags that may be said again."""
_ONE: Final = (
    "clean-task-policy",
    "gpus",
    "image",
    "image-pull-policy",
    "logdir",
    "name",
    "namespace",
    "priority",
    "ps",
    "ps-gpus",
    "ps-image",
    "running-timeout",
    "scheduler",
    "share-memory",
    "shell",
    "starting-timeout",
    "success-policy",
    "sync-mode",
    "sync-source",
    "tensorboard-image",
    "ttl-after-finished",
    "worker-image",
    "workers",
    "working-dir",
    *(f"{role}-{what}" for role in ("chief", "ps", "worker") for what in ("port",)),
    *(
        f"{role}-{amount}{limit}"
        for role in ("chief", "evaluator", "ps", "worker")
        for amount in ("cpu", "memory")
        for limit in ("", "-limit")
    ),
)
_DROPPED: Final[Mapping[str, str]] = {
    "config-file": "make a ConfigMap of the file, and name it in spec.storage",
    "loglevel": "it is about the command itself",
    "model-name": "it is for Arena's registry of models",
    "model-source": "it is for Arena's registry of models",
    "ps-affinity-constraint": "see spec.placement",
    "ps-affinity-policy": "see spec.placement",
    "queue": "Kueue's queue stands in spec.gang",
    "retry": "Arena's chart for TFJobs does not read it; see spec.retries",
    "role-sequence": "all tasks start together, and TensorFlow waits for its ps itself",
    "sync-image": "tfgen fetches the code by an image of its own; see spec.code.git.image",
    "worker-affinity-constraint": "see spec.placement",
    "worker-affinity-policy": "see spec.placement",
}
"""Flags that a job has no word for."""
_KNOWN: Final = tuple(dict.fromkeys((*_SWITCHES, *_MANY, *_ONE, *_DROPPED)))

_GIT_SECRETS: Final = ("GIT_SYNC_USERNAME", "GIT_SYNC_PASSWORD")
"""Variables of a task that Arena's container for the code reads, too."""
_WORKING_DIR: Final = "/root"
_SHARED_MEMORY: Final = "2Gi"
_LOG_DIR: Final = "/training_logs"
_SECONDS: Final[Mapping[str, int]] = {"s": 1, "m": 60, "h": 3600}


class _Flags(Record):
    """The flags of a command, by their names today.

    Attributes:
        start: the command's first word.
        flags: each with all its values.
        program: the words that are the program.
    """

    start: Part
    flags: Mapping[str, Sequence[Part]]
    program: Sequence[Word]

    def one(self, name: str) -> Part | None:
        """The last value of a flag."""
        values = self.flags.get(name)
        return values[-1] if values else None

    def pairs(self, name: str, by: str = "=") -> Iterator[tuple[str, Part]]:
        """The values of a flag that are a name and what it stands for."""
        for part in self.flags.get(name, ()):
            key, _, value = part.written.partition(by)
            yield key, part.replaced(value=value, text=value)

    def is_on(self, name: str) -> bool:
        """Whether a switch is on."""
        part = self.one(name)
        return part is not None and part.value != "false"


def is_command(words: Sequence[Word]) -> bool:
    """Whether a command submits a TFJob by Arena."""
    return [word.text for word in words[:2]] == ["arena", "submit"] and len(words) > 2 and words[2].text in _TYPES


def is_arena(item: Part) -> bool:
    """Whether an object was made of a command."""
    return api_version(item) == VERSION


def job(words: Sequence[Word], file: str, account: Account) -> Part | None:
    """The TFJob of a command; None where it cannot be read, which the account then says."""
    before = len(account.problems)
    flags = _flags(words, file, account)
    if flags.one("name") is None:
        account.refuse(flags.start, "the command names no job; add --name")
    for part in flags.flags.get("sync-mode", ()):
        if part.value != "git":
            account.refuse(part, f"tfgen fetches code by git, and not by {part.written}; put it into the image")
    return None if len(account.problems) > before else _tf_job(flags)


def canonical(item: Part) -> Part:
    """The TFJob alone, as today's operator has it."""
    fields = {key: part for key, part in item.value.items() if key != VERSION}
    version = item.value["apiVersion"].replaced(value="kubeflow.org/v1")
    return tf_job.canonical(item.replaced(value={**fields, "apiVersion": version}))


def read(item: Part, others: Sequence[Part], options: Options, account: Account) -> ForeignJob | None:
    """The job of a command, with what no TFJob says: where its code and its TensorBoard come from."""
    job = tf_job.read(canonical(item), others, options, account)
    if job is None:
        return None
    spec = dict(job.spec)
    flags = dict(item.entries(VERSION))
    storage: Mapping[str, Any] = {}
    for key, part in flags.items():
        if key in _DROPPED:
            account.drop(part, _DROPPED[key])
    if source := flags.get("sync-source"):
        project = source.written.rstrip("/").rpartition("/")[2].removesuffix(".git")
        place = flags["working-dir"].written if "working-dir" in flags else _WORKING_DIR
        spec["code"] = {"mountPath": f"{place}/code/{project}", "git": {"repository": source.written}}
        account.change(source, "spec", "code", "git", "repository", why="the code cannot be written to")
    if selector := flags.get("selector"):
        account.drop(selector, "each role has a selector of its own, which takes the place of this one in Arena")
    for secret in item.items(VERSION, "git-secret"):
        account.drop(
            secret, "Arena fetches the code with it; put it into a Secret, and name that in code.git.secretName"
        )
    if mode := flags.get("sync-mode"):
        account.carry(mode, "spec", "code", "git")
    if gang := flags.get("gang"):
        spec["gang"] = {"scheduler": "coscheduling"}
        if options.kind == "TFJob":
            spec = with_value(spec, ("workload", "tfJob", "gang"), "PodGroup")
        why = "Arena binds the pods by labels; tfgen makes a PodGroup of Kubernetes' scheduler plugins"
        account.change(gang, "spec", "gang", "scheduler", why=why)
    timeout = flags.get("starting-timeout")
    if timeout and options.kind == "TFJob":
        account.drop(timeout, "today's operator has no such limit")
    elif timeout:
        spec["startDeadline"] = timeout.value
        account.carry(timeout, "spec", "startDeadline")
    if board := flags.get("tensorboard"):
        storage = _claims(job)
        role = job.roles.get("worker") or next(iter(job.roles.values()))
        _tensorboard(board, flags, spec, storage, role.pod.role.get("image", ""), account)
    for key, part in item.entries(VERSION):
        if key in ("logdir", "tensorboard-image") and "tensorboard" not in spec:
            account.drop(part, "the job has no TensorBoard")
    _shorten(item, account)
    return job.replaced(form="Arena job", spec=spec, tensorboard_storage=storage)


def _shorten(item: Part, account: Account) -> None:
    """Name no default of Arena's chart that is carried: no one wrote it."""
    default = item.value["kind"].name
    account.entries = [entry for entry in account.entries if entry.outcome != "carried" or entry.source != default]


def _claims(job: ForeignJob) -> Mapping[str, Any]:
    role = next(iter(job.roles.values()))
    return {name: volume for name, volume in role.pod.storage.items() if "claim" in volume}


def _tensorboard(
    board: Part,
    flags: Mapping[str, Part],
    spec: dict[str, Any],
    storage: Mapping[str, Any],
    image: str,
    account: Account,
) -> None:
    if not storage:
        account.drop(board, "the events lie in the pods; a TensorBoard needs a claim that it shares with them")
        return
    spec["tensorboard"] = {"logDir": flags["logdir"].written if "logdir" in flags else _LOG_DIR}
    account.carry(board, "spec", "tensorboard")
    for flag, key in (("logdir", "logDir"), ("tensorboard-image", "image")):
        if part := flags.get(flag):
            spec["tensorboard"][key] = part.written
            account.carry(part, "spec", "tensorboard", key)
    if image and "tensorboard-image" not in flags:
        spec["tensorboard"]["image"] = image
        account.note(board, "Arena has an image of its own for TensorBoard; here it is the workers'")


# -- the flags ---------------------------------------------------------------------------------------------------


def _flags(words: Sequence[Word], file: str, account: Account) -> _Flags:
    flags: dict[str, list[Part]] = {}
    program: list[Word] = []
    waiting = iter(words[3:])
    for word in waiting:
        if len(account.problems) >= MAX_PROBLEMS:
            break
        dashed = re.fullmatch(r"--?([A-Za-z][-A-Za-z]*)(?:=(.*))?", word.text, re.DOTALL)
        if program or dashed is None:
            program.append(word)
            if word.expands:
                account.refuse(leaf(file, word.position, "program", word.text), unknown_value(word))
            continue
        name, value, value_word = _today(dashed[1]), dashed[2], word
        if value is None and name not in _SWITCHES and name in _KNOWN:
            value_word = next(waiting, Word("", word.position))
            value = value_word.text
        part = leaf(file, word.position, f"--{dashed[1]}" if len(dashed[1]) > 1 else f"-{dashed[1]}", value or "true")
        if name not in _KNOWN:
            account.refuse(part, f"arena submit tfjob has no such flag{meant(nearest(name, _KNOWN))}")
        elif word.expands or value_word.expands:
            account.refuse(part, unknown_value(value_word))
        else:
            flags.setdefault(name, []).append(part)
    return _Flags(leaf(file, words[0].position, "arena", "tfjob"), flags, program)


def _today(flag: str) -> str:
    """A flag's name today: some were `--psImage` and `--ChiefCpu`."""
    return _ALIASES.get(flag) or re.sub(r"(?<=[a-z])(?=[A-Z])", "-", flag).lower()


# -- the TFJob ---------------------------------------------------------------------------------------------------


def _tf_job(flags: _Flags) -> Part:
    build = _Builder(flags)
    name, namespace = flags.one("name"), flags.one("namespace")
    policy = {
        "cleanPodPolicy": flags.one("clean-task-policy") or build.default("Running"),
        "activeDeadlineSeconds": _duration(flags.one("running-timeout")),
        "ttlSecondsAfterFinished": _duration(flags.one("ttl-after-finished")),
    }
    success = flags.one("success-policy")
    if success is not None and success.value == "ChiefWorker":
        success = success.replaced(value="", text="")
    replicas = {
        "Chief": build.replica("chief", _one_task(flags, "chief")),
        "PS": build.replica("ps", flags.one("ps") or 0),
        "Worker": build.replica("worker", flags.one("workers") or 1),
        "Evaluator": build.replica("evaluator", _one_task(flags, "evaluator")),
    }
    spec = {"runPolicy": build.mapping(policy), "successPolicy": success, "tfReplicaSpecs": build.mapping(replicas)}
    beside = (*_DROPPED, "sync-mode", "sync-source", "gang", "tensorboard", "tensorboard-image", "logdir")
    extra = {key: flags.one(key) for key in beside if key in flags.flags}
    secrets = [part for key, part in flags.pairs("env") if key in _GIT_SECRETS]
    roles = {"Chief": "chief", "PS": "ps", "Worker": "worker", "Evaluator": "evaluator"}
    if all(f"{role}-selector" in flags.flags for name, role in roles.items() if replicas[name]):
        extra["selector"] = flags.one("selector")
    extra["git-secret"] = build.items(secrets) if "sync-source" in flags.flags else None
    extra["starting-timeout"] = _duration(flags.one("starting-timeout"))
    if "sync-source" in flags.flags:
        extra["working-dir"] = flags.one("working-dir")
    return build.mapping(
        {
            "apiVersion": build.default(VERSION),
            "kind": build.default("TFJob"),
            "metadata": build.mapping({"name": name, "namespace": namespace}),
            "spec": build.mapping(spec),
            VERSION: build.mapping(extra),
        }
    ).replaced(path=())


def _one_task(flags: _Flags, role: str) -> Part | int:
    """Return the number of tasks of a role that a switch turns on, with the place of the switch."""
    part = flags.one(role)
    return part.replaced(value="1", text="1") if part and flags.is_on(role) else 0


class _Builder:
    """Makes the parts of a TFJob; what no flag says stands where the command begins."""

    def __init__(self, flags: _Flags) -> None:
        self.flags = flags

    def default(self, value: Any) -> Part:
        start = self.flags.start
        return start.replaced(value=value, text=str(value))

    def mapping(self, parts: Mapping[str, Part | None]) -> Part:
        return mapping(self.flags.start, {key: part for key, part in parts.items() if part is not None})

    def items(self, parts: Sequence[Part]) -> Part | None:
        return sequence(parts[0], parts) if parts else None

    def replica(self, role: str, replicas: Part | int) -> Part | None:
        number = self.default(replicas) if isinstance(replicas, int) else _number(replicas)
        if number.value == 0:
            return None
        has_chief = role == "worker" and self.flags.is_on("chief")
        return self.mapping(
            {
                "replicas": number,
                "restartPolicy": self.default("OnFailure" if has_chief else "Never"),
                "template": self.mapping({"metadata": self._metadata(), "spec": self._pod(role)}),
            }
        )

    def _metadata(self) -> Part:
        pairs = {"labels": "label", "annotations": "annotation"}
        return self.mapping({key: self._texts(flag) for key, flag in pairs.items()})

    def _texts(self, flag: str) -> Part | None:
        entries = dict(self.flags.pairs(flag))
        return mapping(next(iter(entries.values())), entries) if entries else None

    def _pod(self, role: str) -> Part:
        switches = {"hostNetwork": "host-network", "hostIPC": "host-ipc", "hostPID": "host-pid"}
        host = {key: part.replaced(value=True) for key, flag in switches.items() if (part := self.flags.one(flag))}
        secrets = [mapping(part, {"name": part}) for part in self.flags.flags.get("image-pull-secret", ())]
        volumes, mounts = self._volumes()
        return self.mapping(
            {
                "containers": self.items([self._container(role, mounts)]),
                "volumes": self.items(volumes),
                # A role's own flag takes the place of the one for all roles (transformSelectorArrayToMap in Arena).
                "nodeSelector": self._texts(f"{role}-selector") or self._texts("selector"),
                "tolerations": self.items([self._toleration(part) for part in self.flags.flags.get("toleration", ())]),
                "priorityClassName": self.flags.one("priority"),
                "schedulerName": self.flags.one("scheduler"),
                "imagePullSecrets": self.items(secrets),
                "dnsPolicy": self.default("ClusterFirstWithHostNet") if "hostNetwork" in host else None,
                **host,
            }
        )

    def _toleration(self, part: Part) -> Part:
        """`all`, a taint's key, or `KEY=VALUE:EFFECT,OPERATOR`."""
        match = re.fullmatch(r"([^=:,]+)(?:=([^:,]*))?(?::(\w+))?(?:,(\w+))?", part.written)
        if part.value == "all" or match is None:
            return mapping(part, {"operator": part.replaced(value="Exists", text="Exists")})
        key, value, effect, operator = match.groups()
        fields = {
            "key": key,
            "operator": operator or ("Equal" if value else "Exists"),
            "value": value,
            "effect": effect,
        }
        return mapping(part, {name: part.replaced(value=text, text=text) for name, text in fields.items() if text})

    def _container(self, role: str, mounts: Sequence[Part]) -> Part:
        flags = self.flags
        own = {"ps": "ps-image"}.get(role, "worker-image")
        program = " ".join(word.text for word in flags.program)
        # Arena takes off the quotes that its own documents have within those of the shell.
        program = re.sub(r"^'([^']*)'$", r"\1", program)
        plain = shell.words(program)
        shell_name = flags.one("shell")
        words = plain or [shell_name.written if shell_name else "sh", "-c", program]
        start = flags.program[0].position if flags.program else flags.start.position
        spoken = [leaf(flags.start.file, start, "program", word) for word in words]
        port = flags.one(f"{role}-port")
        is_port = port is not None and port.value != "0"
        return self.mapping(
            {
                "name": self.default("tensorflow"),
                "image": flags.one(own) or flags.one("image"),
                "imagePullPolicy": flags.one("image-pull-policy") or self.default("Always"),
                "command": self.items(spoken) if flags.program else None,
                "workingDir": flags.one("working-dir") or self.default(_WORKING_DIR),
                "env": self.items(
                    [
                        mapping(p, {"name": p.replaced(value=k, text=k), "value": p})
                        for k, p in flags.pairs("env")
                        if k not in _GIT_SECRETS or "sync-source" not in flags.flags
                    ]
                ),
                "ports": self.items([self._port(port)]) if port and is_port else None,
                "resources": self._resources(role),
                "securityContext": self._capabilities(),
                "volumeMounts": self.items(mounts),
            }
        )

    def _port(self, port: Part) -> Part:
        return mapping(port, {"name": self.default(tf_job.PORT_NAME), "containerPort": _number(port)})

    def _capabilities(self) -> Part | None:
        part = self.flags.one("rdma")
        if part is None:
            return None
        lock = self.items([part.replaced(value="IPC_LOCK", text="IPC_LOCK")])
        return self.mapping({"capabilities": self.mapping({"add": lock})})

    def _resources(self, role: str) -> Part | None:
        flags = self.flags
        gpus = flags.one("ps-gpus" if role == "ps" else "gpus")
        devices: dict[str, Part] = {"nvidia.com/gpu": gpus} if gpus and gpus.written != "0" else {}
        devices |= dict(flags.pairs("device")) if role != "ps" else {}
        if rdma := flags.one("rdma"):
            devices["rdma/hca"] = rdma.replaced(value="1", text="1")
        requests, limits = dict(devices), dict(devices)
        for amount in ("cpu", "memory"):
            request = flags.one(f"{role}-{amount}")
            limit = flags.one(f"{role}-{amount}-limit") or request
            requests |= {amount: request} if request else {}
            limits |= {amount: limit} if limit else {}
        if not limits:
            return None
        return self.mapping({"requests": self.mapping(requests), "limits": self.mapping(limits)})

    def _volumes(self) -> tuple[list[Part], list[Part]]:
        memory = self.flags.one("share-memory") or self.default(_SHARED_MEMORY)
        empty = self.mapping({"medium": self.default("Memory"), "sizeLimit": memory})
        volumes = [self.mapping({"name": self.default("dshm"), "emptyDir": empty})]
        mounts = [self._mount("dshm", self.default("/dev/shm"))]  # noqa: S108 - a path in the pod
        for name, path in self.flags.pairs("data", ":"):
            claim = mapping(path, {"claimName": path.replaced(value=name, text=name)})
            volumes.append(mapping(path, {"name": self.default(name), "persistentVolumeClaim": claim}))
            mounts.append(self._mount(name, path))
        for number, (host, path) in enumerate(self.flags.pairs("data-dir", ":")):
            place = mapping(path, {"path": path.replaced(value=host, text=host)})
            volumes.append(mapping(path, {"name": self.default(f"data-dir-{number}"), "hostPath": place}))
            mounts.append(
                self._mount(f"data-dir-{number}", path if path.value else path.replaced(value=host, text=host))
            )
        return volumes, mounts

    def _mount(self, name: str, path: Part) -> Part:
        return mapping(path, {"name": self.default(name), "mountPath": path})


def _number(part: Part) -> Part:
    return part.replaced(value=int(part.written)) if re.fullmatch(r"\d{1,9}", part.written) else part


def _duration(part: Part | None) -> Part | None:
    """A time as Go writes it, `1h30m`, in seconds."""
    if part is None or not re.fullmatch(r"(\d{1,9}[smh])+", part.written):
        return _number(part) if part else None
    seconds = sum(int(number) * _SECONDS[unit] for number, unit in re.findall(r"(\d+)([smh])", part.written))
    return part.replaced(value=seconds, text=str(seconds))
