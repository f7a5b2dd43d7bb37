"""Reader of the TensorFlow cluster configuration in a container: the role, the index and the hosts of a task.

Foreign manifests pass the cluster configuration to a task in four ways. tfgen replaces all four:

- In a shell script, which sets TF_CONFIG from Volcano's host files and starts the program.
- In the flags of programs for TensorFlow 1: --job_name, --task_index, --ps_hosts, --worker_hosts.
- In the variable TF_CONFIG of the container.
- In variables with the names of the flags: JOB_NAME, TASK_INDEX, PS_HOSTS, WORKER_HOSTS. A container with flags uses
  such variables only in the values of the flags: ``--job_name=$(JOB_NAME)``.

The import refuses a container with the variables of keras.distribution. The second half of this module splits shell
scripts into statements, and command lines into words.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from tfgen.errors import Position
from tfgen.importers.part import Part, kind, mapping
from tfgen.importers.part import name as name_of
from tfgen.importers.pod import Program
from tfgen.importers.task_index import INDEX_KEYS, INDEX_VARIABLES
from tfgen.kubernetes.pods import expand
from tfgen.record import EMPTY, Record
from tfgen.words import either

ConfigTexts: TypeAlias = Mapping[tuple[str, str], str]
"""(name, key) of a ConfigMap in the files -> text."""
TF_CONFIG: Final = "TF_CONFIG"
_FLAGS: Final = ("job_name", "task_index", "ps_hosts", "worker_hosts")
_FLAG: Final = re.compile(rf"--?({'|'.join(_FLAGS)})(?:=(.*))?", re.DOTALL)
_FLAG_IN_SCRIPT: Final = re.compile(
    rf"(?:[ \t]|\\\n)+--?({'|'.join(_FLAGS)})(?:=|[ \t]+)"
    r"((?:\"[^\"]*\"|'[^']*'|\$\((?:[^()]|\([^()]*\))*\)|`[^`]*`|[^\s\\;|&\"'`])+)"
)
TASK_TYPES: Final = ("chief", "master", "ps", "worker", "evaluator")
"""The task types of TensorFlow."""
_HOST_FILE: Final = re.compile(r"/etc/volcano/([-\w.]+?)\.host\b")
_PORT: Final = re.compile(r":(\d{2,5})\b")
_PORT_OF_HOST: Final = re.compile(r"[\w.)}-]:(\d{2,5})\\?[\"']")
_TYPE: Final = re.compile(r'\\?["\']type\\?["\']\s*:\s*\\?["\']\s*(\w+)')
_VARIABLE: Final = re.compile(r"\$\{?(\w+)\}?")
_REFERENCE: Final = re.compile(r"\$\((\w+)\)|\$\{?(\w+)\}?")
WHY_TF_CONFIG: Final = "tfgen sets TF_CONFIG for each task"
_HOST_VARIABLES: Final = ("PS_HOSTS", "WORKER_HOSTS")
WHY_CLUSTER: Final = "tfgen sets the role, the index and the hosts of each task"
_VARIABLES: Final[Mapping[str, str]] = {
    "JOB_NAME": "tfgen sets this variable to the role of the task: chief, ps, worker or evaluator",
    "TASK_INDEX": "tfgen sets this variable to the index of the task",
    **dict.fromkeys(_HOST_VARIABLES, "tfgen sets this variable to the hosts of the role"),
}
"""Variable that tfgen sets for a job with `legacyVariables` -> reason to omit the variable from ``env``."""
_WHOLE_REFERENCE: Final = re.compile(r"\$(?:\((\w+)\)|\{(\w+)\}|(\w+))")
_INDEX_FIELD: Final = re.compile(rf"metadata\.(labels|annotations)\['({'|'.join(map(re.escape, INDEX_KEYS))})'\]")
"""Pattern for the fieldPath of a label or annotation that contains the index of a task. Controllers set such keys."""


class TaskCommand(Record):
    """Command of a container, and the TensorFlow cluster configuration in the command and in the variables.

    Attributes:
        program: the command without the cluster configuration, and the variables that the import drops.
        role: the task type, or None if the cluster configuration does not name the task type.
        index: the text of the task index, or None if the cluster configuration has no index.
        hosts: the hosts of each task type, separated by commas. Example: {"ps": "mnist-ps-0:2222,mnist-ps-1:2222"}.
        port: the port of TensorFlow in the lists of hosts.
        has_cluster: whether the container has a cluster configuration.
        has_legacy_flags: whether flags contain the cluster configuration.
        has_legacy_variables: whether variables with the names of the flags contain the cluster configuration.
        references: the names of the variables that the cluster configuration uses, such as N for `--task_index=$(N)`.
        role_in_job_name_flag: the task type in --job_name, if the command has this flag without a cluster
            configuration; empty for all other commands.
        notes: texts about changes, for the import report.
        refusal: the message about a command that cannot be imported; empty for all other commands.
        sources: the items of ``envFrom`` whose ConfigMaps contain only the cluster configuration.
        absent: the names of the ConfigMaps with cluster configuration that are not among the files.
    """

    program: Program = Program()
    role: str | None = None
    index: str | None = None
    hosts: Mapping[str, str] = EMPTY
    port: int | None = None
    has_cluster: bool = False
    has_legacy_flags: bool = False
    has_legacy_variables: bool = False
    references: tuple[str, ...] = ()
    role_in_job_name_flag: str = ""
    notes: tuple[str, ...] = ()
    refusal: str = ""
    sources: tuple[Part, ...] = ()
    absent: tuple[str, ...] = ()

    @property
    def own_port(self) -> int | None:
        """The port of TensorFlow in the hosts of the task's own role, or in any hosts."""
        return _port_in([self.hosts.get(self.role or "", "")]) or self.port


