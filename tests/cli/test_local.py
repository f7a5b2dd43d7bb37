"""Tests of jobs that ``tfgen local`` cannot start. tfgen reports all problems at once."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import pytest

from tests.support.local_job import JOB, run, start, write_job
from tests.support.repository import tfgen
from tfgen import cli

IMAGE = ", or run the image by itself: see docs/local.md#a-program-of-the-image"
PROGRAM = "print(os.environ.get('TOKEN'), flush=True)\nmeet()\nif name != 'chief-0': time.sleep(600)"


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a job file in the current folder, and set an empty folder for temporary files."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    return write_job(tmp_path, PROGRAM)


def refused(code: int, *argv: str) -> str:
    """Return the message of a refused run, and check that the run leaves no files."""
    printed = tfgen("local", "job.yaml", *argv, code=code)
    assert printed.out == ""
    assert list(Path("tmp").iterdir()) == []
    return printed.err


def test_all_that_is_lacking_comes_at_once(job: Path) -> None:
    env = "  env: {TOKEN: {secretKeyRef: {name: hub, key: token}}, KEY: {secretKeyRef: {name: hub, key: key}}}\n"
    job.write_text(JOB.replace("ps: {}", "ps: {command: [serve-tensors, --all]}") + env, encoding="utf-8")
    assert refused(1) == (
        "job.yaml:7:27: the command of the ps starts serve-tensors, which is not on this machine; "
        f"install serve-tensors here{IMAGE} [local-command]\n"
        "job.yaml:8:9: TOKEN comes from the key token of the Secret hub, which exists only in the cluster; "
        "write TOKEN=VALUE into a file, and add --env-file FILE [local-variable]\n"
        "job.yaml:8:57: KEY comes from the key key of the Secret hub, which exists only in the cluster; "
        "write KEY=VALUE into a file, and add --env-file FILE [local-variable]\n"
    )


def test_a_command_of_the_image(job: Path) -> None:
    job.write_text(JOB.replace("  command: [python, /opt/train.py]\n", ""), encoding="utf-8")
    message = f"is in the image, which this machine does not use; set the key command{IMAGE} [local-command]\n"
    assert refused(1) == "".join(
        f"job.yaml:6:{column}: the command of the {role} {message}"
        for column, role in ((11, "chief"), (22, "ps"), (30, "worker"))
    )


def test_a_package_that_the_python_lacks(job: Path) -> None:
    program = job.with_name("train.py")
    program.write_text("import json\nimport numpie.linalg\n\nfrom tensorflo import keras\n", encoding="utf-8")
    lacking = "imports numpie (line 2), tensorflo (line 4), which"
    python = f"{sys.executable} of this machine does not have"
    options = ("--python", sys.executable)
    install = f"run {sys.executable} -m pip install"
    assert refused(1, *options) == (
        f"job.yaml:6:3: {program} {lacking} {python}; {install} numpie tensorflo [local-import]\n"
    )
    job.with_name("requirements.txt").write_text("numpie\n", encoding="utf-8")
    cure = f"{install} -r {job.with_name('requirements.txt')}"
    assert refused(1, *options) == f"job.yaml:6:3: {program} {lacking} {python}; {cure} [local-import]\n"


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--set", "roles.worker.replica=2"], 'job.yaml:7:52: unknown key "replica"'),
        (["--set", "roles.worker.replicas=two"], "job.yaml:7:"),
    ],
)
def test_a_value_that_the_job_cannot_have(job: Path, argv: list[str], message: str) -> None:
    assert refused(1, *argv).startswith(message)
    assert job.read_text() == JOB


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (
            ["--env", "dev"],
            "tfgen: error: job.yaml: the job has no environment 'dev'; add the environment to spec.environments\n",
        ),
        (["--set", "replicas"], 'tfgen: error: "replicas" is not an assignment; write PATH=VALUE'),
        (
            ["--mount", "modle=tmp"],
            "tfgen: error: --mount modle: the job has no volume with this name; the volumes of the job are tmp\n",
        ),
        (
            ["--fail", "worker=2@1s"],
            "tfgen: error: --fail worker-2: the job does not have this task; the tasks are chief-0, ps-0, worker-0 and",
        ),
        (["--env-file", "none"], "tfgen: error: none: No such file or directory\n"),
    ],
)
def test_an_option_that_does_not_fit(job: Path, argv: list[str], message: str) -> None:
    assert refused(2, *argv).startswith(message)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (
            ["--mount", "model"],
            "'model' is not VOLUME=DIR; write the name of a volume and its folder, such as data=./data",
        ),
        (["--fail", "worker@soon"], "'worker@soon' is not a task and a time; write for example worker=1@30s"),
        (["--workdir", "none"], "none: the folder does not exist"),
        (["--python", "no-python"], "no-python: the program does not exist on this machine"),
        (["--retries", "-1"], "'-1' is not a valid number; write an integer of at least 0"),
    ],
)
def test_an_option_that_is_none(job: Path, argv: list[str], message: str) -> None:
    assert tfgen("local", "job.yaml", *argv, code=cli.USAGE).err.splitlines()[-1].endswith(message)


def test_variables_that_are_none_are_not_shown(job: Path) -> None:
    Path("secrets").write_text("# hub\nTOKEN=t\n\nhunter2\nexport KEY='k'\n-=\n")
    messages = "".join(f"secrets:{line}: this is not a variable; write NAME=VALUE\n" for line in (4, 6))
    assert refused(2, "--env-file", "secrets") == f"tfgen: error: {messages}"


def test_a_job_of_elastic_dl_does_not_run_here(job: Path) -> None:
    example = Path(__file__).parents[2] / "examples" / "elasticdl-mnist" / "job.yaml"
    job.write_text(example.read_text(encoding="utf-8"), encoding="utf-8")
    assert refused(2).endswith("creates its workers as pods of a cluster, so tfgen local cannot run this job\n")


def test_a_missing_file_is_named(job: Path) -> None:
    message = "tfgen: error: none.yaml: No such file or directory\n"
    for command in (["local", "none.yaml"], ["local", "none.yaml", "--set", "run=1"]):
        assert tfgen(*command, code=cli.USAGE).err == message


def test_a_folder_is_accepted(job: Path) -> None:
    write_job(Path("jobs/one"), "if name != 'chief-0': time.sleep(600)").write_text(JOB.replace("small", "one"))
    write_job(Path("jobs/two"), "print('up', flush=True)\nmeet()\nsys.exit(3)").write_text(JOB.replace("small", "two"))
    printed = tfgen("local", "jobs", code=cli.USAGE).err
    assert printed == "tfgen: error: jobs: found 2 jobs: one and two; choose a job with --job NAME\n"
    ran = run(job.with_name("jobs"), "--job", "two", "--set", "roles.worker.replicas=1", "--retries", "0")
    assert (ran.code, {*ran.lines}) == (3, {"chief-0", "ps-0", "worker-0"})


def test_secrets_come_from_a_file(tmp_path: Path) -> None:
    job = write_job(tmp_path, PROGRAM, JOB + "  env: {TOKEN: {secretKeyRef: {name: hub, key: token}}}\n")
    (tmp_path / "secrets").write_text("export TOKEN='hunter2'\n")
    ran = run(job, "--env-file", "secrets")
    assert ran.code == 0
    assert ran.lines["chief-0"] == ["hunter2"]


def test_gpus_are_shared_out(tmp_path: Path) -> None:
    job = JOB.replace("worker: {replicas: 2}", "worker: {replicas: 2, resources: {gpu: {count: 1}}}")
    program = "print(os.environ['CUDA_VISIBLE_DEVICES'], flush=True)\n" + PROGRAM
    ran = run(write_job(tmp_path, program, job), env={"CUDA_VISIBLE_DEVICES": "3,5"})
    assert {task: lines[0] for task, lines in ran.lines.items()} == {
        "chief-0": "",
        "ps-0": "",
        "worker-0": "3",
        "worker-1": "5",
    }


def test_a_reader_that_goes_ends_the_run(tmp_path: Path) -> None:
    program = "print('up', flush=True)\nwhile True:\n  print('more', flush=True)\n  time.sleep(0.1)"
    process = start(write_job(tmp_path, program))
    assert process.stdout
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(60) == 0
    assert process.stderr
    process.stderr.close()


def test_a_program_that_is_not_here_names_the_option_for_its_folder(job: Path) -> None:
    lines = job.read_text(encoding="utf-8").splitlines()
    lines = ["  command: [python, -u, /away/absent.py]" if line.startswith("  command:") else line for line in lines]
    job.write_text("\n".join(lines), encoding="utf-8")
    message = "runs /away/absent.py, which is not on this machine; set the folder of the file with --workdir"
    assert message in refused(1)
    folder = job.parent / "programs"
    folder.mkdir()
    (folder / "absent.py").write_text("raise SystemExit(0)\n", encoding="utf-8")
    tfgen("local", str(job), "--workdir", str(folder))
