"""What a container's command says of its task's place in the cluster, and the command without it.

A task is told its place in one of three ways, all of which tfgen replaces by its own TF_CONFIG:

- a shell script makes TF_CONFIG of Volcano's host files, and starts the program;
- flags of TensorFlow 1's programs: --job_name, --task_index, --ps_hosts, --worker_hosts;
- a variable TF_CONFIG of the container.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tfgen.importers import shell
from tfgen.importers.part import Part
from tfgen.importers.pod_template import Program
from tfgen.importers.shell import Statement
from tfgen.record import EMPTY, Record

TF_CONFIG: Final = "TF_CONFIG"
_FLAGS: Final = ("job_name", "task_index", "ps_hosts", "worker_hosts")
_FLAG: Final = re.compile(rf"--?({'|'.join(_FLAGS)})(?:=(.*))?", re.DOTALL)
_FLAG_IN_SCRIPT: Final = re.compile(
    rf"(?:[ \t]|\\\n)+--?({'|'.join(_FLAGS)})(?:=|[ \t]+)(\"[^\"]*\"|'[^']*'|[^\s\\;|&\"']+)"
)
_HOST_FILE: Final = re.compile(r"/etc/volcano/([-\w.]+?)\.host\b")
_PORT: Final = re.compile(r":(\d{2,5})\b")
_PORT_OF_HOST: Final = re.compile(r"[\w.)}-]:(\d{2,5})\\?[\"']")
_TYPE: Final = re.compile(r'\\?["\']type\\?["\']\s*:\s*\\?["\']\s*(\w+)')
_VARIABLE: Final = re.compile(r"\$\{?(\w+)\}?")
_INDEX: Final = re.compile(r"\$\{?V[KC]_TASK_INDEX\}?")
_INDEX_NAMES: Final = ("VK_TASK_INDEX", "VC_TASK_INDEX")
_WHY_TF_CONFIG: Final = "tfgen tells each task its cluster"


class TaskCommand(Record):
    """A container's command, read.

    Attributes:
        program: the command without what told the task its place; `omitted` has its variables.
        role: the task's type, as TensorFlow calls it; none where it is not said.
        index: its index as it is written; none where it is not said.
        hosts: the lists of hosts that flags or TF_CONFIG name, by role, as they are written.
        port: TensorFlow's port in them.
        tells: whether anything in it tells of a cluster of TensorFlow's.
        legacy: whether it is told by flags.
        notes: what is odd in it.
        refused: why the command cannot be carried; empty where it can.
    """

    program: Program = Program()
    role: str | None = None
    index: str | None = None
    hosts: Mapping[str, str] = EMPTY
    port: int | None = None
    tells: bool = False
    legacy: bool = False
    notes: tuple[str, ...] = ()
    refused: str = ""


def read_command(container: Part) -> TaskCommand:
    """What a container's command and variables say."""
    command = [item.written for item in container.items("command")]
    args = [item.written for item in container.items("args")]
    variable = _variable(container)
    read = (_script if shell.is_shell([*command, *args]) else _flags)(command, args)
    if variable is None:
        return read
    omitted = {TF_CONFIG: _WHY_TF_CONFIG}
    config = _tf_config(variable)
    return read.replaced(
        program=read.program.replaced(omitted=omitted),
        tells=True,
        role=read.role or config.get("role"),
        index=read.index or config.get("index"),
        hosts=read.hosts or config.get("hosts", {}),
        port=read.port or _port_of(variable),
    )


def _variable(container: Part) -> str | None:
    for item in container.items("env"):
        name, value = item.get("name"), item.get("value")
        if name and name.value == TF_CONFIG:
            return value.written if value else ""
    return None


def _tf_config(text: str) -> dict[str, Any]:
    """What a literal TF_CONFIG says; no more than the type where it has variables in it."""
    try:
        data = json.loads(text)
        task, cluster = data.get("task", {}), data.get("cluster", {})
        hosts = {role: ",".join(hosts) for role, hosts in cluster.items()}
        return {"role": task.get("type"), "index": str(task.get("index", "")) or None, "hosts": hosts}
    except (ValueError, AttributeError, TypeError, RecursionError):
        match = _TYPE.search(text)
        return {"role": match[1]} if match else {}


def _port_of(config: str) -> int | None:
    """The port of the first host in the text of a TF_CONFIG."""
    match = _PORT_OF_HOST.search(config)
    return int(match[1]) if match else None


# -- flags in a list of words ------------------------------------------------------------------------------------


def _flags(command: list[str], args: list[str]) -> TaskCommand:
    flags: dict[str, str] = {}
    kept_command, kept_args = (list(_without_flags(words, flags)) for words in (command, args))
    if not flags:
        return TaskCommand()
    return _told_by_flags(flags, Program(kept_command, kept_args))


def _without_flags(words: list[str], flags: dict[str, str]) -> Iterator[str]:
    waiting = iter(words)
    for word in waiting:
        match = _FLAG.fullmatch(word)
        if match is None:
            yield word
        else:
            flags[match[1]] = match[2] if match[2] is not None else next(waiting, "")


