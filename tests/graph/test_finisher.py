"""The finisher as a separate process with a small API server: its requests and its log."""

from __future__ import annotations

import ast
import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.support.api_server import ApiServer, Fault, ended, status, timestamp
from tests.support.finisher import CHIEF, EVALUATOR, PROGRAM, PS, RUNNING, WORKER, Finisher, fill, wait_for_replicas
from tfgen.graph import programs
from tfgen.text import yaml_text

ENDS = "--ends=mnist-chief"
SCALE = (f"--scale={PS}", f"--scale={WORKER}")
SUSPEND = "--suspend=mnist-evaluator"
GRACE = "--grace-for=mnist-evaluator={}"

COMPLETE = {"status": ended("SuccessCriteriaMet", "Complete")}
FAILED = {"status": ended("FailureTarget", "Failed")}

RELEASE_PS = f'patch {PS}/scale {{"spec": {{"replicas": 0}}}}'
RELEASE_WORKER = f'patch {WORKER}/scale {{"spec": {{"replicas": 0}}}}'
# Without this annotation, Argo CD shows an Application with a suspended Job as Suspended:
# https://argo-cd.readthedocs.io/en/stable/operator-manual/health/#ignoring-child-resource-health-check-in-applications
IGNORED = {"argocd.argoproj.io/ignore-healthcheck": "true"}
SUSPEND_EVALUATOR = (
    f'patch {EVALUATOR} {{"metadata": {{"annotations": {json.dumps(IGNORED)}}}, "spec": {{"suspend": true}}}}'
)
NOTE_START = f'patch {CHIEF} {{"metadata": {{"annotations": {{"tfgen/started": "true"}}}}}}'

WAITING = f"{CHIEF}: waiting for its end"
DONE = "finisher: all tasks are released"
KEEPS = "finisher: keeps the StatefulSets at 0 for 0 s"


def run(server: ApiServer, log: Path, *args: str, faster: int = 50, **constants: int) -> Sequence[str]:
    """Return the log of a finisher that exits with 0."""
    with Finisher(server, log, ENDS, *args, faster=faster, **constants) as finisher:
        assert finisher.end() == 0, log.read_text()
        return finisher.log


def replicas(server: ApiServer) -> Mapping[str, int]:
    return {path: server.get(path)["spec"]["replicas"] for path in (PS, WORKER)}


def assert_repeated(server: ApiServer) -> None:
    """Check that the last repeat, which begins with a read of the Job, scaled both StatefulSets to 0."""
    last = max(index for index, request in enumerate(server.requests) if request == f"get {CHIEF}")
    assert last > 0
    assert {RELEASE_PS, RELEASE_WORKER} <= {*server.requests[last:]}


# -- the end -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("end", "how"), [(COMPLETE, "Complete"), (FAILED, "Failed")])
def test_the_rest_is_released_when_the_chief_has_ended(server, log, end, how):
    with Finisher(server, log, ENDS, *SCALE) as finisher:
        server.wait_for(f"watch {CHIEF}")
        server.put(CHIEF, end)
        assert finisher.end() == 0

        assert server.requests == [f"get {CHIEF}", f"watch {CHIEF}", RELEASE_PS, RELEASE_WORKER]
        assert replicas(server) == {PS: 0, WORKER: 0}
        assert finisher.log == [
            WAITING,
            f"{CHIEF}: is {how}",
            KEEPS,
            f"{PS}: scaled to 0",
            f"{WORKER}: scaled to 0",
            DONE,
        ]


def test_an_end_before_the_start_is_seen_and_a_second_finisher_finds_nothing_wrong(server, log):
    server.put(CHIEF, COMPLETE)
    first = run(server, log, *SCALE, SUSPEND)
    requests = [f"get {CHIEF}", RELEASE_PS, RELEASE_WORKER, f"get {EVALUATOR}", SUSPEND_EVALUATOR]
    assert server.requests == requests

    assert run(server, log, *SCALE, SUSPEND) == first
    assert server.requests == requests * 2


@pytest.mark.parametrize(
    "conditions",
    [
        ended("SuccessCriteriaMet"),
        ended("FailureTarget"),
        ended("Suspended"),
        {"conditions": [{"type": "Complete", "status": "False", "lastTransitionTime": timestamp()}]},
    ],
)
def test_a_job_whose_pods_still_end_has_not_ended(server, log, conditions):
    with Finisher(server, log, ENDS, *SCALE) as finisher:
        server.wait_for(f"watch {CHIEF}")
        server.put(CHIEF, {"status": conditions})
        time.sleep(0.2)
        assert finisher.log == [WAITING]
        server.put(CHIEF, COMPLETE)
        assert finisher.end() == 0
    assert server.requests == [f"get {CHIEF}", f"watch {CHIEF}", RELEASE_PS, RELEASE_WORKER]


