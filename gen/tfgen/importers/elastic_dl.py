"""Jobs that are submitted by ElasticDL's command line: `elasticdl train --job_name=mnist --num_ps_pods=1 ...`.

Each stays a job of ElasticDL's, since its tasks ask their master for the data: it becomes one of the kind ElasticDL.
What tfgen has a word for is said by that, and all other flags are arguments of the master, as the client hands them on.
Flags and defaults: https://github.com/sql-machine-learning/elasticdl/blob/develop/elasticdl_client/common/args.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tfgen.data_path import Path
from tfgen.importers.account import Account
from tfgen.importers.command_line import Word, unknown_value
from tfgen.importers.foreign_job import ROLES, ForeignJob, ForeignRole
from tfgen.importers.objects import api_version
from tfgen.importers.options import Options
from tfgen.importers.part import Part, leaf, mapping
from tfgen.importers.pod_template import PodData
from tfgen.job.training_job import RoleName

FORM: Final = "ElasticDL job"
VERSION: Final = "elasticdl"
"""What stands for an API version: no cluster knows one."""

_COMMAND: Final = ("elasticdl", "train")
_STRATEGY: Final = "ParameterServerStrategy"
"""Of the client the default, too."""
_NUMBERS: Final[Mapping[RoleName, tuple[str, int]]] = {"ps": ("num_ps_pods", 0), "worker": ("num_workers", 2)}
"""Of each role: the flag of its number, and the client's default."""
_AMOUNTS: Final = ("cpu", "memory", "gpu")
_RETRIES: Final = ("relaunch_on_worker_failure", 1)
_PULL: Final = ("image_pull_policy", "Always")
_BY_TFGEN: Final[Mapping[str, str]] = {
    "need_tf_config": "tfgen's master always tells its tasks TF_CONFIG",
    "restart_policy": "a pod of a job is never started again by itself; its master makes another one",
}
"""Flags that tfgen says for each job, and what that is."""
_OF_THE_CLIENT: Final[Mapping[str, str]] = {
    "cluster_spec": "it is a file that the client reads; say what it does by --cluster_spec_json among args",
    "force_use_kube_config_file": "it is about the client itself",
    "yaml": "it is about the client itself",
}


def is_command(words: Sequence[Word]) -> bool:
    """Whether a command submits a training job by ElasticDL's client."""
    return tuple(word.text for word in words[:2]) == _COMMAND


def is_elastic_dl(item: Part) -> bool:
    """Whether an object was made of a command."""
    return api_version(item) == VERSION


def job(words: Sequence[Word], file: str, account: Account) -> Part | None:
    """The flags of a command as an object; None where it cannot be read, which the account then says."""
    before = len(account.problems)
    start = leaf(file, words[0].position, "elasticdl", FORM)
    flags = _flags(words[2:], file, account)
    if "job_name" not in flags:
        account.refuse(start, "the command names no job; add --job_name")
    strategy = flags.get("distribution_strategy")
    if strategy and strategy.value not in (_STRATEGY, ""):
        account.refuse(strategy, f"found {strategy.written}; tfgen has ElasticDL's {_STRATEGY} alone")
    role_numbers = {role: _number(flags.get(flag), default) for role, (flag, default) in _NUMBERS.items()}
    for role, number in role_numbers.items():
        flag = _NUMBERS[role][0]
        if not isinstance(number, int):
            account.refuse(flags[flag], f"found {number[:63]}, expected a number of tasks")
        elif number < 1 and len(account.problems) == before:
            account.refuse(flags.get(flag, start), f"a job of {_STRATEGY} has at least one {role}; set --{flag}")
    if len(account.problems) > before:
        return None
    metadata = {key: flags[flag] for key, flag in (("name", "job_name"), ("namespace", "namespace")) if flag in flags}
    fields = {
        "apiVersion": start.replaced(value=VERSION),
        "kind": start.replaced(value="Pod"),
        "metadata": mapping(start, metadata),
        "flags": mapping(start, flags),
    }
    return mapping(start, fields).replaced(path=())


def canonical(item: Part) -> Part:
    """The job as the client's flags: those of a command, or those that a rendered master stands for."""
    flags = item.get("flags")
    if flags is None:
        args = _flags_of_master(item)
    else:
        by_default = (*_NUMBERS.values(), _RETRIES, _PULL, ("distribution_strategy", _STRATEGY))
        defaults = {flag: str(default) for flag, default in by_default}
        args = {flag: flags.replaced(value=text, text=text) for flag, text in defaults.items()}
        # An empty limit is the request.
        empty_is_default = {*defaults, *(f"{role}_resource_limit" for role in ("master", "ps", "worker"))}
        given = {key: value for key, value in flags.value.items() if value.value or key not in empty_is_default}
        args |= {key: value for key, value in given.items() if key not in ("job_name", "namespace")}
        args["worker_image"] = args.get("worker_image") or flags.value.get("image_name") or flags
        args.pop("image_name", None)
    if volume := args.get("volume"):
        volumes = ";".join(sorted(",".join(sorted(fields.split(","))) for fields in volume.written.split(";")))
        args["volume"] = volume.replaced(value=volumes, text=volumes)
    return mapping(item, {"metadata": item.value["metadata"], "spec": mapping(item, {"args": mapping(item, args)})})