def _told_by_flags(flags: Mapping[str, str], program: Program) -> TaskCommand:
    hosts = {role: flags[f"{role}_hosts"] for role in ("ps", "worker") if f"{role}_hosts" in flags}
    port = next((int(match[1]) for listed in hosts.values() if (match := _PORT.search(listed))), None)
    return TaskCommand(program, flags.get("job_name"), flags.get("task_index"), hosts, port, tells=True, legacy=True)


# -- a script ----------------------------------------------------------------------------------------------------


def _script(command: list[str], args: list[str]) -> TaskCommand:
    words = [*command, *args]
    head, script, rest = words[:2], words[2] if len(words) > 2 else "", words[3:]
    kept: list[Statement] = []
    hosts: dict[str, str] = {}
    config: str | None = None
    port: int | None = None
    kept_last = True
    statements = shell.statements(script)
    for number, statement in enumerate(statements):
        is_beside = number > 0 and not kept_last and statements[number - 1].end == ";"
        if is_beside and statement.text.startswith("#"):
            continue  # a comment behind what is taken off
        kept_last = False
        assigned = shell.assignment(statement.text)
        if assigned and _HOST_FILE.search(assigned[1]):
            hosts[assigned[0]] = assigned[1]
            port = port or next((int(number) for number in _PORT.findall(assigned[1])), None)
        elif assigned and assigned[0] == TF_CONFIG:
            config = assigned[1]
            port = port or _port_of(config)
        elif statement.text in (f"export {TF_CONFIG}", *(f"export {name}" for name in hosts)):
            continue
        else:
            kept.append(statement)
            kept_last = True
    kept = _without_unused(kept, config or "")
    flags: dict[str, str] = {}
    kept = [part._replace(text=_without_flags_in_script(part.text, flags)) for part in kept]
    if not (hosts or config or flags):
        return TaskCommand(tells=TF_CONFIG in script, refused=_refused(script, {}) if TF_CONFIG in script else "")
    left = shell.joined(kept)
    refused = _refused(left, hosts)
    left = _INDEX.sub("${TASK_INDEX}", left)
    program = _program(head, left, rest, is_told=bool(flags))
    if flags:
        read = _told_by_flags(flags, program)
    else:
        match = _TYPE.search(config or "")
        read = TaskCommand(program, match[1] if match else None, tells=config is not None)
    return read.replaced(
        port=port or read.port, refused=refused, notes=tuple(_odd_variables(config or "", hosts, script))
    )


def _without_unused(kept: list[Statement], config: str) -> list[Statement]:
    """The statements without those that only make a part of TF_CONFIG, such as a task's index."""
    of_config = set(_VARIABLE.findall(config))
    while True:
        used = {name for statement in kept for name in _VARIABLE.findall(statement.text)}
        left = [part for part in kept if not _only_sets(part, of_config - used)]
        if len(left) == len(kept):
            return kept
        of_config |= {name for part in kept if part not in left for name in _VARIABLE.findall(part.text)}
        kept = left


def _only_sets(statement: Statement, names: set[str]) -> bool:
    assigned = shell.assignment(statement.text)
    return assigned is not None and assigned[0] in names


def _without_flags_in_script(text: str, flags: dict[str, str]) -> str:
    def take(match: re.Match[str]) -> str:
        is_first = not flags
        flags[match[1]] = match[2].strip("\"'")
        return ' "$@"' if is_first else ""

    return _FLAG_IN_SCRIPT.sub(take, text)


def _program(head: list[str], script: str, rest: list[str], *, is_told: bool) -> Program:
    """The command that is left: without a shell, where it needs none."""
    plain = shell.words(script.replace(' "$@"', ""))
    if plain and not rest:
        return Program(plain, [])
    if is_told:
        return Program([*head, script, head[0], *rest], [])
    return Program([*head, script, *rest], [])


def _refused(script: str, hosts: Mapping[str, str]) -> str:
    if re.search(rf"\b{TF_CONFIG}=", script):
        return (
            "the script sets TF_CONFIG in a way that tfgen cannot take off; take it off: tfgen writes TF_CONFIG itself"
        )
    if _HOST_FILE.search(script):
        return "the script reads Volcano's host files for more than TF_CONFIG; tfgen has the hosts in TF_CONFIG alone"
    used = sorted({name for name in _VARIABLE.findall(script) if name in hosts})
    if used:
        return f"the script uses ${used[0]}, made of Volcano's host files; tfgen has the hosts in TF_CONFIG alone"
    return ""


def _odd_variables(config: str, hosts: Mapping[str, str], script: str) -> Iterator[str]:
    for name in dict.fromkeys(_VARIABLE.findall(config)):
        if name not in (*hosts, *_INDEX_NAMES) and not re.search(rf"\b{name}=", script):
            yield f"TF_CONFIG names ${name}, which nothing sets, so that it was empty; here it has every task"