def test_a_failed_job_keeps_what_it_has_where_asked(server, log):
    server.put(CHIEF, FAILED)
    assert run(server, log, *SCALE, SUSPEND, "--on-failure=Keep", AGAIN=30) == [
        WAITING,
        f"{CHIEF}: is Failed",
        "finisher: no task is released, because --on-failure is Keep",
    ]
    assert server.requests == [f"get {CHIEF}"]


def test_success_is_released_also_where_failure_is_kept(server, log):
    server.put(CHIEF, COMPLETE)
    run(server, log, *SCALE, "--on-failure=Keep")
    assert replicas(server) == {PS: 0, WORKER: 0}


def test_a_stateful_set_that_another_tool_scales_up_after_the_release_is_scaled_to_0_again(server, log):
    """The next run may use the same Deployment, so only StatefulSets are scaled again."""
    board = "deployments/mnist-tensorboard"
    server.put(board, {"spec": {"replicas": 1}})
    server.put(CHIEF, COMPLETE)
    with Finisher(server, log, ENDS, *SCALE, f"--scale={board}", faster=10, AGAIN=600) as finisher:
        finisher.wait_for_log(DONE)
        server.put(board, {"spec": {"replicas": 1}})
        server.put(PS, {"spec": {"replicas": 2}})
        wait_for_replicas(server, PS, 0)
    assert server.get(board)["spec"]["replicas"] == 1


def test_the_repeats_end(server, log):
    server.put(CHIEF, COMPLETE)
    assert run(server, log, *SCALE, AGAIN=30) == [
        WAITING,
        f"{CHIEF}: is Complete",
        "finisher: keeps the StatefulSets at 0 for 30 s",
        f"{PS}: scaled to 0",
        f"{WORKER}: scaled to 0",
        DONE,
    ]
    assert_repeated(server)


@pytest.mark.parametrize("state", ["is active again", "does not exist"])
def test_a_run_that_is_active_again_or_deleted_gets_no_second_release(server, log, state):
    server.put(CHIEF, COMPLETE)
    with Finisher(server, log, ENDS, *SCALE, faster=10, AGAIN=600) as finisher:
        finisher.wait_for_log(DONE)
        if state == "is active again":
            server.put(CHIEF, RUNNING)
        else:
            server.delete(CHIEF)
        finisher.wait_for_log(f"{CHIEF}: {state}; the repeats end")
        server.put(PS, {"spec": {"replicas": 2}})
        assert finisher.end() == 0
    assert replicas(server) == {PS: 2, WORKER: 0}


def test_an_error_of_a_second_release_concerns_only_its_object(server, log):
    server.put(CHIEF, COMPLETE)
    with Finisher(server, log, ENDS, *SCALE, faster=10, AGAIN=600) as finisher:
        finisher.wait_for_log(DONE)
        server.faults[f"patch {PS}/scale"] = [Fault(503)] * 1000
        server.put(WORKER, {"spec": {"replicas": 4}})
        wait_for_replicas(server, WORKER, 0)
        finisher.wait_for_log(f"{PS}: 503 Service Unavailable: ; ApiError, trying again")


def test_an_error_of_a_second_release_extends_the_repeats(server, log):
    """The pauses after six errors are longer than the repeats."""
    complete = {"kind": "Job", "metadata": {"resourceVersion": "1"}, **COMPLETE}
    server.put(CHIEF, COMPLETE)
    server.faults[f"get {CHIEF}"] = [Fault(200, complete), *[Fault(500)] * 6]
    lines = run(server, log, *SCALE, AGAIN=15)
    assert lines.count(f"{CHIEF}: 500 Internal Server Error: ; ApiError, trying again") == 6
    assert_repeated(server)


def test_the_second_release_does_not_wait_for_the_evaluator(server, log):
    server.put(CHIEF, COMPLETE)
    with Finisher(server, log, ENDS, *SCALE, SUSPEND, GRACE.format(3600), faster=10, AGAIN=600) as finisher:
        finisher.wait_for_log(f"{WORKER}: scaled to 0")
        server.put(PS, {"spec": {"replicas": 2}})
        wait_for_replicas(server, PS, 0)
        assert DONE not in finisher.log


def test_sigterm_ends_the_second_releases_and_the_next_finisher_repeats_the_release(server, log):
    server.put(CHIEF, COMPLETE)
    with Finisher(server, log, ENDS, *SCALE, faster=1, AGAIN=60) as finisher:
        finisher.wait_for_log(DONE)
        finisher.terminate()
        assert finisher.end() == 128 + signal.SIGTERM
    server.put(PS, {"spec": {"replicas": 2}})
    run(server, log, *SCALE)
    assert replicas(server) == {PS: 0, WORKER: 0}


def test_a_deployment_is_scaled_and_what_is_not_there_is_released(server, log):
    server.put(CHIEF, COMPLETE)
    server.put("deployments/mnist-tensorboard", {"spec": {"replicas": 1}})
    args = ["--scale=deployments/mnist-tensorboard", "--scale=statefulsets/other", "--suspend=other"]
    assert run(server, log, *args) == [
        WAITING,
        f"{CHIEF}: is Complete",
        KEEPS,
        "deployments/mnist-tensorboard: scaled to 0",
        "statefulsets/other: does not exist",
        "jobs/other: does not exist",
        DONE,
    ]
    assert server.get("deployments/mnist-tensorboard")["spec"]["replicas"] == 0


