"""A record of gangs: the pods of each job that occupy a node, twice a second.

    with GangWatch(client, namespaces) as watch:
        ...                                   # jobs start, end, lose a worker
    watch.assert_never_stuck()

A scheduler binds the pods of a gang one after the other, within moments, so a part of a gang is normal for a moment.
Gang scheduling must prevent a part that stays.
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
"""The number of seconds that the binding of a gang may take on a busy machine."""


ON_A_NODE = "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"
"""The field selector of the pods that occupy resources of a node."""


def holds_a_place(pod: Object) -> bool:
    """Test whether a pod occupies resources of its node."""
    return bool(pod["spec"].get("nodeName")) and pod.get("status", {}).get("phase") not in ("Succeeded", "Failed")


@dataclass
class Gang:
    """Observations of one job.

    Attributes:
        size: the number of pods that start together.
        most: the largest number of pods that occupied a node.
        longest_part: the longest time, in seconds, in which some but not all pods occupied a node.
    """

    size: int
    most: int = 0
    longest_part: float = 0
    _part_since: float | None = field(default=None, repr=False)

    def see(self, now: float, holding: int) -> None:
        """Record the number of pods that occupy a node at a moment."""
        self.most = max(self.most, holding)
        if holding in (0, self.size):
            self._part_since = None
        elif self._part_since is None:
            self._part_since = now
        else:
            self.longest_part = max(self.longest_part, now - self._part_since)


class GangWatch:
    """A sampler that counts the pods on nodes twice a second, from `__enter__` to `__exit__`.

    Attributes:
        gangs: by namespace, each with one job. `ended` excludes a gang when its job ends, since its pods end one by
            one.
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
        """Stop the observation of a job that has ended."""
        self._watched.discard(namespace)

    def holding(self, namespace: str) -> int:
        """Count the pods of a job that occupy a node now."""
        return sum(map(holds_a_place, tasks(self._client, namespace)))

    def assert_never_stuck(self, but: Iterable[str] = ()) -> None:
        """Test that no gang stayed incomplete, except the gangs of `but`.

        Raises:
            AssertionError: A part of a gang occupied nodes for longer than the binding takes.
        """
        if self._error:
            raise self._error
        stuck = {name: gang for name, gang in self.gangs.items() if gang.longest_part > MOMENTS and name not in but}
        assert not stuck

    def _sample(self) -> None:
        try:
            while not self._stop.wait(0.5):
                watched = frozenset(self._watched)
                now, holding = time.monotonic(), defaultdict[str, int](int)
                for pod in self._client.list("Pod", labels=TASKS, fields=ON_A_NODE):
                    holding[pod["metadata"]["namespace"]] += holds_a_place(pod)
                for name in watched & self._watched:
                    self.gangs[name].see(now, holding[name])
        except Exception as error:  # `assert_never_stuck` raises it
            self._error = error


TASKS = "tfgen/role in (chief, ps, worker)"
"""The label selector of the pods that start together."""


def tasks(client: Client, namespace: str) -> list[Object]:
    """Return the pods of a job that start together."""
    return client.list("Pod", namespace, labels=TASKS)
