"""The priority classes that a job creates."""

from __future__ import annotations

from textwrap import dedent

import yaml

from tfgen.check.jobs import check
from tfgen.graph.built import plain_objects
from tfgen.kubernetes.object import identity
from tfgen.report.problems import as_text
from tfgen.targets.kustomize.build import build_objects
from tfgen.targets.render import render

JOB = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  run: r1
  image: registry.example.com/ml/mnist:1
  roles: {chief: {}, ps: {}, worker: {priorityClassName: low}}
  priorityClasses:
    low: {value: -10, preemptionPolicy: Never}
    high: {value: 1000000000, description: Training that may preempt}
  environments:
    shared: {priorityClasses: {low: null, high: null}}
"""


def test_each_has_the_name_that_it_is_given():
    expected = """\
        apiVersion: scheduling.k8s.io/v1
        kind: PriorityClass
        metadata:
          name: high
          labels:
            app.kubernetes.io/name: mnist
            app.kubernetes.io/instance: mnist
            app.kubernetes.io/managed-by: tfgen
          annotations: {argocd.argoproj.io/sync-wave: "-1"}
        value: 1000000000
        description: Training that may preempt
        preemptionPolicy: PreemptLowerPriority
        globalDefault: false
        ---
        apiVersion: scheduling.k8s.io/v1
        kind: PriorityClass
        metadata:
          name: low
          labels:
            app.kubernetes.io/name: mnist
            app.kubernetes.io/instance: mnist
            app.kubernetes.io/managed-by: tfgen
          annotations: {argocd.argoproj.io/sync-wave: "-1"}
        value: -10
        preemptionPolicy: Never
        globalDefault: false
        """
    made = [each for each in plain_objects(yaml.safe_load(JOB)) if each["kind"] == "PriorityClass"]
    assert made == list(yaml.safe_load_all(dedent(expected)))


def test_an_environment_may_leave_them_to_another():
    made = plain_objects(yaml.safe_load(JOB), "shared")
    assert [each for each in made if each["kind"] == "PriorityClass"] == []


def test_what_kubernetes_keeps_for_itself_is_refused():
    job = JOB.replace("low: {value: -10", "system-low: {value: 1000000001")
    assert as_text(check(job, "job.yaml").problems) == (
        'job.yaml:9:5: spec.priorityClasses: found the key "system-low", expected another name: Kubernetes reserves '
        "names that begin with system- [reserved-name]\n"
        "job.yaml:9:25: spec.priorityClasses.system-low.value: found 1000000001, expected an integer from -2147483648 "
        "to 1000000000 [out-of-range]\n"
    )


def test_no_two_have_one_file_nor_is_a_files_name_too_long():
    """The file of a class `x.patch` differs from the file of an environment's patch of the class `x`."""
    text = f"""\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {{name: mnist}}
spec:
  image: registry.example.com/ml/mnist:1
  roles: {{chief: {{}}, ps: {{}}, worker: {{}}}}
  priorityClasses:
    x: {{value: 1}}
    {"a" * 252}b: {{value: 2}}
    {"a" * 252}c: {{value: 3}}
  environments:
    dev: {{priorityClasses: {{x: {{value: 4}}, x.patch: {{value: 5}}, {"a" * 252}b: {{value: 6}}}}}}
"""
    checked = check(text, "job.yaml")
    assert as_text(checked.problems) == ""
    data = checked.documents[0].data
    files = {path.removeprefix("overlays/mnist/"): text for path, text in render(data).tree.files.items()}
    for environment in (None, "dev"):
        assert by_identity(build_objects(files, environment)) == by_identity(plain_objects(data, environment))


def by_identity(objects):
    return {identity(item): item for item in objects}
