"""Tests of the job of a document, which tfgen builds once for successive calls with equal documents."""

from __future__ import annotations

from typing import Any

from tfgen.job.training_job import TrainingJob


def _document(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "mnist"}, "spec": {"image": "tf", "roles": {"worker": {"replicas": 2}}, **spec}}


def test_who_asks_again_gets_the_same_job() -> None:
    assert TrainingJob.from_document(_document()) is TrainingJob.from_document(_document())


def test_a_change_of_the_document_is_seen() -> None:
    document = _document()
    TrainingJob.from_document(document)
    document["spec"]["roles"]["worker"]["replicas"] = 3
    assert TrainingJob.from_document(document).values["roles"]["worker"]["replicas"] == 3