def config_texts(items: Iterable[Part]) -> ConfigTexts:
    """Return the texts in the ConfigMaps among some objects."""
    maps = [item for item in items if kind(item) == "ConfigMap"]
    return {(name_of(item), key): part.as_text for item in maps for key, part in item.entries("data")}


def read_command(container: Part, configs: ConfigTexts = EMPTY) -> TaskCommand:
    """Read the command and the variables of a container. `configs` has the texts of the ConfigMaps in the files."""
    read = _read_command(container, configs)
    omitted, names = read.program.omitted, {name for name, _ in configs}
    texts = [(source, _from_source(source, configs)) for source in container.items("envFrom")]
    sources = tuple(source for source, variables in texts if variables and variables.keys() <= omitted.keys())
    dropped = (item for item in container.items("env") if item.text_at("name") in omitted)
    references = dict.fromkeys(item.text_at("valueFrom", "configMapKeyRef", "name") for item in dropped)
    return read.replaced(sources=sources, absent=tuple(name for name in references if name and name not in names))


def _read_command(container: Part, configs: ConfigTexts) -> TaskCommand:
    command, args = container.texts_at("command"), container.texts_at("args")
    env = _env(container, configs)
    if keras := [name for name in env if name.startswith("KERAS_DISTRIBUTION_")]:
        refusal = (
            f"the container sets {either(keras, 'and')}, and the import reads no variables of keras.distribution; "
            "write a job with strategy: KerasDistribution, which sets these variables (docs/keras.md)"
        )
        return TaskCommand(role="worker", has_cluster=True, refusal=refusal)
    variable = _tf_config_text(env)
    words = [*command, *args]
    is_shell = len(words) > 1 and _SHELLS.fullmatch(words[0]) and _SCRIPT_FLAG.fullmatch(words[1])
    read = (_read_script if is_shell else _read_words)(command, args, env)
    if variable is None:
        return _with_variables(read, container, env)
    read = _with_variables(read.replaced(references=(*read.references, *_names(variable))), container, env)
    variable = expand(variable, {name: value.as_text for name, item in env.items() if (value := item.get("value"))})
    config = _tf_config(variable)
    return read.replaced(
        has_cluster=True,
        role=read.role or config.role,
        index=read.index or config.index,
        hosts=read.hosts or config.hosts,
        port=read.port or _port_of(variable),
    )


def variables_of_tf_config(container: Part) -> Mapping[str, str]:
    """Return the variable TF_CONFIG and the variables that only TF_CONFIG uses. The import drops these variables.

    The result contains the reason for each variable. The result omits a variable that the command uses, because the
    import does not change the command.
    """
    env, words = _env(container), [*container.texts_at("command"), *container.texts_at("args")]
    return _unneeded_variables(_names(_tf_config_text(env) or ""), env, {TF_CONFIG: WHY_TF_CONFIG}, words)


