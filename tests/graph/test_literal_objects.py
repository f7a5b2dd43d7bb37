"""The objects that a job contains under `objects`: tfgen adds a name, labels and a sync wave."""

from __future__ import annotations

from textwrap import dedent

import yaml

from tfgen.graph.built import plain_objects
from tfgen.kubernetes.object import literal_name

JOB = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  image: registry.example.com/ml/mnist:1.4.0
  roles: {chief: {}, ps: {}, worker: {}}
  labels: {team: vision, tier: gold}
  objects:
    quota: {apiVersion: v1, kind: ResourceQuota, spec: {hard: {pods: 20, requests.nvidia.com/gpu: "8"}}}
    notes:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: notes, labels: {team: other}, annotations: {argocd.argoproj.io/sync-wave: "5"}}
      data: {a.txt: "{{ .Values.image }}\\n\\n", "08": "no"}
    viewer:
      apiVersion: v1
      kind: Service
      spec: {selector: {app: viewer}, ports: [{port: 80, protocol: TCP}, {port: 81}]}
  environments:
    prod:
      objects:
        quota: {spec: {hard: {pods: null, cpu: 4}}}
        notes: null
        viewer: {spec: {ports: [{port: 81}, {port: 82}]}}
        hub: {apiVersion: external-secrets.io/v1, kind: ExternalSecret, spec: {data: []}}
"""


def test_an_object_is_as_it_is_written_with_a_name_labels_and_a_wave():
    expected = """\
        apiVersion: v1
        kind: ConfigMap
        metadata:
          name: notes
          labels:
            app.kubernetes.io/name: mnist
            app.kubernetes.io/instance: mnist
            app.kubernetes.io/managed-by: tfgen
            tfgen/object: notes
            team: other
            tier: gold
          annotations: {argocd.argoproj.io/sync-wave: "5"}
        data: {a.txt: "{{ .Values.image }}\\n\\n", "08": "no"}
        ---
        apiVersion: v1
        kind: ResourceQuota
        metadata:
          name: mnist-quota
          labels:
            app.kubernetes.io/name: mnist
            app.kubernetes.io/instance: mnist
            app.kubernetes.io/managed-by: tfgen
            tfgen/object: quota
            team: vision
            tier: gold
          annotations: {argocd.argoproj.io/sync-wave: "-1"}
        spec: {hard: {pods: 20, requests.nvidia.com/gpu: "8"}}
        ---
        apiVersion: v1
        kind: Service
        metadata:
          name: mnist-viewer
          labels:
            app.kubernetes.io/name: mnist
            app.kubernetes.io/instance: mnist
            app.kubernetes.io/managed-by: tfgen
            tfgen/object: viewer
            team: vision
            tier: gold
        spec: {selector: {app: viewer}, ports: [{port: 80, protocol: TCP}, {port: 81}]}
        """
    assert literals(None) == list(yaml.safe_load_all(dedent(expected)))


def test_an_environment_changes_adds_and_leaves_out():
    contents = {
        literal_name(item): {key: value for key, value in item.items() if key != "metadata"}
        for item in literals("prod")
    }
    assert contents == {
        "hub": {"apiVersion": "external-secrets.io/v1", "kind": "ExternalSecret", "spec": {"data": []}},
        "quota": {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "spec": {"hard": {"requests.nvidia.com/gpu": "8", "cpu": 4}},
        },
        "viewer": {
            "apiVersion": "v1",
            "kind": "Service",
            "spec": {"selector": {"app": "viewer"}, "ports": [{"port": 81}, {"port": 82}]},
        },
    }


def literals(environment):
    return [item for item in plain_objects(yaml.safe_load(JOB), environment) if literal_name(item) is not None]
