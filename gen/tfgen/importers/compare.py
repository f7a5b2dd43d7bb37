"""Comparison of a foreign job with the imported job, and the import report, which contains what the comparison found.

    tfjob.yaml:6:3: dropped spec.enableDynamicWorker: ...
    tfjob.yaml:9:7: carried spec.tfReplicaSpecs.PS.replicas to spec.roles.ps.replicas

The comparison builds the objects of the imported job, and compares each pod template of the source with the pod
template of its role, field by field. Outside of the pod templates, the comparison reads the value of the key in
job.yaml that a reader noted for the field. A note of a reader only names the key or the reason: if the imported job has
another value than the note says, the report contains both values, and the difference has no reason.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from tfgen import data_path
from tfgen.data_path import Path, leaves
from tfgen.errors import Position
from tfgen.importers.foreign_job import ROLES, ForeignJob, OriginPod
from tfgen.importers.job_yaml import ENVIRONMENTS, EnvironmentName, has_key, key_of, value_of
from tfgen.importers.part import POD_DEFAULTS, Part, PartId, part_of, plain_data
from tfgen.importers.pod import ALPHA_GPU, CONTAINER, HANDLERS, NVIDIA_GPU, main_container, without_end_slash
from tfgen.importers.table import DEFAULTS_OF_COMMANDS, PRESENT, DifferenceReason, Notes, Outcome
from tfgen.job.training_job import ROLE_NAMES
from tfgen.kubernetes import keys, quantity
from tfgen.kubernetes.merge import MERGE_KEYS
from tfgen.record import Record
from tfgen.schema import file as schema_file
from tfgen.text.yaml_text import digest
from tfgen.words import path_name, printable, shown, shown_pair

Objects: TypeAlias = Sequence[Mapping[str, Any]]

_NO_EQUIVALENT: Final = "job.yaml has no equivalent"
_ON_PODS: Final = "the pods of the imported job have this label or annotation as well"
_EMPTY_VALUES: Final[Sequence[Any]] = ("", False, [], {})
_TRUE_BY_DEFAULT: Final = (
    "allowPrivilegeEscalation",
    "automountServiceAccountToken",
    "enableServiceLinks",
    "hostUsers",
)
"""Fields for which false is not the same as no value."""
_HARMLESS: Final = re.compile(
    r"spec\.(hostname|subdomain|priority|serviceAccount)|spec\.containers\.tensorflow\.(name|ports\..*\.name)"
)
"""Fields of a pod template whose loss changes neither where the pod runs, nor what it mounts, runs or may do."""
_RIGHTS: Final = re.compile(
    r"spec\.(containers\.tensorflow\.)?securityContext\.(runAsUser|runAsGroup|fsGroup|privileged|readOnlyRootFilesystem)"
)
"""Fields that tfgen may not add silently, even if tfgen adds them to the pods of each job with the same security."""

_CAUSES: Final = re.compile(
    r"spec\.(hostNetwork|containers\.tensorflow\.resources\..*|topologySpreadConstraints[.\[](?!.*\.labelSelector\.).*)"
)
"""Fields of a pod for which tfgen adds other fields: `bare_job` keeps them, but they are no fields of tfgen."""
_FIELD: Final = ("valueFrom", "fieldRef", "fieldPath")
"""The path of a field in a variable. A variable with a value in place of the field is no added variable."""
_ORDER: Final = "order of "
"""The beginning of the name of a leaf with the order of the items in a list."""
_PORT: Final[Path] = ("spec", "port")
_HOST_NETWORK: Final = ("podTemplate", "spec", "hostNetwork")
_SPREAD: Final = "topologySpreadConstraints"
_HASH: Final = ("metadata", "labels", keys.POD_TEMPLATE_HASH)
_SHARED: Final[Sequence[tuple[str, bool, str]]] = (
    (r"spec\.imagePullSecrets\..*", False, "in job.yaml, all roles share one list of imagePullSecrets"),
    (
        r"spec\.(volumes|containers\.tensorflow\.volumeMounts)[.\[].*",
        True,
        "in the imported job, all tasks of the role mount the same volumes",
    ),
    (
        r"spec\.containers\.tensorflow\.restartPolicy.*",
        False,
        "in the imported job, each task restarts in its pod after each of these exit codes",
    ),
)
"""Fields that a pod gets from another pod of the source: (pattern, whether the pods have the same role, reason)."""


class ReportEntry(Record):
    """Entry of the import report, with the outcome for a part of the source, such as a field.

    Attributes:
        source: the path of the part in its object.
        target: the key of job.yaml that has the part's value, or None.
        why: the reason for the outcome; may be empty for the outcome "carried".
        is_told: whether a reader of the report must see the entry itself, and not only the number of such entries.
        is_explained: whether the difference has a reason, or there is no difference.
    """

    file: str
    position: Position
    outcome: Outcome
    source: str
    target: Path | None = None
    why: str = ""
    is_told: bool = False
    is_explained: bool = True

    def __str__(self) -> str:
        """Return the entry as a line of text."""
        line, column = self.position
        target = path_name(self.target) if self.target else ""
        to = f" to {target}" if target and not self.source.endswith(target) else ""
        why = f": {self.why}" if self.why else ""
        return printable(f"{self.file}:{line}:{column}: {self.outcome} {self.source}{to}{why}")


class _Finding(NamedTuple):
    """What the comparison found about a scalar of the source. The attributes have the meaning of `ReportEntry`."""

    outcome: Outcome
    target: Path | None = None
    why: str = ""
    is_told: bool = False
    is_explained: bool = True


_CARRIED: Final = _Finding("carried")


class _Context(NamedTuple):
    """The notes that apply to a part: its own, or those of the innermost part around it.

    Attributes:
        linked: the part whose targets apply, or None.
        reason: the reason, or None.
        has_reason: the part that has the reason, or None.
    """

    linked: Part | None = None
    reason: DifferenceReason | None = None
    has_reason: Part | None = None


_NO_NOTES: Final = _Context()


class _Leaf(NamedTuple):
    """A scalar, an empty collection or a list without keys.

    Attributes:
        value: the plain value.
        parts: the parts of the source that set the value.
    """

    value: Any
    parts: tuple[Part, ...] = ()


_Leaves: TypeAlias = Mapping[Path, _Leaf]
_Origins: TypeAlias = Mapping[str, Sequence[tuple[OriginPod, _Leaves]]]
"""Role -> pods of the source, each with its leaves."""


class VariantComparison:
    """The comparison of one variant of a foreign job with the imported job.

    Args:
        job: the foreign job.
        data: the data of job.yaml.
        environment: the environment of the variant.
        objects: the objects that tfgen renders for the imported job in this environment.
        bare: the objects of the job `bare_job(data)`. The fields of their pods are tfgen's own.
    """

    def __init__(
        self, job: ForeignJob, data: Mapping[str, Any], environment: EnvironmentName, objects: Objects, bare: Objects
    ) -> None:
        self.job, self.notes, self.data, self.environment = job, job.notes, data, environment
        self._contexts = {p.place: context for root in self.job.roots for p, context in self._walk(root)}
        scalars = (part for root in self.job.roots for part in root.leaves())
        self._by_target = {t: part for part in scalars for t in self.notes.targets.get(part.place, ())}
        self._pods: dict[PartId, _Finding] = {}
        self._objects = objects
        self._on_pods: set[PartId] = set()
        self.entries: list[ReportEntry] = []
        self._compare_pods(objects, bare)
        self.entries += (self._remark(part, why) for part, why in self.notes.remarks)

    def knows(self, item: Part) -> bool:
        """Return whether a reader has noted a part of the object, or the object is a part of the job."""
        if any(item is root or item.place == root.place for root in self.job.roots):
            return True
        return any(_is_noted(self.notes, part) for part in item.walk())

    def report(self, item: Part) -> Iterator[ReportEntry]:
        """Yield an entry for each part of an object."""
        reason = self.notes.reasons.get(item.place)
        context = self._context(item)
        key = self._key(context)
        is_true = reason is not None and (reason.becomes is not PRESENT or (key and has_key(self.data, key)))
        if reason and is_true and not any(item is root for root in self.job.roots):
            is_told = not reason.is_quiet
            yield ReportEntry(item.file, item.key, reason.outcome, item.name, key, reason.why, is_told=is_told)
            return
        seen: set[tuple[str, _Finding]] = set()
        for part, found in self._findings(item, context, item.path):
            if (part.name, found) not in seen and not (part.path in DEFAULTS_OF_COMMANDS and found.is_explained):
                seen.add((part.name, found))
                yield ReportEntry(part.file, part.key, found.outcome, part.name, *found[1:])

    @property
    def all_entries(self) -> list[ReportEntry]:
        """The entries of the whole job."""
        return [*self.entries, *(entry for root in self.job.roots for entry in self.report(root))]

    # -- notes --------------------------------------------------------------------------------------------------------

    def _context(self, part: Part, outer: _Context = _NO_NOTES) -> _Context:
        place = part.place
        linked = part if place in self.notes.targets else outer.linked
        if reason := self.notes.reasons.get(place):
            return _Context(linked, reason, part)
        return outer._replace(linked=linked)

    def _walk(self, part: Part, outer: _Context = _NO_NOTES) -> Iterator[tuple[Part, _Context]]:
        context = self._context(part, outer)
        if not part.children:
            yield part, context
        for child in part.children:
            yield from self._walk(child, context)

    def _key(self, context: _Context) -> Path | None:
        """Return the key of job.yaml for the part that a context links, or None."""
        targets = self.notes.targets[context.linked.place] if context.linked else ()
        found = [key_of(target, self.data, self.environment) for target in targets]
        return next((key for key in found if has_key(self.data, key)), found[0] if found else None)

    # -- entries ------------------------------------------------------------------------------------------------------

    def _findings(self, part: Part, context: _Context, root: Path) -> list[tuple[Part, _Finding]]:
        if not part.children:
            is_head = part.path in ((*root, "apiVersion"), (*root, "kind")) or part.value is None
            return [] if is_head else [(part, self._finding(part, context))]
        found = [item for child in part.children for item in self._findings(child, self._context(child, context), root)]
        kinds = {finding for _, finding in found}
        if len(kinds) != 1 or not part.path:
            return found
        is_dropped = len(found) > 1 and found[0][1].outcome == "dropped"
        is_one = isinstance(part.path[-1], int) or is_dropped or _is_noted(self.notes, part)
        return [(part, kinds.pop())] if is_one else found

    def _finding(self, part: Part, context: _Context) -> _Finding:
        reason = context.reason
        if found := self._pods.get(part.place):
            if reason and reason.becomes is PRESENT:
                context = context._replace(linked=context.has_reason)
            return found._replace(target=None if found.outcome == "dropped" else self._key(context))
        if part.path in DEFAULTS_OF_COMMANDS:
            return _CARRIED
        if context.linked and (key := self._key(context)) is not None:
            return self._at_key(context.linked, key, context)
        if reason is None and isinstance(part.value, (Mapping, list)):  # an empty collection
            return _CARRIED
        if reason and reason.outcome == "carried" and context.has_reason:
            # The part must have its default value, or an object of the imported job must contain the part.
            data = context.has_reason.data
            is_default = reason.becomes is not ... and _is_same(reason.becomes, data)
            if not is_default and not any(_has_part(item, data) for item in self._objects):
                reason = None
        if reason is None:
            return _Finding("dropped", None, _NO_EQUIVALENT, is_told=True, is_explained=False)
        return _Finding(reason.outcome, None, reason.why, reason.outcome != "carried" and not reason.is_quiet)

    def _at_key(self, part: Part, key: Path, context: _Context) -> _Finding:
        """Compare a part outside of the pod templates with the value of its key in job.yaml."""
        reason, has_reason = context.reason, context.has_reason
        value = value_of(key, self.data)
        applies = has_reason is not None and len(has_reason.path) >= len(part.path)
        expected = reason.becomes if reason and applies and reason.becomes is not ... else part.data
        plain = ("spec", *key[3:]) if key[:2] == ENVIRONMENTS else key
        if expected is PRESENT or (plain[:2] == ROLES and len(plain) == len(ROLES) + 1):
            is_same = has_key(self.data, key)
        else:
            is_same = expected in ({}, []) or _is_same(expected, value)
        if isinstance(value, list):
            is_same |= all(item in value for item in (expected if isinstance(expected, list) else [expected]))
        if isinstance(expected, Mapping):
            fields = leaves(expected)
            is_same |= all(_is_same(field, value_of((*key, *path), self.data)) for path, field in fields)
        if is_same:
            if part.place in self._on_pods:
                return _Finding("changed", key, _ON_PODS, is_told=True)
            outcome: Outcome = reason.outcome if reason and reason.outcome == "changed" else "carried"
            return _Finding(outcome, key, reason.why if reason else "", outcome == "changed")
        role = next((role for name, role in self.job.roles.items() if plain == (*ROLES, name, "replicas")), None)
        if role and value == role.replicas and isinstance(expected, int) and expected < value:
            return _Finding("changed", key, f"together with other tasks, the role has {value} tasks", is_told=True)
        if value is None:
            if reason and reason.outcome == "dropped":
                return _Finding("dropped", None, reason.why, is_told=True)
            why = f"the imported job has no {path_name(key)}"
            return _Finding("dropped", None, why, is_told=True, is_explained=False)
        if reason and has_reason and applies and reason.outcome == "dropped":
            inner = has_reason.path[len(part.path) :]
            if inner and not _is_same(data_path.at(value, inner), has_reason.data):
                return _Finding("dropped", None, reason.why, not reason.is_quiet)
        return _Finding("changed", key, _in_words(expected, value), is_told=True, is_explained=False)

    # -- pods ---------------------------------------------------------------------------------------------------------

    def _compare_pods(self, objects: Objects, bare: Objects) -> None:
        results = _pods_by_role(objects)
        own = {
            role: {path: leaf for path, leaf in pod.items() if not _CAUSES.fullmatch(path_name(path))}
            for role, pod in _pods_by_role(bare).items()
        }
        origins: _Origins = {
            role: [(pod, self._with_port(_pod_leaves(pod.template), pod.template)) for pod in foreign.pods]
            for role, foreign in self.job.roles.items()
        }
        port = str(value_of(_PORT, self.data))
        for role, pods in origins.items():
            for pod, origin in pods:
                own_leaves = _of_task(own.get(role, {}), pod, origin)
                result = _without_own_args(_of_task(results.get(role, {}), pod, origin), own_leaves)
                result, own_leaves = _at_port(result, port), _at_port(own_leaves, port)
                for path, leaf in origin.items():
                    found = self._compare(path, leaf, result.get(path), own_leaves.get(path))
                    for part in leaf.parts:
                        self._pods[part.place] = _worse(self._pods.get(part.place), found)
                added = {p: leaf for p, leaf in result.items() if p not in origin and (*p[:-1], *_FIELD) not in origin}
                self._note_added(pod.template, role, added, own_leaves, origins)

    def _with_port(self, leaves: _Leaves, template: Part) -> _Leaves:
        main = main_container(template)
        for port in main.items("ports") if main else ():
            if _PORT in self.notes.targets.get(port.place, ()):
                return _at_port(leaves, port.text_at("containerPort"))
        return leaves

    def _compare(self, path: Path, leaf: _Leaf, result: _Leaf | None, own: _Leaf | None) -> _Finding:
        context = self._contexts.get(leaf.parts[0].place, _NO_NOTES) if leaf.parts else _NO_NOTES
        reason = context.reason
        name = path_name(path)
        if str(path[-1]).startswith(_ORDER):
            is_reversed = any([second, first] in (result.value if result else []) for first, second in leaf.value)
            why = f"the imported job has another {path[-1]}"
            return _Finding("changed", None, why, is_told=True, is_explained=False) if is_reversed else _CARRIED
        if result is not None and _is_same_leaf(leaf, result):
            is_change = reason is not None and reason.outcome == "changed" and reason.becomes is ...
            why = reason.why if reason and reason.outcome in ("carried", "changed") else ""
            return _Finding("changed", None, why, is_told=True) if is_change else _Finding("carried", None, why)
        if reason and reason.becomes is PRESENT and (key := self._key(context)) and has_key(self.data, key):
            return _Finding(reason.outcome, None, reason.why, is_told=True)
        if reason and reason.becomes is not ... and _is_same(reason.becomes, result.value if result else []):
            return _Finding("changed", None, reason.why, not _HARMLESS.fullmatch(name))
        if result is None and (why := _why_default(path, leaf)):
            return _Finding("carried", None, why)
        is_own = result is not None and own is not None and _is_same_leaf(own, result)
        if (result is None or is_own) and reason and reason.becomes is ...:
            is_of_leaf = context.has_reason is not None and context.has_reason.place in [p.place for p in leaf.parts]
            if reason.outcome == "changed" and is_of_leaf:
                return _Finding("changed", None, reason.why, is_told=True)
            if reason.outcome == "dropped":
                is_told = not is_own and not reason.is_quiet and not _HARMLESS.fullmatch(name)
                return _Finding("dropped", None, reason.why, is_told)
        if is_own and re.fullmatch(r"spec\.containers\.tensorflow\.ports\..*\.name", name):
            return _Finding("dropped", None, "tfgen names the port of TensorFlow")
        if result is None:
            return _Finding("dropped", None, _NO_EQUIVALENT, is_told=True, is_explained=False)
        change = _in_words(leaf.value, result.value)
        if leaf.parts and leaf.parts[0].value == result.value:
            change = f"{change}: Kubernetes expands only references to earlier variables of the list"
        return _Finding("changed", None, change, is_told=True, is_explained=False)

    def _note_added(self, template: Part, role: str, added: _Leaves, own: _Leaves, origins: _Origins) -> None:
        """Note the fields of a result that the template of the source does not have."""
        told: dict[str, None] = {}
        for path, leaf in added.items():
            name = path_name(path)
            if (leaf.value in _EMPTY_VALUES and path[-1] not in _TRUE_BY_DEFAULT) or str(path[-1]).startswith(_ORDER):
                continue
            if path in own and _is_same_leaf(own[path], leaf) and not _RIGHTS.fullmatch(name):
                continue
            label = self._by_target.get(("spec", *path[1:])) if path[0] == "metadata" else None
            if label and label.as_text == leaf.value:
                self._on_pods.add(label.place)
            elif why := _shared_with(path, leaf, role, origins):
                told[why] = None
            else:
                text = f"the imported job also has {name}: {shown(leaf.value)}"
                self.entries.append(self._remark(template, text, is_explained=False))
        self.entries += (self._remark(template, why) for why in told)

    def _remark(self, part: Part, why: str, *, is_explained: bool = True) -> ReportEntry:
        return ReportEntry(
            part.file, part.key, "changed", part.name, None, why, is_told=True, is_explained=is_explained
        )


def _shared_with(path: Path, leaf: _Leaf, role: str, origins: _Origins) -> str:
    """Return the reason for which a pod gets a field from another pod of the source; empty without such a pod."""
    for pattern, is_same_role, why in _SHARED:
        if re.fullmatch(pattern, path_name(path)):
            roles = [role] if is_same_role else list(origins)
            others = [origin[path] for name in roles for _, origin in origins[name] if path in origin]
            if any(_is_same_leaf(other, leaf) for other in others):
                return why
    return ""


def bare_job(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data of a job with the same strategy, workload and rights, whose pods have only fields of tfgen.

    The pods also have the fields for which tfgen adds others: a CPU limit sets the sizes of the thread pools.
    """
    role = schema_file.node(schema_file.load(), (*ROLES, "worker")) or {}
    causes = {"placement", "replicas", "resources", "restartPolicy"}
    pod_keys = {*role["properties"], "imagePullSecrets", "storage"} - causes

    def bare(values: Mapping[str, Any]) -> dict[str, Any]:
        kept = {key: value for key, value in values.items() if key not in pod_keys}
        if data_path.at(values, _HOST_NETWORK):
            kept = data_path.with_value(kept, _HOST_NETWORK, True)
        if constraints := values.get(_SPREAD):
            kept[_SPREAD] = [data_path.without(constraint, ("labelSelector",)) for constraint in constraints]
        if "roles" in kept:
            kept["roles"] = {name: bare(fields or {}) for name, fields in kept["roles"].items()}
        if "environments" in kept:
            kept["environments"] = {name: bare(fields or {}) for name, fields in kept["environments"].items()}
        return kept

    return {**data, "spec": {**bare(data["spec"]), "image": "bare"}}


