"""The laws of the design: a graph depends on no tunable, and equal jobs give equal bytes."""

from __future__ import annotations

import random
import sys
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.command import Command
from tests.support.draws import drawn
from tests.support.generated import Document, jobs, saying
from tests.support.tools import ROOT
from tfgen.check.jobs import check
from tfgen.graph.graph import graph
from tfgen.graph.guards import guards
from tfgen.job.training_job import TrainingJob
from tfgen.schema import tunables
from tfgen.targets.render import render


@pytest.mark.long
@drawn(50)
@given(document=jobs(environments=1))
def test_jobs_that_differ_in_tunables_alone_have_one_graph(document):
    """If the job itself sets the values of its environment, its graph, guards and templates do not change."""
    base = dict(document["spec"])
    (environment,) = base.pop("environments").values()
    values = tunables.overrides(environment)
    one = {**document, "spec": base}
    other = saying(one, values)
    structure, other_structure = (TrainingJob.from_document(each).structure for each in (one, other))
    assert graph(structure) == graph(other_structure)
    assert guards(structure) == guards(other_structure)
    assert _templates(one) == _templates(other)


def _templates(document: Document) -> dict[str, str]:
    return {path: text for path, text in render(document).tree.files.items() if "/templates/" in path}


@pytest.mark.long
@drawn(50)
@given(document=jobs(), seed=st.integers(0, 99))
def test_the_order_of_keys_does_not_matter(document, seed):
    shuffled = _shuffled(document, random.Random(seed))
    assert render(shuffled) == render(document)


def _shuffled(node: Any, dice: random.Random) -> Any:
    if isinstance(node, list):
        return [_shuffled(item, dice) for item in node]
    if isinstance(node, Mapping):
        return {key: _shuffled(node[key], dice) for key in dice.sample(list(node), len(node))}
    return node


@pytest.mark.parametrize(
    "surroundings",
    [
        {"PYTHONHASHSEED": "1"},
        {"PYTHONHASHSEED": "2", "LC_ALL": "C", "PYTHONUTF8": "0"},
        {"LC_ALL": "tr_TR.UTF-8", "TZ": "Pacific/Kiritimati"},
        {"PYTHONOPTIMIZE": "1", "COLUMNS": "20"},
    ],
    ids=str,
)
@pytest.mark.parametrize("umask", ["0022", "0077"])
def test_the_surroundings_do_not_matter(surroundings, umask, tmp_path):
    job = ROOT / "tests" / "golden" / "everything" / "job.yaml"
    (document,) = check(job.read_bytes(), "job.yaml").documents
    line = f'umask {umask} && "$0" -m tfgen render "$1" --out "$2"'
    Command(("sh", "-c", line, sys.executable, job, tmp_path), env=surroundings).run()
    written = {
        path.relative_to(tmp_path).as_posix(): path.read_bytes() for path in tmp_path.rglob("*.*") if path.is_file()
    }
    expected = {path: text.encode() for path, text in render(document.data).tree.files.items()}
    assert {path for path in written if not path.startswith(".tfgen/")} == expected.keys()
    assert [path for path in expected if written[path] != expected[path]] == []
