"""What a container's command says of its task's place in the cluster, and the command without it.

A task is told its place in one of four ways, all of which tfgen replaces by its own:

- a shell script makes TF_CONFIG of Volcano's host files, and starts the program;
- flags of TensorFlow 1's programs: --job_name, --task_index, --ps_hosts, --worker_hosts;
- a variable TF_CONFIG of the container;
- variables of the flags' names: JOB_NAME, TASK_INDEX, PS_HOSTS, WORKER_HOSTS. Where there are flags, too, the variables
  are for them: ``--job_name=$(JOB_NAME)``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from tfgen.importers import shell
from tfgen.importers.part import Part
from tfgen.importers.pod_template import Program
from tfgen.importers.shell import Statement
from tfgen.kubernetes.expansion import expand
from tfgen.record import EMPTY, Record

TF_CONFIG: Final = "TF_CONFIG"
_FLAGS: Final = ("job_name", "task_index", "ps_hosts", "worker_hosts")
_FLAG: Final = re.compile(rf"--?({'|'.join(_FLAGS)})(?:=(.*))?", re.DOTALL)
_FLAG_IN_SCRIPT: Final = re.compile(
    rf"(?:[ \t]|\\\n)+--?({'|'.join(_FLAGS)})(?:=|[ \t]+)"
    r"((?:\"[^\"]*\"|'[^']*'|\$\((?:[^()]|\([^()]*\))*\)|`[^`]*`|[^\s\\;|&\"'`])+)"
)
TASK_TYPES: Final = ("chief", "master", "ps", "worker", "evaluator")
"""The types of tasks that TensorFlow knows."""
_HOST_FILE: Final = re.compile(r"/etc/volcano/([-\w.]+?)\.host\b")
_PORT: Final = re.compile(r":(\d{2,5})\b")
_PORT_OF_HOST: Final = re.compile(r"[\w.)}-]:(\d{2,5})\\?[\"']")
_TYPE: Final = re.compile(r'\\?["\']type\\?["\']\s*:\s*\\?["\']\s*(\w+)')
_VARIABLE: Final = re.compile(r"\$\{?(\w+)\}?")
_REFERENCE: Final = re.compile(r"\$\((\w+)\)|\$\{?(\w+)\}?")
_INDEX: Final = re.compile(r"\$\{?V[KC]_TASK_INDEX\}?")
_INDEX_NAMES: Final = ("VK_TASK_INDEX", "VC_TASK_INDEX")
WHY_TF_CONFIG: Final = "tfgen tells each task its cluster"
_HOST_VARIABLES: Final = ("PS_HOSTS", "WORKER_HOSTS")
TOLD: Final = "tfgen tells each task its place and the hosts"
_VARIABLES: Final[Mapping[str, str]] = {
    "JOB_NAME": "tfgen tells each task its role, chief, ps, worker or evaluator, by the same variable",
    "TASK_INDEX": "tfgen tells each task its index, by the same variable",
    **dict.fromkeys(_HOST_VARIABLES, "tfgen tells each task the hosts, by the same variable"),
}
"""The variables that tfgen sets for a job of `legacyVariables`."""
_WHOLE_REFERENCE: Final = re.compile(r"\$(?:\((\w+)\)|\{(\w+)\}|(\w+))")
_INDEX_FIELD: Final = re.compile(
    r"metadata\.(labels|annotations)\["
    r"'(apps\.kubernetes\.io/pod-index|batch\.kubernetes\.io/job-completion-index|(training\.kubeflow\.org/|tf-)?"
    r"replica-index|jobset\.sigs\.k8s\.io/job-index|volcano\.sh/task-index)'\]"
)
"""Where the controllers of pods put a task's index."""


