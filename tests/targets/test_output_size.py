"""How much is written of a job: what a reviewer has to read. Programs and comments are not counted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from tests.support.tools import ROOT
from tfgen.commands.init import Form, new_job
from tfgen.targets.render import render
from tfgen.text.parse import parse

MOST_LINES = 2_800
MOST_BYTES = 110_000
MOST_LINES_OF_AN_EXAMPLE = 35_000 / 16
"""On average."""


def lines(files: Mapping[str, str]) -> list[str]:
    """The lines of all files that are neither programs nor comments."""
    texts = [_uncommented(text) for path, text in files.items() if not path.endswith(".py")]
    return [line for text in texts for line in text.splitlines() if not line.lstrip().startswith("#")]


def _uncommented(text: str) -> str:
    return re.sub(r"\{\{-? ?/\*.*?\*/ ?-?\}\}\n?", "", text, flags=re.DOTALL)


def test_the_first_job_of_a_user_becomes_little(tmp_path):
    job, *_ = new_job(Form("mnist"), tmp_path).files
    document = parse(job.text, "job.yaml").documents[0].data
    assert len(document["spec"]["environments"]) == 2
    written = lines(render(document).tree.files)
    assert len(written) <= MOST_LINES
    assert sum(len(line.encode()) + 1 for line in written) <= MOST_BYTES


def test_the_examples_become_little():
    jobs = sorted(ROOT.glob("examples/*/job.yaml"))
    written = [lines(_committed(job.parent.name)) for job in jobs]
    assert sum(map(len, written)) <= MOST_LINES_OF_AN_EXAMPLE * len(jobs)


def test_the_values_schema_of_every_example_is_small():
    """Its lines fit on a screen, but for a pattern that is longer."""
    schemas = {path.parent.name: path.read_text(encoding="utf-8") for path in ROOT.glob("charts/*/values.schema.json")}
    assert schemas
    assert [name for name, text in schemas.items() if len(text.splitlines()) > 700 or len(text.encode()) > 32_000] == []
    long = (line for text in schemas.values() for line in text.splitlines() if len(line) > 120)
    assert [line for line in long if '"pattern": "' not in line] == []


def _committed(name: str) -> Mapping[str, str]:
    folders: Iterable[str] = (f"charts/{name}", f"overlays/{name}")
    paths = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()]
    return {path.as_posix(): path.read_text(encoding="utf-8") for path in paths}
