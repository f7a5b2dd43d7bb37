"""Places pods on nodes by the rules of the scheduler, and proves what holds for every order of the pods.

`Placement` is one placement: the largest pods first, each on the first node with room. The scheduler takes the pods in
an unpredictable order, and may place a pod on any node with room. So room for all pods does not guarantee that every
pod gets a node: small pods may take the node that a large pod needs. `Certainty` is a proof that pods get a node in
every order, and `Demand` is a proof that they do not in any order. Both are bounds: they may miss a proof.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from string import ascii_letters
from typing import Final, TypeAlias

from tfgen.kubernetes.pods import counts_gpus
from tfgen.record import Record
from tfgen.scheduling.admission import PodSet
from tfgen.scheduling.nodes import UNBOUND, NodePool, SpreadDomains, capacity
from tfgen.scheduling.pods import NODE_ITSELF, Counts


class Domains(SpreadDomains):
    """The domains of one topology spread constraint of a set of pods. A domain is, for example, a zone of the cluster.

    Attributes:
        counted: the indexes of the sets of pods on the board that the constraint counts.
        counts_itself: True if the constraint counts the pods that have the constraint.
    """

    counted: frozenset[int]
    counts_itself: bool


class Board:
    """The nodes, the sets of equal pods that need nodes, and the rules between the sets. A board never changes.

    Each of the following attributes is a list with one item for each set, in the order of `sets`.

    Attributes:
        suitable_nodes: the nodes that may run the pods of the set, and the room for these pods on the nodes.
        node_indexes: the indexes of the nodes that may run the pods of the set.
        room: the number of the set's pods that fit on each node before a pod is placed, by index of the node.
            Example: {0: 4, 2: 1}.
        domains: a `Domains` for each topology spread constraint of the set.
        counting: the topology spread constraints that count the pods of the set. The pair (2, 0) means the first
            constraint of the set with the index 2, which is `domains[2][0]`.
        conflicts: the sets that anti-affinity or a host port separates from the set. The pair ("zone", 2) means that no
            zone may run both a pod of the set and a pod of the set with the index 2. A set can conflict with itself.
    """

    def __init__(self, pool: NodePool, sets: Sequence[PodSet]) -> None:
        self.pool, self.nodes, self.sets = pool, pool.nodes, sets
        self.suitable_nodes = [pool.suitable_nodes(item) for item in sets]
        self.node_indexes = [suitable.node_indexes for suitable in self.suitable_nodes]
        self.room = [suitable.room for suitable in self.suitable_nodes]
        self.domains: list[list[Domains]] = [[] for _ in sets]
        self.counting: list[list[tuple[int, int]]] = [[] for _ in sets]
        for set_index, (pods, suitable) in enumerate(zip(sets, self.suitable_nodes, strict=True)):
            for order, part in enumerate(suitable.domains):
                tests = (other.is_counted_by(pods.namespace, part.spread.selector) for other in sets)
                counted = frozenset(index for index, is_counted in enumerate(tests) if is_counted)
                domains = Domains(part.spread, part.of_node, part.counts, counted, set_index in counted)
                self.domains[set_index].append(domains)
                for index in sorted(counted):
                    self.counting[index].append((set_index, order))
        conflicts: list[dict[tuple[str, int], None]] = [{} for _ in sets]
        for set_index, item in enumerate(sets):
            if not item.terms and not item.host_ports:
                continue
            for target, pods in enumerate(sets):
                for key in pool.separating_keys(item, pods):
                    conflicts[set_index][key, target] = None
                    conflicts[target][key, set_index] = None
        self.conflicts = [[*of_set] for of_set in conflicts]


class Placement:
    """An assignment of pods to nodes. The methods `place` and `withdraw` change the assignment.

    Attributes:
        board: the nodes and the sets of pods.
        left: for each set, the number of pods without a node.
        placed: the number of pods of each set on each node. For example, {0: {2: 4}} means that the node 0 runs 4 pods
            of the set 2.
    """

    def __init__(self, board: Board) -> None:
        self.board = board
        self.left = [pods.count for pods in board.sets]
        self.placed: dict[int, dict[int, int]] = {}
        self._free: dict[int, dict[str, int]] = {}
        self._counts = [[_DomainCounts(domains.counts) for domains in of_set] for of_set in board.domains]
        self._near: defaultdict[tuple[str, str, int], int] = defaultdict(int)

    def free(self, node_index: int) -> Counts:
        """Return the amounts of resources that are free on a node."""
        return self._free.get(node_index, self.board.nodes[node_index].free)

    def fit(self, set_indexes: Iterable[int]) -> None:
        """Place the pods of the sets `set_indexes` in addition to the placed pods, the largest pods first."""
        board = self.board

        def order(set_index: int) -> tuple[float, int]:
            """Return the largest share of a resource that a pod requests of all nodes, and the number of its nodes."""
            totals, requests = board.pool.totals, board.sets[set_index].requests.items()
            shares = (value / totals[name] for name, value in requests if totals.get(name))
            return -max(shares, default=0.0), len(board.node_indexes[set_index])

        for set_index in sorted(set_indexes, key=order):
            self._fit(set_index)

    def takes(self, set_index: int, node_index: int) -> bool:
        """Test whether the scheduler could place one more pod of the set `set_index` on the node `node_index`."""
        return self._has_room(set_index, node_index) and self._is_even(set_index, node_index)

    def place(self, set_index: int, node_index: int, pods: int = 1) -> None:
        """Place `pods` more pods of the set `set_index` on the node `node_index`. A negative `pods` removes pods."""
        board = self.board
        self.left[set_index] -= pods
        placed = self.placed.setdefault(node_index, {})
        placed[set_index] = placed.get(set_index, 0) + pods
        if not placed[set_index]:
            del placed[set_index]
        if not placed:
            del self.placed[node_index]
        free = self._free.setdefault(node_index, dict(board.nodes[node_index].free))
        for resource, value in board.sets[set_index].requests.items():
            free[resource] = free.get(resource, 0) - pods * value
        for spreading, order in board.counting[set_index]:
            domains = board.domains[spreading][order]
            if node_index in domains.of_node:
                self._counts[spreading][order].add(domains.of_node[node_index], pods)
        for key in {key for key, _ in board.conflicts[set_index]}:
            domain = board.nodes[node_index].domain(key)
            if domain is not None:
                self._near[key, domain, set_index] += pods

    def withdraw(self, set_indexes: Iterable[int]) -> None:
        """Remove all pods of the sets `set_indexes` from the nodes."""
        for set_index in set_indexes:
            for node_index in [node_index for node_index, placed in self.placed.items() if set_index in placed]:
                self.place(set_index, node_index, -self.placed[node_index][set_index])

    def _fit(self, set_index: int) -> None:
        """Place as many pods of the set `set_index` as fit, each pod on the first node with room."""
        board = self.board
        pods = board.sets[set_index]
        if not pods.spreads and not board.conflicts[set_index]:
            for node_index in board.node_indexes[set_index]:
                if not self.left[set_index]:
                    return
                count = min(self.left[set_index], capacity(self.free(node_index), pods.requests))
                if count:
                    self.place(set_index, node_index, count)
            return
        # The pods of the set only reduce the room of a node, but may make a node even again.
        nodes = [index for index in board.node_indexes[set_index] if self._has_room(set_index, index)]
        while self.left[set_index] and nodes:
            taker = next((index for index in nodes if self._is_even(set_index, index)), None)
            if taker is None:
                return
            if self._has_room(set_index, taker):
                self.place(set_index, taker)
            else:
                nodes.remove(taker)

    def _has_room(self, set_index: int, node_index: int) -> bool:
        """Test whether a node has the resources for one more pod of a set, and no pod that must stay away from it."""
        board, free = self.board, self.free(node_index)
        if any(free.get(resource, 0) < value for resource, value in board.sets[set_index].requests.items()):
            return False
        for key, rival in board.conflicts[set_index]:
            domain = board.nodes[node_index].domain(key)
            if domain is not None and self._near.get((key, domain, rival)):
                return False
        return True

    def _is_even(self, set_index: int, node_index: int) -> bool:
        """Test whether all topology spread constraints of a set allow one more pod of the set on a node."""
        for counts, domains in zip(self._counts[set_index], self.board.domains[set_index], strict=True):
            spread = domains.spread
            least = counts.least if len(counts.of_domain) >= spread.min_domains else 0
            present = counts.of_domain.get(self.board.nodes[node_index].labels[spread.key], 0)
            if present + domains.counts_itself - least > spread.max_skew:
                return False
        return True


class _DomainCounts:
    """The number of counted pods in each domain of a topology spread, and the minimum of these numbers."""

    def __init__(self, counts: Mapping[str, int]) -> None:
        self.of_domain = dict(counts)
        self._levels = Counter(counts.values())

    @property
    def least(self) -> int:
        return min(self._levels, default=0)

    def add(self, domain: str, pods: int) -> None:
        before = self.of_domain[domain]
        self.of_domain[domain] = before + pods
        self._levels[before + pods] += 1
        self._levels[before] -= 1
        if not self._levels[before]:
            del self._levels[before]


class _Rivals(Record):
    """Equal pods that compete with a set of pods for nodes.

    Attributes:
        nodes: the nodes with room for one of these pods, as an integer with one bit for each node.
    """

    nodes: int
    requests: Counts
    count: int
    room: Mapping[int, int]


class Certainty:
    """A test for the sets of pods on a board. The method `always_placed` tests one set."""

    def __init__(self, board: Board) -> None:
        self._board = board
        groups: dict[object, list[int]] = {}
        for set_index, (pods, suitable) in enumerate(zip(board.sets, board.suitable_nodes, strict=True)):
            is_alone = set_index if suitable.self_separating_keys else None
            key = (suitable.nodes, *sorted(pods.requests.items()), is_alone)
            groups.setdefault(key, []).append(set_index)
        self._groups = [*groups.values()]
        self._group_of = {set_index: group for group in self._groups for set_index in group}
        self._domains_of: dict[tuple[int, str | None], frozenset[object]] = {}
        self._rivals_of = {id(group): self._whole(group) for group in self._groups}

    def always_placed(self, set_index: int) -> bool:
        """Return True if all pods of a set certainly get a node in every order of scheduling.

        False means that tfgen has no proof. A place is room for one pod of the set on a node. For example, a node with
        4 free GPUs has 2 places for pods with 2 GPUs. If the other pods together cannot take all places, each pod of
        the set gets a place. The other pods include the other pods of the same set.

        With a topology spread, a place must remain in each domain that may have the fewest pods. Only in such a domain
        does the scheduler certainly accept one more pod.
        """
        board = self._board
        domains = [item for item in board.domains[set_index] if self._may_refuse(item)]
        if not domains:
            return self._keeps_place(set_index, board.node_indexes[set_index], frozenset(), 0)
        spread = domains[0]
        if len(domains) > 1 or len(spread.counts) < spread.spread.min_domains or not spread.counts:
            return False
        counted = spread.counted
        coming = sum(board.sets[index].count for index in counted) - spread.counts_itself
        least = (sum(spread.counts.values()) + coming) // len(spread.counts)
        nodes: dict[str, list[int]] = {}
        for node_index in board.node_indexes[set_index]:
            if node_index in spread.of_node:
                nodes.setdefault(spread.of_node[node_index], []).append(node_index)
        return all(
            self._keeps_place(set_index, nodes.get(domain, ()), counted, least - present)
            for domain, present in spread.counts.items()
            if present <= least  # any other domain never has the fewest pods
        )

    def _may_refuse(self, domains: Domains) -> bool:
        """Test whether the constraint can keep a pod from a node. It cannot if it allows all pods in one domain."""
        most = max(domains.counts.values(), default=0) + sum(self._board.sets[i].count for i in domains.counted)
        least = min(domains.counts.values(), default=0) if domains.spread.min_domains == 1 else 0
        return most - least > domains.spread.max_skew

    def _keeps_place(self, set_index: int, nodes: Sequence[int], counted: frozenset[int], most: int) -> bool:
        """Test whether a node certainly keeps room for one more pod of a set, although other pods compete.

        Args:
            set_index: the index of the set.
            nodes: the indexes of the nodes.
            counted: the sets that the topology spread of the set counts.
            most: the maximum number of counted pods that the scheduler can place on the nodes.
        """
        board, requests = self._board, self._board.sets[set_index].requests
        keys = {key for key, _ in board.conflicts[set_index]}
        if len(keys) > 1:
            return False
        key = next(iter(keys), None)
        suitable = [index for index in nodes if board.room[set_index][index]]
        places: dict[object, int] = {}
        scarce: set[str] = set()
        for index in suitable:
            node, of_node = board.nodes[index], self._scarce(set_index, index)
            number = min((node.free[name] // requests[name] for name in of_node), default=UNBOUND)
            domain = node.domain(key) if key is not None else index
            places[domain] = places.get(domain, 0) + number
            scarce.update(of_node)
        conflicting = {index for _, index in board.conflicts[set_index]}
        rivals = {index for index in conflicting if not places.keys().isdisjoint(self._domains(index, key))}
        blocked = min(most, self._rival_pods(set_index, rivals & counted))
        blocked += self._rival_pods(set_index, rivals - counted)
        remaining = sum(sorted(places.values())[: max(len(places) - blocked, 0)])
        if remaining >= UNBOUND or not remaining:
            return remaining > 0
        # A pod that anti-affinity separates is in a blocked domain, and so takes no place of another domain.
        separated = set() if None in places else rivals
        bits = sum(1 << index for index in suitable)
        return remaining > self._loss(set_index, scarce, bits, counted, separated, most)

    def _loss(
        self, set_index: int, scarce: set[str], nodes: int, counted: frozenset[int], separated: set[int], most: int
    ) -> int:
        """Return the maximum number of places that the competing pods can take on the nodes in the bit set `nodes`."""
        requests, lost, losses_of_counted = self._board.sets[set_index].requests, 0, []
        for rivals, index in self._rivals(set_index, counted | separated):
            if not rivals.nodes & nodes or index in separated:
                continue
            loss = max((-(-rivals.requests.get(name, 0) // requests[name]) for name in scarce), default=0)
            if index in counted:
                losses_of_counted.append((loss, rivals.count))
            else:
                lost += loss * rivals.count
        for loss, count in sorted(losses_of_counted, reverse=True):
            lost += loss * min(count, most)
            most -= min(count, most)
        return lost

    def _rivals(self, set_index: int, separate: set[int] | frozenset[int]) -> Iterator[tuple[_Rivals, int | None]]:
        """Yield the pods that compete with one pod of a set. These pods are all other pods of the board.

        Equal pods are together, except for the pods of the sets in `separate`, which come with the index of their set.
        """
        board = self._board
        for group in self._groups:
            whole = self._rivals_of[id(group)]
            count = whole.count - (set_index in group)
            for index in separate.intersection(group):
                size = board.sets[index].count - (index == set_index)
                count -= size
                yield whole.replaced(count=size), index
            if count:
                yield whole.replaced(count=count), None

    def _domains(self, set_index: int, key: str | None) -> frozenset[object]:
        """Return the domains of a topology key in which the pods of a set may run."""
        if (set_index, key) not in self._domains_of:
            board = self._board
            nodes = (board.nodes[index] for index in board.node_indexes[set_index])
            self._domains_of[set_index, key] = frozenset(node.domain(key or NODE_ITSELF) for node in nodes)
        return self._domains_of[set_index, key]

    def _rival_pods(self, set_index: int, rivals: Iterable[int]) -> int:
        return sum(self._board.sets[index].count - (index == set_index) for index in rivals)

    def _scarce(self, set_index: int, node_index: int) -> list[str]:
        """Return the resources of which other pods may leave too little on a node for one pod of a set."""
        requests, free = self._board.sets[set_index].requests, self._board.nodes[node_index].free
        use, group = self._maximum_use[node_index], self._rivals_of[id(self._group_of[set_index])]
        # The pod does not compete with itself, so a node with room for all equal pods gets one pod less.
        without = 1 if group.room[node_index] >= group.count else 0
        return [name for name, value in requests.items() if use[name] - without * value > free.get(name, 0) - value]

    @cached_property
    def _maximum_use(self) -> Sequence[Mapping[str, int]]:
        """The maximum amounts of resources that the pods of the board can use on each node.

        tfgen adds up the maximum use of all equal pods, so the sum may be larger than the node.
        """
        uses: list[dict[str, int]] = [{} for _ in self._board.nodes]
        for rivals in self._rivals_of.values():
            for node_index, room in rivals.room.items():
                use = uses[node_index]
                for resource, value in rivals.requests.items():
                    use[resource] = use.get(resource, 0) + room * value
        return uses

    def _whole(self, group: Sequence[int]) -> _Rivals:
        board, count = self._board, sum(self._board.sets[index].count for index in group)
        requests, room = board.sets[group[0]].requests, board.room[group[0]]
        if len(group) > 1:
            capacities = board.pool.capacities(board.suitable_nodes[group[0]].nodes, requests)
            places = zip(board.node_indexes[group[0]], capacities, strict=True)
            room = {index: min(count, most) for index, most in places}
        return _Rivals(sum(1 << index for index, most in room.items() if most), requests, count, room)


class Demand:
    """The sets of pods on a board that need nodes together."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._added: list[int] = []
        self._room: dict[tuple[int, str], int] = {}

    def add(self, set_indexes: Iterable[int]) -> None:
        """Add the pods of the given sets."""
        self._added += set_indexes

    def leaves_too_little(self, set_indexes: Sequence[int]) -> bool:
        """Return True if the nodes certainly have too little room for all pods. False means that the pods may fit.

        The pods are the pods of the sets `set_indexes` and of earlier calls of `add`.
        """
        board, together = self._board, [*self._added, *set_indexes]
        if any(board.sets[index].count > _most_pods(board, index) for index in set_indexes):
            return True
        counts: Counter[tuple[int, tuple[tuple[str, int], ...]]] = Counter()
        for index in together:
            requests = tuple(sorted(board.sets[index].requests.items()))
            counts[board.suitable_nodes[index].nodes, requests] += board.sets[index].count
        for nodes in {board.suitable_nodes[index].nodes for index in together}:
            if not any(board.suitable_nodes[index].nodes & ~nodes == 0 for index in set_indexes):
                continue
            inside = [(dict(requests), count) for (within, requests), count in counts.items() if within & ~nodes == 0]
            if self._are_too_many(nodes, inside, [board.sets[index].requests for index in set_indexes]):
                return True
        return any(_is_crowded(board, index, together) for index in set_indexes)

    def _are_too_many(self, nodes: int, inside: Sequence[tuple[Counts, int]], new: Sequence[Counts]) -> bool:
        """Test whether pods request more of a resource, or are more pods, than some nodes have room for."""
        totals: Counter[str] = Counter()
        for requests, count in inside:
            for resource, value in requests.items():
                totals[resource] += count * value
        if any(total > self._free(nodes, resource) for resource, total in totals.items()):
            return True
        least = {(resource, value) for requests, _ in inside for resource, value in requests.items()}
        for sizes in [*({resource: value} for resource, value in least), *new]:
            items = sizes.items()
            counts = (count for of, count in inside if all(of.get(resource, 0) >= value for resource, value in items))
            if sum(counts) > sum(self._board.pool.capacities(nodes, sizes)):
                return True
        return False

    def _free(self, nodes: int, resource: str) -> int:
        if (nodes, resource) not in self._room:
            self._room[nodes, resource] = self._board.pool.free(nodes, resource)
        return self._room[nodes, resource]


