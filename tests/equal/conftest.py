"""The rendered jobs of this folder: each process renders an example or a golden job once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.rendered import Rendered
from tfgen.text.parse import parse


@pytest.fixture(scope="session")
def render(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Rendered]:
    """Return a function that renders a job once. No test changes the rendered files."""

    @functools.cache
    def rendered(job: Path) -> Rendered:
        document = parse(job.read_text(encoding="utf-8"), str(job)).documents[0].data
        return Rendered.write(document, tmp_path_factory.mktemp(job.parent.name))

    return rendered


@pytest.fixture
def rendered(job: Path, render: Callable[[Path], Rendered]) -> Rendered:
    return render(job)
