"""Tests that jobs of one structure share results, and that jobs of different structures do not."""

from __future__ import annotations

from typing import Any

from tfgen.graph.graph import graph
from tfgen.graph.structure_cache import MAX_CACHED, cached_by_structure
from tfgen.job.training_job import Role, Structure, TrainingJob


def structure(name: str = "mnist", **spec: Any) -> Structure:
    roles = {"ps": {}, "worker": {"replicas": 2}}
    return TrainingJob.from_document({"metadata": {"name": name}, "spec": {"roles": roles, **spec}}).structure


def test_jobs_that_differ_in_name_and_values_share_one_graph():
    assert graph(structure("one", image="a:1")) is graph(structure("two", image="b:2", env={"A": "1"}))


def test_the_name_is_not_there_to_be_seen():
    assert cached_by_structure(lambda structure: structure.name)(structure("one")) == ""


def test_jobs_of_other_structures_have_graphs_of_their_own():
    ports = [structure(port=port) for port in (2222, 2223)]
    assert graph(ports[0]) != graph(ports[1])


def test_what_is_equal_and_in_another_order_is_another_structure():
    one = structure(podTemplate={"spec": {"hostname": "a", "subdomain": "b"}})
    other = one.replaced(pod_template={"spec": {"subdomain": "b", "hostname": "a"}})
    remember = cached_by_structure(lambda structure: [*structure.pod_template["spec"]])
    assert one == other
    assert (remember(one), remember(other)) == (["hostname", "subdomain"], ["subdomain", "hostname"])


def test_what_is_equal_and_of_another_type_is_another_structure():
    remember = cached_by_structure(lambda structure: structure.pod_template["spec"]["a"])
    assert [remember(structure().replaced(pod_template={"spec": {"a": a}})) for a in (1, True, 1.0)] == [1, True, 1.0]
    assert remember(structure().replaced(pod_template={"spec": {"a": True}})) is True


def test_a_structure_is_told_from_others_once_for_all_that_follows_from_it(monkeypatch):
    written: list[str] = []
    monkeypatch.setattr(Role, "__repr__", lambda role: written.append(role.name) or role.name)
    one, ports = structure(), []
    for _ in range(3):
        cached_by_structure(lambda structure: ports.append(structure.port))(one)
    assert (ports, written) == ([2222] * 3, ["ps", "worker"])


def test_only_the_last_structures_are_kept():
    made: list[int] = []
    remember = cached_by_structure(lambda structure: made.append(structure.port))
    for port in (*range(MAX_CACHED + 1), MAX_CACHED, 0):
        remember(structure().replaced(port=port))
    assert made == [*range(MAX_CACHED + 1), 0]
