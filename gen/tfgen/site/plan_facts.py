"""Records with the data on the page of a plan: a verdict for each run, and the GPU slots of the nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from tfgen.record import Record
from tfgen.scheduling.node_slots import NodeGroup, NodeSlots, RoleKey, grouped, role_counts, slot_letters

_COLOURS: Final = 6
"""Number of colours for slots. The classes slot-0 to slot-5 in style.css define the colours."""


class PodSlots(Record):
    """The GPU slots of a pod. A slot is one GPU.

    Attributes:
        style: class of the slots in style.css.
        letter: the letter in each slot; empty for a pod that the plan does not place.
        gpus: number of GPUs of the pod.
    """

    style: str
    letter: str
    gpus: int


class RunPods(Record):
    """The pods of a run on a node.

    Attributes:
        title: title of the run; empty for pods in the cluster that wait for a node.
        job: name of the job. The page of the job describes the run.
        pods: text about the pods, such as "chief, 2 worker".
    """

    title: str
    job: str
    pods: str


class GroupFacts(Record):
    """A group of nodes with equal GPU slots. A slot is one GPU.

    Attributes:
        names: names of the nodes.
        pods: the slots on each of these nodes. The tuple has an item for each pod with GPUs, and an item for the free
            slots.
        label: text about the slots, for a screen reader.
        runs: pods of each run on each of these nodes, as text.
    """

    names: tuple[str, ...]
    pods: tuple[PodSlots, ...]
    label: str
    runs: tuple[RunPods, ...]


class VerdictFacts(Record):
    """A run of a job, and the verdict on the run in one line.

    The line `text` omits the title of the run. Example: "does not fit: worker lacks 2 nvidia.com/gpu (1 pod without a
    node)".
    """

    job: str
    title: str
    text: str


class PlanFacts(Record):
    """All data on the page of a plan.

    Attributes:
        source: the file with the nodes.
        legend: a slot of each kind, with the text that explains the slot. The kinds are a slot of each role of each
            run, of a running pod and of a waiting pod, and a free slot.
        gpus: number of GPUs of all nodes together.
        free: number of GPUs that the plan leaves free.
    """

    source: str
    verdicts: tuple[VerdictFacts, ...]
    groups: tuple[GroupFacts, ...]
    legend: tuple[tuple[PodSlots, str], ...]
    gpus: int
    free: int


def plan_facts(
    source: str, nodes: Sequence[NodeSlots], verdicts: Iterable[VerdictFacts], jobs: Mapping[str, str]
) -> PlanFacts:
    """Return the data for the page of a plan.

    Args:
        source: the file with the nodes.
        nodes: the nodes, with the pods that the plan places.
        verdicts: the verdicts on the runs.
        jobs: name of the job of each run, by title of the run.
    """
    letters = slot_letters(nodes)
    return PlanFacts(
        source=source,
        verdicts=tuple(verdicts),
        groups=tuple(_group(group, letters, jobs) for group in grouped(nodes)),
        legend=tuple(_legend(letters)),
        gpus=sum(node.gpus for node in nodes),
        free=sum(node.free for node in nodes),
    )


def _group(group: NodeGroup, letters: Mapping[RoleKey, str], jobs: Mapping[str, str]) -> GroupFacts:
    return GroupFacts(
        names=group.names,
        pods=tuple(_pods(group.slots, letters)),
        label=_label(group.slots),
        runs=tuple(RunPods(run, jobs.get(run, ""), text) for run, text in role_counts(group.slots).items()),
    )


def _pods(node: NodeSlots, letters: Mapping[RoleKey, str]) -> Iterator[PodSlots]:
    styles = _styles(letters)
    for item in node.placed:
        key = (item.run, item.role)
        slots = PodSlots(styles.get(key, "slot-waiting"), letters.get(key, ""), item.gpus)
        yield from [slots] * (item.pods if item.gpus else 0)
    yield from (PodSlots("slot-running", "", gpus) for gpus in node.running)
    if node.free:
        yield PodSlots("slot-free", "", node.free)


def _label(node: NodeSlots) -> str:
    """Return a text about the slots of a node, such as "8 GPUs: 4 of mnist worker, 2 of running pods, 2 free"."""
    sums: dict[str, int] = {}
    for item in node.placed:
        name = f"of {item.run} {item.role}" if item.run else "of waiting pods"
        sums[name] = sums.get(name, 0) + item.pods * item.gpus
    sums |= {"of running pods": sum(node.running), "free": node.free}
    parts = ", ".join(f"{gpus} {name}" for name, gpus in sums.items() if gpus)
    return f"{node.gpus} GPUs: {parts}" if parts else ""


def _legend(letters: Mapping[RoleKey, str]) -> Iterator[tuple[PodSlots, str]]:
    for (run, role), style in _styles(letters).items():
        yield PodSlots(style, letters[run, role], 1), f"{run} {role}"
    yield PodSlots("slot-running", "", 1), "running pods"
    yield PodSlots("slot-waiting", "", 1), "waiting pods"
    yield PodSlots("slot-free", "", 1), "free"


def _styles(letters: Mapping[RoleKey, str]) -> Mapping[RoleKey, str]:
    return {key: f"slot-{number % _COLOURS}" for number, key in enumerate(letters)}
