"""Tests that tfgen imports or refuses a manifest in which one value has a wrong type.

A value can also be missing, or a value from below can replace its parent.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.support.draws import drawn
from tfgen.commands.import_ import ImportSource, import_jobs
from tfgen.errors import UsageError
from tfgen.importers.table import Options

FILES = sorted(Path(__file__).parent.glob("*/manifest.yaml"))
MANIFESTS = [file for file in FILES if "{{" not in file.read_text()]
WRONG = (0, -1, 1.5, True, "x", "", [], {}, [1], [None], {"a": 1}, [{}], {"name": "x"}, [{"name": "x"}])


def paths(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the paths of all values in some data."""
    for step in data if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ():
        yield (*path, step)
        yield from paths(data[step], (*path, step))


def at(data: Any, path: Sequence[Any]) -> Any:
    for step in path:
        data = data[step]
    return data


@pytest.mark.long
@drawn(60)
@given(st.data())
def test_a_value_of_another_type_is_imported_or_refused(data: st.DataObject) -> None:
    manifest = data.draw(st.sampled_from(MANIFESTS))
    documents = [json.loads(json.dumps(d, default=str)) for d in yaml.safe_load_all(manifest.read_text()) if d]
    path = data.draw(st.sampled_from(list(paths(documents))))
    parent, children = (
        at(documents, path[:-1]),
        [at(documents, (*path, *child_path)) for child_path in paths(at(documents, path))],
    )
    if data.draw(st.booleans()):
        parent[path[-1]] = data.draw(st.sampled_from((*WRONG, *children)))
    else:
        del parent[path[-1]]
    sources = [ImportSource("a.yaml", "---\n".join(json.dumps(document) + "\n" for document in documents).encode())]
    options = Options(kind=data.draw(st.sampled_from(["StatefulSet", "TFJob", "VolcanoJob", "JobSet"])))
    try:
        imported = import_jobs(sources, options)
    except UsageError:  # the changed manifest has no job
        return
    assert imported.jobs or imported.problems
