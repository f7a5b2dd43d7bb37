"""The finisher as a separate process with a small API server: its requests, its log, and the messages to a webhook."""

from __future__ import annotations

import ast
import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.support.api_server import CERTIFICATES, ApiServer, Fault, ended, status, timestamp
from tests.support.finisher import CHIEF, EVALUATOR, PROGRAM, PS, RUNNING, WORKER, Finisher, fill, wait_for_replicas
from tfgen.graph import programs
from tfgen.text import yaml_text

ENDS = "--ends=mnist-chief"
SCALE = (f"--scale={PS}", f"--scale={WORKER}")
SUSPEND = "--suspend=mnist-evaluator"
GRACE = "--grace-for=mnist-evaluator={}"

COMPLETE = {"status": ended("SuccessCriteriaMet", "Complete")}
FAILED = {"status": ended("FailureTarget", "Failed")}

RELEASES = [f'patch {path}/scale {{"spec": {{"replicas": 0}}}}' for path in (PS, WORKER)]
# Without this annotation, Argo CD shows an Application with a suspended Job as Suspended:
# https://argo-cd.readthedocs.io/en/stable/operator-manual/health/#ignoring-child-resource-health-check-in-applications
IGNORED = {"argocd.argoproj.io/ignore-healthcheck": "true"}
SUSPEND_EVALUATOR = (
    f'patch {EVALUATOR} {{"metadata": {{"annotations": {json.dumps(IGNORED)}}}, "spec": {{"suspend": true}}}}'
)
NOTE_START = f'patch {CHIEF} {{"metadata": {{"annotations": {{"tfgen/started": "true"}}}}}}'

WAITING = f"{CHIEF}: waiting for its end"
DONE = "finisher: all tasks are released"
KEEPS = "finisher: keeps the StatefulSets at 0 for {} s"
SCALED = [f"{PS}: scaled to 0", f"{WORKER}: scaled to 0"]
IS_COMPLETE = f"{CHIEF}: is Complete"
MISSING = f"{CHIEF}: does not exist; if the Job is not created within {{}} s, the run has ended"


def run(server, log, *args, faster=50, **constants):
    """Return the log of a finisher that exits with 0."""
    with Finisher(server, log, ENDS, *args, faster=faster, **constants) as finisher:
        assert finisher.end() == 0, log.read_text()
        return finisher.log


def run_to_end(server, log, *args, end=COMPLETE, **constants):
    """Return the log of a finisher that waits for a chief, which then ends."""
    with Finisher(server, log, ENDS, *args, **constants) as finisher:
        server.wait_for(f"get {CHIEF}", times=2)
        server.put(CHIEF, end)
        assert finisher.end() == 0
        return finisher.log


def others(server):
    """Return the requests without the reads of the Job that ends the run, whose number depends on the time."""
    return [request for request in server.requests if request != f"get {CHIEF}"]


def replicas(server):
    return {path: server.get(path)["spec"]["replicas"] for path in (PS, WORKER)}


def scale_up(server, path, number):
    server.put(path, {"spec": {"replicas": number}})


def assert_repeated(server, times):
    """Check the number of repeats after the release. Each repeat reads the Job, and scales a StatefulSet to 0."""
    assert sorted(others(server)) == sorted(RELEASES * (times + 1))
    assert server.requests[-2] == f"get {CHIEF}"


# -- the end of the job -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("end", "how"), [(COMPLETE, "Complete"), (FAILED, "Failed")])
def test_tasks_are_released_when_the_chief_has_ended(server, log, end, how):
    lines = run_to_end(server, log, *SCALE, end=end)
    assert lines == [WAITING, f"{CHIEF}: is {how}", KEEPS.format(0), *SCALED, DONE]
    assert others(server) == RELEASES
    assert replicas(server) == {PS: 0, WORKER: 0}


def test_end_before_the_start_is_seen_by_each_finisher(server, log):
    server.put(CHIEF, COMPLETE)
    first = run(server, log, *SCALE, SUSPEND)
    requests = [f"get {CHIEF}", *RELEASES, f"get {EVALUATOR}", SUSPEND_EVALUATOR]
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
def test_job_whose_pods_still_end_has_not_ended(server, log, conditions):
    with Finisher(server, log, ENDS, *SCALE) as finisher:
        server.put(CHIEF, {"status": conditions})
        server.wait_for(f"get {CHIEF}", times=len(server.requests) + 2)
        assert finisher.log == [WAITING]
        server.put(CHIEF, COMPLETE)
        assert finisher.end() == 0
    assert others(server) == RELEASES


def test_failed_job_keeps_its_tasks_with_the_option(server, log):
    server.put(CHIEF, FAILED)
    kept = "finisher: no task is released, because --on-failure is Keep"
    assert run(server, log, *SCALE, SUSPEND, "--on-failure=Keep", AGAIN=30) == [WAITING, f"{CHIEF}: is Failed", kept]
    assert server.requests == [f"get {CHIEF}"]
    server.put(CHIEF, COMPLETE)
    run(server, log, *SCALE, "--on-failure=Keep")
    assert replicas(server) == {PS: 0, WORKER: 0}


