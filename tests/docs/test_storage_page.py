"""docs/storage.md: its jobs have no problems, and their pods have the documented volumes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from tfgen.check.jobs import check
from tfgen.graph.graph import plain_objects
from tfgen.report.problems import as_text

PAGE = (Path(__file__).parents[2] / "docs" / "storage.md").read_text(encoding="utf-8")
BASE: dict[str, Any] = {
    "strategy": "ParameterServer",
    "image": "registry.example.com/ml/mnist:1.4.0",
    "roles": {"chief": {}, "ps": {"replicas": 2}, "worker": {"replicas": 4}},
}
SECTIONS = {
    heading: re.findall(r"^```yaml\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    for heading, _, text in (part.partition("\n") for part in re.split(r"^## ", PAGE, flags=re.MULTILINE))
}
JOBS = [
    pytest.param(
        {
            "apiVersion": "tfgen/v1alpha1",
            "kind": "TrainingJob",
            "metadata": {"name": "mnist"},
            "spec": {**BASE, **yaml.safe_load(text)["spec"]},
        },
        id=f"{heading}-{number}",
    )
    for heading, texts in SECTIONS.items()
    for number, text in enumerate(texts)
]
PROVIDERS = {
    "NFS": 2,
    "A folder of the node": 1,
    "Azure Files": 3,
    "Google Filestore": 1,
    "Google Cloud Storage": 1,
    "Amazon EFS": 2,
    "Amazon FSx for Lustre": 2,
    "Alibaba Cloud NAS": 2,
    "Alibaba Cloud OSS": 2,
}


def test_every_provider_has_its_jobs_and_names_its_source() -> None:
    assert {heading: len(SECTIONS[heading]) for heading in PROVIDERS} == PROVIDERS
    for heading in PROVIDERS:
        assert re.search(rf"^## {heading}\n(?:(?!^## ).*\n)*?.*<https://", PAGE, flags=re.MULTILINE), heading


@pytest.mark.parametrize("job", JOBS)
def test_it_has_no_problem(job: dict[str, Any]) -> None:
    assert as_text(check(yaml.safe_dump(job), "job.yaml").problems) == ""


@pytest.mark.parametrize("job", JOBS)
def test_its_pods_have_the_volumes(job: dict[str, Any]) -> None:
    objects = plain_objects(job)
    claims = {item["metadata"]["name"]: item["spec"] for item in objects if item["kind"] == "PersistentVolumeClaim"}
    workloads = {f"mnist-{role}": role for role in BASE["roles"]}
    pods = {
        workloads[item["metadata"]["name"]]: item["spec"]["template"]["spec"]
        for item in objects
        if item["kind"] in ("StatefulSet", "Job") and item["metadata"]["name"] in workloads
    }
    assert set(pods) == {*BASE["roles"]}
    for name, said in job["spec"].get("storage", {}).items():
        source = {key: said[key] for key in said if key not in ("mountPath", "subPathExpr", "readOnly", "for")}
        if "claim" in source:
            claim = source.pop("claim")
            source["persistentVolumeClaim"] = {"claimName": claim.get("name", f"mnist-{name}")}
            if "size" in claim:
                assert claims[f"mnist-{name}"]["resources"]["requests"]["storage"] == claim["size"]
                assert claims[f"mnist-{name}"].get("storageClassName") == claim.get("storageClass", "")
                assert claims[f"mnist-{name}"].get("volumeName") == claim.get("volumeName")
        for role, pod in pods.items():
            has = [volume for volume in pod["volumes"] if volume["name"] == name]
            assert has == ([{"name": name, **source}] if role in said.get("for", [role]) else [])


def test_kubernetes_knows_every_field() -> None:
    jobs = [parameter.values[0] for parameter in JOBS]
    variants = [(job, name) for job in jobs for name in (None, *job["spec"].get("environments", {}))]
    objects = {json.dumps(item, sort_keys=True): item for variant in variants for item in plain_objects(*variant)}
    for item in objects.values():
        kubernetes_validate.validate(item, "1.31", strict=True)
