"""The invariant for jobs drawn from the schema, each with its environments: 8 times 25 jobs, 600 comparisons.

The first 25 jobs use any kustomize, also the one in kubectl. The other jobs need the kustomize program (`make tools`).
CI repeats with the program each test that ran without the program, and so would repeat all comparisons.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given

from tests.support.draws import drawn
from tests.support.generated import jobs
from tests.support.helm import HelmLibrary
from tests.support.rendered import Rendered
from tests.support.tools import helm_lint, kustomize_program


@pytest.mark.long
@pytest.mark.parametrize("share", range(8))
@drawn(25)
@given(document=jobs())
def test_helm_kustomize_and_tfgen_agree(share, document):
    if share:
        kustomize_program()
    with tempfile.TemporaryDirectory() as folder:
        rendered = Rendered.write(document, Path(folder))
        for environment in (None, *rendered.environments):
            rendered.assert_equal(environment, helm=HelmLibrary())


@pytest.mark.long
@drawn(8)
@given(document=jobs(environments=1))
def test_kubernetes_knows_every_field(document):
    with tempfile.TemporaryDirectory() as folder:
        rendered = Rendered.write(document, Path(folder))
        rendered.kubeconform(rendered.environments[0])
        # `helm lint` restores a default that a null removes, and then finds two sources of a volume.
        (environment,) = document["spec"]["environments"].values()
        removes = "null" in json.dumps(environment.get("storage", {}))
        helm_lint(rendered.chart, "--strict", *([] if removes else rendered.values_args(rendered.environments[0])))
