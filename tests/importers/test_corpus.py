"""Tests of the import of real manifests, which are beside the checkout, and of the reason for each refusal."""

from __future__ import annotations

import pytest

from tests.support.tools import ROOT
from tfgen.commands.import_ import ImportSource, import_jobs
from tfgen.importers.table import Options

pytestmark = pytest.mark.may_skip("the manifests are not part of the repository")

CORPUS = ROOT.parent / "shared" / "corpus"

IMPORTED = {
    "job-0ebcb65a.yaml": ("ParameterServer", ["ps", "worker"]),
    "job-2eef8845.yaml": ("ParameterServer", ["ps", "worker"]),
    "tfjob-04bc248a.yaml": ("MultiWorkerMirrored", ["worker"]),
    "tfjob-0bc2acde.yaml": ("MultiWorkerMirrored", ["worker"]),
    "tfjob-2101bd52.yaml": ("MultiWorkerMirrored", ["worker"]),
    "tfjob-2f39258b.yaml": ("MultiWorkerMirrored", ["worker"]),
    "tfjob-4cc75b35.yaml": ("ParameterServer", ["ps", "worker"]),
    "tfjob-6a4a0133.yaml": ("ParameterServer", ["ps", "worker"]),
    "tfjob-ad491915.yaml": ("Single", ["chief"]),
    "tfjob-c361ea67.yaml": ("ParameterServer", ["ps", "worker"]),
    "tfjob-e119155d.yaml": ("ParameterServer", ["chief", "ps", "worker"]),
    "tfjob-e4830285.yaml": ("MultiWorkerMirrored", ["worker"]),
}
"""Strategy and roles of each manifest that tfgen can import."""


REFUSED = {
    "job-0d3b381f.yaml": "does not configure a TensorFlow cluster",  # MindSpore
    "job-258162a7.yaml": "does not configure a TensorFlow cluster",  # nginx
    "job-6c9f8f90.yaml": "does not configure a TensorFlow cluster",  # MPI
    "job-88ca9e31.yaml": "does not configure a TensorFlow cluster",  # MindSpore over MPI
    "job-a14fec99.yaml": "does not configure a TensorFlow cluster",  # Horovod: TensorFlow, but over MPI
    "job-a4f3d6ef.yaml": "does not configure a TensorFlow cluster",  # nginx, and two actions of one event
    "job-c9a1dafb.yaml": "does not configure a TensorFlow cluster",  # PaddlePaddle
    "job-cc2ae917.yaml": "does not configure a TensorFlow cluster",  # nginx
    "job-ea73c1f9.yaml": "does not configure a TensorFlow cluster",  # MXNet
    "job-eb94bd14.yaml": "does not configure a TensorFlow cluster",  # nginx
}
"""Words of the problem that refuses each remaining manifest."""


@pytest.mark.parametrize("name", IMPORTED)
def test_a_real_manifest_is_imported_and_loses_nothing(name: str) -> None:
    if not (CORPUS / name).exists():
        pytest.skip("needs the manifests beside the checkout")
    sources, options = [ImportSource(name, (CORPUS / name).read_bytes())], Options()
    imported = import_jobs(sources, options)
    assert [str(problem) for problem in imported.problems if problem.severity == "error"] == []
    (job,) = imported.jobs
    assert (job.data["spec"]["strategy"], [*job.data["spec"]["roles"]]) == IMPORTED[name]
    assert [str(entry) for entry in imported.entries if not entry.is_explained] == []


@pytest.mark.parametrize("name", REFUSED)
def test_a_manifest_of_something_else_is_refused(name: str) -> None:
    if not (CORPUS / name).exists():
        pytest.skip("needs the manifests beside the checkout")
    imported = import_jobs([ImportSource(name, (CORPUS / name).read_bytes())], Options())
    assert imported.jobs == ()
    (problem,) = imported.problems
    assert problem.file == name
    assert REFUSED[name] in problem.message


def test_the_table_knows_every_manifest() -> None:
    if not CORPUS.exists():
        pytest.skip("needs the manifests beside the checkout")
    assert {path.name for path in CORPUS.glob("*.yaml")} == {*IMPORTED, *REFUSED}