def test_deployment_is_scaled_and_a_missing_task_counts_as_released(server, log):
    server.put(CHIEF, COMPLETE)
    scale_up(server, "deployments/mnist-tensorboard", 1)
    args = ["--scale=deployments/mnist-tensorboard", "--scale=statefulsets/other", "--suspend=other"]
    assert run(server, log, *args)[3:] == [
        "deployments/mnist-tensorboard: scaled to 0",
        "statefulsets/other: does not exist",
        "jobs/other: does not exist",
        DONE,
    ]
    assert server.get("deployments/mnist-tensorboard")["spec"]["replicas"] == 0


# -- the repeats ------------------------------------------------------------------------------------------------------


def test_stateful_set_that_another_tool_scales_up_is_scaled_to_0_again(server, log):
    """The next run may use the same Deployment, so only StatefulSets are scaled again."""
    board = "deployments/mnist-tensorboard"
    scale_up(server, board, 1)
    server.put(CHIEF, COMPLETE)
    with Finisher(server, log, ENDS, *SCALE, f"--scale={board}", faster=10, AGAIN=600) as finisher:
        finisher.wait_for_log(DONE)
        scale_up(server, board, 1)
        scale_up(server, PS, 2)
        wait_for_replicas(server, PS, 0)
    assert server.get(board)["spec"]["replicas"] == 1


def test_repeats_end(server, log):
    server.put(CHIEF, COMPLETE)
    assert run(server, log, *SCALE, AGAIN=30) == [WAITING, IS_COMPLETE, KEEPS.format(30), *SCALED, DONE]
    assert_repeated(server, times=6)


@pytest.mark.parametrize("state", ["is active again", "does not exist"])
def test_repeats_end_with_a_job_that_is_active_again_or_deleted(server, log, state):
    server.put(CHIEF, COMPLETE)
    with Finisher(server, log, ENDS, *SCALE, faster=10, AGAIN=600) as finisher:
        finisher.wait_for_log(DONE)
        if state == "is active again":
            server.put(CHIEF, RUNNING)
        else:
            server.delete(CHIEF)
        finisher.wait_for_log(f"{CHIEF}: {state}; the repeats for {PS} end")
        scale_up(server, PS, 2)
        assert finisher.end() == 0
    assert replicas(server) == {PS: 2, WORKER: 0}


def test_error_of_a_repeat_concerns_only_its_object(server, log):
    server.put(CHIEF, COMPLETE)
    with Finisher(server, log, ENDS, *SCALE, faster=10, AGAIN=600) as finisher:
        finisher.wait_for_log(DONE)
        server.faults[f"patch {PS}/scale"] = [Fault(503)] * 1000
        scale_up(server, WORKER, 4)
        wait_for_replicas(server, WORKER, 0)
        finisher.wait_for_log(f"{PS}: 503 Service Unavailable: ; RequestError, trying again")


def test_error_of_a_repeat_extends_the_repeats(server, log):
    """The pauses after the errors are longer than the repeats. All three repeats follow the last error."""
    complete = {"kind": "Job", "metadata": {"name": "mnist-chief"}, **COMPLETE}
    server.put(CHIEF, COMPLETE)
    # The end, two repeats of two StatefulSets, and errors.
    server.faults[f"get {CHIEF}"] = [*[Fault(200, complete)] * 5, *[Fault(500)] * 12]
    lines = run(server, log, *SCALE, AGAIN=15)
    errors = [line for line in lines if line.endswith(": 500 Internal Server Error: ; RequestError, trying again")]
    assert len(errors) == 12
    assert_repeated(server, times=2 + 3)


def test_repeats_do_not_wait_for_the_evaluator(server, log):
    server.put(CHIEF, COMPLETE)
    with Finisher(server, log, ENDS, *SCALE, SUSPEND, GRACE.format(3600), faster=10, AGAIN=600) as finisher:
        finisher.wait_for_log(f"{WORKER}: scaled to 0")
        scale_up(server, PS, 2)
        wait_for_replicas(server, PS, 0)
        assert DONE not in finisher.log


def test_sigterm_ends_the_repeats_and_the_next_finisher_repeats_the_release(server, log):
    server.put(CHIEF, COMPLETE)
    with Finisher(server, log, ENDS, *SCALE, faster=1, AGAIN=60) as finisher:
        finisher.wait_for_log(DONE)
        finisher.terminate()
        assert finisher.end() == 128 + signal.SIGTERM
    scale_up(server, PS, 2)
    run(server, log, *SCALE)
    assert replicas(server) == {PS: 0, WORKER: 0}


# -- a deleted Job ----------------------------------------------------------------------------------------------------


