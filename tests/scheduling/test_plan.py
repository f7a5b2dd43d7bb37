"""Tests of `tfgen plan --nodes`: each case is a file with the output of the command, jobs, and objects of the cluster.

The output consists of the comments that begin with the name of a job.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tfgen import cli

CASES = sorted((Path(__file__).parent / "plans").glob("*.yaml"))


def files_of(case: Path, folder: Path) -> tuple[str, str]:
    """Write the jobs and the objects of a case to two files, and return their names."""
    documents = [*yaml.safe_load_all(case.read_text(encoding="utf-8"))]
    job, nodes = folder / "job.yaml", folder / "nodes.yaml"
    jobs = [document for document in documents if document["kind"] == "TrainingJob"]
    job.write_text(yaml.safe_dump_all(jobs, sort_keys=False), encoding="utf-8")
    nodes.write_text(yaml.safe_dump_all([item for item in documents if item not in jobs]), encoding="utf-8")
    return str(job), str(nodes)


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_a_plan_says_what_its_case_begins_with(case: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = case.read_text(encoding="utf-8")
    names = [document["metadata"]["name"] for document in yaml.safe_load_all(text) if "TrainingJob" in str(document)]
    starts = tuple(f"# {name}{end}" for name in names for end in (": ", "/"))
    expected = [line.removeprefix("# ") for line in text.splitlines() if line.startswith(starts)]
    job, nodes = files_of(case, tmp_path)
    code = cli.run(["plan", job, "--nodes", nodes])
    verdicts, _, _ = capsys.readouterr().out.partition("\n\n")  # test_plan_picture.py tests the nodes
    assert verdicts.splitlines() == expected
    assert code == (cli.PROBLEMS if any("does not fit" in line for line in expected) else cli.OK)


def test_the_data_of_a_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, expected in (
        (
            "an-earlier-run-still-runs",
            {
                "run": "mnist/2",
                "answer": "does not fit",
                "lacks": [
                    {
                        "role": "worker",
                        "pods": 1,
                        "resource": "nvidia.com/gpu",
                        "amount": "1",
                        "nodes": None,
                        "reason": None,
                    }
                ],
                "beside": [],
                "assumes": [],
                "earlierPods": 1,
                "doubts": [],
            },
        ),
        (
            "quota-of-unknown-claims",
            {
                "run": "classes",
                "answer": "not known",
                "lacks": [],
                "beside": [],
                "assumes": ["the StorageClass of the cluster binds the new claim classes-model"],
                "earlierPods": 0,
                "doubts": [
                    {
                        "roles": [],
                        "reason": "the ResourceQuota classes limits gold.storageclass.storage.k8s.io/requests.storage, "
                        "and tfgen finds no default StorageClass in the cluster or in the file of --nodes",
                    }
                ],
            },
        ),
        (
            "quota-of-claims",
            {
                "run": "mnist",
                "answer": "does not fit",
                "lacks": [
                    {
                        "role": None,
                        "pods": 0,
                        "resource": None,
                        "amount": None,
                        "nodes": None,
                        "reason": "the ResourceQuota storage has 10Gi requests.storage left, but the run needs 20Gi",
                    }
                ],
                "beside": [],
                "assumes": [],
                "earlierPods": 0,
                "doubts": [],
            },
        ),
        (
            "new-claims-without-classes",
            {
                "run": "mine",
                "answer": "fits",
                "lacks": [],
                "beside": [],
                "assumes": ["the StorageClass of the cluster binds the new claim mine-data"],
                "earlierPods": 0,
                "doubts": [],
            },
        ),
        (
            "nobody-has-a-node-yet",
            {
                "run": "mnist",
                "answer": "fits in one order",
                "lacks": [],
                "beside": [],
                "assumes": [],
                "earlierPods": 0,
                "doubts": [
                    {"roles": ["chief"], "reason": "pods that the scheduler places earlier may take the room"},
                ],
            },
        ),
    ):
        job, nodes = files_of(CASES[0].with_stem(name), tmp_path)
        cli.run(["plan", job, "--nodes", nodes, "--format", "json"])
        assert json.loads(capsys.readouterr().out)["runs"][0] == expected