def _is_noted(notes: Notes, part: Part) -> bool:
    return part.place in notes.targets or part.place in notes.reasons


def _worse(first: _Finding | None, second: _Finding) -> _Finding:
    order = ("carried", "kept", "changed", "dropped")
    found = [finding for finding in (first, second) if finding]
    return max(found, key=lambda finding: (not finding.is_explained, order.index(finding.outcome)))


def _in_words(before: Any, after: Any) -> str:
    if after is None:
        return f"was {shown(before)}, and the imported job has no such field"
    if isinstance(before, (Mapping, list)) or isinstance(after, (Mapping, list)):
        before, after = json.dumps(before, default=str), json.dumps(after, default=str)
    first, second = shown_pair(before, after, 60)
    return f"was {first} and is {second}"


def _is_same(first: Any, second: Any) -> bool:
    """Return whether two values mean the same to Kubernetes, such as the number 1 and the text "1"."""
    if isinstance(first, (Mapping, list)) or isinstance(second, (Mapping, list)):
        return json.dumps(first, sort_keys=True, default=str) == json.dumps(second, sort_keys=True, default=str)
    return _text(first) == _text(second)


def _has_part(data: Any, part: Any) -> bool:
    """Return whether some data contains a mapping with all fields of the mapping `part`."""
    if isinstance(part, Mapping) and _has_fields(data, part):
        return True
    return any(_has_part(child, part) for child in _children(data))