def legacy_keys(commands: Collection[TaskCommand]) -> dict[str, bool]:
    """Return the keys of job.yaml that the cluster configuration of the commands needs. Example: {"legacyFlags": True}.

    A cluster configuration in flags needs the key `legacyFlags`. A cluster configuration in variables with the names of
    the flags needs the key `legacyVariables`.
    """
    keys = [("legacyFlags", command.has_legacy_flags) for command in commands]
    keys += [("legacyVariables", command.has_legacy_variables) for command in commands]
    return {key: True for key, is_set in keys if is_set}


def change_reason(command: TaskCommand) -> str:
    """Return the reason in the import report for a changed command."""
    if not command.has_legacy_flags:
        return "the command no longer sets TF_CONFIG, because tfgen sets TF_CONFIG for each task"
    if command.hosts:
        return "tfgen adds the flags of the cluster configuration, such as --ps_hosts"
    return "tfgen adds the flags of the cluster configuration; the host names differ from the names before the import"


def no_cluster_message(kind: str, commands: Iterable[TaskCommand], expected: str) -> str:
    """Return the error message for a job that does not configure a TensorFlow cluster.

    Args:
        kind: the kind of the job.
        commands: the commands of all tasks.
        expected: the ways to configure a cluster in a job of this kind.
    """
    role = next((command.role_in_job_name_flag for command in commands if command.role_in_job_name_flag), "")
    hint = f"; --job_name={role} alone is not enough; add --ps_hosts and --worker_hosts" if role else ""
    return f"the {kind} does not configure a TensorFlow cluster; expected {expected}{hint}"


def _tf_config_text(env: Mapping[str, Part]) -> str | None:
    """Return the value of the variable TF_CONFIG, or None for a container without this variable.

    For a variable with valueFrom, the result is empty.
    """
    item = env.get(TF_CONFIG)
    value = item.get("value") if item else None
    return (value.as_text if value else "") if item else None


def _env(container: Part, configs: ConfigTexts = EMPTY) -> dict[str, Part]:
    """Return the entries of a container's ``env`` by variable. As in Kubernetes, the last entry with a name counts.

    The result also has an entry for each variable that ``envFrom`` sets from a ConfigMap in `configs`. An entry with a
    reference to such a ConfigMap has the text in place of the reference.
    """

    def literal(anchor: Part, variable: str, text: str) -> Part:
        return mapping(anchor, {"name": anchor.scalar(variable), "value": anchor.scalar(text)})

    env: dict[str, Part] = {}
    for source in container.items("envFrom"):
        for variable, text in _from_source(source, configs).items():
            env[variable] = literal(source, variable, text)
    for item in container.items("env"):
        if name := item.get("name"):
            reference = item.get("valueFrom", "configMapKeyRef") or item
            config_text = configs.get((reference.text_at("name"), reference.text_at("key")))
            env[name.as_text] = item if config_text is None else literal(item, name.as_text, config_text)
    return env


def _from_source(source: Part, configs: ConfigTexts) -> dict[str, str]:
    name, prefix = source.text_at("configMapRef", "name"), source.text_at("prefix")
    return {f"{prefix}{key}": text for (config, key), text in configs.items() if config == name}


# -- variables with the names of flags ---------------------------------------------------------------------------