# -- a deleted Job -----------------------------------------------------------------------------------------------


def test_a_deleted_job_is_gone_when_it_stays_so(server, log):
    with Finisher(server, log, ENDS, *SCALE, "--on-failure=Keep") as finisher:
        server.wait_for(f"watch {CHIEF}")
        server.delete(CHIEF)
        assert finisher.end() == 0
        assert finisher.log == [
            WAITING,
            f"{CHIEF}: does not exist; if the Job is not created within 30 s, the run has ended",
            f"{CHIEF}: is gone",
            f"{PS}: scaled to 0",
            f"{WORKER}: scaled to 0",
            DONE,
        ]
    gets = server.requests.count(f"get {CHIEF}")
    assert 2 <= gets < 10, "it looks again, every 5 of the 30 s"


def test_a_deleted_job_that_is_put_back_is_waited_for(server, log):
    with Finisher(server, log, ENDS, *SCALE, GONE=3600) as finisher:
        server.wait_for(f"watch {CHIEF}")
        server.delete(CHIEF)
        server.wait_for(f"get {CHIEF}", times=2)
        server.put(CHIEF, RUNNING)
        server.wait_for(f"watch {CHIEF}", times=2)
        assert replicas(server) == {PS: 2, WORKER: 4}
        server.put(CHIEF, FAILED)
        assert finisher.end() == 0
        assert finisher.log[1:4] == [
            f"{CHIEF}: does not exist; if the Job is not created within 3600 s, the run has ended",
            f"{CHIEF}: exists",
            f"{CHIEF}: is Failed",
        ]


def test_a_job_that_is_not_made_yet_is_waited_for(server, log):
    server.delete(CHIEF)
    with Finisher(server, log, ENDS, *SCALE) as finisher:
        server.wait_for(f"get {CHIEF}", times=10)  # after 45 s, longer than the 30 s for a deleted Job
        server.put(CHIEF, COMPLETE)
        assert finisher.end() == 0
        assert finisher.log[:4] == [
            WAITING,
            f"{CHIEF}: does not exist; if the Job is not created within 600 s, the run has ended",
            f"{CHIEF}: exists",
            f"{CHIEF}: is Complete",
        ]


def test_a_job_that_is_never_made_is_gone_in_the_end(server, log):
    server.delete(CHIEF)
    assert run(server, log, *SCALE, faster=1000)[-4:] == [
        f"{CHIEF}: is gone",
        f"{PS}: scaled to 0",
        f"{WORKER}: scaled to 0",
        DONE,
    ]


def test_a_404_that_does_not_speak_of_the_job_is_no_end(server, log):
    server.faults[f"get {CHIEF}"] = [
        Fault(404, status(404, "NotFound", "no such resource")),
        Fault(404, "<h1>Not found</h1>"),
        Fault(404, "[]"),
    ]
    server.put(CHIEF, COMPLETE)
    assert run(server, log)[1:4] == [
        f"{CHIEF}: 404 Not Found: no such resource; ApiError, trying again",
        f"{CHIEF}: 404 Not Found: <h1>Not found</h1>; ApiError, trying again",
        f"{CHIEF}: 404 Not Found: []; ApiError, trying again",
    ]


# -- an API server in trouble ------------------------------------------------------------------------------------

BROKEN_WATCHES = {
    "500": Fault(500, status(500, "InternalError", "etcd")),
    "410": Fault(410, status(410, "Expired", "too old resource version")),
    "403": Fault(403, status(403, "Forbidden", "no")),
    "410 in the stream": Fault(body='{"type": "ERROR", "object": {"code": 410, "message": "too old"}}\n'),
    "no JSON": Fault(body='{"type": "MODIFIED", "obj\n'),
    "no text": Fault(body='{"type": "\ud83d"}\n'.encode("utf-16", "surrogatepass").decode("latin-1")),
    "a list": Fault(body="[]\n"),
    "no object": Fault(body='{"type": "MODIFIED", "object": null}\n'),
    "an object without metadata": Fault(body='{"type": "MODIFIED", "object": {}}\n'),
    "a Status": Fault(body='{"type": "ADDED", "object": {"kind": "Status", "metadata": {}, "status": "Failure"}}\n'),
    "cut in a line": Fault(body='{"type": "MODIFIED", "object"', cut=True),
    "cut": Fault(cut=True),
    "ended": Fault(),
}


