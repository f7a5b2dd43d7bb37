"""A small job, as text."""

from __future__ import annotations

JOB = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  image: registry.example.com/ml/mnist:1.4.0
  roles: {chief: {}, ps: {}, worker: {replicas: 2}}
  environments: {prod: {roles: {worker: {replicas: 4}}}}
"""