def _with_variables(read: TaskCommand, container: Part, env: Mapping[str, Part]) -> TaskCommand:
    """Return the command `read` with the cluster configuration in the variables `env` of its container."""
    by_variables = not read.hosts and env.keys() >= {*_HOST_VARIABLES}
    replaced = {TF_CONFIG: WHY_TF_CONFIG}
    if read.has_legacy_flags or by_variables:
        # With legacyFlags, tfgen sets the same variables for its flags, except JOB_NAME: --job_name is a literal.
        replaced |= {name: why for name, why in _VARIABLES.items() if not read.has_legacy_flags or name != "JOB_NAME"}
    program = read.program
    words = [*container.texts_at("command"), *container.texts_at("args")]
    if program.command is not None:
        words = [*program.command, *(program.args or ())]
    role, index, references, hosts, refusal = read.role, read.index, read.references, read.hosts, read.refusal
    if by_variables:
        role = role or ("$(JOB_NAME)" if "JOB_NAME" in env else None)
        index = index or ("$(TASK_INDEX)" if "TASK_INDEX" in env else None)
        refusal = refusal or ("" if read.index else _index_problem(env.get("TASK_INDEX")))
        references = (*references, *_HOST_VARIABLES)
        hosts = {name.removesuffix("_HOSTS").lower(): f"$({name})" for name in _HOST_VARIABLES}
    program = program.replaced(omitted=_unneeded_variables(references, env, replaced, words))
    if not (read.has_legacy_flags or by_variables):
        return read.replaced(program=program)
    role, index = _value_of_reference(role, env), _value_of_reference(index, env)
    return read.replaced(
        program=program,
        role=None if role and "$" in role else role,
        index=index,
        hosts={role_type: _value_of_reference(host_list, env) or "" for role_type, host_list in hosts.items()},
        port=read.port or _port_in(_value_of_reference(f"$({name})", env) or "" for name in references),
        has_cluster=True,
        has_legacy_variables=not read.has_legacy_flags,
        refusal=refusal,
    )


def _unneeded_variables(
    references: Iterable[str], env: Mapping[str, Part], replaced: Mapping[str, str], words: Iterable[str]
) -> dict[str, str]:
    """Return the variables of a container that the import drops, with the reason for each variable.

    The import drops a variable that tfgen itself sets, and a variable that only the cluster configuration uses,
    directly or through another variable. For example, the value of `A` is `$(B)`. If the configuration uses `A`, and
    nothing else uses `A` or `B`, the result contains both.

    Args:
        references: the variables that the cluster configuration uses.
        env: the entries of the container's ``env`` by variable.
        replaced: the variables that tfgen itself sets, such as TF_CONFIG, with the reason for each variable.
        words: the words of the command without the cluster configuration.
    """
    values = {name: value.as_text if (value := item.get("value")) else "" for name, item in env.items()}
    unused: set[str] = set()
    pending = [name for name in references if name in env]
    while pending:
        name = pending.pop()
        if name not in unused:
            unused.add(name)
            pending += (reference for reference in _names(values[name]) if reference in env)
    # The job keeps the variables that the command or another variable uses as well.
    pending = [name for word in words for name in _names(word)]
    remaining = [name for name in env if name not in unused and name not in replaced]
    pending += (reference for name in remaining for reference in _names(values[name]))
    while pending:
        name = pending.pop()
        if name in unused:
            unused.remove(name)
            pending += _names(values[name])
    omitted = {**dict.fromkeys(unused, WHY_CLUSTER), **replaced}
    return {name: why for name, why in omitted.items() if name in env}


def _value_of_reference(text: str | None, env: Mapping[str, Part]) -> str | None:
    """Return the literal value of the variable `A` for a text such as `$(A)`. Return any other text unchanged."""
    visited: set[str] = set()
    while text and (match := _WHOLE_REFERENCE.fullmatch(text)):
        name = next(group for group in match.groups() if group)
        value = env[name].get("value") if name in env else None
        if value is None or name in visited:
            break
        visited.add(name)
        text = value.as_text
    return text


def _index_problem(variable: Part | None) -> str:
    """Return the error message for a variable TASK_INDEX with a wrong value. For a correct value, the result is empty.

    The correct values are a number and a reference to the index of the pod, such as `$(JOB_COMPLETION_INDEX)`.
    """
    if variable is None:
        return ""
    value, field = variable.get("value"), variable.get("valueFrom", "fieldRef", "fieldPath")
    if value and (value.as_text.isdecimal() or value.as_text in [f"$({name})" for name in INDEX_VARIABLES]):
        return ""
    if field and _INDEX_FIELD.fullmatch(field.as_text):
        return ""
    return (
        f"found TASK_INDEX with {f'the value of {field.as_text}' if field else 'a value that is not a number'}, but "
        "tfgen sets TASK_INDEX to the index of the task; change the program to use this index"
    )


def _names(text: str) -> Iterator[str]:
    """Yield the names of the variables in references such as `$(A)` in a text.

    The references may have the syntax of Kubernetes or of a shell.
    """
    return (kubernetes_name or shell_name for kubernetes_name, shell_name in _REFERENCE.findall(text))


