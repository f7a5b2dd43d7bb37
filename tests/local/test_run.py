"""Tests of runs of small programs: the environment of a task, the end of the job, and remaining processes and files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from tests.support.local_job import JOB, run, start, write_job

WAITS = "print('up', flush=True)\nmeet()\nif name != 'chief-0': time.sleep(600)\n"
"""The chief ends after the start of all tasks. The other tasks do not end."""


def test_every_task_is_told_its_place_on_this_machine(tmp_path: Path) -> None:
    ran = run(
        write_job(tmp_path, "print(os.environ['TF_CONFIG'])\nmeet()\ntime.sleep(600 if name != 'chief-0' else 0)")
    )
    assert ran.code == 0
    told = {task: json.loads(line) for task, (line,) in ran.lines.items()}
    assert {task: config["task"] for task, config in told.items()} == {
        "chief-0": {"type": "chief", "index": 0},
        "ps-0": {"type": "ps", "index": 0},
        "worker-0": {"type": "worker", "index": 0},
        "worker-1": {"type": "worker", "index": 1},
    }
    (cluster,) = {json.dumps(config["cluster"]) for config in told.values()}
    assert {role: len(hosts) for role, hosts in json.loads(cluster).items()} == {"chief": 1, "ps": 1, "worker": 2}
    hosts = [host for role_hosts in json.loads(cluster).values() for host in role_hosts]
    assert len(set(hosts)) == 4
    assert all(host.startswith("127.0.0.1:") for host in hosts)


def test_an_evaluator_is_in_its_own_cluster_alone(tmp_path: Path) -> None:
    job = JOB.replace("worker: {replicas: 2}", "worker: {}, evaluator: {}") + "  completion: {evaluatorGrace: 600}\n"
    program = """\
    print(*json.loads(os.environ["TF_CONFIG"])["cluster"], flush=True)
    if name != "evaluator-0": meet()
    if name in ("ps-0", "worker-0"): time.sleep(600)
    if name == "evaluator-0":
        while not os.path.exists("chief-0.start"): time.sleep(0.02)
        time.sleep(1)
    """
    # After the end of the chief, the evaluator has the time of evaluatorGrace, but here the evaluator ends by itself.
    assert run(write_job(tmp_path, program, job)).lines == {
        "chief-0": ["chief ps worker"],
        "ps-0": ["chief ps worker"],
        "worker-0": ["chief ps worker"],
        "evaluator-0": ["chief ps worker evaluator"],
    }


@pytest.mark.parametrize("kind", ["Job", "TFJob", "VolcanoJob", "JobSet"])
def test_a_job_of_any_kind_tells_its_tasks_the_same(tmp_path: Path, kind: str) -> None:
    job = f"{JOB}  workload: {{kind: {kind}}}\n"
    ran = run(write_job(tmp_path, "print(*json.loads(os.environ['TF_CONFIG'])['cluster'])\n" + WAITS, job))
    assert ran.lines == {task: ["chief ps worker", "up"] for task in ("chief-0", "ps-0", "worker-0", "worker-1")}


def test_a_single_task_has_no_cluster(tmp_path: Path) -> None:
    job = JOB.replace("roles: {chief: {}, ps: {}, worker: {replicas: 2}}", "strategy: Single\n  roles: {chief: {}}")
    path = write_job(tmp_path, "", job)
    (tmp_path / "train.py").write_text("import os\nprint(os.environ.get('TF_CONFIG'))\n")
    assert run(path, env={"TF_CONFIG": "the shell's"}).lines == {"chief-0": ["None"]}


def test_the_workers_of_keras_distribution_have_addresses_of_this_machine(tmp_path: Path) -> None:
    roles, workers = "roles: {chief: {}, ps: {}, worker: {replicas: 2}}", "roles: {worker: {replicas: 2}}"
    path = write_job(tmp_path, "", JOB.replace(roles, f"strategy: KerasDistribution\n  {workers}"))
    (tmp_path / "train.py").write_text(
        "import os\n"
        "for name in ('JOB_ADDRESSES', 'NUM_PROCESSES', 'PROCESS_ID'):\n"
        "    print(os.environ['KERAS_DISTRIBUTION_' + name])\n"
        "print(os.environ['KERAS_BACKEND'], os.environ.get('TF_CONFIG'), flush=True)\n"
        "open(os.environ['KERAS_DISTRIBUTION_PROCESS_ID'] + '.here', 'w').close()\n"
        "while not os.path.exists('0.here') or not os.path.exists('1.here'): pass\n"
    )
    lines = run(path, env={"TF_CONFIG": "the shell's"}).lines
    # A worker that ends before worker 0 has one more line, about its restart in a cluster.
    assert {task: told[1:4] for task, told in lines.items()} == {
        "worker-0": ["2", "0", "jax None"],
        "worker-1": ["2", "1", "jax None"],
    }
    addresses = {told[0] for told in lines.values()}
    assert len(addresses) == 1
    hosts = addresses.pop().split(",")
    assert len(set(hosts)) == 2
    assert all(host.startswith("127.0.0.1:") for host in hosts)


def test_flags_have_the_addresses_too(tmp_path: Path) -> None:
    job = JOB.replace("chief: {}, ", "") + "  legacyFlags: true\n  completion: {by: Worker0}\n"
    path = write_job(tmp_path, "print(*sys.argv[1:], sep='\\n')\nif name != 'worker-0': time.sleep(600)", job)
    lines = run(path).lines["worker-0"]
    assert [line.partition("=")[0] for line in lines] == ["--job_name", "--task_index", "--ps_hosts", "--worker_hosts"]
    assert lines[3].count("127.0.0.1:") == 2


def test_an_environment_and_values_of_this_run_alone(tmp_path: Path) -> None:
    job = JOB + "  environments: {dev: {args: [--dev], roles: {worker: {replicas: 3}}}}\n"
    path = write_job(tmp_path, "print(*sys.argv[1:])\n" + WAITS, job)
    ran = run(path, "--env", "dev", "--set", "roles.worker.replicas=1", "--set", "args[0]=--two")
    assert {task: lines[0] for task, lines in ran.lines.items()} == {
        "chief-0": "--two",
        "ps-0": "--two",
        "worker-0": "--two",
    }
    assert path.read_text() == job


@pytest.mark.parametrize(
    ("program", "code", "ended_by"),
    [
        (WAITS, 0, "chief-0"),
        ("if name == 'chief-0': sys.exit(7)\ntime.sleep(600)", 7, "chief-0"),
        ("if name == 'worker-1': sys.exit(3)\ntime.sleep(600)", 3, "worker-1"),
        ("if name == 'ps-0': os.kill(os.getpid(), signal.SIGSEGV)\ntime.sleep(600)", 139, "ps-0"),
    ],
)
def test_the_end_of_one_task_is_that_of_all(tmp_path: Path, program: str, code: int, ended_by: str) -> None:
    began = time.monotonic()
    ran = run(write_job(tmp_path, program))
    assert ran.code == code
    assert f"{ended_by} ended the job with exit code {code} after " in ran.said
    assert time.monotonic() - began < 60


def test_a_worker_that_ends_well_does_not_end_the_job(tmp_path: Path) -> None:
    program = """\
    meet()
    if name == "ps-0": time.sleep(600)
    if name == "chief-0":
        while not all(os.path.exists(f"worker-{index}.end") for index in (0, 1)): time.sleep(0.02)
        time.sleep(0.5)  # the workers exit, and tfgen sees it
    else:
        open(name + ".end", "w").close()
    print("end")
    """
    ran = run(write_job(tmp_path, program))
    assert ran.code == 0
    assert {task: lines[0] for task, lines in ran.lines.items()} == dict.fromkeys(
        ("chief-0", "worker-0", "worker-1"), "end"
    )


def test_a_task_has_time_to_end_and_no_more(tmp_path: Path) -> None:
    job = JOB.replace("ps: {}", "ps: {terminationGracePeriodSeconds: 1}")
    program = """\
    def end(*_):
        print("told", flush=True)
        if name == "ps-0": return
        time.sleep(0.5)
        print("saved", flush=True)
        sys.exit(0)
    signal.signal(signal.SIGTERM, end)
    meet()
    while name != "chief-0": time.sleep(0.1)
    """
    process = start(write_job(tmp_path, program, job), "--format", "json")
    printed, said = process.communicate(timeout=120)
    assert {task["task"]: task["code"] for task in json.loads(printed)["tasks"]} == {
        "chief-0": 0,
        "ps-0": 137,
        "worker-0": 0,
        "worker-1": 0,
    }
    assert sorted(said.splitlines()[:5]) == [
        "ps-0     | told",
        *(f"worker-{index} | {word}" for index in (0, 1) for word in ("saved", "told")),
    ]


def test_the_result_as_data(tmp_path: Path) -> None:
    job = JOB + "  storage: {model: {mountPath: /model, claim: {size: 1Gi}}}\n"
    process = start(write_job(tmp_path, WAITS, job), "--format", "json")
    printed, said = process.communicate(timeout=120)
    data = json.loads(printed)
    root = Path(data["volumes"]["model"]).parents[1]
    assert data == {
        "code": 0,
        "endedBy": "chief-0",
        "tasks": [
            {"task": task, "code": code, "starts": 1, "log": f"{root}/logs/{task}.log"}
            for task, code in (("chief-0", 0), ("ps-0", 143), ("worker-0", 143), ("worker-1", 143))
        ],
        "volumes": {"model": f"{root}/volumes/model"},
        "problems": [],
    }
    assert sorted(path.name for path in root.iterdir()) == ["logs", "supervisor.log", "volumes"]
    assert (root / "supervisor.log").read_text() == ""
    assert "chief-0  | up\n" in said


COUNTS = """\
with open(os.environ["MODEL_DIR"] + "/" + name, "a") as file: file.write("start\\n")
starts = len(open(os.environ["MODEL_DIR"] + "/" + name).readlines())
print("start", starts, flush=True)
"""
AGAIN = [
    "start 1",
    "tfgen: failed with exit code 1; starts again in 1 s",
    "start 2",
    "tfgen: failed with exit code 1; starts again in 2 s",
    "start 3",
]
MODEL = "  env: {MODEL_DIR: /model}\n  storage: {model: {mountPath: /model, claim: {size: 1Gi}}}\n"


def test_a_task_that_is_killed_on_purpose_is_started_again(tmp_path: Path) -> None:
    program = (
        COUNTS
        + """
