"""The invariant for every example, golden job and environment: Helm, kustomize and tfgen render the same objects."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.examples import CASES, _cases, _each, each_environment
from tests.support.helm import HelmLibrary
from tests.support.rendered import Rendered
from tests.support.tools import ROOT, helm_program
from tfgen.text.parse import parse

each_of_all = _each([*CASES, *_cases("tests/golden/*/job.yaml")])


@pytest.fixture
def rendered(job: Path, tmp_path: Path) -> Rendered:
    return Rendered.write(parse(job.read_text(encoding="utf-8"), str(job)).documents[0].data, tmp_path)


@each_of_all
def test_helm_kustomize_and_tfgen_agree(rendered, environment):
    rendered.assert_equal(environment)


@each_environment
def test_helm_in_this_process_agrees_too(rendered, environment):
    """The other tests of this folder use the library, because the library is faster."""
    helm_program()  # without the program, the test above has used the library
    rendered.assert_equal(environment, helm=HelmLibrary())


@_each([(job, environment) for job, environment in CASES if environment])
def test_an_environment_changes_something(rendered, environment):
    """Each environment must differ from the job, so that each case tests something new."""
    assert rendered.by_tfgen(environment) != rendered.by_tfgen(None)


def test_there_are_examples():
    assert {path.parent for path, _ in CASES} == {path for path in (ROOT / "examples").iterdir() if path.is_dir()}
    assert len([environment for _, environment in CASES if environment]) >= 3