@pytest.mark.parametrize("fault", BROKEN_WATCHES.values(), ids=BROKEN_WATCHES)
def test_a_broken_watch_is_begun_anew_after_a_look(server, log, fault):
    server.faults[f"watch {CHIEF}"] = [fault, fault]
    with Finisher(server, log, ENDS, *SCALE) as finisher:
        server.wait_for(f"watch {CHIEF}", times=3)
        server.put(CHIEF, COMPLETE)
        assert finisher.end() == 0
    assert server.requests == [f"get {CHIEF}", f"watch {CHIEF}"] * 3 + [RELEASE_PS, RELEASE_WORKER]


def test_a_watch_begins_also_where_the_server_has_forgotten_the_job_s_last_change(server, log):
    """A server forgets changes when it restarts, while a Job that runs for days does not change."""
    server.restart()
    with Finisher(server, log, ENDS, *SCALE) as finisher:
        server.wait_for(f"watch {CHIEF}")
        server.put(CHIEF, COMPLETE)
        assert finisher.end() == 0
        assert finisher.log[1] == f"{CHIEF}: is Complete"
    assert server.requests == [f"get {CHIEF}", f"watch {CHIEF}", RELEASE_PS, RELEASE_WORKER]


def test_an_end_during_a_broken_watch_is_seen(server, log):
    server.faults[f"watch {CHIEF}"] = [Fault(hangs=True)]
    with Finisher(server, log, ENDS, *SCALE, WATCH=1, ANSWER=2) as finisher:
        server.wait_for(f"watch {CHIEF}")
        server.put(CHIEF, COMPLETE)
        assert finisher.end() == 0
        assert finisher.log[1].endswith("timed out; TimeoutError, trying again")
    assert server.requests == [f"get {CHIEF}", f"watch {CHIEF}", f"get {CHIEF}", RELEASE_PS, RELEASE_WORKER]


def test_json_that_is_no_object_is_no_missing_job(server, log):
    bodies = ["null", "[]", "7", "{}", '{"metadata": null}', "[" * 100_000]
    server.put(CHIEF, COMPLETE)
    server.faults[f"get {CHIEF}"] = [Fault(200, body) for body in bodies]
    assert run(server, log) == [
        WAITING,
        *[f"{CHIEF}: the answer is not a Kubernetes object; ApiError, trying again"] * len(bodies),
        f"{CHIEF}: is Complete",
        DONE,
    ]


def test_a_status_with_a_good_code_is_no_missing_job_and_no_released_role(server, log):
    """Gateways return a failure of the server behind them with the code 200."""
    failure = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": "no leader"}
    odd = {"kind": "Job", "metadata": {"name": "mnist-chief"}, "status": "Failure"}
    server.put(CHIEF, COMPLETE)
    server.faults[f"get {CHIEF}"] = [Fault(200, failure), Fault(200, odd)]
    server.faults[f"patch {PS}/scale"] = [Fault(200, failure)]
    server.faults[f"get {EVALUATOR}"] = [Fault(200, failure)]
    assert run(server, log, f"--scale={PS}", SUSPEND) == [
        WAITING,
        f"{CHIEF}: the answer is not a Job: no leader; ApiError, trying again",
        f"{CHIEF}: the answer is not a Job; ApiError, trying again",
        f"{CHIEF}: is Complete",
        KEEPS,
        f"{PS}: the answer is not a Scale: no leader; ApiError, trying again",
        f"{EVALUATOR}: the answer is not a Job: no leader; ApiError, trying again",
        f"{PS}: scaled to 0",
        f"{EVALUATOR}: suspended",
        DONE,
    ]


def test_a_storm_of_errors_is_waited_out(server, log):
    server.put(CHIEF, COMPLETE)
    server.faults[f"get {CHIEF}"] = [Fault(503, "no backend"), Fault(500), Fault(200, "<html>"), Fault(cut=True)]
    server.faults[f"patch {PS}/scale"] = [Fault(504), Fault(409, status(409, "Conflict", "changed"))]
    assert run(server, log, *SCALE) == [
        WAITING,
        f"{CHIEF}: 503 Service Unavailable: no backend; ApiError, trying again",
        f"{CHIEF}: 500 Internal Server Error: ; ApiError, trying again",
        f"{CHIEF}: Expecting value: line 1 column 1 (char 0); JSONDecodeError, trying again",
        f"{CHIEF}: IncompleteRead(0 bytes read, 1 more expected); IncompleteRead, trying again",
        f"{CHIEF}: is Complete",
        KEEPS,
        f"{WORKER}: scaled to 0",  # this patch does not wait for the failed patch of ps
        f"{PS}: 504 Gateway Timeout: ; ApiError, trying again",
        f"{PS}: 409 Conflict: changed; ApiError, trying again",
        f"{PS}: scaled to 0",
        DONE,
    ]


def pauses(log: Path) -> Sequence[float]:
    """Return the pauses between attempts, in seconds of the program's clock."""
    return [float(pause) for pause in re.findall(r"again in ([0-9.]+) s$", log.read_text(), re.MULTILINE)]


