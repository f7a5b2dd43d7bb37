r"""Releases what a training job still holds once the Job that ends it has ended, or has not started in time.

    finisher.py --ends mnist-chief --scale statefulsets/mnist-ps --scale statefulsets/mnist-worker \
        --suspend mnist-evaluator --grace-for mnist-evaluator=600 --on-failure Keep --start-deadline 3600

It runs in the training image, so it is one file for Python 3.6 or newer and its standard library. It may be killed at
any moment: the next one finds all that it needs in the cluster. No answer of the API server makes it give up.
"""

import argparse
import calendar
import contextlib
import http.client
import json
import os
import pathlib
import random
import signal
import ssl
import sys
import time
import typing
import urllib.parse

ACCOUNT = pathlib.Path("/var/run/secrets/kubernetes.io/serviceaccount")

ANSWER = 15  # seconds until an answer must begin, or go on
WATCH = 60  # seconds of one watch; a connection that has died unseen costs these and ANSWER
AFTER_WATCH = 1  # seconds between a watch and the next look
POLL = 5  # seconds between two looks at what is not watched
GONE = 30  # seconds after which a deleted Job is gone: a GitOps tool may put it back
NEVER_SEEN = 600  # the same for a Job that this finisher never saw: it may be about to be made
LONGEST_PAUSE = 30  # seconds between two tries
LONGEST_RETRY_AFTER = 120  # seconds that the API server may ask for

STARTED = "tfgen/started"  # the annotation on a Job that was seen to run, where there is a start deadline

# By this Argo CD counts an object out of an Application's health, in which a suspended Job would never be a success:
# https://argo-cd.readthedocs.io/en/stable/operator-manual/health/#ignoring-child-resource-health-check-in-applications
IGNORE_HEALTH = {"argocd.argoproj.io/ignore-healthcheck": "true"}

Object = typing.Any  # an object of the API server's; None where there is none


class ApiError(Exception):
    """An answer that is an error. `wait` is how many seconds to wait at least."""

    def __init__(self, message: str, wait: float = 0) -> None:
        super().__init__(message)
        self.wait = wait


class MissingError(Exception):
    """There is no such object."""


# What may come of a request: no connection, no time, no TLS, no token; no HTTP; no JSON; an error.
TROUBLE = (OSError, http.client.HTTPException, ValueError, ApiError)


def log(message: str) -> None:
    """A line of the log, in ASCII: an image may have a locale that has no more."""
    line = message.encode("ascii", "backslashreplace").decode()
    print(time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), line, flush=True)


def seconds(timestamp: str) -> float:
    """A Kubernetes timestamp in seconds since 1970."""
    return calendar.timegm(time.strptime(timestamp, "%Y-%m-%dT%H:%M:%SZ"))


# -- the API server ----------------------------------------------------------------------------------------------


def call(verb: str, resource: str, name: str, patch: Object = None) -> Object:
    """The object in the answer to a request; None where there is no such object."""
    try:
        with ask(verb, resource, name, ANSWER, patch=patch) as response:
            return json.loads(response.read().decode())
    except MissingError:
        return None


@contextlib.contextmanager
def ask(
    verb: str, resource: str, name: str, timeout: float, query: str = "", patch: Object = None
) -> "typing.Iterator[http.client.HTTPResponse]":
    """A good answer to one request.

    The verb and the resource are RBAC's, "patch" and "statefulsets/scale"; the timeout is in seconds. The token and
    the certificates are read each time, because they change.
    """
    context = ssl.create_default_context(cafile=str(ACCOUNT / "ca.crt"))
    # Many clusters' certificates lack the key identifiers on which Python 3.13 and newer insist.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    kind, _, subresource = resource.partition("/")
    group, namespace = "batch" if kind == "jobs" else "apps", (ACCOUNT / "namespace").read_text().strip()
    path = f"/apis/{group}/v1/namespaces/{namespace}/{kind}"
    path += f"?{query}" if verb == "watch" else f"/{name}/{subresource}".rstrip("/")
    connection = http.client.HTTPSConnection(
        os.environ["KUBERNETES_SERVICE_HOST"],
        int(os.environ["KUBERNETES_SERVICE_PORT"]),
        timeout=timeout,
        context=context,
    )
    try:
        connection.request(
            "PATCH" if verb == "patch" else "GET",
            path,
            body=json.dumps(patch) if patch else None,
            headers={
                "Authorization": "Bearer " + (ACCOUNT / "token").read_text().strip(),
                "Accept": "application/json",
                "Content-Type": "application/merge-patch+json",
            },
        )
        response = connection.getresponse()
        if response.status >= 400:
            raise error(response, f"the finisher's Role must allow {verb!r} on {resource!r} named {name!r}", name)
        yield response
    finally:
        connection.close()