def _children(data: Any) -> Iterable[Any]:
    return data.values() if isinstance(data, Mapping) else data if isinstance(data, list) else ()


def _has_fields(data: Any, fields: Any) -> bool:
    if isinstance(fields, Mapping) and isinstance(data, Mapping):
        return all(_has_fields(data.get(key), value) for key, value in fields.items())
    if isinstance(fields, list) and isinstance(data, list):
        return len(fields) == len(data) and all(map(_has_fields, data, fields))
    return bool(data == fields)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)


# -- the leaves of a pod template ------------------------------------------------------------------------------------
#
# Two pod templates with the same effect have the same leaves. So the leaves have the names and defaults of tfgen: the
# main container is `tensorflow`, the other containers are init containers that run on, and a volume has the name of the
# path at which the main container mounts it.


def _is_same_leaf(first: _Leaf, second: _Leaf) -> bool:
    if _is_same(first.value, second.value):
        return True
    # The text of a number, such as 1.10, is the value of a variable.
    is_number = isinstance(first.value, int | float) and len(first.parts) == 1
    return is_number and first.parts[0].as_text == _text(second.value)


def _why_default(path: Path, leaf: _Leaf) -> str:
    name = str(path[-1])
    if name in POD_DEFAULTS and _is_same(POD_DEFAULTS[name], leaf.value):
        return "Kubernetes' default"
    return "tfgen omits empty fields" if leaf.value in _EMPTY_VALUES and name not in _TRUE_BY_DEFAULT else ""


