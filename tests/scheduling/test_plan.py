"""Tests of `tfgen plan --nodes`: each case is a file with the output of the command, jobs, and objects of the cluster.

The output consists of the comments that begin with the name of a job.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tfgen import cli

CASES = sorted((Path(__file__).parent / "plans").glob("*.yaml"))


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_a_plan_says_what_its_case_begins_with(case: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = case.read_text(encoding="utf-8")
    documents = [*yaml.safe_load_all(text)]
    jobs = [document for document in documents if document["kind"] == "TrainingJob"]
    nodes = tmp_path / "nodes.yaml"
    nodes.write_text(yaml.safe_dump_all([item for item in documents if item not in jobs]), encoding="utf-8")
    job = tmp_path / "job.yaml"
    job.write_text(yaml.safe_dump_all(jobs, sort_keys=False), encoding="utf-8")
    names = tuple(f"# {document['metadata']['name']}: " for document in jobs)
    expected = [line.removeprefix("# ") for line in text.splitlines() if line.startswith(names)]
    code = cli.run(["plan", str(job), "--nodes", str(nodes)])
    verdicts, _, _ = capsys.readouterr().out.partition("\n\n")  # test_plan_picture.py tests the nodes
    assert verdicts.splitlines() == expected
    assert code == (cli.PROBLEMS if any("does not fit" in line for line in expected) else cli.OK)