def _most_pods(board: Board, set_index: int) -> int:
    """Return an upper bound of the number of a set's pods that find a node."""
    most = board.suitable_nodes[set_index].capacity
    for domains in board.domains[set_index]:
        if not domains.counts_itself:
            continue

        def room_of(member: int, domains: Domains = domains) -> Counter[str]:
            room: Counter[str] = Counter()
            for index, pods in board.room[member].items():
                if index in domains.of_node:
                    room[domains.of_node[index]] += pods
            return room

        highest = Counter(domains.counts)
        for member in domains.counted:
            highest.update(room_of(member))
        is_small = len(domains.counts) < domains.spread.min_domains
        least = 0 if is_small else min((highest[name] for name in domains.counts), default=0)
        room, rise = room_of(set_index), least + domains.spread.max_skew
        most = min(most, sum(max(min(room[name], rise - present), 0) for name, present in domains.counts.items()))
    return most


def _is_crowded(board: Board, set_index: int, together: Iterable[int]) -> bool:
    """Test whether a set, and sets that keep each other away, have more pods than domains in which they may run."""
    among = {*together}
    for key in {key for key, _ in board.conflicts[set_index]}:
        rivals = {rival for rival_key, rival in board.conflicts[set_index] if rival_key == key} & among
        separated: list[int] = []
        for rival in (set_index, *sorted(rivals - {set_index})):
            members = separated if board.sets[rival].count == 1 else (*separated, rival)
            if all((key, member) in board.conflicts[rival] for member in members):
                separated.append(rival)
        nodes = {index for member in separated for index, most in board.room[member].items() if most}
        domains = {board.nodes[index].domain(key) for index in nodes}
        if None not in domains and sum(board.sets[member].count for member in separated) > len(domains):
            return True
    return False