def _port_in(hosts: Iterable[str]) -> int | None:
    return next((int(match[1]) for host_list in hosts if (match := _PORT.search(host_list))), None)


def _tf_config(text: str) -> TaskCommand:
    """Read the text of a TF_CONFIG. If the text contains variables and is not JSON, read only the task type."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        match = _TYPE.search(text)
        return TaskCommand(role=match[1] if match else None)
    task, cluster = (_mapping(_mapping(data).get(key)) for key in ("task", "cluster"))
    role, index = task.get("type"), task.get("index")
    hosts = {
        role_type: ",".join(host_list)
        for role_type, host_list in cluster.items()
        if isinstance(host_list, list) and all(isinstance(host, str) for host in host_list)
    }
    index_text = str(index) if isinstance(index, (int, str)) else None
    return TaskCommand(role=role if isinstance(role, str) else None, index=index_text, hosts=hosts)


def _mapping(data: Any) -> Mapping[str, Any]:
    """Return `data` if `data` is a mapping. For any other value, return an empty mapping."""
    return data if isinstance(data, Mapping) else EMPTY


def _port_of(config: str) -> int | None:
    """Return the port of the first host in the text of a TF_CONFIG."""
    match = _PORT_OF_HOST.search(config)
    return int(match[1]) if match else None


# -- flags in a list of words ------------------------------------------------------------------------------------


def _read_words(command: list[str], args: list[str], env: Mapping[str, Part]) -> TaskCommand:
    flags: dict[str, str] = {}
    remaining: list[list[str]] = [[], []]
    for words, others in zip((command, args), remaining, strict=True):
        pending = iter(words)
        for word in pending:
            if match := _FLAG.fullmatch(word):
                flags[match[1]] = match[2] if match[2] is not None else next(pending, "")
            else:
                others.append(word)
    if not _have_cluster(flags, env):
        return TaskCommand(role_in_job_name_flag=_role_in_job_name_flag(flags, env))
    return _legacy_command(flags, Program(remaining[0], remaining[1]))


def _have_cluster(flags: Mapping[str, str], env: Mapping[str, Part]) -> bool:
    """Return whether the flags of a command configure a TensorFlow cluster.

    A flag for the hosts or for the index is sufficient. The flag --job_name alone is usually not sufficient, because a
    program may use --job_name for a different purpose. In one case, --job_name alone is sufficient: the value is a task
    type such as `worker`, and the variables configure the hosts, but not the task type.

    Args:
        flags: the values of the flags of the cluster configuration, such as {"job_name": "worker"}.
        env: the entries of the container's ``env`` by variable.
    """
    if not flags or flags.keys() - {"job_name"}:
        return bool(flags)
    config = _tf_config_text(env)
    if config is None and not env.keys() >= {*_HOST_VARIABLES}:
        return False
    variable_role = _tf_config(config).role if config is not None else _value_of_reference("$(JOB_NAME)", env)
    return _is_role(_value_of_reference(flags["job_name"], env)) and not _is_role(variable_role)


def _role_in_job_name_flag(flags: Mapping[str, str], env: Mapping[str, Part]) -> str:
    role = _value_of_reference(flags.get("job_name"), env)
    return role if role and _is_role(role) else ""


def _is_role(text: str | None) -> bool:
    return (text or "").lower() in TASK_TYPES


def _legacy_command(flags: Mapping[str, str], program: Program) -> TaskCommand:
    hosts = {name.removesuffix("_hosts"): host_list for name, host_list in flags.items() if name.endswith("_hosts")}
    return TaskCommand(
        program,
        flags.get("job_name"),
        flags.get("task_index"),
        hosts,
        _port_in(hosts.values()),
        has_cluster=True,
        has_legacy_flags=True,
        references=tuple(dict.fromkeys(name for value in flags.values() for name in _names(value))),
    )


# -- a script ----------------------------------------------------------------------------------------------------


def _read_script(command: list[str], args: list[str], env: Mapping[str, Part]) -> TaskCommand:
    words = [*command, *args]
    head, script, script_args = words[:2], words[2] if len(words) > 2 else "", words[3:]
    statements, hosts, config, port = _split_script(script)
    flags: dict[str, str] = {}
    without_flags = [part._replace(text=_take_flags_in_script(part.text, flags)) for part in statements]
    flag_role = ""
    if _have_cluster(flags, env):
        statements = without_flags
    else:
        flag_role, flags = _role_in_job_name_flag(flags, env), {}
    statements = _without_unused(statements, " ".join((config or "", *flags.values())))
    if not (hosts or config or flags):
        refusal = _script_problem(script, {}) if TF_CONFIG in script else ""
        return TaskCommand(has_cluster=TF_CONFIG in script, refusal=refusal, role_in_job_name_flag=flag_role)
    text = "".join(part.text + part.end for part in statements[:-1]) + "".join(p.text for p in statements[-1:])
    text = re.sub(r";(?=\S)", "; ", text)
    refusal = _script_problem(text, hosts)
    program = _program(head, text, script_args, has_flags=bool(flags))
    if flags:
        read = _legacy_command(flags, program)
    else:
        match = _TYPE.search(config or "")
        references = tuple(_names(" ".join((config or "", *hosts.values()))))
        role = match[1] if match else None
        read = TaskCommand(program, role, has_cluster=config is not None, references=references)
    notes = tuple(
        f"the script used ${name} in TF_CONFIG without setting the variable; tfgen sets a complete TF_CONFIG"
        for name in dict.fromkeys(_VARIABLE.findall(config or ""))
        if name not in (*hosts, *env, *INDEX_VARIABLES) and not re.search(rf"\b{name}=", script)
    )
    return read.replaced(port=port or read.port, refusal=refusal, notes=notes)


def _split_script(script: str) -> tuple[list[Statement], Mapping[str, str], str | None, int | None]:
    """Split a script into the statements that set TF_CONFIG, with their comments, and all other statements.

    Returns:
        The statements that do not set TF_CONFIG, the variables that the script sets from Volcano's host files with
        their values, the value of TF_CONFIG in shell syntax or None, and the first port in the hosts or in TF_CONFIG.
    """
    remaining: list[Statement] = []
    hosts: dict[str, str] = {}
    config: str | None = None
    port: int | None = None
    is_removed, end = False, ""
    for statement in statements(script):
        is_comment = is_removed and end == ";" and statement.text.startswith("#")
        name, value = _assignment(statement.text) or ("", "")
        is_removed, end = True, statement.end
        if _HOST_FILE.search(value):
            hosts[name] = value
            port = port or next((int(number) for number in _PORT.findall(value)), None)
        elif name == TF_CONFIG:
            config = value
            port = port or _port_of(value)
        elif not is_comment and statement.text not in (f"export {TF_CONFIG}", *(f"export {name}" for name in hosts)):
            remaining.append(statement)
            is_removed = False
    return remaining, hosts, config, port


def _without_unused(statements: list[Statement], config: str) -> list[Statement]:
    """Remove the assignments of variables that only TF_CONFIG uses, such as a variable for the index of the task."""
    config_variables = set(_VARIABLE.findall(config))
    while True:
        used = {name for statement in statements for name in _VARIABLE.findall(statement.text)}
        unused = config_variables - used
        remaining = [statement for statement in statements if (_assignment(statement.text) or ("",))[0] not in unused]
        if len(remaining) == len(statements):
            return statements
        # A removed assignment may have been the only use of another variable, so check again.
        removed = [statement for statement in statements if statement not in remaining]
        config_variables |= {name for statement in removed for name in _VARIABLE.findall(statement.text)}
        statements = remaining


def _take_flags_in_script(text: str, flags: dict[str, str]) -> str:
    """Remove the flags of the cluster configuration from a script. Add the values of these flags to `flags`.

    In the script, `"$@"` replaces the first of these flags. tfgen passes new flags to the shell as arguments, and the
    shell inserts the arguments for `"$@"`.
    """

    def take(match: re.Match[str]) -> str:
        is_first = not flags
        flags[match[1]] = match[2].strip("\"'")
        return ' "$@"' if is_first else ""

    return _FLAG_IN_SCRIPT.sub(take, text)


def _program(head: list[str], script: str, script_args: list[str], *, has_flags: bool) -> Program:
    """Convert a script to a program. For a script with one plain command, the program is this command without a shell.

    Args:
        head: the words before the script, such as ["sh", "-c"].
        script: the script without the cluster configuration.
        script_args: the words after the script.
        has_flags: whether the script contained flags of the cluster configuration.
    """
    words = plain_words(script.replace(' "$@"', ""))
    if words and not script_args:
        return Program(words, [])
    # `sh -c SCRIPT NAME ARGUMENT...`: the first argument is $0 of the script, and not a part of "$@".
    shell_name = [head[0]] if has_flags else []
    return Program([*head, script, *shell_name, *script_args], [])


def _script_problem(script: str, hosts: Mapping[str, str]) -> str:
    """Return the error message for a script that still sets or uses the cluster configuration.

    For any other script, the result is empty. `hosts` contains the variables that the script sets from Volcano's host
    files.
    """
    if re.search(rf"\b{TF_CONFIG}=", script):
        return "tfgen sets TF_CONFIG, but cannot remove the lines of the script that set TF_CONFIG; remove these lines"
    fix = "tfgen provides the hosts only in TF_CONFIG; read the hosts from TF_CONFIG"
    if _HOST_FILE.search(script):
        return f"the script uses Volcano's host files for more than TF_CONFIG; {fix}"
    used = sorted({name for name in _VARIABLE.findall(script) if name in hosts})
    return f"the script uses ${used[0]}, which has the content of Volcano's host files; {fix}" if used else ""


# -- statements of a script ----------------------------------------------------------------------------------------
#
# The splitter recognizes the ends of statements, quotes, and blocks such as `if ... fi`. All other shell syntax stays
# unchanged inside a statement.
#
#     "A=`cat f`; export B=1" -> "A=`cat f`", "export B=1"

_SHELLS: Final = re.compile(r"(/usr)?(/bin/)?(ba|da|a|z)?sh")
_SCRIPT_FLAG: Final = re.compile(r"-[a-z]*c")
_PLAIN: Final = re.compile(r"[^$`|&;<>(){}*?\[\]~#!\\\n]+")
"""Pattern of a command that does not need a shell. The command may contain quotes."""
_ASSIGNMENT: Final = re.compile(r"(?:export\s+)?([A-Za-z_]\w*)=(.*)", re.DOTALL)
_OPENS: Final = re.compile(
    r"(?:(?:then|do|else)\s+)?(?:(?:if|for|while|until|case|select)\b|(?:function\s+)?[\w-]+\s*\(\)|\{\s)"
)
_CLOSES: Final = re.compile(r"(?:fi|done|esac)\b|\}")


class Statement(NamedTuple):
    """Statement of a script, and the separator after the statement: a newline, a semicolon, `&&`, or an empty text."""

    text: str
    end: str


def statements(script: str) -> list[Statement]:
    """Return the statements of a script. A block, such as an `if`, is one statement.

    A script with a here-document is also one statement, because a here-document may contain any character.
    """
    if "<<" in script:
        return [Statement(script.strip(), "")]
    return [Statement(text.strip(), end) for text, end in _with_blocks(_split(script)) if text.strip()]


def _with_blocks(pieces: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Join the pieces of each block, such as `if ... fi`, into one piece. Yield each piece with its separator."""
    block: list[str] = []
    depth = 0
    for text, end in pieces:
        stripped = text.strip()
        depth += bool(_OPENS.match(stripped)) - bool(_CLOSES.match(stripped))
        block.append(text)
        if depth > 0:
            block.append(end)
        else:
            yield "".join(block), end
            block, depth = [], 0
    if block:
        yield "".join(block), ""


