"""The oldest Helm in the README of a chart: the same objects and the same refusals as with the newest Helm.

The oldest Helm has another schema validator (gojsonschema, which supports drafts up to 07), with other messages.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.equal.test_chart_refusals import CASES as REFUSED
from tests.equal.test_chart_refusals import Case
from tests.support import normal
from tests.support.chart_job import JOB
from tests.support.command import WITHOUT_COLLECTION, Command, CommandError
from tests.support.examples import each_environment
from tests.support.helm import HelmProgram
from tests.support.rendered import Rendered
from tests.support.tools import LEAST_KUBERNETES, ROOT, oldest_helm_program


class OldestHelm(HelmProgram):
    """The oldest Helm, with a version of Kubernetes as an option, because its default is too old for the charts.

    With /dev/null as kubeconfig, Helm warns that other users may read the file. With a missing file, Helm prints
    nothing.
    """

    def template(self, chart: Path, release: str, *args: str) -> str:
        argv = (self.path, "template", release, chart, "--kube-version", LEAST_KUBERNETES, *args)
        own = {"KUBECONFIG": f"{chart}/none", "HELM_NAMESPACE": "default"}
        return Command(argv, env={**WITHOUT_COLLECTION, **own}).run(silent=True)


@pytest.fixture(scope="module")
def helm() -> OldestHelm:
    return OldestHelm(oldest_helm_program())


@pytest.fixture(scope="module")
def refusing(tmp_path_factory: pytest.TempPathFactory) -> Rendered:
    return Rendered.write(JOB, tmp_path_factory.mktemp("refusing"))


@each_environment
def test_it_gives_the_same_objects(rendered: Rendered, environment: str | None, helm: OldestHelm) -> None:
    args = rendered.values_args(environment)
    normal.assert_equal({"oldest": rendered.by_helm(*args, helm=helm), "newest": rendered.by_helm(*args)})


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_it_refuses_the_same(case: Case, helm: OldestHelm, refusing: Rendered) -> None:
    with pytest.raises(CommandError):
        helm.template(refusing.chart, case.release, *case.args)


def test_it_is_the_one_that_the_readme_names() -> None:
    readme = (ROOT / "charts/dist-mnist/README.md").read_text(encoding="utf-8")
    pinned = re.search(r"helm\.sh/helm/v3 v(\d+\.\d+)\.", (ROOT / "tests/e2e/tools/helm-3.14/go.mod").read_text())
    assert pinned
    assert f"Helm {pinned[1]} or newer" in readme
