"""Containers of podTemplate in the pods that tfgen renders."""

from __future__ import annotations

from tfgen.graph.built import plain_objects
from tfgen.text.parse import parse


def test_a_container_of_the_template_meets_the_profile_in_what_it_does_not_say():
    job = parse(
        """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  image: registry.example.com/ml/mnist:1.4.0
  strategy: Single
  roles: {chief: {}}
  sidecars: [{name: log, image: "log:1", securityContext: {capabilities: {add: [NET_BIND_SERVICE]}}}]
  podTemplate:
    spec:
      initContainers: [{name: log, image: "log:2"}]
      containers: [{name: more, image: "more:1", securityContext: {runAsUser: 7}}]
""",
        "job.yaml",
    ).documents[0]
    (task,) = (made for made in plain_objects(job.data) if made["kind"] == "Job")
    spec = task["spec"]["template"]["spec"]
    said = {each["name"]: each["securityContext"] for each in (*spec["initContainers"], *spec["containers"])}
    restricted = {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert said == {
        "log": {**restricted, "capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]}},
        "tensorflow": restricted,
        "more": {**restricted, "runAsUser": 7},
    }
