"""The name of the next run, written in place of the last name, and the files that a rerun changes."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from textwrap import dedent

import pytest
import yaml

from tests.support.repository import commit_all, git, tfgen
from tests.support.tools import ROOT
from tfgen.check.jobs import check
from tfgen.commands.rerun import not_fresh, rerun
from tfgen.errors import ProblemsError, TfgenError, UsageError
from tfgen.job.facts import next_run
from tfgen.report.problems import as_text
from tfgen.text.document import Document
from tfgen.text.parse import parse


@pytest.mark.parametrize(
    ("run", "after"),
    [
        ("", "2"),
        ("1", "2"),
        ("9", "10"),
        ("09", "10"),
        ("lr-3", "lr-4"),
        ("warm", "warm-2"),
        ("a1b", "a1b-2"),
        ("v1-9", "v1-10"),
    ],
)
def test_next_run(run: str, after: str) -> None:
    assert next_run(run) == after


def test_a_run_that_would_be_too_long_is_the_users_to_name() -> None:
    with pytest.raises(TfgenError, match=r"set spec\.run to a shorter name"):
        next_run("a" * 20)


CASES = {
    "no run yet": (
        """\
        spec:
          # the image
          # of the job
          image: a:1
        """,
        """\
        spec:
          run: "2"
          # the image
          # of the job
          image: a:1
        """,
    ),
    "a comment that is nobody's": (
        """\
        spec:  # the job
          # what follows is ours

          # the image
          image: a:1
        """,
        """\
        spec:  # the job
          # what follows is ours

          run: "2"
          # the image
          image: a:1
        """,
    ),
    "a run with a comment": (
        """\
        spec:
          image: a:1   # kept
          run: '7'  # after the fix
        """,
        """\
        spec:
          image: a:1   # kept
          run: "8"  # after the fix
        """,
    ),
    "a run with an anchor": ("spec: {run: &r lr-1, image: a:1}\n", "spec: {run: &r lr-2, image: a:1}\n"),
    "a plain run": ("spec: {run: lr-1, image: a:1}\n", "spec: {run: lr-2, image: a:1}\n"),
    "an empty run": ('spec: {run: "", image: a:1}\n', 'spec: {run: "2", image: a:1}\n'),
    "braces": ("spec: {image: a:1}\n", 'spec: {run: "2", image: a:1}\n'),
    "braces with blanks": ("spec: { image: a:1 }\n", 'spec: { run: "2", image: a:1 }\n'),
    "braces over lines": (
        "spec: {\n  # the image\n  image: a:1,\n}\n",
        'spec: {\n  run: "2",\n  # the image\n  image: a:1,\n}\n',
    ),
    "braces with a comment": ("spec: {  # ours\n  image: a:1}\n", 'spec: {  # ours\n  run: "2",\n  image: a:1}\n'),
    "keys in quotes": ("spec:\n  'image': a:1\n", "spec:\n  'run': \"2\"\n  'image': a:1\n"),
    "CRLF": ("spec:\r\n  # the image\r\n  image: a:1\r\n", 'spec:\r\n  run: "2"\r\n  # the image\r\n  image: a:1\r\n'),
}


@pytest.mark.parametrize(("before", "after"), CASES.values(), ids=CASES)
def test_rerun(before: str, after: str) -> None:
    head = "metadata: {name: mnist}\n"
    assert raised(head + dedent(before), None) == head + dedent(after)


def raised(text: str, environment: str | None, *, resume: bool = False) -> str:
    return rerun(text, job(text), environment, resume=resume).text


def job(text: str) -> Document:
    (document,) = parse(text.removeprefix("\ufeff"), "job.yaml").documents
    return document


def test_a_job_in_json_stays_json() -> None:
    for indent in (None, 2):
        before = {
            "metadata": {"name": "m"},
            "spec": {"image": "a:1", "environments": {"prod": {}, "dev": {"run": "lr-1"}}},
        }
        prod = raised(json.dumps(before, indent=indent), "prod")
        assert json.loads(prod)["spec"]["environments"] == {"prod": {"run": "2"}, "dev": {"run": "lr-1"}}
        every = raised(json.dumps(before, indent=indent), None)
        assert json.loads(every)["spec"]["run"] == "2"
        assert json.loads(every)["spec"]["environments"]["dev"] == {"run": "lr-2"}
    assert '"spec": {\n    "run": "2",\n    "image": "a:1",' in every


def test_an_environment_has_a_run_of_its_own() -> None:
    text = "metadata: {name: m}\nspec:\n  run: a\n  environments:\n    dev: {}\n    prod:\n      image: b:1\n"
    assert "dev: {run: a-2}" in raised(text, "dev")
    assert "prod:\n      run: a-2\n      image: b:1\n" in raised(text, "prod")
    with pytest.raises(UsageError, match="choose dev or prod"):
        raised(text, "staging")


HEAD = "metadata: {name: m}\nspec:\n  environments:\n"
SHARED = {
    "an alias": (
        "    a: &a {env: {X: y}}\n    b: *a\n",
        '    a: &a {env: {X: y}}\n    b: {run: "2", <<: *a}\n',
    ),
    "an alias that has a run": (
        '    a: &a {run: "5"}\n    b: *a\n',
        '    a: &a {run: "5"}\n    b: {run: "6", <<: *a}\n',
    ),
    "a merged run": (
        '    a: &a {run: "5"}\n    b: {<<: *a}\n',
        '    a: &a {run: "5"}\n    b: {run: "6", <<: *a}\n',
    ),
    "a merged run, in lines": (
        '    a: &a\n      run: "5"\n    b:\n      <<: *a\n      image: b:1\n',
        '    a: &a\n      run: "5"\n    b:\n      run: "6"\n      <<: *a\n      image: b:1\n',
    ),
    "an anchor": (
        "    b: &b\n      # ours\n      image: b:1\n",
        '    b: &b\n      run: "2"\n      # ours\n      image: b:1\n',
    ),
    "an anchor before braces": ("    b: &b {image: b:1}\n", '    b: &b {run: "2", image: b:1}\n'),
    "an alias for the run": (
        '    a: {run: &r "5"}\n    b: {run: *r}\n',
        '    a: {run: &r "5"}\n    b: {run: "6"}\n',
    ),
    "keys with question marks": (
        "    ? b\n    : ? image\n      : b:1\n",
        '    ? b\n    : ? image\n      : b:1\n      run: "2"\n',
    ),
}


@pytest.mark.parametrize(("before", "after"), SHARED.values(), ids=SHARED)
def test_an_environment_that_shares_its_text(before: str, after: str) -> None:
    assert raised(HEAD + before, "b") == HEAD + after


@pytest.mark.parametrize(
    "environments",
    [
        '    b: &b {run: "5"}\n    a: *b\n',
        '    b: {run: &r "5"}\n    a: {run: *r}\n',
        "    b: &b {image: b:1}\n    a: {<<: *b}\n",
    ],
)
def test_what_would_change_another_is_left_to_its_author(environments: str) -> None:
    with pytest.raises(ProblemsError) as raised_error:
        raised(HEAD + environments, "b")
    (problem,) = raised_error.value.problems
    assert re.match(
        r"job\.yaml:[45]:\d+: cannot set run to .* in spec\.environments\.b .*by hand \[edit\]$", str(problem)
    )


def test_all_environments_run_again_each_with_its_next_run() -> None:
    text = HEAD + '    dev: {}\n    prod: {run: "5"}\n    lab: &l {run: x}\n    too: *l\n'
    done = rerun(text, job(text), None, resume=False)
    assert [(run.environment, run.before, run.after) for run in done.runs] == [
        (None, "", "2"),
        ("prod", "5", "6"),
        ("lab", "x", "x-2"),
        ("too", "x", "x-2"),
    ]
    assert done.text == (
        'metadata: {name: m}\nspec:\n  run: "2"\n  environments:\n    dev: {}\n    prod: {run: "6"}\n'
        "    lab: &l {run: x-2}\n    too: *l\n"
    )


VOLUME = "  storage: {model: {mountPath: /model, claim: {size: 1Gi}, runs: Separate}}\n"


def test_resume_goes_on_in_the_folder_of_the_last_run() -> None:
    environments = '    dev: {storage: {model: {subPath: x}}}\n    prod: {run: "5"}\n'
    text = HEAD.replace("spec:\n", f"spec:\n{VOLUME}") + environments
    every = raised(text, None, resume=True)
    assert every.startswith('metadata: {name: m}\nspec:\n  run: "2"\n  resumeFrom: "1"\n')
    assert '    prod: {resumeFrom: "5", run: "6"}\n' in every
    assert 'dev: {run: "2", resumeFrom: "1", storage' in raised(text, "dev", resume=True)
    fresh = raised(every, None)
    assert '  run: "3"\n  resumeFrom: ""\n' in fresh
    assert '    prod: {resumeFrom: "", run: "7"}\n' in fresh


def test_a_byte_order_mark_stays() -> None:
    assert raised("\ufeffspec: {image: a:1}\n", None) == '\ufeffspec: {run: "2", image: a:1}\n'


JOB = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  image: a:1
  roles: {chief: {}, ps: {}, worker: {}}
"""


