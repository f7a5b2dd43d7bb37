"""Tests of the problems of a job's objects: the line, the message, and no problem of an object that tfgen renders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tfgen.check.jobs import check
from tfgen.check.object_schemas import ObjectSchemas
from tfgen.check.objects import check_objects
from tfgen.graph.graph import build, plain_objects
from tfgen.job.sources import Source
from tfgen.report.problems import as_text

JOB = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  image: registry.example.com/ml/mnist:1.4.0
  env: {TOKEN: {secretKeyRef: {name: hub, key: token}}}
  roles: {chief: {}, ps: {}, worker: {replicas: 2}}
  storage:
    data: {mountPath: /data, claim: {name: shared}}
    model: {mountPath: /model, claim: {size: 20Gi}}
  gang: {scheduler: volcano}
  network: {egress: {limited: true}}
  podDisruptionBudget: {}
  environments: {prod: {roles: {worker: {replicas: 4}}}}
"""

ROOT = Path(__file__).parents[2]
JOBS = sorted([*ROOT.glob("examples/*/job.yaml"), *ROOT.glob("tests/golden/*/job.yaml")])


@pytest.mark.parametrize("path", JOBS, ids=lambda path: path.parent.name)
def test_what_tfgen_makes_has_no_fault(path: Path) -> None:
    (document,) = check(path.read_bytes(), path.parent.name).documents
    spec = document.data["spec"]
    own_gang = spec.get("gang", {}).get("scheduler") == "kubernetes"
    image_volume = any("image" in volume for volume in spec.get("storage", {}).values())
    in_place = spec.get("restart", {}).get("inPlace")
    schemas = ObjectSchemas("1.37" if own_gang or image_volume or in_place else "1.31")
    problems = check_objects(document, build(document.data), schemas)
    # The golden job container-order has a second container, which keeps a task from ending.
    assert [str(problem) for problem in problems if problem.rule != "second-container"] == []


def objects(text: str) -> list[dict[str, Any]]:
    (document,) = check(text, "job.yaml").documents
    return [*plain_objects(document.data)]


def problems(text: str, version: str | None = None) -> str:
    (document,) = check(text, "job.yaml").documents
    return as_text(check_objects(document, build(document.data), ObjectSchemas(version)))


def test_a_problem_stands_where_the_job_says_what_is_wrong() -> None:
    """The problem is in every environment, so the message names no environment."""
    template = "{spec: {containers: [{name: tensorflow, volumeMounts: [{name: gone, mountPath: /gone}]}]}}"
    assert problems(JOB.replace("ps: {}", f"ps: {{podTemplate: {template}}}")) == (
        'job.yaml:7:102: roles.ps.podTemplate.spec.containers[0].volumeMounts[0].name: the volume "gone" that the pod '
        "does not have, which the API server refuses; declare the volume in storage, or add the role to "
        "storage.NAME.for [unknown-volume]\n"
    )


def test_a_problem_of_an_environment_of_the_defaults_stands_there() -> None:
    defaults = Source("tfgen.yaml", "apiVersion: tfgen/v1alpha1\nkind: Defaults\nspec:\n  environments:\n    dev: {}\n")
    (document,) = check(JOB, "job.yaml", defaults).documents
    built = build(document.data)
    rest = {name: item for name, item in built.environments["dev"].items() if item["kind"] != "ServiceAccount"}
    without_account = built.replaced(environments={**built.environments, "dev": rest})
    assert as_text(check_objects(document, without_account, ObjectSchemas())) == (
        "tfgen.yaml:5:5: Job mnist-finisher: spec.template.spec.serviceAccountName: the ServiceAccount "
        "mnist-finisher does not exist, and the job file does not name the object (in the environment dev) "
        "[object-links]\n"
        "tfgen.yaml:5:5: RoleBinding mnist-finisher: subjects[0]: the ServiceAccount mnist-finisher does not "
        "exist, and the job file does not name the object (in the environment dev) [object-links]\n"
    )


