"""Answers of the server: the explanation, the definition and the completions at a place."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.lsp.conftest import Open, Opened
from tests.support.marked import marked
from tfgen.check.severities import IGNORABLE
from tfgen.lsp.answers import Choice, complete, explain_key, set_or_enforced
from tfgen.lsp.places import find_spot
from tfgen.schema import file as schema_file
from tfgen.schema.keys import explain

# -- explanations ------------------------------------------------------------------------------------------------------

JOB = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  image: mnist:1.4.0
  strategy: MultiWorkerMirrored
  roles:
    worker: {replicas: 4}
  gang: {scheduler: volcano}
  environments:
    dev: {gang: {minAvailable: 1}}
"""
DEFAULTS = """\
apiVersion: tfgen/v1alpha1
kind: Defaults
registry: ml.example.org
spec:
  gang: {queue: research}
  environments:
    dev: {gang: {queue: night}}
"""

Hover = Callable[..., str | None]


@pytest.fixture
def hover(open_file: Open) -> Hover:
    """Return a function that explains the key at the mark of a file. The layer of the file is `DEFAULTS`."""

    def explained(text: str, file: str = "job.yaml") -> str | None:
        analysis, cursor = open_file(text, DEFAULTS, file)
        return explain_key(analysis, cursor) if cursor else None

    return explained


def test_a_key_is_explained(hover: Hover) -> None:
    assert hover(JOB.replace("replicas", "repl|icas")) == explain("spec.roles.worker.replicas")


def test_the_line_of_an_inherited_value_is_shown(hover: Hover) -> None:
    text = hover(JOB.replace("gang: {s", "ga|ng: {s"))
    assert text == f'{explain("spec.gang")}\nInherited:\n\n  spec.gang.queue: "research", from tfgen.yaml:5:17\n'


def test_an_environment_inherits_too(hover: Hover) -> None:
    text = hover(JOB.replace("dev: {gang", "dev: {ga|ng")) or ""
    assert text.partition("Inherited:\n\n")[2] == '  spec.gang.queue: "night", from tfgen.yaml:7:25\n'


def test_the_line_of_a_registry_is_shown(hover: Hover) -> None:
    text = hover(JOB.replace("image: mnist", "image: mn|ist")) or ""
    assert text.endswith('spec.image: "ml.example.org/mnist:1.4.0", registry of tfgen.yaml:3:11\n')


def test_a_job_that_sets_a_value_inherits_none(hover: Hover) -> None:
    assert "Inherited" not in (hover(JOB.replace("volcano}", "volcano, qu|eue: mine}")) or "Inherited")


def test_a_job_with_errors_is_explained_without_its_layers(hover: Hover) -> None:
    assert hover(JOB.replace("gang: {s", "ga|ng: {typo: 1, s")) == explain("spec.gang")


def test_a_key_of_the_defaults_is_explained_by_their_schema(hover: Hover) -> None:
    assert (hover(DEFAULTS.replace("kind", "ki|nd"), "tfgen.yaml") or "").startswith("kind: always Defaults\n")


def test_a_long_list_of_inherited_values_is_cut(hover: Hover, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tfgen.lsp.answers._MOST", 0)
    assert (hover(JOB.replace("gang: {s", "ga|ng: {s")) or "").endswith("Inherited:\n\n  and 1 more value\n")


@pytest.mark.parametrize("line", ["  tpyo|: 1\n", "  # a wo|rd\n"])
def test_all_else_has_no_explanation(line: str, hover: Hover) -> None:
    assert hover(JOB + line) is None


# -- definitions -------------------------------------------------------------------------------------------------------

DEFINED = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  image: mnist:1.4.0
  port: 2000
  strategy: MultiWorkerMirrored
  roles:
    worker: {replicas: 4, labels: {a: b}}
  gang: {scheduler: volcano, minAvailable: 2}
  args: [a]
  environments:
    dev: {gang: {minAvailable: 1}}
"""
DEFINED_DEFAULTS = """\
apiVersion: tfgen/v1alpha1
kind: Defaults
registry: ml.example.org
enforce: [registry, spec.port, {path: spec.gang, except: [minAvailable, scheduler]}, spec.labels]
spec:
  port: 2000
  gang: {queue: research, minAvailable: 1}
  labels: {a: b}
"""
PORT, GANG = ("tfgen.yaml", 4, 21), ("tfgen.yaml", 4, 32)


@pytest.mark.parametrize(
    ("old", "new", "places"),
    [
        ("port: 2000", "po|rt: 2000", [("tfgen.yaml", 6, 3), PORT]),
        ("port: 2000", "port: 2|000", [("tfgen.yaml", 6, 3), PORT]),
        ("gang: {s", "ga|ng: {s", [("tfgen.yaml", 7, 3), GANG]),
        ("volcano, minA", "volcano, mi|nA", [("tfgen.yaml", 7, 27)]),
        ("{gang: {minA", "{gang: {mi|nA", [("job.yaml", 10, 30), ("tfgen.yaml", 7, 27)]),
        ("labels: {a: b", "labels: {a: |b", [("tfgen.yaml", 4, 86)]),
        ("mnist:1.4.0", "mni|st:1.4.0", [("tfgen.yaml", 3, 11), ("tfgen.yaml", 4, 11)]),
        ("mnist:1.4.0", "ml.example.org/mni|st:1.4.0", [("tfgen.yaml", 4, 11)]),
        ("args: [a", "args: [|a", []),
        ("replicas", "repli|cas", []),
        ("spec:", "sp|ec:", []),
    ],
)
def test_the_lines_are_found(old: str, new: str, places: list[tuple[str, int, int]], open_file: Open) -> None:
    assert definition(open_file(DEFINED.replace(old, new, 1), DEFINED_DEFAULTS)) == places


def test_a_value_of_the_defaults_leads_to_the_defaults_above(open_file: Open) -> None:
    nearer = "apiVersion: tfgen/v1alpha1\nkind: Defaults\nspec: {port: 20|00}\n"
    assert definition(open_file(nearer, DEFINED_DEFAULTS, "jobs/tfgen.yaml")) == [("tfgen.yaml", 6, 3), PORT]


def definition(opened: Opened) -> list[tuple[str, int, int]]:
    assert opened.cursor is not None
    document = opened.analysis.accepted_at(opened.cursor.root)
    assert document is not None
    return [(file, *place) for file, place in set_or_enforced(document, opened.cursor.path)]


# -- completions -------------------------------------------------------------------------------------------------------

COMPLETED = """\
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
COMPLETED_DEFAULTS = """\
apiVersion: tfgen/v1alpha1
kind: Defaults
allowedEnvironments: [dev, staging, prod, night]
spec: {environments: {night: {}}, gang: {scheduler: volcano, queue: research}}
"""


@pytest.fixture
def choices(open_file: Open) -> object:
    """Return a function that lists the choices at the mark of a text. The last valid text is `COMPLETED`."""

    def listed(text: str, file: str = "job.yaml") -> list[Choice]:
        parsed = COMPLETED if file == "job.yaml" else text.replace("|", "")
        document = open_file(f"{parsed}|", COMPLETED_DEFAULTS, file).analysis.document_above(1)
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
        (f"{COMPLETED_DEFAULTS}rules:\n  |", sorted(IGNORABLE)),
        (f"{COMPLETED_DEFAULTS}rules: {{latest-tag: {{severity: |}}}}", ["error", "warning", "off"]),
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
