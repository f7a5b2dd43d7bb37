"""Tests of the job of a document, and of its structure, by which functions cache their results."""

from __future__ import annotations

from typing import Any

import pytest

from tfgen.graph.graph import graph
from tfgen.job.training_job import Role, Structure, TrainingJob


def structure(name: str = "mnist", **spec: Any) -> Structure:
    roles = {"ps": {}, "worker": {"replicas": 2}}
    return TrainingJob.from_document({"metadata": {"name": name}, "spec": {"roles": roles, **spec}}).structure


def test_who_asks_again_gets_the_same_job() -> None:
    document, other = (
        {"metadata": {"name": name}, "spec": {"image": "tf", "roles": {"worker": {"replicas": 2}}}}
        for name in ("mnist", "ads")
    )
    job = TrainingJob.from_document(document)
    assert TrainingJob.from_document(document) is job
    assert TrainingJob.from_document(other).name == "ads"
    assert TrainingJob.from_document(document) == job


def test_jobs_that_differ_in_name_and_values_share_one_graph() -> None:
    assert graph(structure("one", image="a:1")) is graph(structure("two", image="b:2", env={"A": "1"}))


def test_jobs_of_other_structures_have_graphs_of_their_own() -> None:
    ports = [structure(port=port) for port in (2222, 2223)]
    assert graph(ports[0]) != graph(ports[1])


def test_a_structure_with_another_order_of_keys_is_another_structure() -> None:
    one = structure(podTemplate={"spec": {"hostname": "a", "subdomain": "b"}})
    assert one != one.replaced(pod_template={"spec": {"subdomain": "b", "hostname": "a"}})


def test_a_structure_with_an_equal_value_of_another_type_is_another_structure() -> None:
    structures = {structure().replaced(pod_template={"spec": {"a": a}}) for a in (1, True, 1.0)}
    assert len(structures) == 3


def test_the_text_of_a_structure_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    monkeypatch.setattr(Role, "__repr__", lambda role: written.append(role.name) or role.name)
    one = structure()
    assert one in {one: None}
    assert one.text
    assert written == ["ps", "worker"]
