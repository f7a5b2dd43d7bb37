"""Reader of ElasticDL's command line: `elasticdl train --job_name=mnist --num_ps_pods=1 ...`.

The imported job has the workload kind ElasticDL, because the tasks get their data from ElasticDL's master. A flag with
an equivalent field in job.yaml sets this field. All other flags become arguments of the master, as in
ElasticDL's client.

Flags and defaults: https://github.com/sql-machine-learning/elasticdl/blob/develop/elasticdl_client/common/args.py.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tfgen.data_path import Path
from tfgen.importers.foreign_job import ROLES, ForeignJob, ForeignRole
from tfgen.importers.part import Part, mapping, scalar_part
from tfgen.importers.pod import PodData, volume_name
from tfgen.importers.table import ANY_KEY, FieldReader, Fields, Notes, Options, carried, changed, dropped
from tfgen.importers.tf_config import Word, shell_value_message
from tfgen.job.training_job import RoleName

FORMAT: Final = "ElasticDL job"
GROUP: Final = "elasticdl"
"""The API group of the object that the import makes from a command. No cluster has this group."""

_COMMAND: Final = ("elasticdl", "train")
_STRATEGY: Final = "ParameterServerStrategy"
"""The only strategy of ElasticDL that the import supports. It is also the default of the client."""
_NUMBERS: Final[Mapping[RoleName, tuple[str, int]]] = {"ps": ("num_ps_pods", 0), "worker": ("num_workers", 2)}
"""Role -> (flag that sets the number of tasks, default of the flag in ElasticDL's client)."""
_AMOUNTS: Final = ("cpu", "memory", "gpu")
_RETRIES: Final = ("relaunch_on_worker_failure", 1)
_PULL: Final = ("image_pull_policy", "Always")
_ELASTIC_DL: Final = ("spec", "workload", "elasticDL")
_TF_CONFIG: Final = "the master of ElasticDL always sets TF_CONFIG"
_CLUSTER_SPEC: Final = (
    "tfgen sets --cluster_spec_json to JSON with the labels of the run; remove the flag from the command, "
    "and add --cluster_spec_json with the labels of the run and your fields to spec.args of the imported job"
)
_RESTARTS: Final = "a failed pod does not restart; the master of ElasticDL creates a new pod"
_MASTER: Final = dropped("the master accepts only cpu and memory, with requests equal to limits")
_PRIORITY: Final = carried("spec", "priorityClassName")
_PRIORITY_OF_ALL: Final = changed(
    "spec", "priorityClassName", why="in the imported job, the priority class applies to the ps as well"
)
_FLAGS: Final[Fields] = {
    "cluster_spec": dropped(
        "only ElasticDL's client can read the file of this flag; to change the pods as the file does, add "
        "--cluster_spec_json with these changes and the labels of the run to spec.args"
    ),
    "distribution_strategy": carried("spec", "strategy", sets=False, becomes="ParameterServer"),
    "image_name": carried("spec", "image"),
    "image_pull_policy": carried("spec", "imagePullPolicy"),
    "job_name": carried("metadata", "name"),
    "namespace": carried("metadata", "namespace"),
    "need_tf_config": dropped(_TF_CONFIG, default="true", why_default=_TF_CONFIG),
    "ps_pod_priority": carried(*ROLES, "ps", "priorityClassName"),
    "restart_policy": dropped(_RESTARTS, default="Never", why_default=_RESTARTS),
    _RETRIES[0]: carried("spec", "retries", sets=False),
    **dict.fromkeys(
        ("force_use_kube_config_file", "yaml"),
        dropped("the flag is an option of ElasticDL's client itself, and has no effect on the job"),
    ),
    **dict.fromkeys(("master_resource_request", "master_resource_limit"), _MASTER),
    **{flag: carried(*ROLES, role, "replicas", sets=False) for role, (flag, _) in _NUMBERS.items()},
}
"""The conversion of each flag that has a field in job.yaml. All other flags become arguments of the master."""


def is_command(words: Sequence[Word]) -> bool:
    """Return whether a command is `elasticdl train`."""
    return tuple(word.text for word in words[:2]) == _COMMAND


def job(words: Sequence[Word], file: str, notes: Notes) -> Part | None:
    """Convert an ElasticDL command to an object that contains the flags. Return None if the command has problems."""
    before = len(notes.problems)
    start = scalar_part(file, words[0].position, "elasticdl", FORMAT)
    flags = _flags(words[2:], file, notes)
    if "job_name" not in flags:
        notes.refuse(start, "the command does not name the job; add --job_name")
    strategy = flags.get("distribution_strategy")
    if strategy and strategy.value not in (_STRATEGY, ""):
        notes.refuse(strategy, f"found {strategy.as_text}, expected {_STRATEGY}")
    role_numbers = {role: _number(flags.get(flag), default) for role, (flag, default) in _NUMBERS.items()}
    for role, number in role_numbers.items():
        flag = _NUMBERS[role][0]
        if not isinstance(number, int):
            notes.refuse(flags[flag], f"found {number[:63]}, expected a number of tasks")
        elif number < 1 and len(notes.problems) == before:
            notes.refuse(flags.get(flag, start), f"{_STRATEGY} needs at least one {role}; set --{flag} to 1 or more")
    if len(notes.problems) > before:
        return None
    metadata = {key: flags[flag] for key, flag in (("name", "job_name"), ("namespace", "namespace")) if flag in flags}
    fields = {
        "apiVersion": start.replaced(value=f"{GROUP}/v1"),
        "kind": start.replaced(value="Pod"),
        "metadata": mapping(start, metadata),
        "flags": mapping(start, flags),
    }
    return mapping(start, fields).replaced(path=())


def read(item: Part, _companions: Sequence[Part], options: Options, notes: Notes) -> ForeignJob | None:
    """Convert the object that `job` made from an ElasticDL command to a `ForeignJob`."""
    return _ElasticDLJob(item, options, notes).read()


class _ElasticDLJob(FieldReader):
    """Reader of the flags of an ElasticDL command."""

    def __init__(self, item: Part, options: Options, notes: Notes) -> None:
        super().__init__(notes)
        self.item, self.options = item, options
        self.flags = dict(item.entries("flags"))
        self.data = {"spec": {"workload": {"kind": "ElasticDL"}, "security": {"profile": "baseline"}}}
        self.set_value(_PULL[1], "spec", "imagePullPolicy")
        self.set_value(_number(self.flags.get(_RETRIES[0]), _RETRIES[1]), "spec", "retries")
        self.args: list[str] = []

    def read(self) -> ForeignJob:
        """Return the `ForeignJob`. Each flag sets a field of the job or a role, or is an argument of the master."""
        if self.options.kind != "StatefulSet":
            why = "the job keeps the workload kind ElasticDL, because its tasks get their data from the master"
            self.notes.remark(self.item, why)
        for role in _NUMBERS:
            self._amounts(f"{role}_resource", (*ROLES, role, "resources"))
        if not self._amounts("master_resource", (*_ELASTIC_DL, "resources"), is_master=True):
            why = "the master requests 1 CPU by default; ElasticDL's client requested 0.1 CPU"
            self.notes.remark(self.item, why)
        readers: Fields = {
            "cluster_spec_json": lambda _, part: self.notes.refuse(part, _CLUSTER_SPEC),
            "master_pod_priority": _PRIORITY if "ps_pod_priority" in self.flags else _PRIORITY_OF_ALL,
            "worker_pod_priority": self._worker_priority,
            "volume": lambda _, part: self.notes.target(part, "spec", "storage", becomes=_storage(part)),
            ANY_KEY: self._argument,
        }
        self.fields(mapping(self.item, self.flags), {**_FLAGS, **readers})
        if self.args:
            self.set_value(self.args, "spec", "args")
        roles = self.spec.pop("roles", {})
        if roles.get("ps", {}).get("priorityClassName") == self.spec.get("priorityClassName"):
            roles.get("ps", {}).pop("priorityClassName", None)
        storage, read_roles = _storage(self.flags.get("volume")), {}
        for role, (flag, default) in _NUMBERS.items():
            number, pod = self.flags.get(flag), PodData(roles.get(role, {}), storage)
            read_roles[role] = ForeignRole(number or self.item, _number(number, default), pod)
        return ForeignJob(
            format=FORMAT,
            roots=[self.item],
            notes=self.notes,
            name=self.options.name or self.item.text_at("metadata", "name"),
            namespace=self.item.text_at("metadata", "namespace") or None,
            roles=read_roles,
            strategy="ParameterServer",
            spec=self.spec,
            comments={},
        )

    def _amounts(self, prefix: str, target: Path, *, is_master: bool = False) -> bool:
        """Set the resources of a role or of the master from the request flag. Return True if the flag sets resources.

        If the limit flag of a role has a different value, the limit flag becomes an argument of the master. This
        argument overrides the limit that tfgen sets.

        Args:
            prefix: the common prefix of the two flags, such as `ps_resource` for --ps_resource_request and
                --ps_resource_limit.
            target: the path of the resources in the job.
            is_master: whether the flags are about the master, which cannot have GPUs.
        """
        request, limit = self.flags.get(f"{prefix}_request"), self.flags.get(f"{prefix}_limit")
        pairs = dict(pair.strip().partition("=")[::2] for pair in request.as_text.split(",")) if request else {}
        if request is None or not pairs.keys() <= {*_AMOUNTS} or (is_master and "gpu" in pairs):
            return False
        numbers = {key: int(text) if text.isdecimal() else text for key, text in pairs.items()}
        amounts: dict[str, Any] = {"cpu": numbers["cpu"]} if "cpu" in pairs else {}
        amounts |= {"memory": pairs["memory"]} if "memory" in pairs else {}
        amounts |= {"gpu": {"count": numbers["gpu"]}} if "gpu" in pairs else {}
        self.set_value(amounts, *target)
        for part in (request, limit):
            if part and part.as_text in ("", request.as_text):
                del self.flags[part.name.removeprefix("--")]
                self.notes.target(part, *target, becomes=amounts)
        return bool(amounts)

    def _worker_priority(self, _key: str, part: Part) -> None:
        priority = part.as_text.removeprefix("high=")
        self.set_value(priority, *_ELASTIC_DL, "workerPriority")
        self.notes.target(part, *_ELASTIC_DL, "workerPriority", becomes=priority)

    def _argument(self, flag: str, part: Part) -> None:
        argument = f"--{flag}={part.as_text}"
        self.args.append(argument)
        self.notes.target(part, "spec", "args", becomes=argument)


# -- the flags ---------------------------------------------------------------------------------------------------


def _flags(words: Sequence[Word], file: str, notes: Notes) -> dict[str, Part]:
    """Return the value of each flag of a command. If a flag occurs twice, the last value counts.

    Example: {"num_workers": part with the value "2"}.
    """
    flags: dict[str, Part] = {}
    number = 0
    while number < len(words):
        word = value_word = words[number]
        number += 1
        flag_match = re.fullmatch(r"--(\w+)(?:=(.*))?", word.text, re.DOTALL)
        if flag_match is None:
            part = scalar_part(file, word.position, "elasticdl", word.text)
            notes.refuse(part, f"found {word.text}, expected a flag")
            continue
        name, value = flag_match[1], flag_match[2]
        if value is None and number < len(words) and not words[number].text.startswith("--"):
            value_word = words[number]
            value, number = value_word.text, number + 1
        part = scalar_part(file, word.position, f"--{name}", "true" if value is None else value)
        if word.expands or value_word.expands:
            notes.refuse(part, shell_value_message(value_word))
        elif name in flags:
            notes.reason(flags[name], "the command sets the flag again, and the last value applies")
        flags[name] = part
    return flags


def _number(part: Part | None, default: int) -> Any:
    """Convert the value of a flag to a number. Return a value that is not a number as a text.

    If the command does not have the flag, `part` is None, and the result is `default`.
    """
    if part is None:
        return default
    return int(part.as_text) if re.fullmatch(r"\d{1,9}", part.as_text) else part.as_text


def _storage(part: Part | None) -> dict[str, Any]:
    """Convert the value of the flag --volume to the data of ``storage``.

    Example: `claim_name=c,mount_path=/data;host_path=/h,mount_path=/x` describes two volumes.
    """
    storage: dict[str, Any] = {}
    for volume in part.as_text.split(";") if part else ():
        fields = {key.strip(): value for key, _, value in (pair.partition("=") for pair in volume.split(","))}
        source = {"claim": {"name": fields.get("claim_name", "")}}
        if "host_path" in fields:
            kind = {"type": fields["type"]} if "type" in fields else {}
            source = {"hostPath": {"path": fields["host_path"], **kind}}
        mount_path = fields.get("mount_path", "")
        sub_path = {"subPath": fields["sub_path"]} if "sub_path" in fields else {}
        storage[volume_name(fields.get("claim_name") or mount_path)] = {"mountPath": mount_path, **source, **sub_path}
    return storage