class TaskCommand(Record):
    """A container's command, read.

    Attributes:
        program: the command without what told the task its place; `omitted` has its variables.
        role: the task's type, as TensorFlow calls it; none where it is not said.
        index: its index as it is written; none where it is not said.
        hosts: the list of the hosts of each type of task, with commas, as far as the manifest has it.
        port: TensorFlow's port in the lists of hosts.
        tells: whether anything in it tells of a cluster of TensorFlow's.
        legacy: whether it is told by flags.
        legacy_variables: whether it is told by the variables of their names.
        references: the variables that what is taken off names.
        lone_role: the role in a --job_name that tells nothing, since nothing tells the hosts.
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
    legacy_variables: bool = False
    references: tuple[str, ...] = ()
    lone_role: str = ""
    notes: tuple[str, ...] = ()
    refused: str = ""


def read_command(container: Part) -> TaskCommand:
    """What a container's command and variables say."""
    command = [item.as_text for item in container.items("command")]
    args = [item.as_text for item in container.items("args")]
    env = _env(container)
    variable = _tf_config_text(env)
    read = (_script if shell.is_shell([*command, *args]) else _flags)(command, args, env)
    if variable is None:
        return _with_variables(read, container)
    read = _with_variables(read.replaced(references=(*read.references, *_names(variable))), container)
    variable = expand(variable, {name: value.as_text for name, item in env.items() if (value := item.get("value"))})
    config = _tf_config(variable)
    return read.replaced(
        tells=True,
        role=read.role or config.role,
        index=read.index or config.index,
        hosts=read.hosts or config.hosts,
        port=read.port or _port_of(variable),
    )


def variables_of_tf_config(container: Part) -> Mapping[str, str]:
    """Return TF_CONFIG and the variables that only TF_CONFIG uses, each with the reason to omit the variable.

    The command of the container is unchanged, so a variable that the command uses is not in the result.
    """
    env = _env(container)
    return _omitted(_names(_tf_config_text(env) or ""), env, {TF_CONFIG: WHY_TF_CONFIG}, _words(container))


def legacy_keys(commands: Iterable[TaskCommand]) -> dict[str, bool]:
    """The keys of a job's spec that tell its tasks their place as these commands were told it."""
    told = list(commands)
    keys = {
        "legacyFlags": any(command.legacy for command in told),
        "legacyVariables": any(command.legacy_variables for command in told),
    }
    return {key: True for key, is_told in keys.items() if is_told}


def change_reason(command: TaskCommand) -> str:
    """Why a command is not carried as it is written."""
    if not command.legacy:
        return "tfgen writes TF_CONFIG itself"
    if command.hosts:
        return "tfgen tells the task its place by flags"
    return "tfgen tells the task its place and the hosts by flags; a host that the program names has another name here"


def no_cluster_message(commands: Iterable[TaskCommand], neither: str) -> str:
    """Why commands tell tasks of no cluster.

    Args:
        commands: those of all tasks.
        neither: what would tell them, and is not there.
    """
    role = next((command.lone_role for command in commands if command.lone_role), "")
    lone = f"; --job_name={role} is not enough without the hosts" if role else ""
    return f"tells its tasks of no TensorFlow cluster: it has neither {neither}{lone}"


def _tf_config_text(env: Mapping[str, Part]) -> str | None:
    """The text of a variable TF_CONFIG, empty where it comes from elsewhere; None where there is no such variable."""
    item = env.get(TF_CONFIG)
    value = item.get("value") if item else None
    return (value.as_text if value else "") if item else None


def _env(container: Part) -> dict[str, Part]:
    """The entries of a container's variables by name; a later one wins."""
    return {name.as_text: item for item in container.items("env") if (name := item.get("name"))}


# -- variables of the flags' names -------------------------------------------------------------------------------


def _with_variables(read: TaskCommand, container: Part) -> TaskCommand:
    """What is read of a command, with what the container's variables say of the task's place."""
    env = _env(container)
    by_variables = not read.hosts and _tell_hosts(env)
    replaced = {TF_CONFIG: WHY_TF_CONFIG}
    if read.legacy or by_variables:
        # tfgen's flags take their values from its own variables of these names; --job_name takes none.
        replaced |= {name: why for name, why in _VARIABLES.items() if not read.legacy or name != "JOB_NAME"}
    program = read.program
    left = _words(container) if program.command is None else [*program.command, *(program.args or ())]
    if not (read.legacy or by_variables):
        return read.replaced(program=program.replaced(omitted=_omitted(read.references, env, replaced, left)))
    role, index, named, hosts, refused = read.role, read.index, read.references, read.hosts, read.refused
    if by_variables:
        role, index = (
            told or (f"$({name})" if name in env else None)
            for told, name in ((role, "JOB_NAME"), (index, "TASK_INDEX"))
        )
        refused = refused or ("" if read.index else _unknown_index(env.get("TASK_INDEX")))
        named = (*named, *_HOST_VARIABLES)
        hosts = {name.removesuffix("_HOSTS").lower(): f"$({name})" for name in _HOST_VARIABLES}
    role, index = _resolved(role, env), _resolved(index, env)
    lists = [f"$({name})" for name in named]
    return read.replaced(
        program=program.replaced(omitted=_omitted(named, env, replaced, left)),
        role=None if role and "$" in role else role,
        index=index,
        hosts={role_type: _resolved(listed, env) or "" for role_type, listed in hosts.items()},
        port=read.port or _port_in(_resolved(listed, env) or "" for listed in lists),
        tells=True,
        legacy_variables=not read.legacy,
        refused=refused,
    )