def _split(script: str) -> Iterator[tuple[str, str]]:
    start = 0
    for position, character, depth in _bare_characters(script, "()", has_comments=True):
        if depth > 0 or position < start:
            continue
        if script.startswith("&&", position):
            yield script[start:position], " && "
            start = position + 2
        elif character in ";\n":
            yield script[start:position], character
            start = position + 1
    yield script[start:], ""


_QUOTED: Final = r"""\\.?|'[^']*(?:'|\Z)|"(?:\\.?|[^"\\])*(?:"|\Z)|`(?:\\.?|[^`\\])*(?:`|\Z)"""
"""Pattern of an escaped character, or of a text in quotes; a quote without an end reaches to the end of the script."""
_COMMENT: Final = r"(?<!\S)#[^\n]*"


def _bare_characters(text: str, brackets: str, *, has_comments: bool = False) -> Iterator[tuple[int, str, int]]:
    """Yield each character outside of quotes as (position, character, number of open brackets).

    Skip escaped characters. With `has_comments`, skip comments as well. `brackets` contains the brackets to count, such
    as `(){}`.
    """
    skipped = f"{_QUOTED}|{_COMMENT}" if has_comments else _QUOTED
    depth = 0
    for match in re.finditer(f"{skipped}|(?P<bare>.)", text, re.DOTALL):
        if character := match["bare"]:
            depth += (character in brackets[::2]) - (character in brackets[1::2])
            yield match.start(), character, depth


