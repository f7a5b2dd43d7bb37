"""The objects that stand in a job as they are, in all three outputs, where an environment changes them."""

from __future__ import annotations

import pytest

from tests.support.helm import HelmLibrary
from tests.support.rendered import Rendered
from tests.support.tools import ROOT
from tfgen.check.jobs import check
from tfgen.report.problems import as_text

# What kustomize merges by a key that is not said for the kind elsewhere, by none, or not at all; the job's and prod's.
CHANGES = {
    "ports of a Service": (
        "{apiVersion: v1, kind: Service, spec: {ports: [{port: 80}, {port: 81}]}}",
        "{spec: {ports: [{port: 81}, {port: 82}]}}",
    ),
    "secrets of an account": (
        "{apiVersion: v1, kind: ServiceAccount, secrets: [{name: a}, {name: b}], imagePullSecrets: [{name: a}]}",
        "{secrets: [{name: b}, {name: c}], imagePullSecrets: [{name: c}]}",
    ),
    "webhooks": (
        "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, webhooks: [{name: a}]}",
        "{webhooks: [{name: b}]}",
    ),
    "rules": (
        "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, rules: [{verbs: [get]}, {verbs: [list]}]}",
        "{rules: [{verbs: [list]}]}",
    ),
    "containers of a custom kind": (
        "{apiVersion: example.com/v1, kind: Own, spec: {containers: [{name: a, image: x}], env: [{name: b}]}}",
        "{spec: {containers: [{name: c}], env: []}}",
    ),
    "a container without a name": (
        "{apiVersion: example.com/v1, kind: Own, spec: {containers: [{image: x}], initContainers: [text, 1]}}",
        "{spec: {containers: [{image: y}]}}",
    ),
    "a size beside that of a StatefulSet": (
        "{apiVersion: apps/v1, kind: Deployment, metadata: {name: mnist-worker}, spec: {replicas: 1}}",
        "{spec: {replicas: 2}}",
    ),
    "a StatefulSet without a size": (
        "{apiVersion: apps/v1, kind: StatefulSet, spec: {serviceName: a}}",
        "{spec: {serviceName: b, replicas: many}}",
    ),
    "true for one": (
        "{apiVersion: example.com/v1, kind: Own, spec: {a: 1, b: {c: 0}}}",
        "{spec: {a: true, b: {c: false}}}",
    ),
    "the last key of a mapping": (
        "{apiVersion: example.com/v1, kind: Own, spec: {a: {b: {c: 1}}}}",
        "{spec: {a: {b: {c: null}}}}",
    ),
    "a mapping in the place of a text": (
        "{apiVersion: example.com/v1, kind: Own, spec: {a: text, b: {c: 1}}}",
        "{spec: {a: {d: 1}, b: text}}",
    ),
    "another name": (
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: mnist}}",
        "{metadata: {name: b, labels: {c: d}}}",
    ),
    "a reference to an object of another run": (
        "{apiVersion: networking.k8s.io/v1, kind: Ingress, spec: {defaultBackend: {service: {name: mnist}}}}",
        "{metadata: {annotations: {a: b}}}",
    ),
}


@pytest.mark.parametrize(("own", "of_prod"), CHANGES.values(), ids=CHANGES)
def test_the_three_outputs_are_equal(own, of_prod, tmp_path):
    job = f"""\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {{name: mnist}}
spec:
  image: registry.example.com/ml/mnist:1.4.0
  roles: {{chief: {{}}, ps: {{}}, worker: {{replicas: 2}}}}
  objects: {{one: {own}}}
  environments:
    prod: {{run: "2", roles: {{worker: {{replicas: 3}}}}, objects: {{one: {of_prod}}}}}
"""
    assert_equal(job, tmp_path)


def test_the_job_of_the_page_is_sound_and_its_outputs_are_equal(tmp_path):
    page = (ROOT / "docs" / "objects.md").read_text(encoding="utf-8")
    assert_equal(page.partition("```yaml\n")[2].partition("```")[0], tmp_path)


def assert_equal(job, folder):
    checked = check(job, "job.yaml")
    assert as_text(checked.problems) == ""
    data = checked.documents[0].data
    rendered = Rendered.write(data, folder)
    for environment in data["spec"]["environments"]:
        rendered.assert_equal(environment, helm=HelmLibrary())