while name == "chief-0":
    time.sleep(0.1)
    if os.path.exists(os.environ["MODEL_DIR"] + "/again"): sys.exit()
if starts == 2: open(os.environ["MODEL_DIR"] + "/again", "w").close()
time.sleep(600)
"""
    )
    ran = run(write_job(tmp_path, program, JOB + MODEL), "--fail", "worker=1@20s", faster=10)
    assert ran.code == 0
    assert ran.lines["worker-1"] == ["start 1", "tfgen: killed after 20 s", "start 2"]
    assert ran.lines["worker-0"] == ["start 1"]


def test_after_a_failure_on_purpose_the_others_come_back_as_often_as_the_job_says(tmp_path: Path) -> None:
    program = (
        COUNTS
        + """
if name == "chief-0":
    if starts == 1: time.sleep(2)
    sys.exit(1 if starts < 3 else 0)
time.sleep(600)
"""
    )
    path = write_job(tmp_path, program, JOB + MODEL + "  retries: 5\n")
    ran = run(path, "--fail", "ps=0@1s", faster=10)
    assert ran.code == 0
    assert ran.lines["chief-0"] == AGAIN


@pytest.mark.parametrize(("retries", "code", "starts"), [("0", 1, 1), ("1", 1, 2), ("2", 0, 3)])
def test_a_task_that_fails_is_started_again_as_often_as_asked(
    tmp_path: Path, retries: str, code: int, starts: int
) -> None:
    program = COUNTS + "if name == 'chief-0': sys.exit(starts < 3)\ntime.sleep(600)"
    ran = run(write_job(tmp_path, program, JOB + MODEL), "--retries", retries, faster=10)
    assert ran.code == code
    assert ran.lines["chief-0"] == AGAIN[: 2 * starts - 1], "the last failure has no retry"


def test_an_ignored_exit_code_starts_the_task_again_without_a_retry(tmp_path: Path) -> None:
    """A program that exits and a program that a signal ends both have an ignored code."""
    program = COUNTS + "if starts < 3: sys.exit(42) if starts == 1 else os.kill(os.getpid(), 15)"
    job = f"{JOB}{MODEL}  completion: {{by: AllWorkers}}\n  restart: {{ignoreExitCodes: [42, 143]}}\n"
    ran = run(write_job(tmp_path, program, job.replace("chief: {}, ps: {}, ", "ps: {}, ")), "--retries", "0", faster=10)
    assert ran.code == 0
    again = "which uses no retry; starts again in 1 s"
    assert ran.lines["worker-0"][:5] == [
        *("start 1", f"tfgen: ended with exit code 42, {again}"),
        *("start 2", f"tfgen: ended with exit code 143, {again}", "start 3"),
    ]


def test_a_loss_that_is_no_number_is_named_after_a_run_that_succeeded(tmp_path: Path) -> None:
    ran = run(write_job(tmp_path, "if name == 'chief-0': sys.exit(print('step 9: loss nan'))\ntime.sleep(600)"))
    assert ran.code == 0
    assert "chief-0: the loss is not a number; the training diverges or the data has bad values: " in ran.said


def test_a_usual_error_is_named_after_the_run(tmp_path: Path) -> None:
    program = "if name == 'worker-1': sys.exit('Could not start gRPC server')\ntime.sleep(600)"
    ran = run(write_job(tmp_path, program))
    assert ran.code == 1
    assert (
        "worker-1: the program starts a second server or the server of another task, or another program uses the port: "
        "see docs/keras.md#errors-and-fixes\n" in ran.said
    )


def test_a_failure_that_comes_too_late_is_said(tmp_path: Path) -> None:
    ran = run(write_job(tmp_path, WAITS), "--fail", "worker=1@600s")
    assert ran.code == 0
    assert "note: worker-1 was not killed: the job ended before 600 s\n" in ran.said


GRANDCHILDREN = """\
import subprocess
# One in a session of its own, one whose parent has gone, one that heeds no signal.
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", "GRANDCHILD"], start_new_session=True)
os.system(f"({sys.executable} -c 'import time; time.sleep(600)' GRANDCHILD &) ")
DEAF = "import signal, time; signal.signal(15, signal.SIG_IGN); print(flush=True); time.sleep(600)"
subprocess.Popen([sys.executable, "-c", DEAF, "GRANDCHILD"], stdout=subprocess.PIPE).stdout.readline()
print("up", flush=True)
time.sleep(600)
"""


def marked(mark: str) -> list[str]:
    """Return the processes with a word in their command line or environment."""
    lines = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                command = (entry / "cmdline").read_bytes()
                text = (entry / "environ").read_bytes() + command
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if mark.encode() in text and state not in "ZX":
                lines.append(command.replace(b"\0", b" ").decode())
    return lines


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="asks /proc for processes")
@pytest.mark.parametrize(
    ("number", "code"),
    [
        (signal.SIGINT, 130),
        (signal.SIGTERM, 143),
        (signal.SIGHUP, -signal.SIGHUP),  # a lost terminal
        (signal.SIGKILL, -signal.SIGKILL),
    ],
)
def test_no_process_is_left(tmp_path: Path, number: signal.Signals, code: int) -> None:
    job = JOB.replace("worker: {replicas: 2}", "worker: {}")
    for role in ("chief", "ps", "worker"):
        job = job.replace(f"{role}: {{}}", f"{role}: {{terminationGracePeriodSeconds: 1}}")
    mark = f"TFGEN_TEST_{os.getpid()}_{number}"
    process = start(write_job(tmp_path, GRANDCHILDREN, job), env={mark: "1"})
    try:
        assert process.stdout
        for _ in range(3):
            process.stdout.readline()
        assert sum("GRANDCHILD" in line for line in marked(mark)) == 9
        process.send_signal(number)
        assert process.wait(60) == code
    finally:
        process.kill()
        process.communicate()
    deadline = time.monotonic() + 60
    while (left := marked(mark)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert left == []


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="asks /proc for processes")
def test_what_a_task_leaves_behind_ends_with_the_job(tmp_path: Path) -> None:
    mark = f"TFGEN_TEST_{os.getpid()}_END"
    program = GRANDCHILDREN.replace("time.sleep(600)\n", "time.sleep(600 if name != 'chief-0' else 0)\n")
    ran = run(write_job(tmp_path, program), env={mark: "1"})
    assert ran.code == 0
    assert marked(mark) == []


def test_a_second_ctrl_c_waits_no_longer(tmp_path: Path) -> None:
    program = """\
    signal.signal(signal.SIGTERM, lambda *_: print("told", flush=True))
    print("up", flush=True)
    time.sleep(600)
    """
    job = JOB.replace("chief: {}", "chief: {terminationGracePeriodSeconds: 500}")
    process = start(write_job(tmp_path, program, job))
    assert process.stdout
    for _ in range(4):
        process.stdout.readline()
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    for _ in range(4):
        assert "told" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    try:
        _, said = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    assert process.returncode == 130, said
    assert time.monotonic() - began < 30


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        (
            "StatefulSet",
            "tfgen: ended with exit code 0; in a cluster, the task starts again; the run waits for chief-0",
        ),
        ("Job", "tfgen: ended with exit code 0; the run waits for chief-0"),
    ],
)
def test_a_task_that_ends_early_is_reported_at_once(tmp_path: Path, kind: str, line: str) -> None:
    program = """\
    if name == "worker-1": sys.exit(0)
    time.sleep(2 if name == "chief-0" else 600)
    """
    ran = run(write_job(tmp_path, program, f"{JOB}  workload: {{kind: {kind}}}\n"))
    assert (ran.code, ran.lines["worker-1"]) == (0, [line])


SERVES = """\
import socket
with socket.create_server(("127.0.0.1", int(json.loads(os.environ["TF_CONFIG"])["cluster"]["ps"][0].split(":")[1]))):
    time.sleep(600)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="tfgen finds servers on Linux only")