@pytest.mark.parametrize(
    ("storage", "message"),
    [
        (VOLUME, ""),
        (
            VOLUME.replace(", runs: Separate", ""),
            "job.yaml:7:13: warning: all runs share storage.model, so a fresh run ",
        ),
        (
            "  storage: {data: {mountPath: /data, readOnly: true, claim: {name: d}}}\n",
            "job.yaml:4:1: warning: no volume ",
        ),
        ("", "job.yaml:4:1: warning: no volume stores the files of a run; "),
    ],
)
def test_a_fresh_run_that_is_none(storage: str, message: str) -> None:
    (document,) = check(JOB + storage, "job.yaml").documents
    assert as_text(not_fresh(document, None)).startswith(message)
    assert bool(list(not_fresh(document, None))) == bool(message)


# -- files that a rerun changes ----------------------------------------------------------------------------------------

LONGEST = 6
"""The maximum number of changed files that a reviewer of a rerun accepts."""

# An example of each workload kind, with an environment of the example.
EXAMPLES = {
    "StatefulSet": ("dist-mnist", "dev"),
    "Job": ("tf1-translate", "plugin"),
    "TFJob": ("eks-tfjob", "dev"),
    "VolcanoJob": ("volcano-job", "prod"),
    "JobSet": ("jobset-mnist", "dev"),
    "Pod": ("eci-imagenet", "spot"),
    "ElasticDL": ("elasticdl-mnist", "prod"),
}


@pytest.mark.parametrize("kind", EXAMPLES)
def test_a_rerun_of_one_environment_changes_few_files(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    example, environment = EXAMPLES[kind]
    monkeypatch.chdir(tmp_path)
    git("init", "--quiet", "--initial-branch=main", ".")
    shutil.copytree(ROOT / "examples" / example, tmp_path / example)
    job = f"{example}/job.yaml"
    if kind == "Job":
        tfgen("set", job, "workload.kind=Job")
    spec = yaml.safe_load(Path(job).read_text(encoding="utf-8"))["spec"]
    assert spec.get("workload", {}).get("kind", "StatefulSet") == kind
    tfgen("render", job)
    commit_all()
    for _ in range(2):
        tfgen("rerun", job, "--env", environment)
        tfgen("render", job)
        changed = git("status", "--porcelain", "--untracked-files=all", "--no-renames").splitlines()
        assert {line[:3] for line in changed} == {" M "}
        assert len(changed) <= LONGEST
        overlays = [line[3:] for line in changed if line[3:].startswith("overlays/")]
        assert overlays == [f"overlays/{example}/{environment}/kustomization.yaml"]
        commit_all()