def _assignment(statement: str) -> tuple[str, str] | None:
    """Return the variable and the value of an assignment such as `A=1` or `export A=1`; None for any other statement.

    The value has its quotes.
    """
    match = _ASSIGNMENT.fullmatch(statement)
    # In `A=1 python x.py` the assignment is for this command only, and does not set a variable of the script.
    value = match[2] if match else ""
    bare = _bare_characters(value, "(){}")
    has_second_word = any(mark.isspace() and depth <= 0 and value[place:].strip() for place, mark, depth in bare)
    if match is None or has_second_word:
        return None
    return match[1], match[2]


def plain_words(script: str) -> list[str] | None:
    """Return the words of a script that is one plain command, or None for a script that needs a shell."""
    if not _PLAIN.fullmatch(script):
        return None
    try:
        split = shlex.split(script)
    except ValueError:
        return None
    return None if not split or "=" in split[0] or split[0] in ("cd", "export", "exec", "set", "source", ".") else split


# -- words of a command line ---------------------------------------------------------------------------------------
#
# The splitter recognizes words, quotes, comments and the ends of commands, and ignores all other syntax of the shell.
# The splitter does not expand variables: `Word.expands` marks a word that the shell would expand.

_SPACE: Final = re.compile(r"(?:[ \t\r]|\\\r?\n)+|#[^\n]*")
_END: Final = re.compile(r"\n|;|&&|\|\|?|&")
_PIECE: Final = re.compile(
    r"""'(?P<single>[^']*)'
      | "(?P<double>(?:[^"\\]|\\.)*)"
      | \\(?P<escaped>.)
      | (?P<plain>[^\s'"\\;&|]+)""",
    re.VERBOSE | re.DOTALL,
)
_EXPANDS: Final = re.compile(r"(?<!\\)(?:\$[\w({]|`)")