def _pods_by_role(objects: Objects) -> dict[str, dict[Path, _Leaf]]:
    """Return the leaves of the first pod template of each role in the rendered objects."""
    pods: dict[str, dict[Path, _Leaf]] = {}

    def find(data: Any) -> None:
        role = data_path.at(data, ("metadata", "labels", keys.ROLE))
        if role in ROLE_NAMES and role not in pods and data_path.has(data, ("spec", "containers")):
            unhashed = data_path.without(data, _HASH)
            is_hash = data_path.at(data, _HASH) == digest(unhashed)
            pods[role] = _pod_leaves(part_of(unhashed if is_hash else data))
        for child in _children(data):
            find(child)

    find(list(objects))
    return pods


def _of_task(result: _Leaves, pod: OriginPod, origin: _Leaves) -> _Leaves:
    """Insert the index of a task for the variable TASK_INDEX, which the import writes for the index."""
    if pod.index is None:
        return result
    index = str(pod.index)

    def with_index(value: Any) -> Any:
        if isinstance(value, list):
            return [with_index(item) for item in value]
        return re.sub(r"\$[({]TASK_INDEX[)}]", index, value) if isinstance(value, str) else value

    changed = {}
    for path, leaf in result.items():
        path = tuple(with_index(step) for step in path)
        is_equal = path in origin and _is_same_leaf(origin[path], leaf)
        changed[path] = leaf if is_equal else leaf._replace(value=with_index(leaf.value))
    return changed


