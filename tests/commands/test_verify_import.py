"""`tfgen import --verify` accepts a difference only if the import report contains the difference."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.tools import ROOT
from tfgen import data_path
from tfgen.commands.importing.import_jobs import ImportedJob, Source, import_jobs
from tfgen.commands.importing.verify_import import differences
from tfgen.importers.options import Options

CASES = ("tfjob-pull-secrets", "tfjob-mirrored-pull-secrets", "hand-written-pull-secrets")
SECRETS = ("spec", "imagePullSecrets")


def imported(case: str) -> ImportedJob:
    manifest = ROOT / "tests" / "importers" / case / "manifest.yaml"
    kind = "StatefulSet" if case.startswith("hand-written") else "TFJob"
    (job,) = import_jobs([Source("manifest.yaml", Path(manifest).read_bytes())], Options(kind=kind)).jobs
    return job


def unexplained(job: ImportedJob) -> list[str]:
    return [f"{difference.field}: {difference.change}" for difference in differences(job) if not difference.why]


def with_secrets(job: ImportedJob, *names: str) -> ImportedJob:
    secrets = [{"name": name} for name in names]
    data: Mapping[str, Any] = data_path.with_value(job.data, SECRETS, secrets)
    return job.replaced(data=data)


@pytest.mark.parametrize("case", CASES)
def test_a_reported_pull_secret_is_explained(case: str) -> None:
    assert unexplained(imported(case)) == []


@pytest.mark.parametrize("case", CASES)
def test_a_pull_secret_without_a_report_is_a_difference(case: str) -> None:
    job = imported(case)
    ((environment, origin),) = job.origins.items()
    entries = tuple(entry for entry in origin.entries if entry.target != SECRETS)
    silent = job.replaced(origins={environment: origin.replaced(entries=entries)})
    assert {line.partition("imagePullSecrets")[2] for line in unexplained(silent)} == {": is new"}


@pytest.mark.parametrize("case", CASES)
def test_a_pull_secret_that_no_pod_had_is_a_difference(case: str) -> None:
    lines = unexplained(with_secrets(imported(case), "hub", "mirror"))
    assert lines
    assert {line.partition("imagePullSecrets")[2] for line in lines} <= {": is new", "[mirror]: is new"}