class Word(NamedTuple):
    """Word of a command line.

    Attributes:
        text: the word without its quotes.
        position: the position of the first character.
        expands: whether the word contains a variable or a command that the shell would expand.
    """

    text: str
    position: Position
    expands: bool = False


def shell_value_message(word: Word) -> str:
    """Return the error message about a word that contains a shell variable or a command substitution."""
    return f"found {word.text}, which only a shell can expand; replace the variable or command by its value"


def commands(script: str) -> Iterator[Sequence[Word]]:
    """Yield the words of each command of a script. Omit the prompt `$`, which documentation prints before a command."""
    words: list[Word] = []
    place, line, start = 0, 1, 0
    while True:
        match = _SPACE.match(script, place) or _END.match(script, place)
        if place == len(script) or (match and _END.fullmatch(match[0])):
            if command := words[1:] if words and words[0].text == "$" else words:
                yield command
            words = []
        if place == len(script):
            return
        end = match.end() if match else place
        if match is None:
            word, end = _word(script, place, Position(line, place - start + 1))
            words.append(word)
        if newlines := script.count("\n", place, end):
            line, start = line + newlines, script.rindex("\n", place, end) + 1
        place = end


def _word(script: str, place: int, position: Position) -> tuple[Word, int]:
    text, expands = "", False
    end = place
    while match := _PIECE.match(script, end):
        piece = match[match.lastgroup or 0]
        if match.lastgroup in ("double", "plain"):
            expands = expands or bool(_EXPANDS.search(piece))
        if match.lastgroup == "double":
            piece = re.sub(r'\\(["\\$`])', r"\1", piece.replace("\\\n", ""))
        text += piece
        end = match.end()
    # A quote without a closing quote is an ordinary character.
    return (Word(text, position, expands), end) if end > place else (Word(script[place], position), place + 1)
