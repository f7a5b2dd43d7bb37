"""The index of a task in the pods of a foreign job. A controller sets variables, labels and annotations with the index.

The pods of another workload kind do not have them. In the main container, the variable TASK_INDEX of tfgen replaces
them. A job with a single task has no TASK_INDEX, but its index is 0.

    command: [sh, -c, python train.py --shard=$VC_TASK_INDEX]   -> python train.py --shard=$TASK_INDEX
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tfgen.importers.part import Part
from tfgen.importers.pod import PodData, main_container
from tfgen.importers.table import Notes
from tfgen.kubernetes import keys
from tfgen.record import Record
from tfgen.schema.kinds import FACTS, WorkloadKind

_OLD_LABEL: Final = "replica-index"
_JOB_OF_JOB_SET: Final = "jobset.sigs.k8s.io/job-index"
_FIELDS: Final[Mapping[str, Sequence[WorkloadKind]]] = {
    keys.STATEFUL_SET_INDEX: ("StatefulSet",),
    keys.JOB_INDEX: ("Job", "JobSet"),
    keys.VOLCANO_INDEX: ("VolcanoJob",),
    **dict.fromkeys((keys.TF_JOB_INDEX, keys.OLD_TF_JOB_INDEX, _OLD_LABEL), ("TFJob",)),
    _JOB_OF_JOB_SET: ("JobSet",),
}
"""Label or annotation with an index -> workload kinds whose pods have the label or annotation."""
_VARIABLES: Final[Mapping[str, Sequence[WorkloadKind]]] = {
    name: tuple(kind for kind, other in FACTS.items() if name in other.index_variables)
    for facts in FACTS.values()
    for name in facts.index_variables
}
"""Variable with the index of a task -> workload kinds whose controllers set the variable."""
INDEX_VARIABLES: Final = tuple(_VARIABLES)
"""The variables with the index of a task that controllers set."""
INDEX_KEYS: Final = tuple(_FIELDS)
"""The labels and annotations with the index of a task that controllers set."""
_FIELD: Final = re.compile(r"metadata\.(?:labels|annotations)\['([^']+)'\]")
_TASK_INDEX: Final = "TASK_INDEX"
_REFERENCE: Final = f"$({_TASK_INDEX})"
_WITHOUT_TASK_INDEX: Final = ("ElasticDL", "TFJob")
"""Workload kinds in which tfgen does not describe the cluster, and so does not set TASK_INDEX."""
_WHY: Final = "tfgen passes the index of the task in the variable TASK_INDEX"


class _Index(Record):
    """The index of a task in the pods of the imported job.

    Attributes:
        kind: the workload kind of the imported job.
        is_single: whether the imported job has a single task.
        names: the variables with the index that the pods of the imported job lack.
        fields: the labels and annotations with the index that the pods of the imported job lack.
    """

    kind: WorkloadKind
    is_single: bool
    names: frozenset[str]
    fields: frozenset[str]

    def lost_name(self, text: str) -> str:
        """Return the variable, label or annotation in a text that the pods lack; empty for any other text."""
        field = _FIELD.fullmatch(text)
        names = self.fields & {field[1]} if field else self.names & set(re.findall(r"\w+", text))
        return min(names, default="")

    def renamed(self, text: str) -> str:
        """Return a text with TASK_INDEX in place of the lost variables, or with the index of a single task."""
        names = "|".join(sorted(self.names))
        if not self.names:
            return text
        if self.is_single:
            return re.sub(rf"(?<!\$)\$(?:\((?:{names})\)|\{{(?:{names})\}}|(?:{names})\b)", "0", text)
        return re.sub(rf"\b(?:{names})\b", _TASK_INDEX, text)

    def in_data(self, data: Any) -> Any:
        """Return the data of a role with renamed texts, and with TASK_INDEX in place of the lost labels."""
        match data:
            case str():
                return self.renamed(data)
            case {"fieldRef": {"fieldPath": str(path)}} if self.lost_name(path):
                return "0" if self.is_single else _REFERENCE
            case {"fieldRef": _} | {"configMapKeyRef": _} | {"secretKeyRef": _} | {"resourceFieldRef": _}:
                return data
            case Mapping():
                return {key: self.in_data(value) for key, value in data.items()}
            case list() | tuple():
                return [self.in_data(value) for value in data]
        return data


def with_task_index(
    pod: PodData, templates: Sequence[tuple[Part, int | None]], kind: WorkloadKind, notes: Notes, *, is_single: bool
) -> PodData:
    """Return the pod of a role with the variables for the index that the pods of the imported job have.

    Report a problem for an index in another container, which gets no TASK_INDEX.

    Args:
        pod: the converted pod template.
        templates: the pod templates of the source, each with the index of its only task, or None.
        kind: the workload kind of the imported job.
        notes: the notes of the import.
        is_single: whether the imported job has a single task.
    """
    variables = [item for template, _ in templates if (main := main_container(template)) for item in main.items("env")]
    own = {item.text_at("name") for item in variables}
    index = _Index(
        kind=kind,
        is_single=is_single,
        names=frozenset(name for name, kinds in _VARIABLES.items() if kind not in kinds) - own,
        fields=frozenset(key for key, kinds in _FIELDS.items() if kind not in kinds),
    )
    env = pod.role.get("env", {})
    for template, number in templates:
        main = main_container(template)
        others = (item for key in ("containers", "initContainers", "volumes") for item in template.items("spec", key))
        for part in (leaf for item in others if item is not main for leaf in item.leaves()):
            _refuse(part, index.lost_name(part.as_text), notes)
        for part, texts in _texts(main, env, notes) if main else ():
            _note(part, texts, index, number, notes)
    role = {key: index.in_data(value) if key in _KEYS else value for key, value in pod.role.items()}
    if role.get("env", {}).get(_TASK_INDEX) == _REFERENCE:
        role["env"] = {name: value for name, value in role["env"].items() if name != _TASK_INDEX}
        for leaf in (leaf for item in variables if item.text_at("name") == _TASK_INDEX for leaf in item.leaves()):
            notes.reason(leaf, "tfgen sets this variable to the index of the task", is_quiet=True)
    return pod.replaced(role=role, storage=index.in_data(pod.storage))


_KEYS: Final = ("args", "command", "env", "podTemplate")
"""The keys of a role with texts of the main container."""


def _texts(main: Part, env: Mapping[str, Any], notes: Notes) -> Iterator[tuple[Part, list[str]]]:
    """Yield each part of a main container that may contain an index, with its texts in the imported job."""
    for key in ("command", "args"):
        if part := main.get(key):
            reason = notes.reasons.get(part.place)
            yield part, reason.becomes if reason and isinstance(reason.becomes, list) else part.texts_at()
    for item in main.items("env"):
        if item.text_at("name") in env:
            sources = (item.get("value"), item.get("valueFrom", "fieldRef", "fieldPath"))
            yield from ((part, [part.as_text]) for part in sources if part)
    for mount in main.items("volumeMounts"):
        if part := mount.get("subPathExpr"):
            yield part, [part.as_text]


def _note(part: Part, texts: Sequence[str], index: _Index, number: int | None, notes: Notes) -> None:
    """Note the reason for a changed part of a main container, or report a problem."""
    lost = next((name for text in texts if (name := index.lost_name(text))), "")
    if not lost:
        return
    renamed = [index.renamed(text) for text in texts]
    is_field = lost in index.fields
    is_left = not is_field and any(index.lost_name(text) for text in renamed)
    if lost == _JOB_OF_JOB_SET or is_left or (index.kind in _WITHOUT_TASK_INDEX and not index.is_single):
        _refuse(part, lost, notes)
        return
    if number is not None:
        renamed = [re.sub(r"\$[({]TASK_INDEX[)}]", str(number), text) for text in renamed]
    reason = notes.reasons.get(part.place)
    becomes = ... if is_field else renamed if isinstance(part.value, list) else renamed[0]
    why = "the index of a single task is 0" if index.is_single else _WHY
    notes.reason(part, reason.why if reason and reason.outcome == "changed" else why, "changed", becomes)


def _refuse(part: Part, name: str, notes: Notes) -> None:
    if name:
        fix = f"import with --workload {({**_VARIABLES, **_FIELDS})[name][0]}, or remove {name}"
        notes.refuse(part, f"the pods of the imported job do not have {name}, the index of a task; {fix}")
