"""Real manifests, beside the checkout: which of them can be imported, and why not the others."""

from __future__ import annotations

import pytest

from tests.tools import ROOT
from tfgen.commands.import_job import Source, import_jobs
from tfgen.commands.verify_import import verify
from tfgen.importers.options import Options

CORPUS = ROOT.parent / "shared" / "corpus"

IMPORTED = {
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
"""The strategy and the roles of each that can be."""


@pytest.mark.parametrize("name", IMPORTED)
def test_a_real_manifest_is_imported_and_loses_nothing(name: str) -> None:
    if not (CORPUS / name).exists():
        pytest.skip("needs the manifests beside the checkout")
    sources, options = [Source(name, (CORPUS / name).read_bytes())], Options()
    imported = import_jobs(sources, options)
    assert [str(problem) for problem in imported.problems if problem.severity == "error"] == []
    (job,) = imported.jobs
    assert (job.data["spec"]["strategy"], [*job.data["spec"]["roles"]]) == IMPORTED[name]
    (verified,) = verify(imported, sources, options)
    assert [difference for difference in verified.differences if not difference.why] == []


def test_the_table_knows_every_manifest() -> None:
    if not CORPUS.exists():
        pytest.skip("needs the manifests beside the checkout")
    assert {path.name for path in CORPUS.glob("tfjob-*.yaml")} == {*IMPORTED}