def _flags_of_master(item: Part) -> dict[str, Part]:
    """The client's flags by the pod of a master: its arguments, and what the client says of the pod itself."""
    (container,) = item.items("spec", "containers")
    words = [part.written.removeprefix("--") for part in container.items("args")]
    args = {flag: item.replaced(value=value, text=value) for flag, _, value in (word.partition("=") for word in words)}
    for what in ("request", "limit"):
        amounts = ",".join(f"{key}={part.value}" for key, part in container.entries("resources", f"{what}s"))
        args[f"master_resource_{what}"] = item.replaced(value=amounts, text=amounts)
    if priority := item.get("spec", "priorityClassName"):
        args["master_pod_priority"] = priority
    return args


def read(item: Part, _others: Sequence[Part], options: Options, account: Account) -> ForeignJob | None:
    """The job of a command."""
    flags = dict(item.entries("flags"))
    account.name(item.value["apiVersion"])
    account.name(item.value["kind"])
    if options.kind != "StatefulSet":
        account.note(item, "it stays a job of ElasticDL: its tasks ask their master for the data", covers=True)
    spec: dict[str, Any] = {"workload": {"kind": "ElasticDL"}, "security": {"profile": "baseline"}}
    account.carry(flags.pop("job_name"), "metadata", "name")
    namespace = flags.pop("namespace", None)
    if namespace:
        account.carry(namespace, "metadata", "namespace")
    for flag, key in (("image_name", "image"), ("image_pull_policy", "imagePullPolicy")):
        if part := flags.pop(flag, None):
            spec[key] = part.written
            account.carry(part, "spec", key)
    spec.setdefault("imagePullPolicy", _PULL[1])
    spec["retries"] = _number(flags.get(_RETRIES[0]), _RETRIES[1])
    if part := flags.pop(_RETRIES[0], None):
        account.carry(part, "spec", "retries")
    storage = _storage(flags.pop("volume", None), account)
    roles = {role: _role(role, item, flags, storage, account) for role in _NUMBERS}
    ps = roles["ps"]
    _master(item, flags, spec, account, has_own="priorityClassName" in ps.pod.role)
    if ps.pod.role.get("priorityClassName") == spec.get("priorityClassName"):
        pod = ps.pod.replaced(role={key: part for key, part in ps.pod.role.items() if key != "priorityClassName"})
        roles["ps"] = ps.replaced(pod=pod)
    args = _arguments(flags, account)
    if args:
        spec["args"] = args
    job_name = item.get("metadata", "name")
    return ForeignJob(
        form=FORM,
        root=item,
        name=options.name or (job_name.written if job_name else ""),
        namespace=namespace.written if namespace else None,
        roles=roles,
        strategy="ParameterServer",
        spec=spec,
        comments={},
        has_own_pods=False,
    )


# -- the flags ---------------------------------------------------------------------------------------------------


def _flags(words: Sequence[Word], file: str, account: Account) -> dict[str, Part]:
    """The flags of a command by their names; of one that is said again, the last."""
    flags: dict[str, Part] = {}
    number = 0
    while number < len(words):
        word = value_word = words[number]
        number += 1
        dashed = re.fullmatch(r"--(\w+)(?:=(.*))?", word.text, re.DOTALL)
        if dashed is None:
            account.refuse(leaf(file, word.position, "elasticdl", word.text), f"found {word.text}, expected a flag")
            continue
        name, value = dashed[1], dashed[2]
        if value is None and number < len(words) and not words[number].text.startswith("--"):
            value_word = words[number]
            value, number = value_word.text, number + 1
        part = leaf(file, word.position, f"--{name}", "true" if value is None else value)
        if word.expands or value_word.expands:
            account.refuse(part, unknown_value(value_word))
        elif name in flags:
            account.drop(flags[name], "it is said again")
        flags[name] = part
    return flags


def _number(part: Part | None, default: int) -> Any:
    """The number that a flag says; its text, where that is none."""
    if part is None:
        return default
    return int(part.written) if re.fullmatch(r"\d{1,9}", part.written) else part.written


