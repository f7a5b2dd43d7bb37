"""Write the table of the last `make nightly` into docs/testing.md, from the reports that pytest wrote.

    python -m tests.nightly REPORT.xml...

A row names a test module, the number of its tests, the date, the versions of the programs, the result and the sum of
the times of the tests.
"""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from tests.support.tools import ROOT

PAGE: Final = ROOT / "docs" / "testing.md"
HEAD: Final = "| Module | Tests | Date | Versions | Result | Time |\n|---|---:|---|---|---|---:|\n"

PROGRAMS: Final = {
    "Kubernetes": ("tests/e2e/tools/kubernetes/go.mod", "k8s.io/kubernetes v"),
    "Helm": ("tests/e2e/tools/helm/go.mod", "helm.sh/helm/v4 v"),
    "Argo CD": ("tests/e2e/tools/argocd/go.mod", "github.com/argoproj/argo-cd/v3 v"),
    "kustomize-controller": ("tests/e2e/tools/kustomize-controller/go.mod", "fluxcd/kustomize-controller v"),
    "helm-controller": ("tests/e2e/tools/helm-controller/go.mod", "fluxcd/helm-controller v"),
    "TensorFlow": ("examples/dist-mnist/requirements.txt", "tensorflow-cpu=="),
}
"""The file that pins the version of a program, and the text before the version."""

PROGRAMS_OF: Final = {
    "tests/train/": ("TensorFlow",),
    "tests/e2e/server/": ("Kubernetes", "Helm"),
    "tests/e2e/gitops/": ("Kubernetes", "Argo CD", "kustomize-controller", "helm-controller"),
    "tests/e2e/node/": ("Kubernetes", "TensorFlow"),
}
"""The programs that the tests of a folder run."""


class Row(NamedTuple):
    module: str
    tests: int
    not_passed: int
    seconds: float
    date: str


def rows(reports: Iterable[Path]) -> Iterator[Row]:
    """Yield the row of each module of the reports of pytest, in the order of the names."""
    cases: dict[str, list[ElementTree.Element]] = {}
    date = ""
    for report in reports:
        suite = ElementTree.parse(report).getroot()[0]
        date = suite.attrib["timestamp"][:10]
        for case in suite.iter("testcase"):
            module = re.sub(r"\.[A-Z].*", "", case.attrib["classname"])  # without the class of a TestCase
            cases.setdefault(module.replace(".", "/") + ".py", []).append(case)
    for module, found in sorted(cases.items()):
        not_passed = sum(any(child.tag in ("failure", "error", "skipped") for child in case) for case in found)
        yield Row(module, len(found), not_passed, sum(float(case.attrib["time"]) for case in found), date)


def table(found: Iterable[Row]) -> str:
    """Return the rows as a table in Markdown."""
    return HEAD + "".join(f"| {' | '.join(_cells(row))} |\n" for row in found)


def _cells(row: Row) -> tuple[str, ...]:
    link = f"[{row.module.removeprefix('tests/')}](../{row.module})"
    result = f"{row.not_passed} not passed" if row.not_passed else "passed"
    return link, f"{row.tests}", row.date, _versions(row.module), result, f"{row.seconds:.0f} s"


def _versions(module: str) -> str:
    names = next((names for folder, names in PROGRAMS_OF.items() if module.startswith(folder)), ())
    return ", ".join(f"{name} {_pinned(*PROGRAMS[name])}" for name in names)


def _pinned(path: str, before: str) -> str:
    found = re.search(rf"{re.escape(before)}([\w.]+)", (ROOT / path).read_text(encoding="utf-8"))
    assert found, f"{path} pins no {before}"
    return found[1]


if __name__ == "__main__":
    page = PAGE.read_text(encoding="utf-8")
    start = page.index(HEAD)
    end = page.index("\n\n", start) + 1
    PAGE.write_text(page[:start] + table(rows(map(Path, sys.argv[1:]))) + page[end:], encoding="utf-8")
