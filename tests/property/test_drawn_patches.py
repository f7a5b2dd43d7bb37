"""The patches that tests/support/generated.py draws are patches that `tfgen check` accepts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import generated
from tests.support.draws import drawn
from tests.support.generated import object_patches, saying
from tfgen.check.object_schemas import ObjectSchemas
from tfgen.check.objects import check_objects
from tfgen.graph.graph import build

pytestmark = pytest.mark.long

JOB = {
    "apiVersion": "tfgen/v1alpha1",
    "kind": "TrainingJob",
    "metadata": {"name": "mnist"},
    "spec": {"image": "mnist:1.0.0", "roles": {"chief": {}, "ps": {}, "worker": {}}},
}


@pytest.mark.parametrize("kind", ["StatefulSet", "Job", "TFJob", "VolcanoJob", "JobSet"])
@drawn(8)
@given(data=st.data())
def test_drawn_patches_fit_their_objects(kind, data):
    job = saying(JOB, {"workload": {"kind": kind}})
    patches = {name: data.draw(object_patches(name, item)) for name, item in build(job).base.items()}
    patched = saying(job, {"patches": patches})
    assert check_objects(generated.document(patched), build(patched), ObjectSchemas("1.31")) == ()