RoleKey: TypeAlias = tuple[str, str]
"""The title of a run, and the name of a role in the run."""

SHARED_LETTER: Final = "*"
"""The letter that several roles share after all other letters are in use."""


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


def node_slots(placement: Placement, others: Set[str]) -> tuple[NodeSlots, ...]:
    """Return the slots of each node after a placement, in the order of the nodes.

    Args:
        placement: the placement.
        others: the resource names of claimed devices that are no GPUs.
    """

    def gpus_of(counts: Counts) -> int:
        return sum(value for resource, value in counts.items() if resource not in others and counts_gpus(resource))

    slots = []
    for node_index, node in enumerate(placement.board.nodes):
        running = tuple(gpus_of(pod.requests) for pod in node.pods)
        placed: Counter[tuple[str, str, int]] = Counter()
        for set_index, pods in sorted(placement.placed.get(node_index, {}).items()):
            item = placement.board.sets[set_index]
            placed[item.owner, item.role, gpus_of(item.requests)] += pods
        of_plan = tuple(PlacedPods(run, role, pods, gpus) for (run, role, gpus), pods in placed.items())
        allocatable = max(gpus_of(node.free) + sum(running), 0)
        slots.append(NodeSlots(node.name, allocatable, tuple(filter(None, running)), of_plan))
    return tuple(slots)


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
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for item in node.placed:
        counts[item.run][item.role] += item.pods
    return {
        run: ", ".join(f"{pods} {role}" if pods > 1 else role for role, pods in roles.items())
        for run, roles in counts.items()
    }


def _natural(name: str) -> list[tuple[int, str]]:
    """Return a sort key for a node's name. The key sorts node-2 before node-10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)]