_ARGS: Final = ("spec", "containers", CONTAINER, "args")
_PORTS: Final = ("spec", "containers", CONTAINER, "ports")


def _at_port(leaves: _Leaves, number: str) -> _Leaves:
    """Give the port of TensorFlow the same path in all pod templates, whatever its number."""
    port = (*_PORTS, number)
    return {(*_PORTS, "TensorFlow", *path[5:]) if path[:5] == port else path: leaf for path, leaf in leaves.items()}


def _without_own_args(result: _Leaves, own: _Leaves) -> _Leaves:
    """Remove the arguments that tfgen adds to each program, such as --job_name."""
    if _ARGS not in own or _ARGS not in result:
        return result
    args, own_args = result[_ARGS].value, own[_ARGS].value
    if args[-len(own_args) :] != own_args:
        return result
    rest: dict[Path, _Leaf] = {_ARGS: _Leaf(args[: -len(own_args)])} if args != own_args else {}
    return {**{path: leaf for path, leaf in result.items() if path != _ARGS}, **rest}


def _pod_leaves(template: Part) -> dict[Path, _Leaf]:
    tree = _tree(template)
    if metadata := _fields(tree, "metadata"):
        # tfgen sets the name and the namespace of each pod.
        tree["metadata"] = {key: metadata[key] for key in ("labels", "annotations") if key in metadata}
    if spec := _fields(tree, "spec"):
        main = main_container(template)
        _unify_pod(spec, main.text_at("name") if main else "")
    return dict(_flat(tree, ()))