def _tell_hosts(env: Mapping[str, Part]) -> bool:
    return all(name in env for name in _HOST_VARIABLES)


def _words(container: Part) -> list[str]:
    return [part.as_text for key in ("command", "args") for part in container.items(key)]


def _omitted(
    named: Iterable[str], env: Mapping[str, Part], replaced: Mapping[str, str], left: Iterable[str]
) -> dict[str, str]:
    """Return the variables of a container that the job does not need, each with the reason; see `_only_for`."""
    omitted = {**dict.fromkeys(_only_for(named, env, replaced, left), TOLD), **replaced}
    return {name: why for name, why in omitted.items() if name in env}


def _only_for(
    named: Iterable[str], env: Mapping[str, Part], replaced: Mapping[str, str], left: Iterable[str]
) -> set[str]:
    """The variables that serve only to tell the task its place: those named for it, and what their values name.

    Args:
        named: the variables that what tells the task names.
        env: all variables of the container.
        replaced: those that tfgen sets itself.
        left: the words of the command that is left.
    """
    values = {name: value.as_text if (value := item.get("value")) else "" for name, item in env.items()}
    only: set[str] = set()
    waiting = [name for name in named if name in env]
    while waiting:
        name = waiting.pop()
        if name not in only:
            only.add(name)
            waiting += (inner for inner in _names(values[name]) if inner in env)
    waiting = [name for word in left for name in _names(word)]
    waiting += (inner for name in env if name not in only and name not in replaced for inner in _names(values[name]))
    while waiting:
        name = waiting.pop()
        if name in only:
            only.remove(name)
            waiting += _names(values[name])
    return only


def _resolved(text: str | None, env: Mapping[str, Part]) -> str | None:
    """What a text says that may be one variable: its value, where the manifest has it; else the text."""
    seen: set[str] = set()
    while text and (match := _WHOLE_REFERENCE.fullmatch(text)):
        name = next(group for group in match.groups() if group)
        value = env[name].get("value") if name in env else None
        if value is None or name in seen:
            break
        seen.add(name)
        text = value.as_text
    return text


def _unknown_index(variable: Part | None) -> str:
    """Why a variable TASK_INDEX cannot be tfgen's; empty where it is a number, or comes from where an index stands."""
    if variable is None:
        return ""
    value, field = variable.get("value"), variable.get("valueFrom", "fieldRef", "fieldPath")
    if value and (value.as_text.isdecimal() or value.as_text == "$(JOB_COMPLETION_INDEX)"):
        return ""
    if field and _INDEX_FIELD.fullmatch(field.as_text):
        return ""
    return (
        f"TASK_INDEX is {field.as_text if field else 'not a number'}, and tfgen's is the task's index; let the "
        "program read it so"
    )


def _names(text: str) -> Iterator[str]:
    return (one or other for one, other in _REFERENCE.findall(text))


def _port_in(hosts: Iterable[str]) -> int | None:
    return next((int(match[1]) for listed in hosts if (match := _PORT.search(listed))), None)