def test_the_pauses_grow_to_half_a_minute_and_differ(server, log):
    server.put(CHIEF, COMPLETE)
    server.faults[f"get {CHIEF}"] = [Fault(503)] * 8
    run(server, log, faster=200)
    longest = [1, 2, 4, 8, 16, 30, 30, 30]
    assert all(most / 2 - 0.05 <= pause <= most + 0.05 for pause, most in zip(pauses(log), longest, strict=True))
    assert pauses(log) != longest


@pytest.mark.parametrize(("asked", "pause"), [("7", 7), ("86400", 120), ("Wed, 21 Oct 2015 07:28:00 GMT", None)])
def test_a_server_that_asks_for_a_pause_gets_it(server, log, asked, pause):
    server.put(CHIEF, COMPLETE)
    server.faults[f"get {CHIEF}"] = [Fault(429, status(429, "TooManyRequests", "busy"), {"Retry-After": asked})]
    run(server, log, faster=200)
    assert pauses(log) == [pause] if pause else pauses(log)[0] <= 1


def test_a_new_token_is_read(server, log):
    with Finisher(server, log, ENDS, *SCALE) as finisher:
        server.wait_for(f"watch {CHIEF}")
        server.token = "second"
        server.put(CHIEF, COMPLETE)
        finisher.wait_for_log(f"{WORKER}: 401 Unauthorized: Unauthorized; ApiError, trying again")
        assert replicas(server) == {PS: 2, WORKER: 4}
        (server.account / "token").write_text("second\n")
        assert finisher.end() == 0
    assert replicas(server) == {PS: 0, WORKER: 0}


def test_what_the_role_lacks_is_named_and_holds_up_nothing_else(server, log):
    server.put(CHIEF, COMPLETE)
    server.faults[f"patch {PS}/scale"] = [Fault(403, status(403, "Forbidden", "forbidden: caf\u00e9"))]
    assert run(server, log, *SCALE)[1:] == [
        f"{CHIEF}: is Complete",
        KEEPS,
        f"{WORKER}: scaled to 0",
        f"{PS}: 403 Forbidden: forbidden: caf\\xe9; the finisher's Role must allow 'patch' on 'statefulsets/scale' "
        "named 'mnist-ps'; ApiError, trying again",
        f"{PS}: scaled to 0",
        DONE,
    ]
    assert pauses(log)[0] <= 1, "an API server that has just started knows no Roles yet"


def test_a_server_that_does_not_answer_holds_up_no_other(server, log):
    server.put(CHIEF, COMPLETE)
    server.faults[f"patch {PS}/scale"] = [Fault(hangs=True)]
    assert run(server, log, *SCALE, ANSWER=2)[3:6] == [
        f"{WORKER}: scaled to 0",
        f"{PS}: The read operation timed out; TimeoutError, trying again",
        f"{PS}: scaled to 0",
    ]


def test_a_server_that_cannot_be_reached_or_believed_is_waited_for(log):
    server = ApiServer()
    fill(server)
    server.put(CHIEF, COMPLETE)
    token, authority = server.account / "token", server.account / "ca.crt"
    certificate = authority.read_text()
    with Finisher(server, log, ENDS, *SCALE) as finisher:
        finisher.wait_for_log("Connection refused; ConnectionRefusedError, trying again")
        authority.write_text(ANOTHER_AUTHORITY)
        with server:
            finisher.wait_for_log("certificate verify failed")
            assert server.requests == [], "no token is shown to a server that is not believed"
            token.rename(server.account / "elsewhere")
            authority.write_text(certificate)
            finisher.wait_for_log("FileNotFoundError")
            (server.account / "elsewhere").rename(token)
            assert finisher.end() == 0
            assert replicas(server) == {PS: 0, WORKER: 0}


ANOTHER_AUTHORITY = """\
-----BEGIN CERTIFICATE-----
MIIBXjCCAQSgAwIBAgIBAjAKBggqhkjOPQQDAjAVMRMwEQYDVQQDDAprdWJlcm5l
dGVzMCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAxMDAwMDAwWjAVMRMwEQYDVQQD
DAprdWJlcm5ldGVzMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE/cP/700NzlyO
77JkI4kT5uNSvPJNhLlBgj0QlVFG2NASUuc2UPqIqAANL0e9oC5dCEFViO9GEuSK
vGjr0YfTwaNDMEEwDwYDVR0TAQH/BAUwAwEB/zAPBgNVHREECDAGhwR/AAABMB0G
A1UdDgQWBBSwsn3LDb4S1QFJ7zoOfh+agcgPaDAKBggqhkjOPQQDAgNIADBFAiEA
sfSh47FW833TmuKHKMBJ8iH61ZMuKUc+nxnZc//b5UgCIGiFNDoRHjxGl3QvKHKy
TtfNLe8zr2U698BU3okB5SOI
-----END CERTIFICATE-----
"""

# -- the evaluator -----------------------------------------------------------------------------------------------