def _role(
    role: RoleName, item: Part, flags: dict[str, Part], storage: Mapping[str, Any], account: Account
) -> ForeignRole:
    flag, default = _NUMBERS[role]
    number = flags.pop(flag, None)
    if number:
        account.carry(number, *ROLES, role, "replicas")
    own: dict[str, Any] = {}
    amounts = _amounts(flags, f"{role}_resource", (*ROLES, role, "resources"), account)
    if amounts:
        own["resources"] = amounts
    if role == "ps" and (priority := flags.pop("ps_pod_priority", None)):
        own["priorityClassName"] = priority.written
        account.carry(priority, *ROLES, role, "priorityClassName")
    pod = PodData(own, storage, (), {}, None, None)
    return ForeignRole(number or item, _number(number, default), pod)


def _amounts(
    flags: dict[str, Part], prefix: str, target: Path, account: Account, *, is_master: bool = False
) -> dict[str, Any]:
    """Resources, which tfgen says as request and as limit; a limit of its own stays an argument, which wins."""
    request, limit = flags.get(f"{prefix}_request"), flags.get(f"{prefix}_limit")
    if request is None:
        return {}
    pairs = dict(pair.strip().partition("=")[::2] for pair in request.written.split(","))
    if not pairs.keys() <= {*_AMOUNTS} or (is_master and "gpu" in pairs):
        return {}
    del flags[f"{prefix}_request"]
    account.carry(request, *target)
    if limit is not None and limit.written in ("", request.written):
        account.carry(flags.pop(f"{prefix}_limit"), *target)
    amounts: dict[str, Any] = {key: pairs[key] for key in ("cpu", "memory") if key in pairs}
    if "gpu" in pairs:
        amounts["gpu"] = {"count": int(pairs["gpu"]) if pairs["gpu"].isdecimal() else pairs["gpu"]}
    return {key: int(value) if key == "cpu" and value.isdecimal() else value for key, value in amounts.items()}


def _master(item: Part, flags: dict[str, Part], spec: dict[str, Any], account: Account, *, has_own: bool) -> None:
    """What the client says of the master's own pod, and of the workers' priority.

    Args: `has_own` is whether the ps have a priority of their own.
    """
    target = ("spec", "workload", "elasticDL")
    own: dict[str, Any] = {}
    amounts = _amounts(flags, "master_resource", (*target, "resources"), account, is_master=True)
    if amounts:
        own["resources"] = amounts
    else:
        account.note(item, "the master asks for 1 CPU by default, where ElasticDL's client asks for 0.1")
    for what in ("request", "limit"):
        if part := flags.pop(f"master_resource_{what}", None):
            account.drop(part, "tfgen's master has cpu and memory, each of one amount")
    if part := flags.pop("worker_pod_priority", None):
        own["workerPriority"] = part.written.removeprefix("high=")
        account.carry(part, *target, "workerPriority")
    if part := flags.pop("master_pod_priority", None):
        spec["priorityClassName"] = part.written
        if has_own:
            account.carry(part, "spec", "priorityClassName")
        else:
            account.change(part, "spec", "priorityClassName", why="a ps has it, too, where it has none of its own")
    if own:
        spec["workload"]["elasticDL"] = own


def _storage(part: Part | None, account: Account) -> dict[str, Any]:
    """`claim_name=c,mount_path=/data;host_path=/h,mount_path=/x` as volumes by name."""
    storage: dict[str, Any] = {}
    for volume in part.written.split(";") if part else ():
        fields = {key.strip(): value for key, _, value in (pair.partition("=") for pair in volume.split(","))}
        source = {"claim": {"name": fields.get("claim_name", "")}}
        if "host_path" in fields:
            kind = {"type": fields["type"]} if "type" in fields else {}
            source = {"hostPath": {"path": fields["host_path"], **kind}}
        place = fields.get("mount_path", "")
        name = re.sub(r"[^a-z0-9]+", "-", (fields.get("claim_name") or place).lower()).strip("-")
        sub_path = {"subPath": fields["sub_path"]} if "sub_path" in fields else {}
        storage[name or "data"] = {"mountPath": place, **source, **sub_path}
    if part:
        account.carry(part, "spec", "storage")
    return storage


def _arguments(flags: Mapping[str, Part], account: Account) -> list[str]:
    """The flags that are left, as arguments of the master."""
    return list(_kept(flags, account))


def _kept(flags: Mapping[str, Part], account: Account) -> Iterator[str]:
    for flag, part in flags.items():
        if flag in _OF_THE_CLIENT:
            account.drop(part, _OF_THE_CLIENT[flag])
        elif flag in _BY_TFGEN:
            is_same = part.value in ("Never", "true")
            (account.carry if is_same else account.drop)(part, why=_BY_TFGEN[flag])
        elif flag == "cluster_spec_json":
            account.refuse(part, "tfgen gives the master its own, with the run's labels; join them, among spec.args")
        elif flag == "distribution_strategy":
            account.carry(part, "spec", "strategy")
        else:
            account.carry(part, "spec", "args")
            yield f"--{flag}={part.written}"
