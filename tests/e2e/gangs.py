"""Gangs under watch: which pods of which job hold a place, from moment to moment.

    with GangWatch(client, namespaces) as watch:
        ...                                   # jobs start, end, lose a worker
    watch.assert_never_stuck()

A scheduler binds the pods of a gang one after the other, within moments: a part that becomes the whole, or nothing,
is on its way. A part that stays is what gangs are there to prevent.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from tests.e2e.client import Client, Object

MOMENTS = 60.0
"""Seconds that binding a gang may take, on a machine at its limits."""


def holds_a_place(pod: Object) -> bool:
    """Test whether a pod occupies resources of its node."""
    return bool(pod["spec"].get("nodeName")) and pod.get("status", {}).get("phase") not in ("Succeeded", "Failed")


@dataclass
class Gang:
    """Observations of one job.

    Attributes:
        size: the number of pods that start together.
        most: the largest number that held a place.
        longest_part: the longest time, in seconds, in which some but not all did.
    """

    size: int
    most: int = 0
    longest_part: float = 0
    _part_since: float | None = field(default=None, repr=False)

    def see(self, now: float, holding: int) -> None:
        """Notes how many pods hold a place at a moment."""
        self.most = max(self.most, holding)
        if holding in (0, self.size):
            self._part_since = None
        elif self._part_since is None:
            self._part_since = now
        else:
            self.longest_part = max(self.longest_part, now - self._part_since)


class GangWatch:
    """Samples, several times a second, what holds a place; from entering it on.

    Attributes:
        gangs: by namespace, in each of which there is one job. A gang is taken out when its job ends, since its pods
            end one by one.
    """

    def __init__(self, client: Client, sizes: Mapping[str, int]) -> None:
        self.gangs = {namespace: Gang(size) for namespace, size in sizes.items()}
        self._watched = set(sizes)
        self._client = client
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._error: Exception | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stop.set()
        self._thread.join()

    def ended(self, namespace: str) -> None:
        """Says that a job has ended: what its pods hold from now on says nothing."""
        self._watched.discard(namespace)

    def holding(self, namespace: str) -> int:
        """Count the pods of a job that occupy a node now."""
        return sum(map(holds_a_place, tasks(self._client, namespace)))

    def assert_never_stuck(self, but: Iterable[str] = ()) -> None:
        """Holds all gangs, or all but some, against the invariant.

        Raises:
            AssertionError: Where a job held a part of its gang for longer than binding takes.
        """
        if self._error:
            raise self._error
        stuck = {name: gang for name, gang in self.gangs.items() if gang.longest_part > MOMENTS and name not in but}
        assert not stuck

    def _sample(self) -> None:
        try:
            while not self._stop.wait(0.2):
                watched = frozenset(self._watched)
                now, holding = time.monotonic(), defaultdict[str, int](int)
                for pod in self._client.list("Pod", labels=TASKS):
                    holding[pod["metadata"]["namespace"]] += holds_a_place(pod)
                for name in watched & self._watched:
                    self.gangs[name].see(now, holding[name])
        except Exception as error:  # shown where the invariant is asked for
            self._error = error


TASKS = "tfgen/role in (chief, ps, worker)"
"""The label selector of those that start together."""


def tasks(client: Client, namespace: str) -> list[Object]:
    """A job's pods that start together."""
    return client.list("Pod", namespace, labels=TASKS)