def test_the_evaluator_is_suspended_after_its_grace_and_nothing_waits_for_it(server, log):
    server.put(CHIEF, {"status": ended("Complete", seconds_ago=50)})  # the grace period counts from this time
    before = time.monotonic()
    *others, has_time, ps, worker, suspended, _ = run(server, log, *SCALE, SUSPEND, GRACE.format(250))
    assert others == [WAITING, f"{CHIEF}: is Complete", KEEPS]
    # The first request takes some of the 200 s, and on a busy machine most of them.
    left = re.fullmatch(f"{EVALUATOR}: has ([0-9]+) s to end by itself", has_time)
    assert left
    assert int(left[1]) in range(1, 201)
    assert [ps, worker, suspended] == [f"{PS}: scaled to 0", f"{WORKER}: scaled to 0", f"{EVALUATOR}: suspended"]
    assert time.monotonic() - before > int(left[1]) / 50
    evaluator = server.get(EVALUATOR)
    assert (evaluator["spec"]["suspend"], evaluator["metadata"]["annotations"]) == (True, IGNORED)


@pytest.mark.parametrize("end", [COMPLETE, FAILED])
def test_an_evaluator_that_ends_in_its_grace_is_left_alone(server, log, end):
    with Finisher(server, log, ENDS, *SCALE, SUSPEND, GRACE.format(3600)) as finisher:
        server.wait_for(f"watch {CHIEF}")
        server.put(CHIEF, COMPLETE)
        server.wait_for(f"get {EVALUATOR}", times=2)
        server.put(EVALUATOR, end)
        assert finisher.end() == 0
        how = end["status"]["conditions"][-1]["type"]
        assert finisher.log[-2:] == [f"{EVALUATOR}: is {how}", DONE]
    assert SUSPEND_EVALUATOR not in server.requests


def test_an_evaluator_that_vanishes_in_its_grace_is_not_waited_for(server, log):
    server.put(CHIEF, COMPLETE)
    with Finisher(server, log, ENDS, SUSPEND, GRACE.format(3600)) as finisher:
        server.wait_for(f"get {EVALUATOR}")
        server.delete(EVALUATOR)
        assert finisher.end() == 0
        assert finisher.log[-2:] == [f"{EVALUATOR}: does not exist", DONE]


def test_a_suspension_that_is_refused_because_the_job_has_ended_is_no_trouble(server, log):
    server.put(CHIEF, COMPLETE)
    server.faults[f"patch {EVALUATOR}"] = [Fault(422, status(422, "Invalid", "finished"), {"Retry-After": "1"})]
    with Finisher(server, log, ENDS, SUSPEND) as finisher:
        finisher.wait_for_log("422")
        server.put(EVALUATOR, COMPLETE)
        assert finisher.end() == 0
    assert server.requests[1:] in (
        [f"get {EVALUATOR}", SUSPEND_EVALUATOR, f"get {EVALUATOR}"],
        [f"get {EVALUATOR}", SUSPEND_EVALUATOR] * 2,
    )


# -- the start ---------------------------------------------------------------------------------------------------

STARTS = (f"--starts={CHIEF}", f"--starts={PS}", f"--starts={WORKER}")
MADE = {"creationTimestamp": timestamp(3600)}
PENDING = {"status": {"active": 1, "ready": 0}, "metadata": MADE}
READY = {"status": {"active": 1, "ready": 1}, "metadata": MADE}


def tasks(replicas: int, ready: int) -> Mapping[str, Mapping[str, int]]:
    """Return the fields of a StatefulSet that has `ready` ready pods."""
    return {"spec": {"replicas": replicas}, "status": {"replicas": replicas, "readyReplicas": ready}}


@pytest.mark.parametrize("failure", ["Release", "Keep"])
def test_a_job_that_has_not_started_in_time_is_released_whole(server, log, failure):
    server.put(CHIEF, PENDING)
    args = [*SCALE, *STARTS, SUSPEND, GRACE.format(3600), "--start-deadline=600", f"--on-failure={failure}"]
    assert run(server, log, *args, AGAIN=30) == [
        WAITING,
        f"{CHIEF}: has not started within 600 s, for want of {CHIEF}, {PS}, {WORKER}",
        f"{PS}: scaled to 0",
        f"{WORKER}: scaled to 0",
        f"{EVALUATOR}: suspended",
        f"{CHIEF}: suspended",
        DONE,
    ]
    assert server.get(CHIEF)["spec"]["suspend"] is True
    # The status of the chief must show that the training never began. The evaluator's must not.
    ignored = [name for name in (CHIEF, EVALUATOR) if server.get(name)["metadata"].get("annotations") == IGNORED]
    assert ignored == [EVALUATOR]


WANTING = {
    "a worker": (READY, tasks(2, 2), tasks(4, 3), WORKER),
    "all ps": (READY, tasks(2, 0), tasks(4, 4), PS),
    "the chief": (PENDING, tasks(2, 2), tasks(4, 4), CHIEF),
}


