"""Jobs for the tests, checked and rendered as `tfgen render` does it.

mnist = write_job(TEXT, tmp_path)
cluster.kubectl("apply", "--server-side", "-k", mnist.overlay(None), "-n", namespace)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.support.generated import Document
from tests.support.rendered import Rendered
from tests.support.tools import ROOT
from tfgen.check.jobs import check
from tfgen.errors import has_errors
from tfgen.report.problems import as_text

EXAMPLES = sorted(ROOT.glob("examples/*/job.yaml"))


def write_job(text: str, folder: Path, *, is_in_test_namespace: bool = True) -> Rendered:
    """Render the job of a job.yaml into an empty folder.

    Args:
        text: the job.
        folder: the folder.
        is_in_test_namespace: whether the test applies the job to a namespace of the test. The rendered files then lack
            the namespaces of the job.

    Raises:
        AssertionError: the job has errors; the message lists the errors.
    """
    checked = check(text, "job.yaml")
    assert not has_errors(checked.problems), as_text(checked.problems)
    (document,) = checked.documents
    return Rendered.write(without_namespaces(document.data) if is_in_test_namespace else document.data, folder)


def without_namespaces(data: Document) -> Document:
    """Return a job without its namespaces, so that its objects go to the namespace of a test."""

    def without(mapping: Mapping[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in mapping.items() if key != "namespace"}

    spec = data["spec"]
    environments = {name: without(settings) for name, settings in spec.get("environments", {}).items()}
    own = {**spec, "environments": environments} if environments else spec
    return {**data, "metadata": without(data["metadata"]), "spec": own}


def environments(jobs: Iterable[Path]) -> list[tuple[Path, str | None]]:
    """Return each job with each of its environments, and once without an environment (None)."""
    pairs: list[tuple[Path, str | None]] = []
    for path in jobs:
        (document,) = check(path.read_text(encoding="utf-8"), str(path)).documents
        pairs += [(path, name) for name in (None, *document.data["spec"].get("environments", {}))]
    return pairs