def _tree(part: Part) -> Any:
    if isinstance(part.value, Mapping) and part.value:
        return {key: _tree(child) for key, child in part.value.items() if child.value is not None}
    if isinstance(part.value, list) and part.value:
        return [_tree(child) for child in part.value]
    return _Leaf(plain_data(part), (part,))


def _flat(tree: Any, path: Path) -> Iterator[tuple[Path, _Leaf]]:
    if isinstance(tree, _Leaf):
        yield path, tree
    elif isinstance(tree, dict):
        for key, child in tree.items():
            yield from _flat(child, (*path, key))
    else:
        by_key = _by_key(tree, str(path[-1])) if path else None
        if by_key is None:
            yield path, _Leaf(_plain(tree), tuple(_tree_parts(tree)))
        else:
            yield from _flat(by_key, path)


def _by_key(items: Sequence[Any], field: str) -> dict[str, Any] | None:
    """Return the items of a list by their merge key, or None for a list without such a key."""
    key = MERGE_KEYS.get(field)
    names = [item[key] for item in items if isinstance(item, dict) and isinstance(item.get(key), _Leaf)]
    by_key = {_text(name.value): item for name, item in zip(names, items, strict=False)}
    return by_key if key and len(by_key) == len(items) == len(names) else None


def _plain(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: _plain(child) for key, child in tree.items()}
    return [_plain(child) for child in tree] if isinstance(tree, list) else tree.value


