r"""Releases what a training job still holds once the Job that ends it has ended, or has not started in time.

    finisher.py --ends mnist-chief --scale statefulsets/mnist-ps --scale statefulsets/mnist-worker \
        --suspend mnist-evaluator --grace-for mnist-evaluator=600 --on-failure Keep \
        --starts jobs/mnist-chief --starts statefulsets/mnist-ps --starts statefulsets/mnist-worker \
        --start-deadline 3600

It runs in a training image, so it is one file for Python 3.6 or newer and its standard library. It may be killed at
any moment: the next one finds all that it needs in the cluster. No answer of the API server makes it give up.
"""

import argparse
import calendar
import contextlib
import http.client
import json
import math
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
LOOK = 10  # seconds between two looks at what is to start, where there is a start deadline
POLL = 5  # seconds between two looks at what is not watched
GONE = 30  # seconds after which a deleted Job is gone: a GitOps tool may put it back
NEVER_SEEN = 600  # the same for a Job that this finisher never saw: it may be about to be made
LONGEST_PAUSE = 30  # seconds between two tries
LONGEST_RETRY_AFTER = 120  # seconds that the API server may ask for
TELL = 600  # seconds of tries to tell the webhook; all is released by then, and the address may be wrong for good

STARTED = "tfgen/started"  # the annotation on the Job that ends, where a start deadline was met

# By this Argo CD counts an object out of an Application's health, in which a suspended Job would never be a success:
# https://argo-cd.readthedocs.io/en/stable/operator-manual/health/#ignoring-child-resource-health-check-in-applications
IGNORE_HEALTH = {"argocd.argoproj.io/ignore-healthcheck": "true"}

KINDS = {"jobs": "Job", "statefulsets": "StatefulSet", "deployments": "Deployment"}

Object = typing.Any  # an object of the API server's; None where there is none


class ApiError(Exception):
    """An answer that is an error. `wait` is how many seconds to wait at least."""

    def __init__(self, message: str, wait: float = 0) -> None:
        super().__init__(message)
        self.wait = wait


class MissingError(Exception):
    """There is no such object."""


class RefusedError(Exception):
    """The webhook will not take the message, however often it is sent. The text has nothing of its address."""


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
            return object_of(response.read(), "Scale" if resource.endswith("/scale") else KINDS[resource])
    except MissingError:
        return None


def object_of(text: bytes, kind: str) -> Object:
    """Reads an object of a kind.

    A proxy may answer with a Status or with any JSON, which does not mean that the object is missing.
    """
    try:
        data = json.loads(text.decode())
    except RecursionError:
        data = None
    if not isinstance(data, dict) or not isinstance(data.get("metadata"), dict):
        raise ApiError("the answer is no Kubernetes object")
    if data.get("kind") != kind or not all(isinstance(data.get(key, {}), dict) for key in ("spec", "status")):
        raise ApiError(f"the answer is no {kind}: {data.get('message', '')!s:.200}".rstrip(": "))
    return data


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
    except (ValueError, TypeError, RecursionError):  # a proxy's page
        status = {}
    details = status.get("details")
    # A 404 may also come for a path that the server does not have (yet).
    if status.get("reason") == "NotFound" and isinstance(details, dict) and details.get("name") == name:
        return MissingError()
    text = f"{response.status} {response.reason}: {status.get('message', body[:200])}"
    if response.status == 403:  # as any other trouble: an API server that has just started does not know its Roles yet
        text += f"; {needed}"
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
    """How a Job ended: Complete, Failed, gone or not started; and when it did, and began, in seconds since 1970."""

    how: str
    at: float
    began: "float | None" = None  # None where that is not known


def end_of(job: Object) -> "End | None":
    """How a Job ended by itself; None while it runs. Its pods may run on until it has one of these conditions."""
    for condition in job.get("status", {}).get("conditions", ()):
        if condition["type"] in ("Complete", "Failed") and condition["status"] == "True":
            return End(condition["type"], seconds(condition["lastTransitionTime"]))
    return None


