"""The identities of objects, which tfgen finds without the other fields, equal the identities of the built objects."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfgen.graph.built import build
from tfgen.graph.fill import Scope
from tfgen.graph.identities import JOB_NAME, Identity, identities
from tfgen.job.sources import Source, parse_source
from tfgen.job.training_job import TrainingJob
from tfgen.kubernetes.object import group

EXAMPLES = Path(__file__).parents[2] / "examples"

JOB = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  image: registry.example.com/ml/mnist:1.4.0
  roles: {chief: {}, ps: {}, worker: {}}
  run: "2"
  storage: {data: {mountPath: /data, claim: {size: 1Gi}}, old: {mountPath: /old, claim: {name: old}}}
  serviceAccount: {create: true}
  serviceAccountName: trainer
  priorityClasses: {high: {value: 1}}
  objects: {quota: {apiVersion: v1, kind: ResourceQuota}}
"""


def job_of(text: str, name: str) -> TrainingJob:
    return TrainingJob.from_document(parse_source(Source(name, text, None)).documents[0].data)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*/job.yaml")), ids=lambda path: path.parent.name)
def test_the_identities_are_those_of_the_built_objects(path: Path) -> None:
    data = parse_source(Source(path.name, path.read_text(encoding="utf-8"), None)).documents[0].data
    built = build(data)
    job = built.job
    variants = [(job.values, built.base)]
    variants += [(item.values, built.environments[item.name]) for item in job.environments if item.enabled]
    for values, objects in variants:
        found = [identity[:3] for identity in identities(job.structure, Scope(values, job.name, job.name))]
        assert found == [(group(item), item["kind"], item["metadata"]["name"]) for item in objects.values()]


def test_each_identity_has_the_path_that_causes_the_name() -> None:
    job = job_of(JOB, "job.yaml")
    found = [*identities(job.structure, Scope(job.values, job.name, job.name))]
    assert Identity("", "PersistentVolumeClaim", "mnist-data", ("storage", "data")) in found
    assert Identity("", "ServiceAccount", "trainer", ("serviceAccountName",)) in found
    assert Identity("scheduling.k8s.io", "PriorityClass", "high", ("priorityClasses", "high")) in found
    assert Identity("", "ResourceQuota", "mnist-quota", ("objects", "quota")) in found
    assert Identity("apps", "StatefulSet", "mnist-2-worker", ("run",)) in found
    assert "old" not in {identity.name for identity in found}


def test_the_name_of_the_job_causes_the_names_of_a_run_without_a_name() -> None:
    job = job_of(JOB.replace('  run: "2"\n', ""), "job.yaml")
    found = [*identities(job.structure, Scope(job.values, job.name, job.name))]
    assert Identity("apps", "StatefulSet", "mnist-worker", JOB_NAME) in found