def _tree_parts(tree: Any) -> Iterator[Part]:
    if isinstance(tree, _Leaf):
        yield from tree.parts
    else:
        for child in _children(tree):
            yield from _tree_parts(child)


def _fields(tree: Any, key: str) -> dict[str, Any]:
    """Return the mapping in a field; empty for a field that is no mapping."""
    fields = tree.get(key) if isinstance(tree, dict) else None
    return fields if isinstance(fields, dict) else {}


def _mappings(tree: Any, key: str) -> list[dict[str, Any]]:
    items = tree.get(key)
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _value(tree: Any, key: str) -> Any:
    leaf = tree.get(key) if isinstance(tree, dict) else None
    return leaf.value if isinstance(leaf, _Leaf) else None


def _set(tree: dict[str, Any], key: str, value: Any) -> None:
    """Replace the value of a leaf, which keeps its parts."""
    tree[key] = tree[key]._replace(value=value)


def _rename(tree: Any, key: str, names: Mapping[Any, Any]) -> None:
    """Replace the value of a leaf if `names` has a new value."""
    if isinstance(tree, dict) and isinstance(tree.get(key), _Leaf) and _value(tree, key) in names:
        _set(tree, key, names[_value(tree, key)])


def _rename_all(tree: Any, key: str, names: Mapping[Any, Any]) -> None:
    """Replace the value of each leaf with a key, at any depth, if `names` has a new value."""
    _rename(tree, key, names)
    for child in _children(tree):
        _rename_all(child, key, names)


def _unify_pod(spec: dict[str, Any], main_name: str) -> None:
    if account := spec.pop("serviceAccount", None):
        spec.setdefault("serviceAccountName", account)
    containers = _mappings(spec, "containers")
    if not containers:
        return
    main = next((c for c in containers if _value(c, "name") == main_name), containers[0])
    sidecars = [{**c, "restartPolicy": _Leaf("Always")} for c in containers if c is not main]
    init = [*_mappings(spec, "initContainers"), *sidecars]
    _rename_all(spec, "containerName", {main_name: CONTAINER})
    _unify_volumes(spec, main, [main, *init])
    for container in (main, *init):
        _unify_container(container, CONTAINER if container is main else str(_value(container, "name")))
    context = {} if init else _fields(main, "securityContext")
    if user := {key: context.pop(key) for key in ("runAsUser", "runAsGroup") if key in context}:
        spec["securityContext"] = {**_fields(spec, "securityContext"), **user}
    spec["containers"] = {CONTAINER: main}
    spec.pop("initContainers", None)
    if init:
        spec["initContainers"] = init
        steps = [c for c in init if _value(c, "restartPolicy") != "Always"]
        spec[_ORDER + "initContainers"] = _order([(_value(c, "name"), c) for c in steps], lambda *_: True)


def _unify_volumes(spec: dict[str, Any], main: dict[str, Any], containers: Sequence[dict[str, Any]]) -> None:
    names: dict[Any, str] = {}
    fields = ("volumeMounts", "volumeDevices")
    mounted = {_value(item, "name") for container in containers for key in fields for item in _mappings(container, key)}
    for mount in _mappings(main, "volumeMounts"):
        names.setdefault(_value(mount, "name"), f"at {without_end_slash(str(_value(mount, 'mountPath')))}")
    read_only = {}
    if isinstance(spec.get("volumes"), list):
        # A volume that no container mounts has no effect.
        spec["volumes"] = [volume for volume in _mappings(spec, "volumes") if _value(volume, "name") in mounted]
    for volume in _mappings(spec, "volumes"):
        claim, host = _fields(volume, "persistentVolumeClaim"), _fields(volume, "hostPath")
        if _value(claim, "readOnly"):
            read_only[_value(volume, "name")] = claim.pop("readOnly")
        if path := _value(host, "path"):
            _set(host, "path", without_end_slash(str(path)))
        if not volume.keys() - {"name"}:
            volume["emptyDir"] = _Leaf({})
        _rename(volume, "name", names)
    for mount in (mount for container in containers for mount in _mappings(container, "volumeMounts")):
        if leaf := read_only.get(_value(mount, "name")):
            mount["readOnly"] = leaf._replace(parts=(*leaf.parts, *_tree_parts(mount.get("readOnly"))))
        if path := _value(mount, "mountPath"):
            _set(mount, "mountPath", without_end_slash(str(path)))
        _rename(mount, "name", names)


