"""The GPU slots of nodes, for the picture of a plan. Each GPU of a node is a slot, which is free or used by a pod."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from string import ascii_letters
from typing import Final, TypeAlias

from tfgen.record import Record
from tfgen.scheduling.cluster import Node
from tfgen.scheduling.place import Placement
from tfgen.scheduling.pods import Counts

RoleKey: TypeAlias = tuple[str, str]
"""The title of a run, and the name of a role in the run."""

SHARED_LETTER: Final = "*"
"""The letter that several roles share after all other letters are in use."""
_GPU: Final = "/gpu"
"""The suffix of resource names that count whole GPUs, such as `nvidia.com/gpu`."""


class PlacedPods(Record):
    """The pods of a role that a plan places on a node.

    Attributes:
        run: the title of the run; empty for pods that already wait for a node in the cluster.
        role: the role in the run; for waiting pods, the name of a pod.
        gpus: the number of GPUs of one pod.
    """

    run: str
    role: str
    pods: int
    gpus: int


class NodeSlots(Record):
    """A node and the use of its GPUs.

    Attributes:
        gpus: the number of allocatable GPUs of the node.
        running: for each running pod that uses GPUs, the number of these GPUs.
        placed: the pods that the plan places on the node, in the order of the plan.
    """

    name: str
    gpus: int
    running: tuple[int, ...]
    placed: tuple[PlacedPods, ...]

    @property
    def free(self) -> int:
        """The number of GPUs that no pod uses; 0 if the pods request more GPUs than the node has."""
        return max(self.gpus - sum(self.running) - sum(item.pods * item.gpus for item in self.placed), 0)


class NodeGroup(Record):
    """Nodes that have equal slots.

    Attributes:
        names: the names of all nodes of the group.
        slots: the slots that all nodes of the group have, as the `NodeSlots` of the first node.
    """

    names: tuple[str, ...]
    slots: NodeSlots


def node_slots(placement: Placement) -> tuple[NodeSlots, ...]:
    """Return the slots of each node after a placement, in the order of the nodes."""
    return tuple(_slots(placement, node_index, node) for node_index, node in enumerate(placement.board.nodes))


def grouped(nodes: Iterable[NodeSlots]) -> list[NodeGroup]:
    """Group the nodes that have equal slots.

    The groups with placed pods are first, then the groups that have GPUs but no placed pods, then all other groups.
    """
    groups: dict[NodeSlots, list[NodeSlots]] = {}
    for node in sorted(nodes, key=lambda node: _natural(node.name)):
        groups.setdefault(node.replaced(name=""), []).append(node)
    ordered = sorted(groups.values(), key=lambda group: (not group[0].placed, not group[0].gpus))
    return [NodeGroup(tuple(node.name for node in group), group[0]) for group in ordered]


def slot_letters(nodes: Iterable[NodeSlots]) -> Mapping[RoleKey, str]:
    """Return the letter of each role that has placed pods with GPUs. Example: {("mnist/prod", "worker"): "W"}.

    The key contains the title of a run and the name of a role. The letter is the first letter of the role in upper
    case, or in lower case if another role has the upper-case letter. If other roles have these two letters, the letter
    is any unused letter, or `SHARED_LETTER` if all letters are in use.
    """
    letters: dict[RoleKey, str] = {}
    for item in (item for node in nodes for item in node.placed):
        key = (item.run, item.role)
        if item.gpus and item.run and key not in letters:
            candidates = (item.role[:1].upper(), item.role[:1], *ascii_letters)
            letters[key] = next((letter for letter in candidates if letter not in letters.values()), SHARED_LETTER)
    return letters


def role_counts(node: NodeSlots) -> Mapping[str, str]:
    """Return a text about the pods of each run on a node. Example: {"mnist/prod": "chief, 2 worker"}."""
    counts: dict[str, dict[str, int]] = {}
    for item in node.placed:
        roles = counts.setdefault(item.run, {})
        roles[item.role] = roles.get(item.role, 0) + item.pods
    return {
        run: ", ".join(f"{pods} {role}" if pods > 1 else role for role, pods in roles.items())
        for run, roles in counts.items()
    }


def _slots(placement: Placement, node_index: int, node: Node) -> NodeSlots:
    running = tuple(_gpus(pod.requests) for pod in node.pods)
    placed: dict[tuple[str, str, int], int] = {}
    for set_index, pods in sorted(placement.placed.get(node_index, {}).items()):
        item = placement.board.sets[set_index]
        key = (item.owner, item.role, _gpus(item.requests))
        placed[key] = placed.get(key, 0) + pods
    return NodeSlots(
        name=node.name,
        gpus=max(_gpus(node.free) + sum(running), 0),
        running=tuple(gpus for gpus in running if gpus),
        placed=tuple(PlacedPods(run, role, pods, gpus) for (run, role, gpus), pods in placed.items()),
    )


def _gpus(counts: Counts) -> int:
    return sum(value for resource, value in counts.items() if resource.endswith(_GPU))


def _natural(name: str) -> list[tuple[int, str]]:
    """Return a sort key for a node's name. The key sorts node-2 before node-10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)]