def _tf_config(text: str) -> TaskCommand:
    """What a literal TF_CONFIG says; no more than the type where it has variables in it."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        match = _TYPE.search(text)
        return TaskCommand(role=match[1] if match else None)
    task, cluster = (_mapping(_mapping(data).get(key)) for key in ("task", "cluster"))
    role, index = task.get("type"), task.get("index")
    return TaskCommand(
        role=role if isinstance(role, str) else None,
        index=str(index) if isinstance(index, (int, str)) else None,
        hosts={
            role_type: ",".join(listed)
            for role_type, listed in cluster.items()
            if isinstance(listed, list) and all(isinstance(host, str) for host in listed)
        },
    )


def _mapping(data: Any) -> Mapping[str, Any]:
    """The data, where it is a mapping; else none."""
    return data if isinstance(data, Mapping) else EMPTY


def _port_of(config: str) -> int | None:
    """The port of the first host in the text of a TF_CONFIG."""
    match = _PORT_OF_HOST.search(config)
    return int(match[1]) if match else None


# -- flags in a list of words ------------------------------------------------------------------------------------


def _flags(command: list[str], args: list[str], env: Mapping[str, Part]) -> TaskCommand:
    flags: dict[str, str] = {}
    kept_command, kept_args = (list(_without_flags(words, flags)) for words in (command, args))
    if not _tell(flags, env):
        return TaskCommand(lone_role=_lone_role(flags, env))
    return _told_by_flags(flags, Program(kept_command, kept_args))


def _without_flags(words: list[str], flags: dict[str, str]) -> Iterator[str]:
    waiting = iter(words)
    for word in waiting:
        match = _FLAG.fullmatch(word)
        if match is None:
            yield word
        else:
            flags[match[1]] = match[2] if match[2] is not None else next(waiting, "")


def _tell(flags: Mapping[str, str], env: Mapping[str, Part]) -> bool:
    """Whether flags tell of a place in a cluster.

    --job_name alone may be a name of the program's own. It tells the role where variables tell of the cluster, and not
    of the role. Beside a JOB_NAME or a TF_CONFIG that has the role, the flag stays as it is.
    """
    if not flags or flags.keys() - {"job_name"}:
        return bool(flags)
    config = _tf_config_text(env)
    if config is None and not _tell_hosts(env):
        return False
    told = _tf_config(config).role if config is not None else _resolved("$(JOB_NAME)", env)
    return _is_role(_resolved(flags["job_name"], env)) and not _is_role(told)


def _lone_role(flags: Mapping[str, str], env: Mapping[str, Part]) -> str:
    role = _resolved(flags.get("job_name"), env)
    return role if role and _is_role(role) else ""


def _is_role(text: str | None) -> bool:
    return (text or "").lower() in TASK_TYPES


def _told_by_flags(flags: Mapping[str, str], program: Program) -> TaskCommand:
    hosts = {name.removesuffix("_hosts"): listed for name, listed in flags.items() if name.endswith("_hosts")}
    return TaskCommand(
        program,
        flags.get("job_name"),
        flags.get("task_index"),
        hosts,
        _port_in(hosts.values()),
        tells=True,
        legacy=True,
        references=tuple(dict.fromkeys(name for value in flags.values() for name in _names(value))),
    )


# -- a script ----------------------------------------------------------------------------------------------------


def _script(command: list[str], args: list[str], env: Mapping[str, Part]) -> TaskCommand:
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
    flags: dict[str, str] = {}
    without_flags = [part._replace(text=_without_flags_in_script(part.text, flags)) for part in kept]
    lone_role = ""
    if _tell(flags, env):
        kept = without_flags
    else:
        lone_role, flags = _lone_role(flags, env), {}
    kept = _without_unused(kept, " ".join((config or "", *flags.values())))
    if not (hosts or config or flags):
        refused = _refused(script, {}) if TF_CONFIG in script else ""
        return TaskCommand(tells=TF_CONFIG in script, refused=refused, lone_role=lone_role)
    left = shell.joined(kept)
    refused = _refused(left, hosts)
    left = _INDEX.sub("${TASK_INDEX}", left)
    program = _program(head, left, rest, is_told=bool(flags))
    if flags:
        read = _told_by_flags(flags, program)
    else:
        match = _TYPE.search(config or "")
        named = tuple(_names(" ".join((config or "", *hosts.values()))))
        read = TaskCommand(program, match[1] if match else None, tells=config is not None, references=named)
    return read.replaced(
        port=port or read.port, refused=refused, notes=tuple(_odd_variables(config or "", (*hosts, *env), script))
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


def _odd_variables(config: str, known: Iterable[str], script: str) -> Iterator[str]:
    for name in dict.fromkeys(_VARIABLE.findall(config)):
        if name not in (*known, *_INDEX_NAMES) and not re.search(rf"\b{name}=", script):
            yield f"TF_CONFIG names ${name}, which nothing sets, so that it was empty; here it has every task"
