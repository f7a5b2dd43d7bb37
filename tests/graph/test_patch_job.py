"""Patches of the objects of every workload kind."""

from __future__ import annotations

import pytest

from tests.support.tools import ROOT
from tfgen.graph.graph import build, patched_graph
from tfgen.job.training_job import TrainingJob
from tfgen.kubernetes.object import literal_name
from tfgen.text.parse import parse

JOBS = sorted((ROOT / "tests" / "golden").glob("*/job.yaml"))
METADATA = {"labels": {"own": "1"}, "annotations": {"own": "2"}}


@pytest.mark.parametrize("path", JOBS, ids=lambda path: path.parent.name)
def test_patch_reaches_every_object_except_pods(path):
    data = parse(path.read_text(encoding="utf-8"), "job.yaml").documents[0].data
    own = {name: item["kind"] for name, item in build(data).base.items() if literal_name(item) is None}
    patches = {
        f"p{number}": {"target": {"kind": kind, "name": name}, "merge": {"metadata": METADATA}}
        for number, (name, kind) in enumerate(own.items())
    }
    job = {**data, "spec": {**data["spec"], "patches": patches}}
    reached = {
        name
        for name, item in build(job).base.items()
        if item["metadata"].get("labels", {}).get("own") == "1"
        and item["metadata"].get("annotations", {}).get("own") == "2"
    }
    pods = {name for name, kind in own.items() if kind == "Pod"}
    assert reached == own.keys() - pods
    assert len(patched_graph(TrainingJob.from_document(job).structure).faults[""]) == len(pods)