def test_job_that_remains_deleted_has_ended(server, log):
    with Finisher(server, log, ENDS, *SCALE, "--on-failure=Keep") as finisher:
        server.wait_for(f"get {CHIEF}")
        server.delete(CHIEF)
        assert finisher.end() == 0
        assert finisher.log == [WAITING, MISSING.format(30), f"{CHIEF}: is gone", *SCALED, DONE]
    assert 2 <= server.requests.count(f"get {CHIEF}") < 12, "it looks again, every 5 of the 30 s"


def test_deleted_job_that_is_created_again_has_not_ended(server, log):
    with Finisher(server, log, ENDS, *SCALE, GONE=3600) as finisher:
        server.wait_for(f"get {CHIEF}")
        server.delete(CHIEF)
        finisher.wait_for_log("does not exist")
        server.put(CHIEF, RUNNING)
        finisher.wait_for_log("exists\n")
        assert replicas(server) == {PS: 2, WORKER: 4}
        server.put(CHIEF, FAILED)
        assert finisher.end() == 0
        assert finisher.log[1:4] == [MISSING.format(3600), f"{CHIEF}: exists", f"{CHIEF}: is Failed"]


def test_finisher_waits_for_a_job_that_does_not_exist_yet(server, log):
    server.delete(CHIEF)
    with Finisher(server, log, ENDS, *SCALE) as finisher:
        server.wait_for(f"get {CHIEF}", times=10)  # after 45 s, longer than the 30 s for a deleted Job
        server.put(CHIEF, COMPLETE)
        assert finisher.end() == 0
        assert finisher.log[:4] == [WAITING, MISSING.format(600), f"{CHIEF}: exists", IS_COMPLETE]


def test_job_that_is_never_created_has_ended(server, log):
    server.delete(CHIEF)
    assert run(server, log, *SCALE, faster=1000)[-4:] == [f"{CHIEF}: is gone", *SCALED, DONE]


# -- an API server with errors ----------------------------------------------------------------------------------------

# Gateways return a failure of the server behind them with the code 200.
FAILURE = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": "no leader"}
NO_OBJECTS = [
    *("null", "[]", "7", "{}", "", "[" * 100_000, '{"kind": "Job", "metad'),
    *('{"metadata": null}', '{"kind": "Job", "status": {}}', '{"kind": "Status", "metadata": {}, "status": "Failure"}'),
    '{"kind": "\ud83d"}'.encode("utf-16", "surrogatepass").decode("latin-1"),
]
# A fault of the read of the chief, and its error in the log.
READS = [
    *((Fault(200, body), f"the answer is not the object: {body:.200}; RequestError") for body in NO_OBJECTS),
    (Fault(200, FAILURE), "the answer is not the object: no leader; RequestError"),
    (
        Fault(200, {"kind": "Job", "metadata": {"name": "mnist-chief"}, "status": "Failure"}),
        "'str' object has no attribute 'get'; AttributeError",
    ),
    (Fault(404, status(404, "NotFound", "no such resource")), "404 Not Found: no such resource; RequestError"),
    (Fault(404, "<h1>Not found</h1>"), "404 Not Found: <h1>Not found</h1>; RequestError"),
    (Fault(404, "[]"), "404 Not Found: []; RequestError"),
    (
        Fault(404, {"reason": "NotFound", "details": None}),
        "'NoneType' object has no attribute 'get'; AttributeError",
    ),
    (
        Fault(403, status(403, "Forbidden", "no")),
        "403 Forbidden: no; the finisher's Role must allow 'get' on 'jobs' named 'mnist-chief'; RequestError",
    ),
    (Fault(410, status(410, "Expired", "too old")), "410 Gone: too old; RequestError"),
    (Fault(503, "no backend"), "503 Service Unavailable: no backend; RequestError"),
    (Fault(500, status(500, "InternalError", "etcd")), "500 Internal Server Error: etcd; RequestError"),
    (Fault(500), "500 Internal Server Error: ; RequestError"),
    (Fault(cut=True), "IncompleteRead(0 bytes read, 1 more expected); IncompleteRead"),
    (Fault(body='{"kind"', cut=True), "IncompleteRead(7 bytes read, 1 more expected); IncompleteRead"),
]


def test_failed_read_is_repeated_and_is_no_end(server, log):
    server.put(CHIEF, COMPLETE)
    server.faults[f"get {CHIEF}"] = [fault for fault, _ in READS]
    errors = [f"{CHIEF}: {error}, trying again".encode("ascii", "backslashreplace").decode() for _, error in READS]
    assert run(server, log, faster=500) == [WAITING, *errors, IS_COMPLETE, DONE]


def test_end_during_a_read_without_an_answer_is_seen(server, log):
    server.faults[f"get {CHIEF}"] = [Fault(hangs=True)]
    with Finisher(server, log, ENDS, *SCALE, ANSWER=2) as finisher:
        server.wait_for(f"get {CHIEF}")
        server.put(CHIEF, COMPLETE)
        assert finisher.end() == 0
        assert finisher.log[1] == f"{CHIEF}: no answer in 2 s; RequestError, trying again"
    assert server.requests == [f"get {CHIEF}"] * 2 + RELEASES


