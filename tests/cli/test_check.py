"""Tests of ``tfgen check``: its output, its base of comparison, and its exit codes."""

from __future__ import annotations

import io
import json
from pathlib import Path

import jsonschema
import pytest
from sarif_pydantic import Sarif

from tests.support.repository import CHANGED, JOB, OTHER, WRONG, commit_all, git, tfgen
from tests.support.tools import ROOT
from tfgen import cli

CHANGE = (
    'image was "mnist:1" and is "mnist:2": Kubernetes refuses to change the template of the Job mnist-chief; '
    "for a new run: tfgen rerun job.yaml"
)


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        ("environments: {p: }", []),  # null may remove an environment of the defaults
        ("roles: []", ["job.yaml:6:10: spec.roles: found a list"]),
        ("workload: 1", ["job.yaml:7:13: spec.workload: found the number 1"]),
    ],
)
def test_a_job_under_broken_defaults_is_no_further_looked_at(job: Path, wrong: str, expected: list[str]) -> None:
    (job.parent / "tfgen.yaml").write_text("{apiVersion: tfgen/v1alpha1, kind: Defaults, spec: {x: 1}}")
    key = wrong.partition(":")[0]
    text = "\n".join(line for line in JOB.splitlines() if not line.strip().startswith(key))
    job.write_text(f"{text}\n  {wrong}\n", encoding="utf-8")
    printed, summary = tfgen("check", "job.yaml", code=1)
    *problems, unknown_key = printed.splitlines()
    assert [line.partition(",")[0] for line in problems] == expected
    assert unknown_key == 'tfgen.yaml:1:53: unknown key "x" in spec [unknown-key]'
    assert summary.endswith(", 0 warnings; 0 jobs compared with HEAD\n")


def test_a_job_as_it_is_committed_is_fine(job: Path) -> None:
    assert tfgen("check", "--no-files", "job.yaml") == ("", "0 errors, 0 warnings; 1 job compared with HEAD\n")


def test_problems_are_the_data(job: Path) -> None:
    job.write_text(CHANGED + "  env: {HUB_TOKEN: abc}\n", encoding="utf-8")
    out, err = tfgen("check", "--no-files", "job.yaml", code=1)
    first, second, third = out.splitlines()
    assert first == f"job.yaml:5:10: {CHANGE} [new-run]"
    assert second.startswith("job.yaml:7:20: env.HUB_TOKEN is new: ")
    assert third.startswith("job.yaml:7:20: warning: ")
    assert err == "2 errors, 1 warning; 1 job compared with HEAD\n"


def test_a_warning_is_no_failure(job: Path) -> None:
    job.write_text(JOB.replace("mnist:1", "mnist"), encoding="utf-8")
    commit_all()
    out, err = tfgen("check", "--no-files", "job.yaml")
    assert out.startswith("job.yaml:5:10: warning: ")
    assert err == "0 errors, 1 warning; 1 job compared with HEAD\n"


def test_json(job: Path) -> None:
    job.write_text(CHANGED, encoding="utf-8")
    out, err = tfgen("check", "--no-files", "job.yaml", "--format", "json", code=1)
    row = {"file": "job.yaml", "line": 5, "column": 10, "message": CHANGE, "rule": "new-run", "severity": "error"}
    assert json.loads(out) == {"problems": [row], "notes": [], "read": "the files on disk"}
    assert err == ""


def test_github(job: Path) -> None:
    job.write_text(CHANGED, encoding="utf-8")
    printed = tfgen("check", "--no-files", "job.yaml", "--format", "github", code=1).out
    assert printed == f"::error file=job.yaml,line=5,col=10,title=new-run::{CHANGE}\n"


def test_another_revision(job: Path) -> None:
    job.write_text(CHANGED, encoding="utf-8")
    commit_all()
    tfgen("check", "--no-files", "job.yaml")
    printed = tfgen("check", "--no-files", "job.yaml", "--against", "HEAD~1", code=1).err
    assert printed.endswith("1 error, 0 warnings; 1 job compared with HEAD~1; read the commit HEAD\n")
    assert tfgen("check", "--no-files", "job.yaml", "--against", "nowhere", code=2) == (
        "",
        "tfgen: error: job.yaml: git has no revision 'nowhere' in its repository\n",
    )


