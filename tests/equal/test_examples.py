"""The invariant for every example, golden job and environment: Helm, kustomize and tfgen render the same objects."""

from __future__ import annotations

from tests.support import normal
from tests.support.examples import CASES, _cases, _each
from tests.support.helm import HelmProgram
from tests.support.tools import ROOT, helm_program

each_of_all = _each([*CASES, *_cases("tests/golden/*/job.yaml")])


@each_of_all
def test_outputs_of_an_example_are_equal(rendered, environment):
    rendered.assert_equal(environment)


@each_of_all
def test_helm_program_gives_the_objects_of_the_library(rendered, environment):
    """All other tests use Helm's library, because the library is faster."""
    args, program = rendered.values_args(environment), HelmProgram(helm_program())
    normal.assert_equal({"library": rendered.by_helm(*args), "program": rendered.by_helm(*args, helm=program)})


@_each([(job, environment) for job, environment in CASES if environment])
def test_environment_changes_something(rendered, environment):
    """Each environment must differ from the job, so that each case tests something new."""
    assert rendered.by_tfgen(environment) != rendered.by_tfgen(None)


def test_there_are_examples():
    assert {path.parent for path, _ in CASES} == {path for path in (ROOT / "examples").iterdir() if path.is_dir()}
    assert len([environment for _, environment in CASES if environment]) >= 3