def test_failed_release_is_repeated_and_delays_no_other_release(server, log):
    server.put(CHIEF, COMPLETE)
    server.faults[f"get {CHIEF}"] = [Fault(200, "<html>"), Fault(cut=True)]
    conflict = Fault(409, status(409, "Conflict", "changed"))
    server.faults[f"patch {PS}/scale"] = [Fault(504), conflict, Fault(200, FAILURE)]
    server.faults[f"get {EVALUATOR}"] = [Fault(200, FAILURE)]
    lines = run(server, log, *SCALE, SUSPEND)
    assert lines[1:7] == [
        f"{CHIEF}: the answer is not the object: <html>; RequestError, trying again",
        f"{CHIEF}: IncompleteRead(0 bytes read, 1 more expected); IncompleteRead, trying again",
        IS_COMPLETE,
        KEEPS.format(0),
        f"{PS}: 504 Gateway Timeout: ; RequestError, trying again",
        f"{WORKER}: scaled to 0",
    ]
    assert [line for line in lines[7:] if line.startswith(PS)] == [
        f"{PS}: 409 Conflict: changed; RequestError, trying again",
        f"{PS}: the answer is not the object: no leader; RequestError, trying again",
        f"{PS}: scaled to 0",
    ]
    assert [line for line in lines[7:] if line.startswith(EVALUATOR)] == [
        f"{EVALUATOR}: the answer is not the object: no leader; RequestError, trying again",
        f"{EVALUATOR}: suspended",
    ]


def pauses(log):
    """Return the pauses between attempts, in seconds of the program's clock."""
    return [float(pause) for pause in re.findall(r"again in ([0-9.]+) s$", log.read_text(), re.MULTILINE)]


def test_pauses_grow_to_half_a_minute_and_differ(server, log):
    server.put(CHIEF, COMPLETE)
    server.faults[f"get {CHIEF}"] = [Fault(503)] * 8
    run(server, log, faster=200)
    longest = [1, 2, 4, 8, 16, 30, 30, 30]
    assert all(most / 2 - 0.05 <= pause <= most + 0.05 for pause, most in zip(pauses(log), longest, strict=True))
    assert pauses(log) != longest


@pytest.mark.parametrize(("asked", "pause"), [("7", 7), ("86400", 120), ("Wed, 21 Oct 2015 07:28:00 GMT", None)])
def test_pause_is_the_one_that_the_server_asks_for(server, log, asked, pause):
    server.put(CHIEF, COMPLETE)
    server.faults[f"get {CHIEF}"] = [Fault(429, status(429, "TooManyRequests", "busy"), {"Retry-After": asked})]
    run(server, log, faster=200)
    assert pauses(log) == [pause] if pause else pauses(log)[0] <= 1


def test_new_token_is_read(server, log):
    with Finisher(server, log, ENDS, *SCALE) as finisher:
        server.wait_for(f"get {CHIEF}")
        server.token = "second"
        server.put(CHIEF, COMPLETE)
        finisher.wait_for_log(f"{CHIEF}: 401 Unauthorized: Unauthorized; RequestError, trying again")
        assert replicas(server) == {PS: 2, WORKER: 4}
        (server.account / "token").write_text("second\n")
        assert finisher.end() == 0
    assert replicas(server) == {PS: 0, WORKER: 0}


def test_missing_permission_is_named(server, log):
    server.put(CHIEF, COMPLETE)
    server.faults[f"patch {PS}/scale"] = [Fault(403, status(403, "Forbidden", "forbidden: caf\u00e9"))]
    assert run(server, log, *SCALE)[3:6] == [
        f"{PS}: 403 Forbidden: forbidden: caf\\xe9; the finisher's Role must allow 'patch' on 'statefulsets/scale' "
        "named 'mnist-ps'; RequestError, trying again",
        *reversed(SCALED),
    ]
    assert pauses(log)[0] <= 1, "an API server that has just started knows no Roles yet"


def test_request_without_an_answer_delays_no_other(server, log):
    server.put(CHIEF, COMPLETE)
    server.faults[f"patch {PS}/scale"] = [Fault(hangs=True)]
    assert run(server, log, *SCALE, ANSWER=2)[3:6] == [
        f"{PS}: no answer in 2 s; RequestError, trying again",
        *reversed(SCALED),
    ]


def test_finisher_waits_for_a_server_that_it_cannot_reach_or_verify(log):
    server = ApiServer()
    fill(server)
    server.put(CHIEF, COMPLETE)
    token, authority = server.account / "token", server.account / "ca.crt"
    certificate = authority.read_text()
    with Finisher(server, log, ENDS, *SCALE) as finisher:
        finisher.wait_for_log("Connection refused; ConnectionRefusedError, trying again")
        authority.write_text((CERTIFICATES / "another-authority.pem").read_text())
        with server:
            finisher.wait_for_log("certificate verify failed")
            assert server.requests == [], "no token is sent to a server that is not verified"
            token.rename(server.account / "elsewhere")
            authority.write_text(certificate)
            finisher.wait_for_log("FileNotFoundError")
            (server.account / "elsewhere").rename(token)
            assert finisher.end() == 0
            assert replicas(server) == {PS: 0, WORKER: 0}