def test_jobs_are_compared_by_their_names(job: Path) -> None:
    """Jobs of one file are compared in any order. A new or renamed job has no committed version."""
    job.write_text(f"{OTHER}---\n{CHANGED}", encoding="utf-8")
    Path("more").mkdir()
    Path("more/job.yaml").write_text(JOB.replace("mnist}", "new}"), encoding="utf-8")
    assert tfgen("check", "--no-files", ".", code=1) == (
        f"job.yaml:12:10: {CHANGE} --job mnist [new-run]\n",
        "1 error, 0 warnings; 1 job compared with HEAD\n",
    )


def test_what_is_wrong_now_is_said_first(job: Path) -> None:
    job.write_text(WRONG.replace("mnist:1", "mnist:2"), encoding="utf-8")
    out, err = tfgen("check", "job.yaml", code=1)
    assert "new-run" not in out
    assert err == "1 error, 0 warnings; 0 jobs compared with HEAD\n"


def test_what_was_wrong_then_is_a_note(job: Path) -> None:
    job.write_text(WRONG, encoding="utf-8")
    commit_all()
    job.write_text(JOB, encoding="utf-8")
    assert tfgen("check", "--no-files", "job.yaml") == (
        "",
        "note: job.yaml has errors in HEAD, so tfgen does not compare the file with HEAD\n"
        "0 errors, 0 warnings; 0 jobs compared with HEAD\n",
    )


def test_a_committed_credential_hides_no_change(job: Path) -> None:
    """A message about the change contains no credential either."""
    job.write_text(f"{JOB}  env: {{DATA: 'https://me:hunter2@data.ml.internal'}}\n", encoding="utf-8")
    commit_all()
    job.write_text(f"{JOB}  env: {{DATA: 'https://data.ml.internal'}}\n", encoding="utf-8")
    out, err = tfgen("check", "--no-files", "job.yaml", code=1)
    assert 'env.DATA was "https://me:...@data.ml.internal" and is "https://data.ml.internal": Kubernetes refuses' in out
    assert err == "1 error, 0 warnings; 1 job compared with HEAD\n"


