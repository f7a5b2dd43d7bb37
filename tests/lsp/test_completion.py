"""Tests of the keys, values and names that completion offers."""

from __future__ import annotations

import pytest

from tests.lsp.conftest import Open
from tests.support.marked import marked
from tfgen.check.severities import WARNINGS
from tfgen.lsp.completion import Choice, complete
from tfgen.lsp.spot import find_spot
from tfgen.schema import file as schema_file

JOB = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  image: ml.example.org/mnist:1.4.0
  strategy: MultiWorkerMirrored
  env: {A: "1", B: "2"}
  roles: {worker: {replicas: 4}, evaluator: {}}
  storage: {model: {mountPath: /model, claim: {size: 1Gi}}, data: {mountPath: /data, claim: {size: 1Gi}}}
  environments:
    dev: {gang: {enabled: false}}
    prod: {env: {A: "2"}}
"""
DEFAULTS = """\
apiVersion: tfgen/v1alpha1
kind: Defaults
allowedEnvironments: [dev, staging, prod, night]
spec: {environments: {night: {}}, gang: {scheduler: volcano, queue: research}}
"""


@pytest.fixture
def choices(open_file: Open) -> object:
    """Return a function that lists the choices at the mark of a text. The last text without syntax errors is `JOB`."""

    def listed(text: str, file: str = "job.yaml") -> list[Choice]:
        parsed = JOB if file == "job.yaml" else text.replace("|", "")
        document = open_file(f"{parsed}|", DEFAULTS, file).analysis.document_above(1)
        spot = find_spot(*marked(text))
        assert spot is not None
        return complete(spot, document, schema_file.NAME if file == "job.yaml" else schema_file.DEFAULTS)

    return listed


def names(choices: list[Choice]) -> list[str]:
    return [choice.name for choice in choices]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("spec:\n  strategy: |", ["ParameterServer", "MultiWorkerMirrored", "KerasDistribution", "Single"]),
        ("kind: |", ["TrainingJob"]),
        ("spec:\n  gang: {enabled: |", ["true", "false"]),
        ("spec:\n  storage:\n    model: {for: [|", ["worker", "evaluator", "tensorboard"]),
        ("spec:\n  sidecars:\n  - volumeMounts:\n    - name: |", ["model", "data"]),
        ("spec:\n  environments:\n    prod:\n      storage:\n        |", ["model", "data"]),
        ("spec:\n  environments:\n    prod:\n      roles: {|", ["worker", "evaluator"]),
        ("spec:\n  environments:\n    prod:\n      env: {|", ["B"]),
        ("spec:\n  environments:\n    |", ["staging", "night"]),
        ("spec:\n  workload: {jobSet: {rules: [{targetReplicatedJobs: [|", ["worker", "evaluator"]),
        ("spec:\n  gang: |", []),
        ("spec:\n  podTemplate: {spec: {|", []),
        ("spec:\n  initContainers:\n  - name: a\n    env:\n    - name: A\n      |", []),
        ("unknown:\n  |", []),
    ],
)
def test_values_and_names_are_listed(text: str, expected: list[str], choices: Open) -> None:
    assert names(choices(text)) == expected


def test_keys_have_the_first_sentence_on_each(choices: Open) -> None:
    listed = choices("metadata:\n  names|")
    assert Choice("namespace", "namespace: ", "Namespace of the job.") in listed
    assert "name" not in names(listed), "the job has a name"


def test_the_key_at_the_cursor_is_listed(choices: Open) -> None:
    assert Choice("name", "name", "Name of the job, and prefix of the name of every object.") in choices(
        "metadata:\n  na|me: mnist"
    )


def test_a_key_that_is_typed_again_is_listed(choices: Open) -> None:
    """The last text without syntax errors has the key, but the text in the editor has only its first letters."""
    assert "replicas" in names(choices("spec:\n  roles:\n    worker: {repl|"))


@pytest.mark.parametrize(("text", "written"), [("spec:\n  ro|", "tensorboard:"), ("spec: {ro|", "tensorboard: ")])
def test_a_mapping_in_block_style_has_no_blank_behind_its_key(text: str, written: str, choices: Open) -> None:
    assert written in [choice.text for choice in choices(text)]


def test_the_keys_of_an_item_are_listed(choices: Open) -> None:
    assert "operator" in names(choices("spec:\n  tolerations:\n  - |"))
    assert choices("spec:\n  tolerations: [|") == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{DEFAULTS}rules:\n  |", sorted(WARNINGS)),
        (f"{DEFAULTS}rules: {{latest-tag: {{severity: |}}}}", ["error", "warning", "off"]),
        ("kind: Defaults\nspec: {environments: {dev: {}, prod: {}}}\nallowedEnvironments: [|]", ["dev", "prod"]),
        ("kind: |", ["Defaults"]),
    ],
)
def test_the_defaults_have_keys_of_their_own(text: str, expected: list[str], choices: Open) -> None:
    assert names(choices(text, "tfgen.yaml")) == expected


def test_a_file_that_was_never_yaml_has_the_keys_of_the_schema() -> None:
    spot = find_spot(*marked("spec:\n  environments: {dev: {gang: {|"))
    assert spot is not None
    assert "queue" in names(complete(spot, None, schema_file.NAME))