def _unify_container(container: dict[str, Any], name: str) -> None:
    if resources := _fields(container, "resources"):
        amounts = {}
        for section in ("limits", "requests"):
            given = _fields(resources, section).items()
            amounts[section] = {NVIDIA_GPU if key == ALPHA_GPU else key: _amount(leaf) for key, leaf in given}
        limits = {**{key: leaf for key, leaf in amounts["requests"].items() if "/" in key}, **amounts["limits"]}
        requests = {**{key: leaf._replace(parts=()) for key, leaf in limits.items()}, **amounts["requests"]}
        sections = {"limits": _without_zero(limits), "requests": _without_zero(requests)}
        container["resources"] = {**resources, **{key: value for key, value in sections.items() if value}}
    numbers = {_value(port, "name"): _value(port, "containerPort") for port in _mappings(container, "ports")}
    for key in HANDLERS:
        _rename_all(container.get(key), "port", numbers)
    for port in _mappings(container, "ports"):
        if _value(port, "protocol") == "TCP":
            _set(port, "protocol", "")
    ports = {
        "/".join(_text(_value(port, key)) for key in ("containerPort", "protocol") if _value(port, key)): port
        for port in _mappings(container, "ports")
    }
    if ports:
        container["ports"] = ports
    if sources := _mappings(container, "envFrom"):
        # The last of equal sources applies.
        named = [*{json.dumps(_plain(source)): source for source in reversed(sources)}.items()][::-1]
        container["envFrom"] = dict(named)
        container[_ORDER + "envFrom"] = _order(named, _may_have_same_variable)
    rules = _mappings(container, "restartPolicyRules")
    codes = {str(code): _Leaf(True, tuple(_tree_parts(rule))) for rule in rules for code in _exit_codes(rule)}
    if codes:
        container["restartPolicyRules"] = codes
    variables = _mappings(container, "env")
    defined: set[str] = set()
    all_names = {_value(item, "name") for item in variables}
    for item in variables:
        if isinstance(item.get("value"), _Leaf):
            item["value"] = _expanded(item["value"], all_names - defined)
        field = _fields(_fields(item, "valueFrom"), "resourceFieldRef")
        if _value(field, "containerName") == name:
            _set(field, "containerName", "")
        defined.add(_value(item, "name"))
    named_variables: dict[str, Any] = {}
    for index, item in reversed([*enumerate(variables)]):  # The last entry of a name applies.
        variable = _text(_value(item, "name"))
        named_variables[f"{variable} of entry {index}" if variable in named_variables else variable] = item
    if variables:
        container["env"] = dict(reversed(named_variables.items()))


def _order(named: Sequence[tuple[Any, Any]], matters: Callable[[Any, Any], bool]) -> _Leaf:
    """Return each pair of names whose order in a list of named items matters."""
    pairs = [(first, second) for n, second in enumerate(named) for first in named[:n] if matters(first[1], second[1])]
    trees = {id(tree): tree for pair in pairs for _, tree in pair}
    parts = (part for tree in trees.values() for part in _tree_parts(tree))
    return _Leaf([[first[0], second[0]] for first, second in pairs], tuple(parts))


def _may_have_same_variable(first: Any, second: Any) -> bool:
    """Return whether two sources of variables may set the same variable, whose value then comes from the last one."""
    one, other = (str(_value(source, "prefix") or "") for source in (first, second))
    return one.startswith(other) or other.startswith(one)


def _exit_codes(rule: dict[str, Any]) -> list[Any]:
    codes = _plain(rule)
    if codes.get("action") != "Restart" or not isinstance(codes.get("exitCodes"), dict):
        return []
    return codes["exitCodes"].get("values", []) if codes["exitCodes"].get("operator") == "In" else []


def _amount(leaf: Any) -> Any:
    if not isinstance(leaf, _Leaf):
        return _Leaf(_plain(leaf), tuple(_tree_parts(leaf)))
    try:
        return leaf._replace(value=str(quantity.parse(leaf.value)))
    except ValueError:
        return leaf


def _without_zero(amounts: Mapping[str, _Leaf]) -> dict[str, _Leaf]:
    """Return amounts in which a GPU count of zero is empty, because a container has no GPU by default."""
    return {key: leaf._replace(value="") if "/" in key and leaf.value == "0" else leaf for key, leaf in amounts.items()}


def _expanded(leaf: _Leaf, later: set[Any]) -> _Leaf:
    """Escape each reference to a later variable of the list, because Kubernetes does not expand such a reference."""
    if not isinstance(leaf.value, str):
        return leaf
    text = re.sub(r"\$\((\w+)\)", lambda match: f"${match[0]}" if match[1] in later else match[0], leaf.value)
    return leaf._replace(value=text)
