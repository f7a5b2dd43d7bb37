"""Two jobs that create an equal object in one place are reported, and two other jobs are not.

The test finds the equal (cluster, namespace, group, kind, name) itself, in the built objects. The jobs have few names,
so that many pairs have an equal object.
"""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.support.draws import drawn
from tests.support.generated import accepted, document, job
from tfgen.check.checked import find_clashes, record_job
from tfgen.graph.graph import build
from tfgen.kubernetes.object import group

PLACES = {"namespace": st.sampled_from(["ml", "research"]), "cluster": st.sampled_from(["east", "west"])}
RUNS = st.sampled_from(["", "b", "b-c", "finisher"])
VOLUMES = st.dictionaries(
    st.sampled_from(["b", "c", "b-c"]),
    st.sampled_from([{"claim": {"size": "1Gi"}}, {"claim": {"name": "a-b"}}, {"emptyDir": {}}]),
    max_size=2,
).map(lambda volumes: {name: {"mountPath": f"/{name}", **source} for name, source in volumes.items()})
OBJECTS = st.dictionaries(
    st.sampled_from(["b", "finisher"]),
    st.sampled_from(
        [
            {"apiVersion": "v1", "kind": "ConfigMap"},
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a-b"}},
            {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a-b"}, "spec": {"ports": [{"port": 80}]}},
            {"apiVersion": "example.com/v1", "kind": "Service", "metadata": {"name": "a-b"}},
            {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 1, "metadata": {"name": "high"}},
        ]
    ),
    max_size=1,
)
SPECS = st.fixed_dictionaries(
    {"run": RUNS},
    optional={
        "storage": VOLUMES,
        "objects": OBJECTS,
        "priorityClasses": st.sampled_from([{"high": {"value": 1}}, {"low": {"value": 1}}]),
        "serviceAccount": st.just({"create": True}),
        "serviceAccountName": st.sampled_from(["a-b", "trainer"]),
        "tensorboard": st.just({"logDir": "/logs"}),
        "environments": st.dictionaries(
            st.sampled_from(["dev", "prod"]),
            st.fixed_dictionaries({}, optional={**PLACES, "enabled": st.booleans(), "run": RUNS}),
            max_size=2,
        ),
    },
)


@st.composite
def pairs(draw):
    names = draw(st.lists(st.sampled_from(["a", "a-b", "b"]), min_size=2, max_size=2, unique=True))
    first, second = draw(SPECS), draw(SPECS)
    shared = draw(st.sets(st.sampled_from(["objects", "serviceAccount", "serviceAccountName", "environments"])))
    second |= {key: first[key] for key in shared if key in first}
    for name in draw(st.sets(st.sampled_from(["dev", "prod"]))):
        for spec in (first, second):
            if name in spec.get("environments", {}):
                own = spec["environments"][name]
                spec["environments"] = {**spec["environments"], name: {**own, "cluster": draw(PLACES["cluster"])}}
    two = [job(name, **spec) for name, spec in zip(names, (first, second), strict=True)]
    for each in two:
        if draw(st.booleans()):
            each["metadata"]["namespace"] = draw(PLACES["namespace"])
    assume(all(map(accepted, two)))
    return two


def identities(data):
    """Return the identity of each object that a job creates. A job with environments creates objects only there."""
    built, environments = build(data), data["spec"].get("environments") or {None: {}}
    found = set()
    for name, settings in environments.items():
        if settings.get("enabled", True):
            namespace = settings.get("namespace", data["metadata"].get("namespace"))
            for item in (built.base if name is None else built.environments[name]).values():
                place = None if item["kind"] == "PriorityClass" else namespace
                identity = (group(item), item["kind"], item["metadata"]["name"])
                found.add((settings.get("cluster"), place, *identity))
    return found


@pytest.mark.long
@drawn(200)
@given(two=pairs())
def test_equal_object_of_two_jobs_is_reported(two):
    records = [record_job(document(data)) for data in two]
    alone = [clash.message for record in records for _, clash in find_clashes([record])]
    rules = {rule.id for rule, clash in find_clashes(records) if clash.message not in alone}
    equal = identities(two[0]) & identities(two[1])
    assert bool(rules & {"duplicate-object", "shared-object"}) == bool(equal), (rules, equal)