# -- the evaluator ----------------------------------------------------------------------------------------------------


def test_evaluator_is_suspended_after_its_grace_and_delays_no_release(server, log):
    server.put(CHIEF, {"status": ended("Complete", seconds_ago=50)})  # the grace period counts from this time
    before = time.monotonic()
    *first, has_time, ps, worker, suspended, _ = run(server, log, *SCALE, SUSPEND, GRACE.format(250))
    assert first == [WAITING, IS_COMPLETE, KEEPS.format(0)]
    # The first request takes some of the 200 s, and on a busy machine most of them.
    left = re.fullmatch(f"{EVALUATOR}: has ([0-9]+) s to end by itself", has_time)
    assert int(left[1]) in range(1, 201)
    assert [ps, worker, suspended] == [*SCALED, f"{EVALUATOR}: suspended"]
    assert time.monotonic() - before > int(left[1]) / 50
    evaluator = server.get(EVALUATOR)
    assert (evaluator["spec"]["suspend"], evaluator["metadata"]["annotations"]) == (True, IGNORED)


@pytest.mark.parametrize(("end", "how"), [(COMPLETE, "is Complete"), (FAILED, "is Failed"), (None, "does not exist")])
def test_evaluator_that_ends_in_its_grace_is_not_suspended(server, log, end, how):
    with Finisher(server, log, ENDS, *SCALE, SUSPEND, GRACE.format(3600)) as finisher:
        server.put(CHIEF, COMPLETE)
        server.wait_for(f"get {EVALUATOR}", times=2)
        if end:
            server.put(EVALUATOR, end)
        else:
            server.delete(EVALUATOR)
        assert finisher.end() == 0
        assert finisher.log[-2:] == [f"{EVALUATOR}: {how}", DONE]
    assert SUSPEND_EVALUATOR not in server.requests


def test_refused_suspension_of_an_ended_evaluator_is_no_error(server, log):
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


# -- the start --------------------------------------------------------------------------------------------------------

STARTS = (f"--starts={CHIEF}", f"--starts={PS}", f"--starts={WORKER}", "--start-deadline=600")
ONE_START = (f"--starts={CHIEF}", "--start-deadline=600")
MADE = {"creationTimestamp": timestamp(3600)}
PENDING = {"status": {"active": 1, "ready": 0}, "metadata": MADE}
READY = {"status": {"active": 1, "ready": 1}, "metadata": MADE}
STARTED = f"{CHIEF}: has started"
MISSED = f"{CHIEF}: has not started within 600 s"


def tasks(replicas, ready):
    """Return the fields of a StatefulSet that has `ready` ready pods."""
    return {"spec": {"replicas": replicas}, "status": {"replicas": replicas, "readyReplicas": ready}}


@pytest.mark.parametrize("failure", ["Release", "Keep"])
def test_job_that_has_not_started_in_time_is_released_completely(server, log, failure):
    server.put(CHIEF, PENDING)
    args = [*SCALE, *STARTS, SUSPEND, GRACE.format(3600), f"--on-failure={failure}"]
    suspended = [f"{EVALUATOR}: suspended", f"{CHIEF}: suspended"]
    missed = f"{MISSED}, for want of {CHIEF}, {PS}, {WORKER}"
    assert run(server, log, *args, AGAIN=30) == [WAITING, missed, *SCALED, *suspended, DONE]
    assert server.get(CHIEF)["spec"]["suspend"] is True
    # The status of the chief must show that the training never began. The evaluator's must not.
    ignored = [name for name in (CHIEF, EVALUATOR) if server.get(name)["metadata"].get("annotations") == IGNORED]
    assert ignored == [EVALUATOR]


@pytest.mark.parametrize(
    ("chief", "ps", "worker", "more", "missing"),
    [
        pytest.param(READY, tasks(2, 2), tasks(4, 3), [], WORKER, id="a worker"),
        pytest.param(READY, tasks(2, 0), tasks(4, 4), [], PS, id="all ps"),
        pytest.param(PENDING, tasks(2, 2), tasks(4, 4), [], CHIEF, id="the chief"),
        pytest.param(READY, tasks(2, 2), tasks(4, 0), ["--start-with=4"], WORKER, id="a part of a partial gang"),
        pytest.param(READY, tasks(2, 2), tasks(4, 1), ["--start-with=4"], None, id="nothing of a partial gang"),
        # Another finisher has scaled the tasks to 0 before its end.
        pytest.param(READY, tasks(0, 0), tasks(0, 0), [], f"{PS}, {WORKER}", id="released tasks"),
    ],
)
def test_job_without_some_of_its_tasks_has_not_started(server, log, chief, ps, worker, more, missing):
    for path, content in ((CHIEF, chief), (PS, ps), (WORKER, worker)):
        server.put(path, content)
    with Finisher(server, log, ENDS, *SCALE, *STARTS, *more) as finisher:
        finisher.wait_for_log(f"{MISSED}, for want of {missing}\n" if missing else STARTED)
        if missing:
            assert finisher.end() == 0
            assert replicas(server) == {PS: 0, WORKER: 0}
            assert server.get(CHIEF)["spec"]["suspend"] is True


