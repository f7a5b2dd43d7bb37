"""Detects a shortage: pods that may run only on some nodes request more than these nodes have free together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tfgen.scheduling.amounts import Counts
from tfgen.scheduling.node_pool import NodePool
from tfgen.scheduling.pod_set import PodSet


class Demand:
    """Sums of the requests of pods. Pods that may run on the same nodes share a sum."""

    def __init__(self, pool: NodePool) -> None:
        self._pool = pool
        self._amounts: dict[int, dict[str, int]] = {}
        self._free: dict[tuple[int, str], int] = {}

    def add(self, sets: Iterable[PodSet]) -> None:
        """Add the requests of the pods of the given sets."""
        for nodes, amounts in self._of(sets).items():
            _add(self._amounts.setdefault(nodes, {}), amounts)

    def leaves_too_little(self, sets: Iterable[PodSet]) -> bool:
        """Return True if the nodes have too few free resources for all pods. False means that the pods may fit.

        The pods are the pods of `sets` and of earlier calls of `add`.
        """
        coming = self._of(sets)
        for nodes in {*coming, *self._amounts}:
            if not any(within & ~nodes == 0 for within in coming):
                continue
            total: dict[str, int] = {}
            for demand in (coming, self._amounts):
                for within, amounts in demand.items():
                    if within & ~nodes == 0:
                        _add(total, amounts)
            if any(value > self._free_amount(nodes, resource) for resource, value in total.items()):
                return True
        return False

    def _of(self, sets: Iterable[PodSet]) -> Mapping[int, Mapping[str, int]]:
        amounts: dict[int, dict[str, int]] = {}
        for item in sets:
            whole = {resource: item.count * value for resource, value in item.requests.items()}
            _add(amounts.setdefault(self._pool.suitable_nodes(item).nodes, {}), whole)
        return amounts

    def _free_amount(self, nodes: int, resource: str) -> int:
        key = (nodes, resource)
        if key not in self._free:
            self._free[key] = self._pool.free(nodes, resource)
        return self._free[key]


def _add(total: dict[str, int], amounts: Counts) -> None:
    for resource, value in amounts.items():
        total[resource] = total.get(resource, 0) + value