def test_without_git_the_rest_is_checked(job: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    job.write_text(CHANGED, encoding="utf-8")
    assert tfgen("check", "--no-files", "job.yaml") == (
        "",
        "note: git is not on the PATH, so tfgen compares no job with the last commit\n"
        "0 errors, 0 warnings; 0 jobs compared with HEAD\n",
    )


def test_a_new_run_is_the_way_out(job: Path) -> None:
    job.write_text(CHANGED, encoding="utf-8")
    tfgen("rerun", "job.yaml")
    tfgen("check", "--no-files", "job.yaml")


def test_the_files_are_compared_where_they_are_kept(job: Path) -> None:
    tfgen("render", "job.yaml")
    out, err = tfgen("check", "job.yaml")
    assert err == "0 errors, 0 warnings; 1 job compared with HEAD\n"
    Path("overlays/mnist/base/service.yaml").write_text("# mine\n", encoding="utf-8")
    out, err = tfgen("check", "job.yaml", code=1)
    difference = 'found "# mine" where tfgen renders "# Generated by tfgen.'
    assert out.startswith(f"overlays/mnist/base/service.yaml:1:1: {difference}")
    tfgen("check", "job.yaml", "--no-files")
    printed = tfgen("check", "job.yaml", "--out", "elsewhere", code=1).out
    assert printed.startswith("job.yaml:3:18: mnist was never rendered: ")


def test_a_broken_ledger_is_said_of_standard_input_without_errors(
    job: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli.run(["render", "job.yaml"]) == 0
    (job.parent / ".tfgen" / "mnist.json").write_text("{", encoding="utf-8")
    for text, code in ((WRONG, 1), (JOB, 3)):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        assert cli.run(["check", "-", "--out", "."]) == code
    out, err = capsys.readouterr()
    assert '<stdin>:6:39: unknown key "replica" in spec.roles.worker' in out
    assert err.splitlines()[-1].startswith("tfgen: error: .tfgen/mnist.json: not JSON")


def test_only_jobs_that_changed(job: Path) -> None:
    """The last commit contains drift in the files of the other job."""
    Path("other.yaml").write_text(OTHER, encoding="utf-8")
    tfgen("render", ".")
    service = Path("overlays/other/base/service.yaml")
    rendered = service.read_text(encoding="utf-8")
    service.write_text("# mine\n", encoding="utf-8")
    commit_all()
    tfgen("check", ".", code=1)
    tfgen("check", ".", "--changed")

    job.write_text(CHANGED, encoding="utf-8")
    output = tfgen("check", ".", "--changed", code=1).out.splitlines()
    assert [line.rpartition(" ")[2] for line in output] == ["[not-rendered]", "[new-run]"]
    git("checkout", "--quiet", ".")

    service.write_text("# mine, too\n", encoding="utf-8")
    assert tfgen("check", ".", "--changed", code=1).out.startswith("overlays/other/base/service.yaml:1:1: ")
    service.write_text(rendered, encoding="utf-8")
    tfgen("check", ".", "--changed")
    git("checkout", "--quiet", ".")

    Path("tfgen.yaml").write_text("apiVersion: tfgen/v1alpha1\nkind: Defaults\nspec: {env: {A: a}}\n", "utf-8")
    out, err = tfgen("check", ".", "--changed", code=1)
    assert out.startswith("overlays/other/base/service.yaml:1:1: ")
    assert "note: mnist keeps its committed files until the job changes: the defaults of the job changed" in err
    assert "to render the job now: tfgen render --upgrade job.yaml" in err
    assert "kept: the files of mnist, rendered with earlier defaults; add --upgrade" in tfgen("render", ".").err


def test_the_rules_between_jobs_see_those_that_did_not_change(job: Path) -> None:
    tfgen("render", ".")
    commit_all()
    Path("new.yaml").write_text(JOB, encoding="utf-8")
    assert "[duplicate-job]" in tfgen("check", ".", "--changed", code=1).out


def test_schemas_of_kubernetes_on_demand(job: Path) -> None:
    wrong = "  podTemplate: {spec: {novelField: 1}}\n"  # a warning, because a newer Kubernetes may have the field
    job.write_text(JOB + wrong, encoding="utf-8")
    commit_all()
    tfgen("check", "--no-files", "job.yaml")
    out, _ = tfgen("check", "--no-files", "job.yaml", "--kubernetes-version", "1.33", code=1)
    # All objects of the line share one error.
    (error,) = (line for line in out.splitlines() if line.endswith("[object-schema]"))
    assert ": Job mnist-chief, StatefulSet mnist-ps and StatefulSet mnist-worker: spec.template.spec: " in error
    assert "('novelField' was unexpected)" in error
    printed = tfgen("check", "--no-files", "job.yaml", "--kubernetes-version", "1.2", code=2).err
    assert "found no schemas of Kubernetes '1.2'; choose one of the versions 1." in printed


def test_without_the_extra_the_way_to_it_is_said(job: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    printed = tfgen("check", "job.yaml", "--kubernetes-version", "1.33", code=3).err
    assert printed.endswith("pip install kubernetes-validate\n")


def test_sarif(job: Path) -> None:
    """Validate the output with a closed schema from the specification, and with a reader of all of SARIF."""
    Path("a b").mkdir()
    Path("a b/ä.yaml").write_text(OTHER.replace("replicas: 2", "replica: 2"), encoding="utf-8")
    third = JOB.replace("mnist}", "third}")
    Path("third.yaml").write_text(third.replace("replicas", "replica"), encoding="utf-8")
    commit_all()
    Path("third.yaml").write_text(third, encoding="utf-8")
    job.write_text(CHANGED + "  env: {HUB_TOKEN: abc}\n", encoding="utf-8")
    out, err = tfgen("check", "--no-files", ".", "--format", "sarif", code=1)
    assert err == ""
    log = json.loads(out)
    schema = json.loads((ROOT / "tests" / "data" / "sarif-2.1.0.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(log)
    read = Sarif.model_validate(log)
    assert read.model_dump(mode="json", by_alias=True, exclude_none=True) == log
    (run,) = log["runs"]
    assert [result["ruleId"] for result in run["results"]] == [
        "unknown-key", "new-run", "new-run", "plaintext-secret",
    ]  # fmt: skip
    assert [result["level"] for result in run["results"]] == ["error", "error", "error", "warning"]
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    places = [result["locations"][0]["physicalLocation"] for result in run["results"]]
    assert places[0] == {
        "artifactLocation": {"uri": "a%20b/%C3%A4.yaml", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 6, "startColumn": 39},
    }
    assert places[1]["region"] == {"startLine": 5, "startColumn": 10}
    assert run["results"][1]["message"]["text"] == CHANGE
    (note,) = run["invocations"][0]["toolExecutionNotifications"]
    assert note["message"]["text"].startswith("third.yaml has errors in HEAD")


def test_sarif_of_an_absolute_path_and_of_nothing(job: Path) -> None:
    assert json.loads(tfgen("check", "--no-files", "job.yaml", "--format", "sarif").out)["runs"][0]["results"] == []
    job.write_text(WRONG, encoding="utf-8")
    printed = tfgen("check", "--no-files", str(job), "--format", "sarif", code=1).out
    (result,) = json.loads(printed)["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": job.as_uri()}