def test_finisher_reads_the_job_at_the_deadline(server, log):
    server.put(CHIEF, {**READY, "metadata": {"creationTimestamp": timestamp()}})
    before = time.monotonic()
    lines = run(server, log, *STARTS[:-1], "--start-deadline=23", faster=10, POLL=600)
    assert lines[1].startswith(f"{CHIEF}: has not started within 23 s")
    assert time.monotonic() - before > 21 / 10, "a timestamp is up to a second too early"
    # At its own start, at the deadline (which a clock may miss by a bit), and before the suspension.
    assert server.requests.count(f"get {CHIEF}") in (3, 4)


def test_each_part_needs_its_pods_only_once_and_not_at_one_time(server, log):
    """For example, a worker is lost while the last parameter server waits for a node."""
    made = {"creationTimestamp": timestamp()}
    server.put(CHIEF, {**READY, "metadata": made})
    server.put(PS, tasks(2, 1))
    server.put(WORKER, tasks(4, 4))
    with Finisher(server, log, ENDS, *SCALE, *STARTS, faster=10) as finisher:
        server.wait_for(f"get {WORKER}")
        server.put(WORKER, tasks(4, 3))
        server.wait_for(f"get {PS}", times=2)
        server.put(PS, tasks(2, 2))
        server.put(CHIEF, {**PENDING, "metadata": made})
        finisher.wait_for_log("has started")
        server.put(CHIEF, {**server.get(CHIEF), **FAILED})
        assert finisher.end() == 0
        assert finisher.log[:3] == [WAITING, STARTED, f"{CHIEF}: is Failed"]
    assert server.requests.count(f"get {WORKER}") == 1, "a part that has had its pods is not read again"


@pytest.mark.parametrize("started", [{"ready": 1}, {"succeeded": 1}, {"failed": 1, "active": 1}], ids=str)
def test_start_of_a_job_is_noted_once(server, log, started):
    server.put(CHIEF, {**PENDING, "status": started})
    server.put(PS, tasks(2, 2))
    server.put(WORKER, tasks(4, 4))
    with Finisher(server, log, ENDS, *SCALE, *STARTS) as finisher:
        finisher.wait_for_log("has started")
        server.put(CHIEF, {**server.get(CHIEF), "status": PENDING["status"]})  # the pod was evicted, and waits
        server.put(WORKER, tasks(4, 0))
        server.wait_for(f"get {CHIEF}", times=len(server.requests) + 2)
        server.put(CHIEF, {**server.get(CHIEF), **FAILED})
        assert finisher.end() == 0
        assert finisher.log[:3] == [WAITING, STARTED, f"{CHIEF}: is Failed"]
    assert others(server) == [f"get {PS}", f"get {WORKER}", NOTE_START, *RELEASES]


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
def test_job_of_several_pods_has_started_when_all_have_been_ready(server, log, status_, missed):
    server.put(CHIEF, {"spec": {"completions": 4}, "status": status_, "metadata": MADE})
    with Finisher(server, log, ENDS, *ONE_START) as finisher:
        finisher.wait_for_log(MISSED if missed else STARTED)


def test_new_finisher_reads_the_note_of_the_start(server, log):
    server.put(CHIEF, {**PENDING, "metadata": {**MADE, "annotations": {"tfgen/started": "true"}}})
    with Finisher(server, log, ENDS, *SCALE, *STARTS) as finisher:
        server.wait_for(f"get {CHIEF}", times=3)
        assert finisher.log == [WAITING]
    assert others(server) == []


def test_failed_note_of_a_start_is_repeated(server, log):
    server.put(CHIEF, READY)
    server.faults[f"patch {CHIEF}"] = [Fault(500, "no")]
    with Finisher(server, log, ENDS, *ONE_START) as finisher:
        finisher.wait_for_log("500")
        server.put(CHIEF, PENDING)
        finisher.wait_for_log("has started\n")
        error = f"{CHIEF}: 500 Internal Server Error: no; RequestError, trying again"
        assert finisher.log == [WAITING, error, STARTED]
    assert server.get(CHIEF)["metadata"]["annotations"] == {"tfgen/started": "true"}


def test_unreadable_start_is_not_missed_and_hides_no_end(server, log):
    server.put(CHIEF, READY)
    server.faults[f"get {PS}"] = [Fault(403, status(403, "Forbidden", "no"))] * 1000
    with Finisher(server, log, ENDS, *SCALE, *STARTS) as finisher:
        server.wait_for(f"get {PS}", times=3)
        server.put(CHIEF, COMPLETE)
        assert finisher.end() == 0
        assert finisher.log[3:5] == [
            f"{CHIEF}: 403 Forbidden: no; the finisher's Role must allow 'get' on 'statefulsets' named 'mnist-ps'; "
            "RequestError, trying again",
            IS_COMPLETE,
        ]


