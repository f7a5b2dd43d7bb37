"""Tests that a certain result of a plan holds for many orders of the pods."""

from __future__ import annotations

import random

import pytest

from tests.support.drawn_plans import RUNTIME_CLASS, Case, draw_case
from tfgen.graph.graph import plain_objects
from tfgen.scheduling.admission import pod_set
from tfgen.scheduling.cluster import cluster_of
from tfgen.scheduling.nodes import NodePool
from tfgen.scheduling.place import Board, Certainty, Demand, Placement
from tfgen.scheduling.pods import PodTemplate


def board(cpus: list[int], *sets: tuple[int, int]) -> Board:
    """Return nodes with the numbers of cores in `cpus`, and sets of pods with a number of pods and cores per pod."""
    cluster = cluster_of(
        {"kind": "Node", "metadata": {"name": f"n{node_index}"}, "status": {"allocatable": {"cpu": cpu, "pods": 99}}}
        for node_index, cpu in enumerate(cpus)
    )
    templates = [
        PodTemplate("run", f"role-{cpu}", "ns", {}, {"containers": [{"resources": {"requests": {"cpu": cpu}}}]}, pods)
        for pods, cpu in sets
    ]
    return Board(NodePool(cluster), [pod_set(template, cluster) for template in templates])


def answers(tried: Board) -> tuple[bool, bool]:
    """Return whether all pods certainly get a node, and whether some pod certainly gets none."""
    indexes = range(len(tried.sets))
    return all(map(Certainty(tried).always_placed, indexes)), Demand(tried).leaves_too_little(indexes)


ALL, SOME, NONE = (True, False), (False, False), (False, True)


@pytest.mark.parametrize(
    ("cpus", "sets", "expected"),
    [
        ([4, 4], [(8, 1)], ALL),
        ([4, 4], [(9, 1)], NONE),
        ([4, 4], [(2, 4)], ALL),
        ([4, 4], [(1, 4), (2, 2)], SOME),
        ([4, 4], [(1, 4), (1, 2)], ALL),
        ([3, 3], [(2, 2), (2, 1)], SOME),
        ([4, 4, 4], [(2, 4), (2, 2)], SOME),
        ([5, 3], [(1, 4), (1, 4)], NONE),
        ([4, 4, 4], [(1, 4), (2, 1)], ALL),
        ([6, 6], [(2, 4), (2, 3)], NONE),
    ],
)
def test_what_is_certain_on_a_small_board(
    cpus: list[int], sets: list[tuple[int, int]], expected: tuple[bool, bool]
) -> None:
    assert answers(board(cpus, *sets)) == expected


@pytest.mark.parametrize(
    ("cpus", "sets"),
    [
        ([64] * 50, [(50, 64)]),
        ([64] * 100, [(1, 4), (20, 8), (99, 32)]),
        ([8] * 400, [(1000, 2), (100, 1)]),
    ],
    ids=["exactly full", "half full", "many pods"],
)
def test_what_has_too_many_orders_is_counted(cpus: list[int], sets: list[tuple[int, int]]) -> None:
    tried = board(cpus, *sets)
    assert all(Certainty(tried).always_placed(set_index) for set_index in range(len(sets)))


def case_board(case: Case) -> Board:
    cluster = cluster_of([*case.nodes, *case.pods, RUNTIME_CLASS])
    templates = []
    for item in plain_objects(case.job):
        if item["kind"] in ("StatefulSet", "Job"):
            template = item["spec"]["template"]
            count = item["spec"].get("replicas", item["spec"].get("completions", 1))
            labels = template["metadata"]["labels"]
            templates.append(PodTemplate("run", item["metadata"]["name"], "default", labels, template["spec"], count))
    return Board(NodePool(cluster), [pod_set(template, cluster) for template in templates])


def drop(luck: random.Random, tried: Board) -> bool:
    """Place the pods in a random order on random nodes, and test whether all pods have a node."""
    placement = Placement(tried)
    while True:
        moves = [
            (set_index, node_index)
            for set_index, left in enumerate(placement.left)
            if left
            for node_index in tried.node_indexes[set_index]
            if placement.takes(set_index, node_index)
        ]
        if not moves:
            return not any(placement.left)
        placement.place(*luck.choice(moves))


@pytest.mark.parametrize("number", range(40))
def test_no_order_of_a_drawn_case_is_other_than_certain(number: int) -> None:
    tried = case_board(draw_case(random.Random(number), number))
    ends = [drop(random.Random(seed), tried) for seed in range(30)]
    is_certain, is_impossible = answers(tried)
    assert all(ends) or not is_certain
    assert not any(ends) or not is_impossible