def began_of(job: Object) -> "float | None":
    """When a Job began, in seconds since 1970; None where it has not."""
    timestamp = job.get("status", {}).get("startTime")
    return seconds(timestamp) if timestamp else None


def states(name: str, until_look: "typing.Callable[[], int]") -> "typing.Iterator[Object]":
    """A Job as it is now, as often as it changes, and at least as often as asked for; None where it is not.

    Args:
        name: the Job's.
        until_look: gives the seconds until the next look at it, after each look.
    """
    pauses = Pauses()
    while True:
        try:
            job = call("get", "jobs", name)
            yield job
            if job is None:
                time.sleep(POLL)
                continue
            for changed in watch(name, until_look()):
                pauses.tries = 0
                if changed is None or changed["metadata"]["resourceVersion"] != job["metadata"]["resourceVersion"]:
                    yield changed
                if changed is None:
                    break
            time.sleep(AFTER_WATCH)
        except TROUBLE as trouble:
            pauses.after((f"jobs/{name}", trouble))


def watch(name: str, duration: int) -> "typing.Iterator[Object]":
    """A Job as it is now, then as often as it changes, None where it is deleted, for about so many seconds.

    It asks for no version to begin from, and so gets the newest. The version of a Job that has not changed for long
    is older than all that an API server knows which has just started: it answers 410 to a watch from there.
    https://kubernetes.io/docs/reference/using-api/api-concepts/#semantics-for-watch
    """
    query = {
        "watch": "true",
        "fieldSelector": f"metadata.name={name}",  # with it, a Role that names the Job is enough
        "timeoutSeconds": duration,
    }
    with ask("watch", "jobs", name, duration + ANSWER, query=urllib.parse.urlencode(query)) as response:
        for line in response:
            event = json.loads(line.decode())
            if not isinstance(event, dict) or not isinstance(event.get("object"), dict):
                raise ApiError("the answer is no event of a watch")
            if event.get("type") == "ERROR":
                raise ApiError(f"the watch ended: {event['object'].get('message')}")
            yield None if event.get("type") == "DELETED" else object_of(json.dumps(event["object"]).encode(), "Job")


def wait_for_end(name: str, start: "Start") -> End:
    """Waits until a Job has ended, is gone or has missed its start."""
    seen = False
    missing_since = began = None
    for job in states(name, start.until_look):
        if job is None:
            limit = GONE if seen else NEVER_SEEN
            if missing_since is None:
                missing_since = time.monotonic()
                log(f"jobs/{name}: is not there; after {limit} s it is taken for gone")
            elif time.monotonic() - missing_since > limit:
                return End("gone", time.time(), began)
            continue
        if missing_since is not None:
            log(f"jobs/{name}: is there")
        seen, missing_since = True, None
        began = began_of(job)
        end = end_of(job)
        if end:
            return end._replace(began=began)
        if start.is_missed(job):
            return End("not started", time.time())
    raise AssertionError("the states of a Job never end")


# -- the start ---------------------------------------------------------------------------------------------------