def test_a_schema_of_kubernetes() -> None:
    wrong = JOB.replace("ps: {}", "ps: {podTemplate: {spec: {hostAliases: [{ip: 10.0.0.1, names: [a]}]}}}")
    assert problems(wrong) == ""
    assert problems(wrong, "1.33") == (
        "job.yaml:7:77: StatefulSet mnist-ps: spec.template.spec.hostAliases[0]: Additional properties are not allowed "
        "('names' was unexpected) [object-schema]\n"
    )


def test_an_unknown_field_of_pods_is_one_problem_of_all_environments() -> None:
    unknown = JOB.replace("ps: {}", "ps: {podTemplate: {spec: {hostAlias: []}}}")
    assert problems(unknown, "1.33") == (
        "job.yaml:7:48: StatefulSet mnist-ps: spec.template.spec: Additional properties are not allowed "
        "('hostAlias' was unexpected) [object-schema]\n"
    )


def test_an_image_as_a_volume_needs_kubernetes_1_35() -> None:
    """The schema of Kubernetes 1.31 has the field, but the feature gate of the field is off by default."""
    volume = "{mountPath: /data, image: {reference: 'registry.example.com/data:1'}}"
    template = "{spec: {volumes: [{name: words, image: {reference: 'registry.example.com/words:1'}}]}}"
    text = JOB.replace("ps: {}", f"ps: {{podTemplate: {template}}}")
    text = text.replace("{prod: {", f"{{prod: {{storage: {{more: {volume}}}, ").replace("/data, image", "/more, image")
    why = (
        "an image as a volume, which the API server refuses in Kubernetes 1.34; use a claim, a csi volume or spec.code"
    )
    lines = [problem.split(":", 3) for problem in problems(text, "1.34").splitlines()]
    assert [(row, message.partition(": ")[2]) for _, row, _, message in lines] == [
        (row, f"{why} [object-schema]") for row in ("7", "14")
    ]
    assert problems(text, "1.35") == problems(text) == ""


def test_a_claim_for_devices_needs_kubernetes_1_34() -> None:
    text = JOB.replace("ps: {}", "ps: {resources: {gpu: {count: 1, deviceClass: gpu.example.com}}}")
    why = "a claim for devices, which the API server refuses in Kubernetes 1.33"
    assert why in problems(text, "1.33")
    assert why not in problems(text, "1.34")


def test_a_restart_in_place_needs_kubernetes_1_35() -> None:
    """The schema of Kubernetes 1.34 has the field, but its feature gate ContainerRestartRules is off by default."""
    text = JOB.replace("spec:\n", "spec:\n  restart: {inPlace: true, ignoreExitCodes: [42]}\n")
    line = "a restart of a container in place, which the API server refuses in Kubernetes 1.34; remove inPlace"
    assert problems(text, "1.34") == f"job.yaml:5:22: restart.inPlace: {line} [object-schema]\n"
    assert problems(text, "1.35") == problems(text) == ""
    assert problems(text.replace("inPlace: true", "inPlace: false"), "1.34") == ""


def test_a_kind_without_a_schema() -> None:
    """Kubernetes 1.31 has no PodGroup. For custom kinds, tfgen has its own schemas, for all versions of Kubernetes."""
    items = objects(JOB.replace("volcano}", "kubernetes}"))
    (group,) = (item for item in items if item["kind"] == "PodGroup")
    schemas = ObjectSchemas("1.31")
    assert list(schemas.faults(group)) == []
    assert schemas.kinds_without_schema(items) == (f"PodGroup of {group['apiVersion']}",)
    assert schemas.kinds_without_schema(objects(JOB)) == ()
    assert ObjectSchemas().kinds_without_schema(items) == ()


PATCHED = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  image: registry.example.com/ml/mnist:1.4.0
  roles: {chief: {}, ps: {}, worker: {}}
  gang: {scheduler: volcano}
  patches:
    group: {target: {kind: PodGroup}, merge: {spec: {retryLimits: 3}}}
  environments:
    prod:
      patches:
        more: {target: {kind: PodGroup}, json: [{op: add, path: /spec/nodes, value: 2}]}
"""


def test_a_field_that_a_patch_adds_is_reported_in_the_patch() -> None:
    (document,) = check(PATCHED, "job.yaml").documents
    problems = check_objects(document, build(document.data), ObjectSchemas())
    assert {(problem.position.line, problem.position.column) for problem in problems} == {(9, 67), (13, 49)}
