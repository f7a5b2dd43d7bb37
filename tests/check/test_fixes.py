"""Tests of edits that fix a problem: the line of the job before and after the edit."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfgen.check.fixes import FixedText, analyse, fix_each, fixed_texts
from tfgen.job.sources import Source

INVALID = Path(__file__).parents[1] / "invalid"
HEAD = "apiVersion: tfgen/v1alpha1\nkind: TrainingJob\nmetadata: {name: mnist}\nspec:\n"
REST = "  image: ml.example.com/mnist:1.4.0\n  roles: {chief: {}, ps: {}, worker: {}}\n"
DEFAULTS = "apiVersion: tfgen/v1alpha1\nkind: Defaults\n"


def fixes(text: str, under: str = "", file: str = "job.yaml") -> list[FixedText]:
    """Return the fixes of all problems of a file."""
    defaults = Source("tfgen.yaml", under) if under else None
    analysis = analyse(Source(file, text, defaults))
    return [fix for problem in analysis.problems for fix in fixed_texts(analysis, problem)]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("deadlin: 2000", "deadline: 2000"),
        ("'deadlin': 2000", "'deadline': 2000"),
        ('shm: "4g"', 'shm: "4Gi"|shm: "4G"'.replace('"', "")),
        ("strategy: single", "strategy: Single"),
        ("deadline: 2h", "deadline: 7200"),
        ('deadline: "300"', "deadline: 300"),
        ('labels: {"a": 1}', 'labels: {"a": "1"}'),
        ("tolerations: {key: gpu}", "tolerations: [{key: gpu}]"),
        ("args: [--x: y]", 'args: ["--x: y"]'),
        ("code: null", ""),
        (
            "workload: {kind: TFJob, tfJob: {apiVersion: v1}}\n  startDeadline: 9",
            "workload: {kind: TFJob, tfJob: {apiVersion: v1}}",
        ),
        ("command: [python, --dir=$HOME]\n  env: {HOME: a}", "command: [python, --dir=$(HOME)]\n  env: {HOME: a}"),
        ("args: [“a”]", 'args: ["a"]'),
        ("env: {A: {value: b}}", "env: {A: b}"),
        ("hostNetwork: true", "podTemplate: {spec: {hostNetwork: true}}"),
        ("imagePullSecrets: [{name: a}, {name: a}]", "imagePullSecrets: [{name: a}]"),
        (
            "env: {A: b}\n  podTemplate: {spec: {containers: [{name: tensorflow, env: [{name: A, value: c}]}]}}",
            "env: {A: b}\n  podTemplate: {spec: {containers: [{name: tensorflow, env: []}]}}",
        ),
        ("podTemplate: {spec: {tolerations: []}}", "tolerations: []\n  podTemplate: {spec: {}}"),
    ],
)
def test_the_text_behind_an_edit(before: str, after: str) -> None:
    """A | separates the alternative edits for one problem."""
    expected = [f"{HEAD}  {line}\n{REST}" if line else f"{HEAD}{REST}" for line in after.split("|")]
    assert [fix.text for fix in fixes(f"{HEAD}  {before}\n{REST}")] == expected


def test_a_role_that_is_missing_is_added() -> None:
    job = HEAD + REST.replace("ps: {}, ", "")
    assert [fix.text for fix in fixes(job)] == [job.replace("{chief: {}", "{ps: {}, chief: {}")]


def test_a_misspelt_name_in_a_comment_is_changed() -> None:
    job = HEAD + REST.replace("1.4.0", "latest  # tfgen: ignore latst-tag it moves")
    (fix,) = [fix for fix in fixes(job) if fix.fix.title == 'Change to "latest-tag"']
    assert fix.text == job.replace("latst-tag", "latest-tag")


def test_a_comment_that_ignores_nothing_is_removed() -> None:
    job = HEAD + REST.replace("1.4.0", "1.4.0  # tfgen: ignore guard-rail-loosened it is fine")
    assert [fix.text for fix in fixes(job)] == [HEAD + REST]


def test_a_value_that_a_layer_enforces_is_removed() -> None:
    under = f"{DEFAULTS}enforce: [spec.port]\nspec: {{port: 2000}}\n"
    assert [fix.text for fix in fixes(f"{HEAD}  port: 3000\n{REST}", under)] == [HEAD + REST]


def test_the_defaults_have_quick_fixes() -> None:
    text = f"{DEFAULTS}rules: {{latst-tag: {{severity: error}}}}\n"
    assert [fix.text for fix in fixes(text, file="tfgen.yaml")] == [text.replace("latst", "latest")]


def test_the_problem_of_another_file_has_none() -> None:
    assert fixes(HEAD + REST, f"{DEFAULTS}spek: {{}}\n") == []


def test_an_edit_that_brings_another_error_is_none() -> None:
    """Without the key, the patch would be empty."""
    patch = "patches: {rights: {target: {kind: Role}, merge: {rules: []}}}"
    analysis = analyse(Source("job.yaml", f"{HEAD}  {patch}\n{REST}"))
    (problem,) = analysis.problems
    assert problem.message.endswith("; remove this entry")
    assert [*fixed_texts(analysis, problem)] == []


def test_a_title_tells_the_edit() -> None:
    assert [fix.fix.title for fix in fixes(f"{HEAD}  shm: 4g\n  deadlin: 1\n{REST}")] == [
        "Write 4Gi",
        "Write 4G",
        'Change to "deadline"',
    ]


@pytest.mark.parametrize(
    ("line", "choice"),
    [
        ("shm: 4g", ["Write 4Gi", "Write 4G"]),
        ("initContainers: [{name: a, image: b, environment: []}]", ['Change to "envFrom"']),
        (
            "sidecars: [{name: a, image: b, env: [{name: C, value: d}, {name: C, value: e}]}]",
            ["Remove one of the two entries"],
        ),
    ],
)
def test_a_choice_is_left_to_the_user(line: str, choice: list[str]) -> None:
    """The similarity of two names is not enough."""
    job = f"{HEAD}  {line}\n{REST}"
    assert [fix.fix.title for fix in fixes(job)] == choice
    assert [*fix_each(Source("job.yaml", job))] == []


UNSOLVED = {
    ("dynamic-workers", "workload-kind"): "no task would end the job",
    ("kubernetes-habits", "unknown-key"): "each volume needs its mountPath",
    ("missing-role", "unused-role"): "the job would have no role",
    ("missing-role-of-single", "unused-role"): "the job would have no role",
    ("misspelt-field", "misspelt-field"): "the container would have two keys env",
    ("object-shape", "wrong-type"): "the object would have no apiVersion",
    ("patch-field", "patch-field"): "the patch would be empty",
    ("patch-operation", "patch-field"): "the patch would be empty",
}


@pytest.mark.long
def test_each_proposed_edit_solves_its_problem() -> None:
    """`UNSOLVED` lists the edits that cause another error."""
    unsolved, number = set(), 0
    for path in sorted(INVALID.glob("*.yaml")):
        analysis = analyse(Source(path.name, path.read_text(encoding="utf-8")))
        for problem in analysis.problems:
            assert problem.fixes or "did you mean" not in problem.message
            solved = [fixed.fix for fixed in fixed_texts(analysis, problem)]
            unsolved |= {(path.stem, problem.rule) for fix in problem.fixes if fix not in solved}
            number += bool(problem.fixes)
    assert number > 290
    assert unsolved == UNSOLVED.keys()


@pytest.mark.long
def test_fixed_texts_need_no_second_fix() -> None:
    for path in sorted(INVALID.glob("*.yaml")):
        source = Source(path.name, path.read_text(encoding="utf-8"))
        *_, last = [None, *fix_each(source)]
        if last is not None:
            fixed = source.replaced(content=last.text)
            assert [*fix_each(fixed)] == []
            assert len(analyse(fixed).problems) <= len(analyse(source).problems)
