"""Tests that tfgen refuses a hostile manifest in a few seconds, with a message at its position."""

from __future__ import annotations

import time

import pytest

from tfgen.commands.import_ import ImportSource, import_jobs, read_manifests
from tfgen.importers.table import Options

pytestmark = pytest.mark.long

LONGEST = 10
"""Seconds of CPU time of this process: an import takes 2 s on an idle machine, and several times as long on shared
cores."""

TF_JOB = "apiVersion: kubeflow.org/v1\nkind: TFJob\n"
VOLCANO_JOB = "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\n"
JOB_SET = "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\n"
TRAIN_JOB = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\n"

HOSTILE = {
    "many tasks": TF_JOB + "spec: {tfReplicaSpecs: [" + "{}," * 100_000 + "]}",
    "a cycle": TF_JOB + "spec: &a {tfReplicaSpecs: *a}",
    "a bomb": TF_JOB
    + "a: &a [x,x,x,x,x,x,x,x,x]\n"
    + "".join(f"a{i}: &a [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n" for i in range(9)),
    "a long name": TF_JOB
    + "metadata: {name: "
    + "n" * 1_000_000
    + "}\nspec: {tfReplicaSpecs: {Worker: {template: {}}}}",
    "a long file": TF_JOB + "metadata: {name: " + "n" * 10_000_000 + "}",
    "many replicas": TF_JOB
    + "spec: {tfReplicaSpecs: {"
    + ",".join(f"W{i}: {{template: {{spec: {{containers: [{{name: x}}]}}}}}}" for i in range(4_000))
    + "}}",
    "a script": VOLCANO_JOB
    + "spec: {tasks: [{template: {spec: {containers: [{command: [sh, -c, '"
    + "A=`cat /etc/volcano/a.host`; ((" * 10_000
    + "']}]}}}]}",
    "many overrides": TRAIN_JOB + "spec: {podTemplateOverrides: [" + "{spec: {}}," * 20_000 + "]}",
    "many jobs": JOB_SET + "spec: {replicatedJobs: [" + "{name: a}," * 12_000 + "]}",
}
"""Large manifests of the kind whose importer reads the large part."""

SHAPES = {
    "scalars for collections": "metadata: x\nspec: {runPolicy: 3, tfReplicaSpecs: {Worker: 1, PS: {template: no}}}",
    "nodes that are none": "spec: {trainer: {numNodes: many, env: x, command: {}}, podTemplateOverrides: [1, {}]}",
    "numbers that are none": "spec: {replicatedJobs: [{replicas: many, template: {spec: {parallelism: -1}}}]}",
    "nothing": "metadata:\nspec:",
    "lists for mappings": "metadata: []\nspec: []",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_manifest_meets_a_message_at_its_place(name: str) -> None:
    assert_refused_in_time(HOSTILE[name])


@pytest.mark.parametrize("head", [TF_JOB, VOLCANO_JOB, JOB_SET, TRAIN_JOB], ids=lambda head: head.split()[-1])
@pytest.mark.parametrize("name", SHAPES)
def test_a_manifest_of_wrong_types_meets_a_message_at_its_place(name: str, head: str) -> None:
    assert_refused_in_time(head + SHAPES[name])


def assert_refused_in_time(manifest: str) -> None:
    began = time.process_time()
    imported = import_jobs([ImportSource("a.yaml", f"{manifest}\n".encode())], Options())
    assert time.process_time() - began < LONGEST
    assert imported.jobs == ()
    assert imported.problems
    assert all(len(str(problem)) < 2_000 for problem in imported.problems)


TOLD = {
    "a long role": "--job_name=" + "n" * 900_000 + ", --task_index=0, '--ps_hosts=p:1', '--worker_hosts=w:1'",
    "a long flag": "--job_name=worker, --task_index=0, '--ps_hosts=p:1', '--worker_hosts=w:1', " + "n" * 900_000,
    "a long index": "--job_name=worker, --task_index=" + "1" * 900_000 + ", '--ps_hosts=p:1', '--worker_hosts=w:1'",
    "a script of flags": "sh, -c, 'python x" + " --job_name=$((" * 50_000 + "'",
    "a script of substitutions": "sh, -c, 'python x --ps_hosts=" + "$(a)`b`" * 120_000 + "'",
}


@pytest.mark.parametrize("name", TOLD)
def test_a_hostile_task_meets_a_message_at_its_place(name: str) -> None:
    container = f"{{name: t, image: 'x:1', args: [{TOLD[name]}]}}"
    task = f"apiVersion: v1\nkind: Pod\nmetadata: {{name: a-worker-0}}\nspec: {{containers: [{container}]}}\n"
    assert_refused_in_time(task)


SUBMITTED = {
    "many variables": "--name=a --image=x " + "".join(f"-e A{i}=1 " for i in range(70_000)) + "python t.py",
    "many volumes": "--name=a --image=x " + "".join(f"-d c{i}:/c{i} " for i in range(40_000)) + "python t.py",
    "many unknown flags": "--name=a " + "--nothing=1 " * 80_000,
    "many jobs": "--name=a\narena submit tf " * 30_000,
    "a long name": "--name=" + "n" * 1_000_000,
    "a long file": "--name=" + "n" * 10_000_000,
    "quotes that nothing closes": "--name=a '" + '"' * 500_000,
    "no end of a line": "--name=a \\\n" * 70_000,
    "no flags": "",
    "a flag without its value": "--name",
    "words for numbers": "--name=a --image=x --workers=many --gpus=all --ps=-1 --running-timeout=soon python t.py",
}


@pytest.mark.parametrize("command", ["arena submit tfjob", "elasticdl train"])
@pytest.mark.parametrize("name", SUBMITTED)
def test_a_hostile_command_meets_a_message_at_its_place(name: str, command: str) -> None:
    began = time.process_time()
    imported = import_jobs([ImportSource("a.sh", f"{command} {SUBMITTED[name]}\n".encode())], Options())
    assert time.process_time() - began < LONGEST
    assert imported.jobs == ()
    assert imported.problems
    assert all(len(str(problem)) < 2_000 for problem in imported.problems)


@pytest.mark.parametrize("character", ["\0", "\x01", "\x1b", "\x85", "\u2028", "\ufeff", "\r"])
@pytest.mark.parametrize("command", ["arena submit tfjob --name=a --image=b:1 'x{}y'", "elasticdl train '--args={}'"])
def test_a_character_that_no_yaml_carries_is_refused_at_its_word(command: str, character: str) -> None:
    script = f"# a comment {character}\n{command.format(character)}\n"
    imported = import_jobs([ImportSource("submit.sh", script.encode())], Options())
    assert imported.jobs == ()
    (problem,) = imported.problems
    assert (problem.file, problem.position.line) == ("submit.sh", 2)
    assert f"U+{ord(character):04X}" in problem.message


def test_a_command_in_another_encoding_is_refused_at_its_byte() -> None:
    command = "arena submit tfjob --name=a '--image=\udcff'"  # Python's text of an argument with the byte 0xff
    sources, _ = read_manifests([], [command], [])
    (problem,) = import_jobs(sources, Options()).problems
    assert str(problem) == "--command:1:38: the byte 0xff is not UTF-8; save the file as UTF-8 [yaml-encoding]"