def error(response: http.client.HTTPResponse, needed: str, name: str) -> Exception:
    """The error that an answer is."""
    body = response.read().decode(errors="replace")
    try:
        status = dict(json.loads(body))
    except (ValueError, TypeError):  # a proxy's page
        status = {}
    # A 404 may also come for a path that the server does not have (yet).
    if status.get("reason") == "NotFound" and (status.get("details") or {}).get("name") == name:
        return MissingError()
    text = f"{response.status} {response.reason}: {status.get('message', body[:200])}"
    if response.status == 403:
        return ApiError(f"{text}; {needed}", LONGEST_PAUSE)
    after = response.getheader("Retry-After", "")
    return ApiError(text, min(int(after), LONGEST_RETRY_AFTER) if after.isdigit() else 0)


class Pauses:
    """The pauses between tries: longer each time, and never quite the same, so that many finishers spread out."""

    def __init__(self) -> None:
        self.tries = 0

    def after(self, *failures: "tuple[str, Exception]") -> None:
        """Logs what failed, and pauses."""
        pause = min(2.0 ** min(self.tries, 10), LONGEST_PAUSE) * random.uniform(0.5, 1)  # noqa: S311 - no secret
        pause = max([pause, *(getattr(trouble, "wait", 0) for _, trouble in failures)])
        self.tries += 1
        for what, trouble in failures:
            log(f"{what}: {trouble!s:.500}; {type(trouble).__name__}, trying again in {pause:.1f} s")
        time.sleep(pause)


# -- waiting -----------------------------------------------------------------------------------------------------


class End(typing.NamedTuple):
    """How a Job ended: Complete, Failed, gone or not started; and when, in seconds since 1970."""

    how: str
    at: float


def end_of(job: Object) -> "End | None":
    """How a Job ended by itself; None while it runs. Its pods may run on until it has one of these conditions."""
    for condition in job.get("status", {}).get("conditions", ()):
        if condition["type"] in ("Complete", "Failed") and condition["status"] == "True":
            return End(condition["type"], seconds(condition["lastTransitionTime"]))
    return None


def states(name: str) -> "typing.Iterator[Object]":
    """A Job as it is now, as often as it changes, and at least once in `WATCH` seconds; None where it is not."""
    pauses = Pauses()
    while True:
        try:
            job = call("get", "jobs", name)
            yield job
            if job is None:
                time.sleep(POLL)
                continue
            for changed in watch(name, job["metadata"]["resourceVersion"]):
                pauses.tries = 0
                yield changed
                if changed is None:
                    break
            pauses.tries = 0
            time.sleep(AFTER_WATCH)
        except TROUBLE as trouble:
            pauses.after((f"jobs/{name}", trouble))


def watch(name: str, version: str) -> "typing.Iterator[Object]":
    """A Job as often as it changes from a version on, None where it is deleted, for about `WATCH` seconds."""
    query = {
        "watch": "true",
        "fieldSelector": f"metadata.name={name}",  # with it, a Role that names the Job is enough
        "resourceVersion": version,
        "timeoutSeconds": WATCH,
    }
    with ask("watch", "jobs", name, WATCH + ANSWER, query=urllib.parse.urlencode(query)) as response:
        for line in response:
            event = json.loads(line.decode())
            if event["type"] == "ERROR":
                raise ApiError(f"the watch ended: {event['object'].get('message')}")
            yield None if event["type"] == "DELETED" else event["object"]


def wait_for_end(name: str, start_deadline: int) -> End:
    """Waits until a Job has ended, is gone or, where there is a deadline (in seconds), has not started in time."""
    seen = running = noted = False
    missing_since = None
    for job in states(name):
        if job is None:
            running = noted = False
            limit = GONE if seen else NEVER_SEEN
            if missing_since is None:
                missing_since = time.monotonic()
                log(f"jobs/{name}: is not there; after {limit} s it is taken for gone")
            elif time.monotonic() - missing_since > limit:
                return End("gone", time.time())
            continue
        if missing_since is not None:
            log(f"jobs/{name}: is there")
        seen, missing_since = True, None
        end = end_of(job)
        if end:
            return end
        if start_deadline:
            noted = noted or STARTED in job["metadata"].get("annotations", {})
            running = running or noted or any(job.get("status", {}).get(n) for n in ("ready", "succeeded", "failed"))
            if running:
                noted = noted or note_start(name)
            elif time.time() >= seconds(job["metadata"]["creationTimestamp"]) + start_deadline:
                return End("not started", time.time())
    raise AssertionError("the states of a Job never end")