@pytest.mark.parametrize(("chief", "ps", "worker", "wanting"), WANTING.values(), ids=WANTING)
def test_a_job_of_which_a_part_finds_no_node_has_not_started(server, log, chief, ps, worker, wanting):
    for path, content in ((CHIEF, chief), (PS, ps), (WORKER, worker)):
        server.put(path, content)
    lines = run(server, log, *SCALE, *STARTS, "--start-deadline=600")
    assert lines[1] == f"{CHIEF}: has not started within 600 s, for want of {wanting}"
    assert replicas(server) == {PS: 0, WORKER: 0}
    assert server.get(CHIEF)["spec"]["suspend"] is True


def test_it_looks_at_the_deadline_and_not_much_later(server, log):
    server.faster = 10
    server.put(CHIEF, {**READY, "metadata": {"creationTimestamp": timestamp()}})
    before = time.monotonic()
    lines = run(server, log, *STARTS, "--start-deadline=23", faster=10, LOOK=600, WATCH=600)
    assert lines[1].startswith(f"{CHIEF}: has not started within 23 s")
    assert time.monotonic() - before > 21 / 10, "a timestamp is up to a second too early"
    assert server.requests.count(f"get {CHIEF}") == 3, "at its own start, at the deadline, and before it is suspended"


def test_each_part_needs_its_pods_only_once_and_not_at_one_time(server, log):
    """For example, a worker is lost while the last parameter server waits for a node."""
    server.faster = 10
    made = {"creationTimestamp": timestamp()}
    server.put(CHIEF, {**READY, "metadata": made})
    server.put(PS, tasks(2, 1))
    server.put(WORKER, tasks(4, 4))
    with Finisher(server, log, ENDS, *SCALE, *STARTS, "--start-deadline=600", faster=10) as finisher:
        server.wait_for(f"get {WORKER}")
        server.put(WORKER, tasks(4, 3))
        server.wait_for(f"get {PS}", times=2)
        server.put(PS, tasks(2, 2))
        server.put(CHIEF, {**PENDING, "metadata": made})
        finisher.wait_for_log("has started")
        server.put(CHIEF, {**server.get(CHIEF), **FAILED})
        assert finisher.end() == 0
        assert finisher.log[:3] == [WAITING, f"{CHIEF}: has started", f"{CHIEF}: is Failed"]
    assert server.requests.count(f"get {WORKER}") == 1, "what has had its pods is not asked again"


ONE_POD = {"ready": {"ready": 1}, "done": {"succeeded": 1}, "lost": {"failed": 1, "active": 1}}


@pytest.mark.parametrize("started", ONE_POD.values(), ids=ONE_POD)
def test_a_job_that_has_started_is_noted_once_and_left_alone(server, log, started):
    server.put(CHIEF, {**PENDING, "status": started})
    server.put(PS, tasks(2, 2))
    server.put(WORKER, tasks(4, 4))
    with Finisher(server, log, ENDS, *SCALE, *STARTS, "--start-deadline=600") as finisher:
        finisher.wait_for_log("has started")
        server.wait_for(f"watch {CHIEF}")
        server.put(CHIEF, {**server.get(CHIEF), "status": PENDING["status"]})  # the pod was evicted, and waits
        server.put(WORKER, tasks(4, 0))
        server.put(CHIEF, {**server.get(CHIEF), **FAILED})
        assert finisher.end() == 0
        assert finisher.log[:3] == [WAITING, f"{CHIEF}: has started", f"{CHIEF}: is Failed"]
    looks = [f"get {PS}", f"get {WORKER}"]
    assert server.requests == [f"get {CHIEF}", *looks, NOTE_START, f"watch {CHIEF}", RELEASE_PS, RELEASE_WORKER]


@pytest.mark.parametrize(
    ("status_", "missed"),
    [
        ({"ready": 3, "active": 4}, True),
        ({"ready": 3, "succeeded": 1}, False),
        ({"ready": 4, "active": 4}, False),
        # All failures may have the same index, while another index never found a node.
        ({"failed": 9, "ready": 3}, True),
    ],
)
def test_all_pods_of_a_job_of_several_must_have_been_there(server, log, status_, missed):
    server.put(CHIEF, {"spec": {"completions": 4}, "status": status_, "metadata": MADE})
    with Finisher(server, log, ENDS, f"--starts={CHIEF}", "--start-deadline=600") as finisher:
        finisher.wait_for_log("has not started within" if missed else "has started")


@pytest.mark.parametrize(("ready", "started"), [(1, True), (0, False)])
def test_a_gang_that_may_begin_with_less_has_started_with_as_many(server, log, ready, started):
    server.put(CHIEF, READY)
    server.put(PS, tasks(2, 2))
    server.put(WORKER, tasks(4, ready))
    with Finisher(server, log, ENDS, *STARTS, "--start-with=4", "--start-deadline=600") as finisher:
        finisher.wait_for_log("has started" if started else f"has not started within 600 s, for want of {WORKER}")


