"""The objects under `objects` of a job in all three outputs, with changes by an environment."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support import normal
from tests.support.draws import drawn
from tests.support.generated import accepted
from tests.support.rendered import Rendered
from tests.support.tools import ROOT
from tfgen.check.jobs import check
from tfgen.report.problems import as_text

pytestmark = pytest.mark.long

# Lists that kustomize merges by a key, by no key, or replaces. Each case has the list of the job and that of prod.
PODS = (
    "selector: {matchLabels: {app: a}}, "
    "template: {metadata: {labels: {app: a}}, spec: {containers: [{name: a, image: 'a:1'}]}}"
)
WEBHOOK = (
    "{name: a, admissionReviewVersions: [v1], sideEffects: None, clientConfig: {service: {name: a, namespace: b}}}"
)

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
        f"{{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, webhooks: [{WEBHOOK}]}}",
        f"{{webhooks: [{WEBHOOK.replace('name: a', 'name: b')}]}}",
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
        "{apiVersion: apps/v1, kind: Deployment, metadata: {name: mnist-worker}, spec: {replicas: 1, " + PODS + "}}",
        "{spec: {replicas: 2}}",
    ),
    "a StatefulSet without a size": (
        "{apiVersion: apps/v1, kind: StatefulSet, spec: {serviceName: a, " + PODS + "}}",
        "{spec: {serviceName: b, replicas: 2}}",
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
    "a text in the place of the spec": (
        "{apiVersion: example.com/v1, kind: Own, spec: {a: 1}}",
        "{spec: text}",
    ),
    "a mapping in the place of a list": (
        "{apiVersion: example.com/v1, kind: Own, spec: [a]}",
        "{spec: {a: 1}, metadata: {annotations: {a: b}}}",
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


OLD, NEW = "registry.example.com/ml/mnist:1", "registry.example.com/ml/mnist:2"

# Nodes that kustomize reads as images, or whose shape makes kustomize fail if the kustomization has `images`.
SHAPES = {
    "a template that is a text": {"template": "text"},
    "a spec that is a text": "text",
    "a spec that is a list of texts": ["text"],
    "a container that is a list": {"containers": [["text"]]},
    "a container that is a text": {"below": [{"initContainers": ["text"]}]},
    "containers that are a text": {"containers": "text"},
    "containers that are one container": {"containers": {"image": OLD}},
    "an image that is a list": {"below": {"containers": [{"image": [OLD]}]}},
    "an image that is a number": {"containers": [{"image": 1}]},
    "an image that stays": {"below": [{"containers": [{"image": OLD}]}]},
    "a volume's image that stays": {"template": {"spec": {"volumes": [{"name": "a", "image": {"reference": OLD}}]}}},
    "a volume's image that is a text": {"volumes": [{"image": OLD}]},
    "volumes that are a number": {"template": {"spec": {"volumes": 1}}},
}


def with_image(spec, kind="Own"):
    """Return a job with an object of a custom kind, and an environment with another image."""
    roles = {"chief": {}, "ps": {}, "worker": {"replicas": 2}}
    objects = {"one": {"apiVersion": "example.com/v1", "kind": kind, "spec": spec}}
    environments = {"prod": {"image": NEW}}
    return {
        "apiVersion": "tfgen/v1alpha1",
        "kind": "TrainingJob",
        "metadata": {"name": "mnist"},
        "spec": {"image": OLD, "roles": roles, "objects": objects, "environments": environments},
    }


@pytest.mark.parametrize("spec", SHAPES.values(), ids=SHAPES)
def test_another_image_leaves_an_object_of_any_shape_as_it_is(spec, tmp_path):
    assert_equal(json.dumps(with_image(spec)), tmp_path)


def test_another_image_leaves_a_definition_of_a_kind_as_it_is(tmp_path):
    spec = {"versions": [{"schema": {"default": {"containers": [{"image": OLD}]}}}]}
    assert_equal(json.dumps(with_image(spec, kind="CustomResourceDefinition")), tmp_path)


def test_another_image_leaves_the_image_of_a_volume_as_it_is(tmp_path):
    job = with_image({})
    job["spec"]["podTemplate"] = {"spec": {"volumes": [{"name": "model", "image": {"reference": OLD}}]}}
    assert_equal(json.dumps(job), tmp_path)


def test_another_image_leaves_the_image_of_a_task_of_a_custom_kind_as_it_is(tmp_path):
    job = with_image({})
    job["spec"]["workload"] = {"kind": "JobSet"}
    job["spec"]["tensorboard"] = {"enabled": True, "logDir": "/logs", "image": OLD}
    job["spec"]["roles"]["ps"] = {"image": "registry.example.com/ml/mnist:9"}
    job["spec"]["environments"]["prod"]["tensorboard"] = {"image": NEW}
    assert accepted(job)
    Rendered.write(job, tmp_path).assert_equal("prod")


_KEYS = st.sampled_from(["spec", "template", "containers", "initContainers", "image", "volumes", "reference", "name"])
_LEAVES = st.sampled_from(["text", OLD, NEW, 1, True])
_NODES = st.recursive(
    _LEAVES, lambda node: st.lists(node, max_size=2) | st.dictionaries(_KEYS, node, max_size=3), max_leaves=8
)


@drawn(10)
@given(before=_NODES, after=_NODES)
@example(before={"spec": 1}, after={"spec": [OLD]})
@example(before={"spec": [OLD]}, after={"spec": 1})
def test_kustomize_gives_the_objects_of_an_environment_whatever_the_shape_of_another_object(before, after):
    job = with_image(before)
    job["spec"]["environments"]["prod"]["objects"] = {"one": {"spec": after}}
    if accepted(job):
        with tempfile.TemporaryDirectory() as folder:
            rendered = Rendered.write(job, Path(folder))
            outputs = {"tfgen": rendered.by_tfgen("prod"), "kustomize": rendered.by_kustomize("prod")}
            normal.assert_equal({**outputs, "our reading of the overlay": rendered.by_our_reading("prod")})


def test_the_job_of_the_page_is_sound_and_its_outputs_are_equal(tmp_path):
    page = (ROOT / "docs" / "objects.md").read_text(encoding="utf-8")
    assert_equal(page.partition("```yaml\n")[2].partition("```")[0], tmp_path)


def assert_equal(job, folder):
    checked = check(job, "job.yaml")
    assert as_text(checked.problems) == ""
    data = checked.documents[0].data
    rendered = Rendered.write(data, folder)
    for environment in data["spec"]["environments"]:
        rendered.assert_equal(environment)
