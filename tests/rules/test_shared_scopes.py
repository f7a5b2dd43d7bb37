"""What the views of a job share is what each of them would fill by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.tools import ROOT
from tfgen.graph.workloads import pod
from tfgen.rules.view import views
from tfgen.text.document import parse

JOBS = sorted([*ROOT.glob("examples/*/job.yaml"), *ROOT.glob("tests/golden/*/job.yaml")])


@pytest.mark.parametrize("path", JOBS, ids=lambda path: path.parent.name)
def test_the_names_of_a_role_are_those_of_its_own_values(path: Path) -> None:
    for view in views(parse(path.read_text(encoding="utf-8"), str(path)).documents[0]):
        for role in view.roles:
            alone = pod.role_scope(view.job.structure, view.scope.replaced(kept=None), role.name)
            assert view.role_scope(role.name).bound == alone.bound
            assert view.variables(role.name) == tuple(view.env_fillers[role.name](alone))
