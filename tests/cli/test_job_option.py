"""Tests of the option `--job` of the commands that work on one job, with a file of two jobs."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import yaml

from tests.support.repository import commit_all, git, tfgen
from tfgen import cli
from tfgen.cli.parser import parsers
from tfgen.commands.completion import candidates

JOB = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {{name: {name}}}  # {name}
spec:
  image: registry.ml.internal/ml/{name}:1.4.0
  command: [python, -c, "print('{name}')"]
  strategy: Single
  roles: {{chief: {{}}}}
  environments: {{dev: {{}}, prod: {{}}}}
"""


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("tfgen.yaml").write_text("apiVersion: tfgen/v1alpha1\nkind: Defaults\nroot: true\n", encoding="utf-8")
    jobs = Path("jobs.yaml")
    jobs.write_text(JOB.format(name="mnist") + "---\n" + JOB.format(name="pong"), encoding="utf-8")
    return jobs


def specs(file: Path) -> dict[str, dict[str, object]]:
    documents = yaml.safe_load_all(file.read_text(encoding="utf-8"))
    return {document["metadata"]["name"]: document["spec"] for document in documents}


@pytest.mark.parametrize("name", ["mnist", "pong"])
def test_set_changes_one_job(file: Path, name: str) -> None:
    before = file.read_text(encoding="utf-8")
    tfgen("set", "jobs.yaml", "--job", name, "retries=7")
    assert {job: spec.get("retries") for job, spec in specs(file).items()} == {"mnist": None, "pong": None, name: 7}
    lines = file.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if "retries" not in line] == before.splitlines()


@pytest.mark.parametrize("name", ["mnist", "pong"])
def test_rerun_names_the_next_run_of_one_job(file: Path, name: str) -> None:
    tfgen("rerun", "jobs.yaml", "--job", name)
    assert {job: "run" in spec for job, spec in specs(file).items()} == {"mnist": False, "pong": False, name: True}


@pytest.mark.parametrize("name", ["mnist", "pong"])
def test_rm_retires_one_job(file: Path, name: str) -> None:
    tfgen("rm", "jobs.yaml", "--job", name, "--env", "dev")
    retired = {job: spec["environments"]["dev"] for job, spec in specs(file).items()}  # type: ignore[index]
    assert retired == {"mnist": {}, "pong": {}, name: {"enabled": False}}


def test_local_runs_one_job(capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["local", "jobs.yaml", "--job", "pong"]) == 0
    output = capfd.readouterr().out
    assert "pong" in output
    assert "mnist" not in output


