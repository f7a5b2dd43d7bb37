"""Tests of the conversion of a foreign job to job.yaml."""

from __future__ import annotations

from pathlib import Path

import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.support.draws import drawn
from tfgen.commands.import_ import ImportSource, import_jobs
from tfgen.graph.graph import plain_objects
from tfgen.importers.job_yaml import job_text
from tfgen.importers.table import Options
from tfgen.text.parse import parse

LABELS = {"app": "trainer", "azure.workload.identity/use": "true"}
ANNOTATIONS = {"vault.hashicorp.com/agent-inject": "true"}


def test_labels_that_all_replicas_share_stay_with_the_tasks() -> None:
    """An injector, an anti-affinity or a network must not select the finisher."""
    pod = {"containers": [{"name": "tensorflow", "image": "x:1"}]}
    template = {"metadata": {"labels": LABELS, "annotations": ANNOTATIONS}, "spec": pod}
    replicas = {name: {"restartPolicy": "Never", "template": template} for name in ("Chief", "PS", "Worker")}
    spec = {"runPolicy": {"cleanPodPolicy": "Running"}, "tfReplicaSpecs": replicas}
    job = {"apiVersion": "kubeflow.org/v1", "kind": "TFJob", "metadata": {"name": "m"}, "spec": spec}
    imported = import_jobs([ImportSource("a.yaml", yaml.safe_dump(job).encode())], Options())
    objects = {f"{item['kind']} {item['metadata']['name']}": str(item) for item in plain_objects(imported.jobs[0].data)}
    with_label = {name for name, text in objects.items() if "agent-inject" in text or "'trainer'" in text}
    assert with_label == {"Job m-chief", "StatefulSet m-ps", "StatefulSet m-worker"}
    assert imported.is_explained


def test_an_environment_without_the_instances_of_the_cloud_disables_only_these() -> None:
    text = (Path(__file__).parent / "tfjob-eci" / "manifest.yaml").read_text(encoding="utf-8")
    manifest = yaml.safe_load(text)
    template = manifest["spec"]["tfReplicaSpecs"]["Worker"]["template"]
    del template["metadata"], template["spec"]["tolerations"], template["spec"]["nodeSelector"]["type"]
    texts = {"dev": yaml.safe_dump(manifest), "prod": text}
    environments = {name: [ImportSource(f"{name}.yaml", item.encode())] for name, item in texts.items()}
    spec = import_jobs([], Options(), environments).jobs[0].data["spec"]
    assert spec["cloud"].keys() == {"eci"}
    assert spec["cloud"]["eci"]["enabled"] is False
    assert spec["environments"] == {"dev": {}, "prod": {"cloud": {"eci": {"enabled": True}}}}


TEXTS = st.sampled_from(
    [
        "",
        "a",
        "a,b",
        "{a}",
        "it's [x]",
        'say "x"',
        "no",
        "1e3",
        "0644",
        "- a",
        "a: b",
        "#",
        "a #b",
        "cd /\n\nrun\n",
        " a\nb",
        "é",
    ]
)
VALUES = st.recursive(
    TEXTS | st.sampled_from([None, True, 1, 0.5]),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(TEXTS.filter(bool), values, max_size=3),
    max_leaves=12,
)


@drawn(60)
@given(st.dictionaries(st.sampled_from(["image", "env", "roles", "args", "podTemplate"]), VALUES, min_size=1))
def test_the_text_of_a_job_has_the_data_of_the_job(spec: dict[str, object]) -> None:
    text = job_text({"kind": "TrainingJob", "spec": spec}, ["Imported."], {("spec", "image"): "A comment."})
    parsed = parse(text, "job.yaml")
    assert [str(problem) for problem in parsed.problems] == []
    assert parsed.documents[0].data == {"kind": "TrainingJob", "spec": spec}