def test_what_a_finisher_has_scaled_to_0_before_it_was_ended_has_not_started(server, log):
    server.put(CHIEF, READY)
    server.put(PS, tasks(0, 0))
    server.put(WORKER, tasks(0, 0))
    assert run(server, log, *STARTS, "--start-deadline=600")[2] == f"{CHIEF}: suspended"


def test_a_new_finisher_knows_from_the_note_that_the_job_has_started(server, log):
    server.put(CHIEF, {**PENDING, "metadata": {**MADE, "annotations": {"tfgen/started": "true"}}})
    with Finisher(server, log, ENDS, *SCALE, *STARTS, "--start-deadline=600") as finisher:
        server.wait_for(f"watch {CHIEF}")
        assert finisher.log == [WAITING]
    assert server.requests == [f"get {CHIEF}", f"watch {CHIEF}"]


def test_a_start_that_cannot_be_noted_is_noted_later_and_not_forgotten(server, log):
    server.put(CHIEF, READY)
    server.faults[f"patch {CHIEF}"] = [Fault(500, "no")]
    with Finisher(server, log, ENDS, f"--starts={CHIEF}", "--start-deadline=600") as finisher:
        server.wait_for(f"watch {CHIEF}")
        server.put(CHIEF, PENDING)
        finisher.wait_for_log("has started\n")
        assert finisher.log == [
            WAITING,
            f"{CHIEF}: the start is unknown: 500 Internal Server Error: no",
            f"{CHIEF}: has started",
        ]
    assert server.get(CHIEF)["metadata"]["annotations"] == {"tfgen/started": "true"}


def test_a_start_that_cannot_be_seen_is_not_missed_and_the_end_is_seen_all_the_same(server, log):
    server.put(CHIEF, READY)
    server.faults[f"get {PS}"] = [Fault(403, status(403, "Forbidden", "no"))] * 1000
    server.faster = 50
    with Finisher(server, log, ENDS, *SCALE, *STARTS, "--start-deadline=600") as finisher:
        server.wait_for(f"get {PS}", times=3)
        server.put(CHIEF, COMPLETE)
        assert finisher.end() == 0
        assert finisher.log[1:3] == [
            f"{CHIEF}: the start is unknown: 403 Forbidden: no; the finisher's Role must allow 'get' "
            "on 'statefulsets' named 'mnist-ps'",
            f"{CHIEF}: is Complete",
        ]


def test_a_chief_that_was_put_back_has_a_start_of_its_own(server, log):
    server.put(CHIEF, {**READY, "metadata": {**MADE, "uid": "first"}})
    with Finisher(server, log, ENDS, f"--starts={CHIEF}", "--start-deadline=600") as finisher:
        finisher.wait_for_log("has started")
        server.delete(CHIEF)
        server.put(CHIEF, {**PENDING, "metadata": {**MADE, "uid": "second"}})
        finisher.wait_for_log("has not started within 600 s")


@pytest.mark.parametrize("deadline", [[], ["--start-deadline=0"]])
def test_without_a_deadline_a_job_may_wait(server, log, deadline):
    server.put(CHIEF, PENDING)
    with Finisher(server, log, ENDS, *SCALE, *STARTS, *deadline) as finisher:
        server.wait_for(f"watch {CHIEF}")
        server.put(CHIEF, COMPLETE)
        assert finisher.end() == 0
    assert server.requests == [f"get {CHIEF}", f"watch {CHIEF}", RELEASE_PS, RELEASE_WORKER]


# -- the process -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("when", ["watching", "pausing", "in its grace"])
def test_sigterm_ends_it_at_once(server, log, when):
    if when == "pausing":
        server.faults[f"get {CHIEF}"] = [Fault(429, headers={"Retry-After": "3600"})]
    if when == "in its grace":
        server.put(CHIEF, COMPLETE)
    # Without SIGTERM, each wait would last longer than the test.
    long = {"ANSWER": 3600, "POLL": 3600, "LONGEST_RETRY_AFTER": 3600}
    with Finisher(server, log, ENDS, SUSPEND, GRACE.format(7200), faster=1, **long) as finisher:
        server.wait_for({"watching": f"watch {CHIEF}", "pausing": f"get {CHIEF}"}.get(when, f"get {EVALUATOR}"))
        finisher.terminate()
        assert finisher.end() == 143
        assert finisher.log[-1] == "finisher: ended by SIGTERM"


def test_wrong_arguments_are_told():
    ran = subprocess.run([sys.executable, "-I", PROGRAM], capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert "the following arguments are required: --ends" in ran.stderr


def test_it_is_python_3_6_and_standard_library_alone():
    tree = ast.parse(programs.file("finisher").text, feature_version=(3, 6))
    imported = {
        alias.name.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names
    }
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert imported <= sys.stdlib_module_names


def test_it_is_the_file_and_a_literal_block_in_yaml():
    text = programs.file("finisher").text
    assert text == PROGRAM.read_text(encoding="utf-8")
    assert yaml_text.dump({"finisher.py": text}).startswith("finisher.py: |\n  r")
