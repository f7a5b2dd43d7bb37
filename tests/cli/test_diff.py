"""Tests of ``tfgen diff``: its base of comparison, output streams and exit codes. tests/diff tests the reports."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.repository import CHANGED, JOB, OTHER, WRONG, commit_all, git, tfgen
from tfgen import cli


def test_nothing_changes(job: Path) -> None:
    assert tfgen("diff", "job.yaml", "--exit-code") == ("", "0 jobs of 1 changed since HEAD\n")
    assert tfgen("diff", "job.yaml", "--format", "markdown").out == "No object changes.\n"


def test_a_change_is_the_data_and_no_failure_unless_asked(job: Path) -> None:
    job.write_text(CHANGED, encoding="utf-8")
    out, err = tfgen("diff", "job.yaml")
    assert out.startswith("mnist (job.yaml)\n  no environment: pods 5")
    assert '~ spec.template.spec.containers[tensorflow].image: "mnist:1" -> "mnist:2"\n' in out
    assert "  needs a new run:\n    job.yaml:5:10: image was" in out
    assert "\033" not in out
    assert err == "1 job of 1 changed since HEAD\n"
    tfgen("diff", "job.yaml", "--exit-code", code=1)


def test_a_change_of_what_applies_a_job_counts(job: Path) -> None:
    gitops = (
        "  environments: {prod: {namespace: ml}}\n  gitops: {repository: https://git.example.com/a.git, argocd: {}}\n"
    )
    job.write_text(JOB + gitops, encoding="utf-8")
    commit_all()
    job.write_text(JOB + gitops.replace("a.git", "b.git"), encoding="utf-8")
    assert tfgen("diff", "job.yaml", "--exit-code", code=1) == (
        "mnist (job.yaml)\n"
        "  prod: no change\n"
        "  GitOps objects:\n"
        "    ~ Application mnist-prod (overlays/argocd/mnist-prod.yaml)\n"
        '        ~ spec.source.repoURL: "https://git.example.com/a.git" -> "https://git.example.com/b.git"\n',
        "1 job of 1 changed since HEAD\n",
    )


def test_json_has_what_was_and_what_is(job: Path) -> None:
    job.write_text(CHANGED, encoding="utf-8")
    output = json.loads(tfgen("diff", ".", "--format", "json", "--against", "HEAD").out)
    assert (output["against"], [changed_job["job"] for changed_job in output["jobs"]]) == ("HEAD", ["mnist"])
    (environment,) = output["jobs"][0]["environments"]
    fields = next(item["fields"] for item in environment["objects"] if item["name"] == "mnist-chief")
    path = "spec.template.spec.containers[tensorflow].image"
    assert fields == [{"path": path, "before": "mnist:1", "after": "mnist:2"}]
    assert output["jobs"][0]["needsNewRun"][0]["line"] == 5


def test_another_revision(job: Path) -> None:
    job.write_text(CHANGED, encoding="utf-8")
    commit_all()
    tfgen("diff", "job.yaml", "--exit-code")
    tfgen("diff", "job.yaml", "--exit-code", "--against", "HEAD~1", code=1)
    assert "git has no revision 'nowhere'" in tfgen("diff", "job.yaml", "--against", "nowhere", code=2).err


def test_jobs_that_are_new_gone_or_moved(job: Path) -> None:
    """A job that moves to another file is the same job."""
    for name, text in (("gone", OTHER), ("old", JOB.replace("mnist}", "moved}"))):
        Path(name).mkdir()
        Path(name, "job.yaml").write_text(text, encoding="utf-8")
    commit_all()
    Path("gone/job.yaml").unlink()
    Path("old/job.yaml").rename("moved.yaml")
    Path("new.yaml").write_text(JOB.replace("mnist}", "new}"), encoding="utf-8")
    out, err = tfgen("diff", ".")
    assert [line for line in out.splitlines() if not line.startswith(" ")] == [
        "new (new.yaml)",
        "other (gone/job.yaml)",
    ]
    assert "no environment (new)" in out
    assert "no environment (removed)" in out
    assert err == "2 jobs of 4 changed since HEAD\n"


def test_a_job_with_errors_is_not_compared(job: Path) -> None:
    job.write_text(WRONG, encoding="utf-8")
    out, err = tfgen("diff", "job.yaml", code=1)
    assert out == ""
    assert "unknown-key" in err
    out, err = tfgen("diff", "job.yaml", "--format", "json", code=1)
    assert ([problem["rule"] for problem in json.loads(out)["problems"]], err) == (["unknown-key"], "")


@pytest.mark.parametrize(
    ("variables", "coloured"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)],
)
def test_colour_is_for_a_terminal(
    job: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    coloured: bool,
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    job.write_text(CHANGED, encoding="utf-8")
    assert cli.run(["diff", "job.yaml"]) == 0
    assert ("\033[31m" in capsys.readouterr().out) == coloured


def test_without_a_repository_everything_is_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("job.yaml").write_text(JOB, encoding="utf-8")
    assert "no environment (new)" in tfgen("diff", ".", "--exit-code", code=1).out


def test_it_works_below_the_root(job: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("jobs").mkdir()
    git("mv", "job.yaml", "jobs/job.yaml")
    Path("jobs/gone.yaml").write_text(OTHER, encoding="utf-8")
    commit_all()
    Path("jobs/gone.yaml").unlink()
    monkeypatch.chdir("jobs")
    out, err = tfgen("diff", ".")
    assert out.startswith("other (gone.yaml)\n")
    assert err == "1 job of 2 changed since HEAD\n"