def test_chief_that_is_created_again_has_its_own_start(server, log):
    server.put(CHIEF, {**READY, "metadata": {**MADE, "uid": "first"}})
    with Finisher(server, log, ENDS, *ONE_START) as finisher:
        finisher.wait_for_log("has started")
        server.delete(CHIEF)
        server.put(CHIEF, {**PENDING, "metadata": {**MADE, "uid": "second"}})
        finisher.wait_for_log(MISSED)


@pytest.mark.parametrize("deadline", [[], ["--start-deadline=0"]])
def test_job_may_wait_without_a_deadline(server, log, deadline):
    server.put(CHIEF, PENDING)
    run_to_end(server, log, *SCALE, *STARTS[:-1], *deadline)
    assert others(server) == RELEASES


# -- the process ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("when", ["waiting", "asking", "pausing", "in its grace"])
def test_sigterm_ends_the_process_at_once(server, log, when):
    if when == "asking":
        server.faults[f"get {CHIEF}"] = [Fault(hangs=True)]
    if when == "pausing":
        server.faults[f"get {CHIEF}"] = [Fault(429, headers={"Retry-After": "3600"})]
    if when == "in its grace":
        server.put(CHIEF, COMPLETE)
    # Without SIGTERM, each wait would last longer than the test.
    long = {"ANSWER": 3600, "POLL": 3600, "LONGEST_RETRY_AFTER": 3600}
    with Finisher(server, log, ENDS, SUSPEND, GRACE.format(7200), faster=1, **long) as finisher:
        server.wait_for(f"get {EVALUATOR}" if when == "in its grace" else f"get {CHIEF}")
        time.sleep(0.5)  # a signal just before a system call waits until the call ends
        finisher.terminate()
        assert finisher.end() == 143
        assert finisher.log[-1] == "finisher: ended by SIGTERM"


def test_missing_argument_is_reported():
    ran = subprocess.run([sys.executable, "-I", PROGRAM], capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert "the following arguments are required: --ends" in ran.stderr


def test_program_is_python_3_6_with_only_the_standard_library_and_a_literal_block_in_yaml():
    text = programs.file("finisher").text
    tree = ast.parse(text, feature_version=(3, 6))
    imports = [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
    assert {alias.name.split(".")[0] for node in imports for alias in node.names} <= sys.stdlib_module_names
    assert not any(isinstance(node, ast.ImportFrom) for node in imports)
    assert text == PROGRAM.read_text(encoding="utf-8")
    assert yaml_text.dump({"finisher.py": text}).startswith("finisher.py: |\n  r")


# -- the webhook ------------------------------------------------------------------------------------------------------

SECRET = "T0-secret"
TOLD = "webhook: notified"
OF_JOB = (ENDS, f"--scale={PS}", "--job=mnist", "--run=r2")


class Webhook:
    """A server that answers each POST with the next answer of its script, and at the end of the script with 204.

    An answer is a status code, "hang" (no answer), "drip" (one byte at a time), or "cut" (a closed connection).
    """

    def __init__(self, *script, headers=None):
        self.messages = []
        script_left, ended_, headers = [*script], threading.Event(), headers or {}
        webhook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                webhook.messages.append((self.path, self.headers["Content-Type"], json.loads(body)))
                match script_left.pop(0) if script_left else 204:
                    case int(status):
                        self.send_response(status)
                        for name, value in headers.items():
                            self.send_header(name, value)
                        self.end_headers()
                    case "hang":
                        ended_.wait(60)
                    case "drip":
                        while not ended_.wait(0.1):
                            self.wfile.write(b"H")
                    case "cut":
                        self.connection.shutdown(socket.SHUT_RDWR)

            def do_GET(self):
                webhook.messages.append((self.path, "GET", None))

            def log_message(self, *_):
                pass

        class Server(ThreadingHTTPServer):
            def handle_error(self, *_):
                pass  # ignore a client that has disconnected

        self._ended, self._server = ended_, Server(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}/hooks/{SECRET}?token={SECRET}"

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}).start()
        return self

    def __exit__(self, *_):
        self._ended.set()
        self._server.shutdown()
        self._server.server_close()


def notify(server, log, address, *args, **constants):
    """Return the log of the notification, which follows the release, and check that the log has no address."""
    with Finisher(server, log, *OF_JOB, *args, address=address, **constants) as finisher:
        assert finisher.end() == 0, log.read_text()
        lines = finisher.log
    assert SECRET not in log.read_text()
    assert server.get(PS)["spec"]["replicas"] == 0
    return lines[lines.index(DONE) + 1 :]


@pytest.fixture
def complete(server):
    """Start a server whose chief began two minutes ago and has been complete for one minute."""
    server.put(CHIEF, {"status": {"startTime": timestamp(120), **ended("Complete", seconds_ago=60)}})
    return server


