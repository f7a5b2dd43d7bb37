"""Tests that the shared values of views equal the values of separate views."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.tools import ROOT
from tfgen.graph.fill import fill
from tfgen.graph.objects import environment
from tfgen.graph.workloads import WORKLOADS, pod
from tfgen.rules.view import views
from tfgen.text.parse import parse

JOBS = sorted([*ROOT.glob("examples/*/job.yaml"), *ROOT.glob("tests/golden/*/job.yaml")])


@pytest.mark.parametrize("path", JOBS, ids=lambda path: path.parent.name)
def test_the_names_of_a_role_are_those_of_its_own_values(path: Path) -> None:
    for view in views(parse(path.read_text(encoding="utf-8"), str(path)).documents[0]):
        structure = view.job.structure
        has_cluster = WORKLOADS[structure.kind].has_config_map(structure)
        for role in view.roles:
            alone = pod.role_scope(structure, view.scope._replace(cache=None), role.name)
            assert view.template_variables(role.name) == alone.bound
            variables = environment.variables(structure, role.name, index_label="", has_cluster=has_cluster)
            assert view.variables(role.name) == tuple(fill(variables, alone))
