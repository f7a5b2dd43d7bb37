"""The size of the rendered files of a job, without programs, comments and descriptions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from tests.support.tools import ROOT
from tfgen.commands.init import JobOptions, new_job
from tfgen.targets.render import render
from tfgen.text.json_text import dump
from tfgen.text.parse import parse

MOST_LINES = 2_800
MOST_BYTES = 110_000
MOST_LINES_OF_AN_EXAMPLE = 35_000 / 16
"""Maximum average number of lines."""


def lines(files: Mapping[str, str]) -> list[str]:
    """Return the lines of all files, without programs and comments."""
    texts = [_uncommented(text) for path, text in files.items() if not path.endswith(".py")]
    return [line for text in texts for line in text.splitlines() if not line.lstrip().startswith("#")]


def _uncommented(text: str) -> str:
    text = re.sub(r"\{\{-? ?/\*.*?\*/ ?-?\}\}\n?", "", text, flags=re.DOTALL)
    return dump(_undescribed(json.loads(text)), ("properties", "definitions")) if text.startswith("{\n") else text


def _undescribed(node: Any) -> Any:
    if isinstance(node, dict):
        return {
            key: _undescribed(child) for key, child in node.items() if key != "description" or isinstance(child, dict)
        }
    return [*map(_undescribed, node)] if isinstance(node, list) else node


def test_the_first_job_of_a_user_becomes_little(tmp_path):
    job, *_ = new_job(JobOptions("mnist"), tmp_path).files
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
    """The values schemas are short, and their lines fit on a screen, except lines with a long pattern."""
    paths = ROOT.glob("charts/*/values.schema.json")
    schemas = {path.parent.name: _uncommented(path.read_text(encoding="utf-8")) for path in paths}
    assert schemas
    assert [name for name, text in schemas.items() if len(text.splitlines()) > 700 or len(text.encode()) > 32_000] == []
    long = (line for text in schemas.values() for line in text.splitlines() if len(line) > 120)
    assert [line for line in long if '"pattern": "' not in line] == []


def _committed(name: str) -> Mapping[str, str]:
    folders: Iterable[str] = (f"charts/{name}", f"overlays/{name}")
    paths = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()]
    return {path.as_posix(): path.read_text(encoding="utf-8") for path in paths}
