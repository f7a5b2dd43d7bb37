"""The example jobs in each of their environments."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.tools import ROOT
from tfgen.text.parse import parse


def _cases(pattern: str) -> list[tuple[Path, str | None]]:
    return [
        (path, environment)
        for path in sorted(ROOT.glob(pattern))
        for environment in (
            None,
            *parse(path.read_text(encoding="utf-8"), str(path)).documents[0].data["spec"].get("environments", {}),
        )
    ]


def _each(cases: list[tuple[Path, str | None]]) -> pytest.MarkDecorator:
    ids = [f"{path.parent.name}-{environment or 'base'}" for path, environment in cases]
    return pytest.mark.parametrize(("job", "environment"), cases, ids=ids)


CASES = _cases("examples/*/job.yaml")


each_environment = _each(CASES)

_JOBS = [*dict.fromkeys(path for path, _ in CASES)]

each_example = pytest.mark.parametrize("job", _JOBS, ids=[path.parent.name for path in _JOBS])