class Start:
    """The start of a job: each of its StatefulSets and Jobs once had all of its pods ready.

    Its chief may run for hours while it waits for workers that find no node.

    Args:
        ends: the Job that ends, on which the start is noted.
        things: what must start, such as "statefulsets/mnist-ps".
        tasks: how many ready pods are a start, too, where a gang may begin with less than all of them; 0 for none.
        deadline: in seconds from the creation of the Job that ends; 0 for none.
    """

    def __init__(self, ends: str, things: "list[str]", tasks: int, deadline: int) -> None:
        self.ends, self.things, self.tasks, self.deadline = ends, things, tasks, deadline
        self.trouble = ""  # the last that was logged
        self.begin({})

    def begin(self, metadata: Object) -> None:
        """Begins anew, with the Job of this metadata: one that was put back starts again."""
        self.uid = metadata.get("uid")
        self.due = seconds(metadata["creationTimestamp"]) + self.deadline if metadata else 0.0  # seconds since 1970
        self.most = dict.fromkeys(self.things, 0)  # the most pods of each that were ready at one time
        self.waiting = set(self.things)  # those of which not all pods were
        self.is_noted = False

    def until_look(self) -> int:
        """Seconds until the next look: a whole number, as the API server wants it for a watch."""
        if not self.deadline or self.is_noted:
            return WATCH
        left = self.due - time.time()
        return min(LOOK, max(1, math.ceil(left)))

    def is_missed(self, job: Object) -> bool:
        """Looks whether the job has started; True where it has not and the deadline is over."""
        if not self.deadline:
            return False
        if not self.due or self.uid != job["metadata"].get("uid"):
            self.begin(job["metadata"])
        self.is_noted = self.is_noted or STARTED in job["metadata"].get("annotations", {})
        if self.is_noted:
            return False
        try:
            self.look(job)
            if not self.has_started():
                return time.time() >= self.due
            self.note()
        except TROUBLE as trouble:
            # What is not known is no reason to release a job that may run.
            if str(trouble) != self.trouble:
                log(f"jobs/{self.ends}: whether it has started is not known: {trouble!s:.500}")
            self.trouble = str(trouble)
        return False

    def look(self, job: Object) -> None:
        """Looks at what has not had all of its pods yet."""
        for thing in sorted(self.waiting):
            kind, name = thing.split("/")
            owner = job if thing == f"jobs/{self.ends}" else call("get", kind, name)
            if owner is None:
                continue
            wanted, ready = pods_of(kind, owner)
            self.most[thing] = max(self.most[thing], ready)
            # What is scaled to 0 was released: by a finisher that did not come to the end of it.
            if 0 < wanted <= ready:
                self.waiting.discard(thing)

    def has_started(self) -> bool:
        """Whether all have had their pods, or as many as the gang needs."""
        return not self.waiting or 0 < self.tasks <= sum(self.most.values())

    def note(self) -> None:
        """Notes the start on the Job: no status tells the next finisher what was once."""
        self.waiting = set()
        call("patch", "jobs", self.ends, {"metadata": {"annotations": {STARTED: "true"}}})
        self.is_noted = True
        log(f"jobs/{self.ends}: has started")

    def missing(self) -> str:
        """What has not started, for the log."""
        return ", ".join(sorted(self.waiting))


def pods_of(kind: str, owner: Object) -> "tuple[int, int]":
    """How many pods a StatefulSet or Job wants, and how many are ready, or have been and are done."""
    spec, status = owner.get("spec", {}), owner.get("status", {})
    if kind != "jobs":
        return spec.get("replicas", 1), status.get("readyReplicas", 0)
    wanted = spec.get("completions", 1)
    # The one pod of a Job that failed had begun. Of several, each failure may be of the same one.
    failed = status.get("failed", 0) if wanted == 1 else 0
    return wanted, status.get("ready", 0) + status.get("succeeded", 0) + failed


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


# -- telling -----------------------------------------------------------------------------------------------------

RESULTS = {"gone": "Gone", "not started": "NotStarted"}  # the others are the conditions of Kubernetes


def tell(job: str, run: str, end: End) -> None:
    """Tells the webhook how the job ended. All is released by then, so whatever becomes of it is a line of the log.

    No line has anything of the address: it may be all that the webhook asks for. After a SIGTERM the next finisher
    tells it again.
    """
    duration = None if end.began is None else round(end.at - end.began)
    message = {"job": job, "run": run, "result": RESULTS.get(end.how, end.how), "duration": duration}
    address = os.environ.get("NOTIFY_ADDRESS", "").strip()
    pauses, last = Pauses(), time.monotonic() + TELL
    try:
        if not address:
            raise RefusedError("no address; the Secret of completion.notify is not there, or lacks the key")
        while True:
            try:
                post(address, json.dumps(message).encode())
            except TROUBLE as trouble:
                if time.monotonic() > last:
                    raise RefusedError(f"no good answer in {TELL} s") from trouble
                pauses.after(("webhook", trouble if isinstance(trouble, ApiError) else told_safely(trouble)))
            else:
                log("webhook: is told")
                return
    except RefusedError as refused:
        log(f"webhook: is not told: {refused}")
    except Exception as error:
        log(f"webhook: is not told: {type(error).__name__}")