COMMANDS = {
    "set": ["retries=7"],
    "rerun": [],
    "rename": ["other"],
    "rm": [],
    "local": [],
    "status": [],
    "apply": [],
    "delete": [],
    "wait": [],
    "logs": [],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_with_several_jobs_needs_the_option(file: Path, command: str) -> None:
    before = file.read_text(encoding="utf-8")
    printed = tfgen(command, "jobs.yaml", *COMMANDS[command], code=2).err
    assert "jobs.yaml: found 2 jobs: mnist and pong; choose a job with --job NAME" in printed
    printed = tfgen(command, "jobs.yaml", "--job", "pon", *COMMANDS[command], code=2).err
    assert 'jobs.yaml: found no job "pon"; did you mean "pong"?' in printed
    assert file.read_text(encoding="utf-8") == before


def rendered_jobs() -> set[str]:
    return {path.name for path in Path("charts").iterdir()}


@pytest.fixture
def repository(file: Path) -> Path:
    """Commit the job file and the rendered files of its two jobs to a repository, and return the job file."""
    git("init", "--quiet")
    tfgen("render", "jobs.yaml")
    commit_all()
    return file


@pytest.mark.parametrize(
    ("name", "stays"), [("mnist", "---\n" + JOB.format(name="pong")), ("pong", JOB.format(name="mnist"))]
)
def test_rm_removes_one_job(repository: Path, name: str, stays: str) -> None:
    lines = tfgen("rm", "jobs.yaml", "--job", name).out.splitlines()
    assert repository.read_text(encoding="utf-8") == stays
    assert rendered_jobs() == {"mnist", "pong"} - {name}
    assert lines[0] == "changed  jobs.yaml"
    assert f"removed  charts/{name}/Chart.yaml" in lines
    assert "removed  jobs.yaml" not in lines
    assert f"{name} (jobs.yaml)" in lines
    tfgen("check", "jobs.yaml", "--against", "HEAD")


def test_rm_of_the_last_job_removes_the_file(repository: Path) -> None:
    tfgen("rm", "jobs.yaml", "--job", "pong")
    tfgen("rm", "jobs.yaml", "--job", "mnist")
    assert not repository.exists()


def test_rm_keeps_an_edit_of_another_job(repository: Path) -> None:
    text = repository.read_text(encoding="utf-8").replace("mnist:1.4.0", "mnist:1.5.0")
    repository.write_text(text, encoding="utf-8")
    tfgen("rm", "jobs.yaml", "--job", "pong")
    assert repository.read_text(encoding="utf-8") == text.partition("---\n")[0]


def test_rm_refuses_to_lose_an_edit_of_the_job(repository: Path) -> None:
    text = repository.read_text(encoding="utf-8").replace("pong:1.4.0", "pong:1.5.0")
    repository.write_text(text, encoding="utf-8")
    printed = tfgen("rm", "jobs.yaml", "--job", "pong", code=2).err
    assert "jobs.yaml: the text of pong is not committed to git; commit the file" in printed
    assert repository.read_text(encoding="utf-8") == text
    assert rendered_jobs() == {"mnist", "pong"}
    tfgen("rm", "jobs.yaml", "--job", "pong", "--force")
    assert rendered_jobs() == {"mnist"}


def test_rm_by_name_names_the_command_for_one_job(repository: Path) -> None:
    assert "tfgen rm jobs.yaml --job pong" in tfgen("rm", "pong", code=2).err
    assert "--job needs a job file" in tfgen("rm", "pong", "--job", "pong", code=2).err


def test_rm_keeps_the_file_if_a_rendered_file_was_edited(repository: Path) -> None:
    before = repository.read_text(encoding="utf-8")
    chart = Path("charts/pong/Chart.yaml")
    chart.write_text(chart.read_text(encoding="utf-8") + "# edited\n", encoding="utf-8")
    assert cli.run(["rm", "jobs.yaml", "--job", "pong"]) != 0
    assert repository.read_text(encoding="utf-8") == before
    assert chart.exists()


def test_rm_reads_no_file_with_a_merge_conflict(repository: Path) -> None:
    """The second job has the conflict, so tfgen cannot read this job, and the removal of the first would lose both."""
    first, separator, second = repository.read_text(encoding="utf-8").partition("---\n")
    text = first + separator + second.replace("kind:", "<<<<<<< HEAD\nkind:")
    repository.write_text(text, encoding="utf-8")
    for options in ([], ["--job", "pong"], ["--job", "mnist", "--force"]):
        assert tfgen("rm", "jobs.yaml", *options, code=1) == (
            "",
            "jobs.yaml:12:1: found a merge conflict of git; choose one side and remove the lines with the conflict "
            "markers [yaml-syntax]\n",
        )
    assert repository.read_text(encoding="utf-8") == text
    assert rendered_jobs() == {"mnist", "pong"}


NAME = "jöb file.yaml"
QUOTED = f"'{NAME}'"
"""Name of a job file, as in a command for a shell."""


@pytest.fixture
def two_jobs(repository: Path) -> None:
    """Commit the two jobs in a file whose name needs quotes in a shell."""
    repository.rename(NAME)
    tfgen("commit", ".")


def printed_commands(*arguments: str, code: int = 0) -> list[str]:
    """Run tfgen, and return the commands of tfgen that the output proposes, in alphabetical order."""
    printed = "".join(tfgen(*arguments, code=code))
    return sorted(
        {*re.findall(r"tfgen (?:delete|rerun|render|rm|set|commit) (?:--?[a-z]+ )*'[^\n\[]*[^\n\[ ]", printed)}
    )


PROPOSED = {
    "set": (["set", NAME, "--job", "pong", "image=pong:2"], [], [f"tfgen render {QUOTED}"]),
    "rename": (
        ["rename", NAME, "video", "--job", "pong"],
        [],
        [
            f"tfgen commit {QUOTED}",
            f"tfgen rm {QUOTED} --job video --env dev",
            f"tfgen rm {QUOTED} --job video --env prod",
        ],
    ),
    "rm --env": (
        ["rm", NAME, "--job", "pong", "--env", "dev"],
        [],
        [
            f"tfgen delete {QUOTED} --job pong --env dev",
            f"tfgen render {QUOTED}",
            f"tfgen rerun {QUOTED} --job pong --env dev --enable",
        ],
    ),
    "rerun": (["rerun", NAME, "--job", "pong"], [], [f"tfgen render {QUOTED}"]),
    "check": (
        ["check", NAME],
        [["set", NAME, "--job", "pong", "image=pong:2"]],
        [f"tfgen render {QUOTED}", f"tfgen rerun {QUOTED} --job pong"],
    ),
    "check of an earlier run": (
        ["check", NAME, "--no-files"],
        [
            ["rerun", NAME, "--job", "pong", "--env", "prod", "--commit"],
            ["set", NAME, "--job", "pong", "--env", "prod", "run=null"],
        ],
        [f"tfgen set {QUOTED} --job pong --env prod run=3"],
    ),
    "rerun of a retired job": (
        ["rerun", NAME, "--job", "pong", "--env", "dev"],
        [["rm", NAME, "--job", "pong", "--env", "dev"]],
        [f"tfgen rerun {QUOTED} --job pong --env dev --enable"],
    ),
    "rm of a name": (
        ["rm", "pong"],
        [],
        [f"tfgen rm {QUOTED} --job pong; to remove only the rendered files, add --force"],
    ),
}
CODES = {"check": 1, "check of an earlier run": 1, "rerun of a retired job": 2, "rm of a name": 2}


@pytest.mark.usefixtures("two_jobs")
@pytest.mark.parametrize("case", PROPOSED)
def test_a_proposed_command_works(case: str) -> None:
    arguments, before, expected = PROPOSED[case]
    for command in before:
        tfgen(*command)
    commands = printed_commands(*arguments, code=CODES.get(case, 0))
    assert commands == expected
    for line in commands:
        words = shlex.split(line.partition(";")[0])
        if words[1] != "delete":  # needs a cluster
            tfgen(*words[1:])


@pytest.mark.parametrize("command", COMMANDS)
def test_the_shell_completes_the_names_of_the_jobs(command: str) -> None:
    assert [candidate.word for candidate in candidates([command, "jobs.yaml", "--job", ""])] == ["mnist", "pong"]
    assert "--job" in parsers([command]).commands[command].format_help()
