"""The invariant for cloud settings of the pods, in every workload kind whose pods tfgen describes."""

from __future__ import annotations

import pytest
import yaml

from tests.support.rendered import Rendered
from tests.support.tools import ROOT
from tfgen.schema.kinds import WORKLOAD_KINDS

pytestmark = pytest.mark.long

ECI = yaml.safe_load((ROOT / "tests/golden/eci/job.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("kind", [kind for kind in WORKLOAD_KINDS if kind != "ElasticDL"])
def test_helm_kustomize_and_tfgen_agree(kind, tmp_path):
    task = ECI["spec"]["roles"]["worker"]
    shape = {"strategy": "Single", "roles": {"chief": task}} if kind == "Pod" else {}
    spec = {**ECI["spec"], "workload": {"kind": kind}, **shape}
    spec["roles"] = {role: {k: v for k, v in said.items() if k != "replicas"} for role, said in spec["roles"].items()}
    rendered = Rendered.write({**ECI, "spec": spec}, tmp_path)
    for environment in (None, *spec["environments"]):
        rendered.assert_equal(environment)
