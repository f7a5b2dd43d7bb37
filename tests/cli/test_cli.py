"""Tests of the command line: its output streams and exit codes, and errors without a traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command import Command
from tests.support.repository import tfgen
from tests.support.small_job import JOB
from tfgen import cli


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a job file in an empty folder, which is the current folder."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "job.yaml"
    path.write_text(JOB, encoding="utf-8")
    return path


def test_render_writes_the_tree_and_says_so_once(job: Path) -> None:
    out = tfgen("render", "job.yaml").out.splitlines()
    created = [line.removeprefix("created  ") for line in out if line.startswith("created  ")]
    on_disk = sorted(str(p) for top in ("charts", "overlays") for p in Path(top).rglob("*") if p.is_file())
    assert created == on_disk
    assert out[-1] == f"1 job, {len(created)} created, 0 changed, 0 removed, 0 unchanged"
    assert tfgen("render", "job.yaml").out == f"1 job, 0 created, 0 changed, 0 removed, {len(created)} unchanged\n"


def test_problems_go_to_standard_error_and_nothing_is_written(job: Path) -> None:
    job.write_text(JOB.replace("replicas: 2", "replica: 2"), encoding="utf-8")
    printed = tfgen("render", "job.yaml", code=1)
    assert printed.out == ""
    assert printed.err.startswith('job.yaml:6:39: unknown key "replica" in spec.roles.worker; did you mean "replicas"?')
    assert [path.name for path in job.parent.iterdir()] == ["job.yaml"]


@pytest.mark.parametrize(
    "argv", [["render"], ["render", "--stdout"], ["render", "--stdout", "--env", "prod"], ["check"]]
)
def test_objects_that_do_not_fit_together_are_refused_by_whoever_makes_them(job: Path, argv: list[str]) -> None:
    template = "{spec: {containers: [{name: tensorflow, ports: [{name: grpc, containerPort: 2222}]}]}}"
    job.write_text(JOB.replace("replicas: 2", f"podTemplate: {template}"), encoding="utf-8")
    printed = tfgen(*argv, "job.yaml", code=1)
    assert "created" not in printed.out
    assert "kind" not in printed.out
    assert "[object-links]" in printed.out + printed.err
    assert [path.name for path in job.parent.iterdir()] == ["job.yaml"]


def test_json_is_one_object_on_standard_output(job: Path) -> None:
    printed = tfgen("render", "job.yaml", "--format", "json")
    assert json.loads(printed.out)["removed"] == []
    assert printed.err == ""
    job.write_text(JOB.replace("replicas: 2", "replicas: two"), encoding="utf-8")
    (problem,) = json.loads(tfgen("render", "job.yaml", "--format", "json", code=1).out)["problems"]
    assert (problem["line"], problem["column"], problem["rule"]) == (6, 49, "wrong-type")


def test_stdout_prints_the_objects_of_an_environment(job: Path) -> None:
    objects = json.loads(tfgen("render", "job.yaml", "--stdout", "--env", "prod", "--format", "json").out)
    (worker,) = [o for o in objects if o["metadata"]["name"] == "mnist-worker"]
    assert worker["spec"]["replicas"] == 4
    assert not (job.parent / "charts").exists()


def test_an_edited_file_stops_the_render_until_it_is_forced(job: Path) -> None:
    cli.run(["render", "job.yaml"])
    service = Path("overlays/mnist/base/service.yaml")
    service.write_text("# mine\n", encoding="utf-8")
    assert "overlays/mnist/base/service.yaml" in tfgen("render", "job.yaml", code=1).err
    assert service.read_text(encoding="utf-8") == "# mine\n"
    printed = tfgen("render", "job.yaml", "--force")
    assert printed.out.startswith("changed  overlays/mnist/base/service.yaml\n")
    assert "lost: overlays/mnist/base/service.yaml" in printed.err


def test_a_folder_gives_the_jobs_below_it_and_no_other_yaml(job: Path) -> None:
    (job.parent / "jobs" / "two").mkdir(parents=True)
    (job.parent / "jobs" / "two" / "job.yml").write_text(JOB.replace("mnist}", "other}"), encoding="utf-8")
    (job.parent / "jobs" / "values.yaml").write_text("not: ours\n", encoding="utf-8")
    tfgen("render", "jobs", "--out", "out")
    assert sorted(path.name for path in Path("out/charts").iterdir()) == ["other"]


@pytest.mark.parametrize(
    ("argv", "code", "message"),
    [
        (["chek", "job.yaml"], 2, "unknown command 'chek'; did you mean \"check\"? (commands: init, import, "),
        (["check", "--agianst", "x", "y"], 2, 'tfgen check: unknown option --agianst; did you mean "--against"?'),
        (["check", "--formt=json", "x"], 2, 'tfgen check: unknown option --formt=json; did you mean "--format"?'),
        (["schema", "job.yaml"], 2, "tfgen schema: unexpected argument job.yaml"),
        (["render", "none.yaml"], 2, "none.yaml: No such file or directory"),
        (["render", "empty"], 2, "empty: no file in this folder has a document"),
        (["render", "job.yaml", "--stdout", "--env", "nowhere"], 2, "no environment 'nowhere'; choose prod"),
        (["rerun", "job.yaml", "--env", "nowhere"], 2, "no environment 'nowhere'; choose prod"),
        (["explain", "spec.roles.worker.replica"], 2, "replicas"),
        (["init", "Not-A-Name"], 2, "'Not-A-Name' is not a valid job name: lower-case letters"),
        (
            ["init", "argocd"],
            2,
            "'argocd' is not a valid job name: choose another name: the folders argocd and flux contain",
        ),
        (["init", "--repo", "flux"], 2, "'flux' is not a valid job name: choose another name"),
    ],
)
def test_wrong_usage(job: Path, argv: list[str], code: int, message: str) -> None:
    (job.parent / "empty").mkdir()
    printed = tfgen(*argv, code=code)
    assert printed.out == ""
    assert message in printed.err
    assert "Traceback" not in printed.err


def test_argparse_exits_with_the_same_code(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        cli.main(["render"])
    assert exit_.value.code == cli.USAGE
    assert "JOB" in capsys.readouterr().err


def test_a_defect_of_our_own_prints_no_traceback(job: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise KeyError("boom")

    monkeypatch.setattr("tfgen.targets.render.render", broken)
    assert "internal error: KeyError: 'boom'" in tfgen("render", "job.yaml", code=cli.FAILED).err
    with pytest.raises(KeyError):
        cli.run(["render", "job.yaml", "--debug"])


def test_init_writes_a_job_that_renders_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tfgen("init", "mnist")
    assert "# yaml-language-server: $schema=../job.schema.json" in Path("mnist/job.yaml").read_text(encoding="utf-8")
    assert tfgen("render", "mnist").err.startswith("\nnote: mnist: gitops is not set.")
    assert "exists already" in tfgen("init", "mnist", code=cli.USAGE).err


def test_explain_and_schema() -> None:
    assert "count" in tfgen("explain", "spec.roles.worker.resources.gpu").out
    assert json.loads(tfgen("schema").out)["title"] == "TrainingJob"


def test_rerun_changes_one_line_and_renders(job: Path) -> None:
    assert tfgen("rerun", "job.yaml", "--env", "prod").out.startswith("job.yaml: run (none) -> 2 in prod\n")
    assert job.read_text(encoding="utf-8") == JOB.replace("{prod: {roles", '{prod: {run: "2", roles')
    tfgen("render", "job.yaml")
    assert "name: mnist-2-worker\n" in Path("overlays/mnist/prod/kustomization.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "argv", [["rerun", "job.yaml", "--env", "prod"], ["rm", "job.yaml", "--env", "prod"]], ids=["rerun", "rm"]
)
def test_an_edit_keeps_line_ends_and_links(job: Path, argv: list[str]) -> None:
    target = job.with_name("shared.yaml")
    target.write_bytes(job.read_bytes().replace(b"\n", b"\r\n"))
    job.unlink()
    job.symlink_to(target.name)
    before = target.read_bytes()
    tfgen(*argv)
    assert job.is_symlink()
    after = target.read_bytes()
    assert after != before
    assert after.count(b"\r\n") == after.count(b"\n") == before.count(b"\n")


def test_rerun_says_each_run_that_it_raises(job: Path) -> None:
    text = job.read_text(encoding="utf-8")
    job.write_text(text.replace("prod: {", 'prod: {run: "5", '), encoding="utf-8")
    out, err = tfgen("rerun", "job.yaml", "--fresh")
    assert out.startswith("job.yaml: run (none) -> 2\njob.yaml: run 5 -> 6 in prod\n\nNext:")
    assert err.endswith(" [not-fresh]\n")
    assert err.count("\n") == 1
    output = json.loads(tfgen("rerun", "job.yaml", "--fresh", "--format", "json").out)
    assert output["runs"] == [
        {"environment": None, "before": "2", "after": "3"},
        {"environment": "prod", "before": "6", "after": "7"},
    ]
    assert [problem["rule"] for problem in output["problems"]] == ["not-fresh"]


@pytest.mark.parametrize("command", ["render", "check", "diff", "commit", "rerun", "rm"])
def test_an_empty_path_is_not_the_working_directory(job: Path, command: str) -> None:
    assert "the path is empty; write . for the working directory" in tfgen(command, "", code=cli.USAGE).err


@pytest.mark.parametrize("path", ["loop", "loop/job.yaml"])
@pytest.mark.parametrize(
    "command", [["render"], ["check"], ["diff"], ["commit"], ["rerun"], ["rm"], ["explain", "--origin"]]
)
def test_links_that_lead_in_a_circle_are_no_file(job: Path, command: list[str], path: str) -> None:
    job.with_name("loop").symlink_to("loop")
    Command(("git", "init", "--quiet")).run()
    out, err = tfgen(*command, path, code=cli.USAGE)
    assert out == ""
    assert err.startswith(f"tfgen: error: {path}: ")
    assert err.count("\n") == 1


def test_links_that_lead_in_a_circle_are_no_output_folder(job: Path) -> None:
    job.with_name("loop").symlink_to("loop")
    for command in ("render", "check"):
        printed = tfgen(command, "job.yaml", "--out", "loop", code=cli.FAILED).err
        assert printed == "tfgen: error: loop: Too many levels of symbolic links\n"


def test_a_misspelt_choice_has_the_nearest_one() -> None:
    assert tfgen("init", "mnist", "--gang", "vulcano", code=cli.USAGE).err.endswith('; did you mean "volcano"?\n')


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["check", "--nope", "--format", "json"], 'tfgen check: unknown option --nope; did you mean "--no-files"?'),
        (["check", "none.yaml", "--format=json"], "none.yaml: No such file or directory"),
        (["check", "--format", "json"], "tfgen check: the following arguments are required: JOB"),
        (["explain", "--format", "json", "spec.nothing"], 'unknown key "nothing" in spec'),
    ],
)
def test_a_wrong_use_is_json_where_json_is_asked_for(argv: list[str], message: str) -> None:
    printed = tfgen(*argv, code=cli.USAGE)
    assert json.loads(printed.out) == {"error": {"message": message, "exitCode": 2}}
    assert printed.err == f"tfgen: error: {message}\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, a disk without room, which Linux has")
@pytest.mark.parametrize("argv", [["--help"], ["--version"], ["render", "--help"]])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_help_that_nobody_receives_is_an_error(argv: list[str], unbuffered: str) -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123 - a device
        done = subprocess.run(
            [sys.executable, "-m", "tfgen", *argv],
            stdout=full,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            check=False,
        )
    assert done.returncode == cli.FAILED
    assert done.stderr == b"tfgen: error: standard output: No space left on device\n"


@pytest.mark.parametrize(
    ("module", "argv"),
    [
        ("kubernetes", ["status", "job.yaml"]),
        ("kubernetes_validate", ["check", "job.yaml", "--kubernetes-version", "1.33"]),
    ],
)
def test_every_missing_extra_has_one_exit_code(module: str, argv: list[str], job: Path) -> None:
    """Hide the module in a separate process before tfgen is loaded."""
    hide = (
        "import sys, importlib.util\n"
        f"hidden = {module!r}\n"
        "class Hidden:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == hidden or name.startswith(hidden + '.'):\n"
        "            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Hidden())\n"
        "real = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *rest: None if name == hidden else real(name, *rest)\n"
        "from tfgen.cli import main\n"
        "main(sys.argv[1:])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", hide, *argv], cwd=job.parent, capture_output=True, text=True, check=False
    )
    assert done.returncode == cli.FAILED, done.stderr
    assert ": pip install " in done.stderr
