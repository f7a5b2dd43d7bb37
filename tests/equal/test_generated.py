"""The laws of jobs drawn from the schema, each with two environments.

To draw and to render a job takes longer than to check a law, so one test checks all laws of a job. `make nightly` draws
ten times as many jobs.
"""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import normal
from tests.support.draws import drawn
from tests.support.generated import Document, jobs, saying
from tests.support.rendered import Rendered
from tests.support.tools import helm_lint
from tfgen.graph.built import plain_objects
from tfgen.graph.graph import graph
from tfgen.graph.guards import guards
from tfgen.job.training_job import TrainingJob
from tfgen.schema import tunables
from tfgen.targets.render import render


@pytest.mark.long
@pytest.mark.parametrize("share", range(3))  # a process of pytest for each
@drawn(8)
@given(document=jobs(), seed=st.integers(0, 99))
def test_the_laws_of_a_job(share, document, seed):
    with tempfile.TemporaryDirectory() as folder:
        rendered = Rendered.write(document, Path(folder) / "whole")
        for environment in (None, *rendered.environments):
            rendered.assert_equal(environment)
        assert_the_order_of_keys_does_not_matter(document, seed)
        assert_values_of_a_chart_are_values_of_a_job(document, Path(folder) / "plain")


def assert_the_order_of_keys_does_not_matter(document: Document, seed: int) -> None:
    assert render(_shuffled(document, random.Random(seed))) == render(document)


def _shuffled(node: Any, dice: random.Random) -> Any:
    if isinstance(node, list):
        return [_shuffled(item, dice) for item in node]
    if isinstance(node, Mapping):
        return {key: _shuffled(node[key], dice) for key in dice.sample(list(node), len(node))}
    return node


def assert_values_of_a_chart_are_values_of_a_job(document: Document, folder: Path) -> None:
    """Set the values of an environment in the chart of a job without environments, and in the job itself.

    The graph, the guards and the templates depend on no value, and Helm renders the objects of the changed job.
    """
    spec = {key: value for key, value in document["spec"].items() if key != "environments"}
    one = {**document, "spec": spec}
    rendered = Rendered.write(one, folder)
    file = folder / "values-of-the-test.json"
    for environment in document["spec"]["environments"].values():
        values = tunables.overrides(environment)
        other = saying(one, values)
        structure, other_structure = (TrainingJob.from_document(each).structure for each in (one, other))
        assert graph(structure) == graph(other_structure)
        assert guards(structure) == guards(other_structure)
        assert _templates(one) == _templates(other)
        file.write_text(json.dumps(values, ensure_ascii=False), encoding="utf-8")
        by_helm = rendered.by_helm("--values", str(file))
        normal.assert_equal({"helm": by_helm, "tfgen": normal.by_identity(plain_objects(other))})


def _templates(document: Document) -> dict[str, str]:
    return {path: text for path, text in render(document).tree.files.items() if "/templates/" in path}


@pytest.mark.long
@drawn(4)
@given(document=jobs(environments=1))
def test_kubernetes_knows_every_field(document):
    with tempfile.TemporaryDirectory() as folder:
        rendered = Rendered.write(document, Path(folder))
        rendered.kubeconform(rendered.environments[0])
        # `helm lint` restores a default that a null removes, and then finds two sources of a volume.
        (environment,) = document["spec"]["environments"].values()
        removes = "null" in json.dumps(environment.get("storage", {}))
        helm_lint(rendered.chart, "--strict", *([] if removes else rendered.values_args(rendered.environments[0])))