def told_safely(trouble: Exception) -> Exception:
    """The trouble in words that have nothing of the address, as http.client's own may."""
    return ApiError(getattr(trouble, "strerror", None) or type(trouble).__name__)


def post(address: str, body: bytes) -> None:
    """Posts JSON to an address. Raises an error unless the answer is a good one.

    A redirect is not followed: the Secret says who is told, and nobody else does.
    """
    parts = urllib.parse.urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname or not all("!" <= sign <= "~" for sign in address):
        raise RefusedError("the address in the Secret is none of http:// or https://")
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=ANSWER)
    if parts.scheme == "https":
        context = ssl.create_default_context()
        connection = http.client.HTTPSConnection(parts.hostname, parts.port, timeout=ANSWER, context=context)
    # The timeout is of one read alone, and an answer may come byte by byte.
    signal.signal(signal.SIGALRM, late)
    signal.alarm(ANSWER)
    try:
        connection.request("POST", target, body=body, headers={"Content-Type": "application/json"})
        response = connection.getresponse()
        status, after = response.status, response.getheader("Retry-After", "")
    finally:
        signal.alarm(0)
        connection.close()
    if 300 <= status < 400:
        raise RefusedError(
            f"it answers {status}, and a redirect is not followed: the Secret must have the last address"
        )
    if 400 <= status < 500 and status not in (408, 425, 429):
        raise RefusedError(f"it answers {status}")
    if not 200 <= status < 300:
        raise ApiError(f"it answers {status}", min(int(after), LONGEST_RETRY_AFTER) if after.isdigit() else 0)


def late(*_: object) -> None:
    """Ends a request that takes too long."""
    raise ApiError(f"no answer in {ANSWER} s")


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
    parser.add_argument("--starts", action="append", default=[], metavar="KIND/NAME", help="has its pods at the start")
    parser.add_argument("--start-with", type=int, default=0, metavar="PODS", help="how many are a start; 0 for all")
    parser.add_argument("--start-deadline", type=int, default=0, metavar="SECONDS", help="0 for none")
    parser.add_argument(
        "--job", default="", help="the job's name, for the webhook in NOTIFY_ADDRESS, which is told then"
    )
    parser.add_argument("--run", default="", help="the run's name, for the webhook")
    return parser.parse_args()


def stop(*_: object) -> None:
    """Ends the finisher at once; its Job starts another one."""
    log("finisher: ended by SIGTERM")
    sys.exit(128 + signal.SIGTERM)


def main() -> None:
    """Waits, then releases, then tells."""
    signal.signal(signal.SIGTERM, stop)
    args = arguments()
    log(f"jobs/{args.ends}: waiting for its end")
    start = Start(args.ends, args.starts, args.start_with, args.start_deadline)
    end = wait_for_end(args.ends, start)
    if end.how == "not started":
        log(f"jobs/{args.ends}: has not started within {args.start_deadline} s, for want of {start.missing()}")
        release(args.ends, args.scale, dict.fromkeys([*args.suspend, args.ends], end.at))
        log("finisher: everything is released")
    else:
        log(f"jobs/{args.ends}: is {end.how}")
        if end.how == "Failed" and args.on_failure == "Keep":
            log("finisher: nothing is released, since a failed job keeps what it has (--on-failure Keep)")
        else:
            graces = dict(args.grace_for)
            release(args.ends, args.scale, {name: end.at + graces.get(name, 0) for name in args.suspend})
            log("finisher: everything is released")
    if args.job:
        tell(args.job, args.run, end)


if __name__ == "__main__":
    main()
