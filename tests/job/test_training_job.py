"""Tests of the job of a document, which tfgen builds once for successive calls with the same document."""

from __future__ import annotations

from tfgen.job.training_job import TrainingJob


def test_who_asks_again_gets_the_same_job() -> None:
    document, other = (
        {"metadata": {"name": name}, "spec": {"image": "tf", "roles": {"worker": {"replicas": 2}}}}
        for name in ("mnist", "ads")
    )
    job = TrainingJob.from_document(document)
    assert TrainingJob.from_document(document) is job
    assert TrainingJob.from_document(other).name == "ads"
    assert TrainingJob.from_document(document) == job