def note_start(name: str) -> bool:
    """Notes on a Job that it has started; False where that failed.

    An eviction leaves no trace in a Job's status: without the note, the next finisher could take a Job whose pod waits
    for a new node for one that never started.
    """
    try:
        call("patch", "jobs", name, {"metadata": {"annotations": {STARTED: "true"}}})
    except TROUBLE as trouble:
        log(f"jobs/{name}: has started, which could not be noted: {trouble}")
        return False
    log(f"jobs/{name}: has started")
    return True


# -- releasing ---------------------------------------------------------------------------------------------------


def release(ends: str, scale: "list[str]", suspend: "dict[str, float]") -> None:
    """Releases everything. What fails holds up nothing else, and is tried again until it is released.

    Args:
        ends: the Job whose end is the training's: that it is suspended is to be seen.
        scale: what is scaled to 0, such as "statefulsets/mnist-ps".
        suspend: the Jobs that are suspended, and until when each may end by itself, in seconds since 1970.
    """
    for name, due in suspend.items():
        if due > time.time():
            log(f"jobs/{name}: has {due - time.time():.0f} s to end by itself")
    pauses, left = Pauses(), [*scale, *(f"jobs/{name}" for name in suspend)]
    while left:
        waiting, failures = [], []
        for thing in left:
            kind, name = thing.split("/")
            try:
                if kind == "jobs":
                    done = stop_job(name, suspend[name], {} if name == ends else IGNORE_HEALTH)
                else:
                    done = scale_down(kind, name)
                if not done:
                    waiting.append(thing)
            except TROUBLE as trouble:
                failures.append((thing, trouble))
        left = [*(thing for thing, _ in failures), *waiting]
        if failures:
            pauses.after(*failures)
        elif waiting:
            time.sleep(POLL)


def scale_down(kind: str, name: str) -> bool:
    """Scales a StatefulSet or Deployment to 0."""
    answer = call("patch", f"{kind}/scale", name, {"spec": {"replicas": 0}})
    log(f"{kind}/{name}: {'is not there' if answer is None else 'scaled to 0'}")
    return True


def stop_job(name: str, due: float, annotations: "dict[str, str]") -> bool:
    """Suspends a Job that has not ended by itself, and annotates it; False while it still has time to."""
    job = call("get", "jobs", name)
    end = end_of(job) if job else End("not there", 0)
    if end:
        log(f"jobs/{name}: is {end.how}")
    elif time.time() < due:
        return False
    else:
        call("patch", "jobs", name, {"metadata": {"annotations": annotations}, "spec": {"suspend": True}})
        log(f"jobs/{name}: suspended")
    return True


# -- the command -------------------------------------------------------------------------------------------------


def grace(text: str) -> "tuple[str, int]":
    """Reads JOB=SECONDS."""
    name, _, number = text.partition("=")
    return name, int(number)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ends", required=True, metavar="JOB", help="the Job whose end is the training's")
    parser.add_argument("--scale", action="append", default=[], metavar="KIND/NAME", help="is scaled to 0 then")
    parser.add_argument("--suspend", action="append", default=[], metavar="JOB", help="is suspended then")
    parser.add_argument("--grace-for", action="append", default=[], type=grace, metavar="JOB=SECONDS")
    parser.add_argument("--on-failure", choices=["Release", "Keep"], default="Release")
    parser.add_argument("--start-deadline", type=int, default=0, metavar="SECONDS", help="0 for none")
    return parser.parse_args()


def stop(*_: object) -> None:
    """Ends the finisher at once; its Job starts another one."""
    log("finisher: ended by SIGTERM")
    sys.exit(128 + signal.SIGTERM)


def main() -> None:
    """Waits, then releases."""
    signal.signal(signal.SIGTERM, stop)
    args = arguments()
    log(f"jobs/{args.ends}: waiting for its end")
    end = wait_for_end(args.ends, args.start_deadline)
    if end.how == "not started":
        log(f"jobs/{args.ends}: has not started within {args.start_deadline} s")
        release(args.ends, args.scale, dict.fromkeys([*args.suspend, args.ends], end.at))
    else:
        log(f"jobs/{args.ends}: is {end.how}")
        if end.how == "Failed" and args.on_failure == "Keep":
            log("finisher: nothing is released, since a failed job keeps what it has (--on-failure Keep)")
            return
        graces = dict(args.grace_for)
        release(args.ends, args.scale, {name: end.at + graces.get(name, 0) for name in args.suspend})
    log("finisher: everything is released")


if __name__ == "__main__":
    main()