@pytest.mark.parametrize(("ps", "is_alone"), [("time.sleep(600)", True), (SERVES, False)])
def test_tasks_without_a_server_trained_alone(tmp_path: Path, ps: str, is_alone: bool) -> None:
    program = f"if name == 'ps-0':\n{textwrap.indent(ps, '    ')}\nif name != 'chief-0': time.sleep(600)\ntime.sleep(1)"
    ran = run(write_job(tmp_path, program))
    assert ran.code == 0
    assert is_alone == (
        "3 tasks trained alone, because the program opened no server of TF_CONFIG: chief-0, worker-0 and worker-1; "
        "build a distribution strategy before the model: see docs/keras.md\n" in ran.said
    )


def test_a_mount_path_in_the_program_is_named(tmp_path: Path) -> None:
    job = f"{JOB}  storage: {{model: {{mountPath: /no-such-model, claim: {{size: 1Gi}}}}}}\n"
    ran = run(write_job(tmp_path, "if name == 'chief-0': open('/no-such-model/m', 'w')\ntime.sleep(600)", job))
    assert ran.code == 1
    assert (
        "chief-0: the program contains /no-such-model, the mount path of the volume model, which is not on this "
        "machine; read the path from a variable or an argument, or create /no-such-model here and add --mount "
        "model=/no-such-model\n"
    ) in ran.said