def test_webhook_gets_one_message_after_the_release(complete, log):
    with Webhook() as webhook:
        assert notify(complete, log, webhook.address) == [TOLD]
    ((path, content_type, message),) = webhook.messages
    assert path == f"/hooks/{SECRET}?token={SECRET}"
    assert content_type == "application/json"
    assert message.pop("duration") in (59, 60, 61)
    assert message == {"job": "mnist", "run": "r2", "result": "Complete"}


@pytest.mark.parametrize("options", [(), ("--on-failure=Keep",)])
def test_webhook_gets_a_message_of_a_failed_job_also_if_its_tasks_are_kept(server, log, options):
    server.put(CHIEF, {"status": ended("Failed")})
    with (
        Webhook() as webhook,
        Finisher(server, log, ENDS, "--job=mnist", "--run=", *options, address=webhook.address) as finisher,
    ):
        assert finisher.end() == 0
        assert finisher.log[-1] == TOLD
    messages = [message for *_, message in webhook.messages]
    assert messages == [{"job": "mnist", "run": "", "result": "Failed", "duration": None}]


def test_webhook_gets_a_message_of_a_deleted_job(server, log):
    server.delete(CHIEF)
    with Webhook() as webhook:
        assert notify(server, log, webhook.address, faster=500) == [TOLD]
    assert webhook.messages[0][2]["result"] == "Gone"


@pytest.mark.parametrize(
    ("script", "errors"),
    [
        ([500, 503, 429], ["the answer is 500", "the answer is 503", "the answer is 429"]),
        (["cut"], ["RemoteDisconnected"]),
        (["hang"], ["no answer in 1 s"]),
        (["drip"], ["no answer in 1 s"]),
    ],
    ids=str,
)
def test_notification_with_a_temporary_error_is_repeated(complete, log, script, errors):
    with Webhook(*script) as webhook:
        began = time.monotonic()
        lines = notify(complete, log, webhook.address, ANSWER=1)
        assert time.monotonic() - began < 30
    assert lines == [*(f"webhook: {error}; RequestError, trying again" for error in errors), TOLD]
    assert len(webhook.messages) == len(script) + 1


def test_repeats_do_not_wait_for_the_webhook(complete, log):
    with (
        Webhook(*["hang"] * 1000) as webhook,
        Finisher(complete, log, *OF_JOB, address=webhook.address, ANSWER=1, AGAIN=600, faster=10) as finisher,
    ):
        finisher.wait_for_log("no answer in 1 s")
        scale_up(complete, PS, 2)
        wait_for_replicas(complete, PS, 0)
        assert TOLD not in finisher.log


def test_webhook_does_not_wait_for_the_repeats(complete, log):
    with (
        Webhook() as webhook,
        Finisher(complete, log, *OF_JOB, address=webhook.address, AGAIN=600, faster=1) as finisher,
    ):
        finisher.wait_for_log(TOLD)
        assert len(webhook.messages) == 1


REDIRECT = ": the finisher follows no redirect, so the Secret must contain the final address"


@pytest.mark.parametrize(("code", "more"), [(302, REDIRECT), (307, REDIRECT), (401, ""), (404, "")])
def test_notification_with_a_permanent_error_is_not_repeated(complete, log, code, more):
    with Webhook() as other, Webhook(code, headers={"Location": other.address}) as webhook:
        assert notify(complete, log, webhook.address) == [f"webhook: not notified: the answer is {code}{more}"]
    assert len(webhook.messages) == 1
    assert other.messages == []


def test_notification_of_a_webhook_that_is_down_ends(complete, log):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unused.getsockname()[1]}/{SECRET}"
        *tries, last = notify(complete, log, address, TELL=20)
    assert set(tries) == {"webhook: Connection refused; RequestError, trying again"}
    assert last == "webhook: not notified: no successful answer in 20 s"


MUST_BEGIN = "the address in the Secret must begin with http:// or https://"
NO_ADDRESS = "no address: the Secret of completion.notify, or its key, does not exist"


@pytest.mark.parametrize(
    ("address", "error"),
    [
        (f"ftp://hooks.internal/{SECRET}", MUST_BEGIN),
        (f"hooks.internal/{SECRET}", MUST_BEGIN),
        (f"http:///{SECRET}", MUST_BEGIN),
        (f"http://hooks.internal/{SECRET} and more", MUST_BEGIN),
        (f"http://hooks.internal/{SECRET}\r\nHost: other", MUST_BEGIN),
        (f"https://hooks.ïnternal/{SECRET}", MUST_BEGIN),
        ("", NO_ADDRESS),
        ("\n", NO_ADDRESS),
        (f"http://hooks.internal:{SECRET}/", ""),
        (f"http://[{SECRET}/", ""),
        ("http://h:99999999/", ""),
    ],
)
def test_wrong_address_is_reported(complete, log, address, error):
    *tries, line = notify(complete, log, address, TELL=5)
    assert line.startswith(f"webhook: not notified: {error}")
    assert tries == [] or not error
