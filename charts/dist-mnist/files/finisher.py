r"""Release the tasks of a run when the Job that ends the run has ended, or has missed its start deadline.

    finisher.py --ends mnist-chief --scale statefulsets/mnist-ps --scale statefulsets/mnist-worker \
        --suspend mnist-evaluator --grace-for mnist-evaluator=600 --on-failure Keep \
        --starts jobs/mnist-chief --starts statefulsets/mnist-ps --starts statefulsets/mnist-worker \
        --start-deadline 3600

The program runs in a training image, so the program is a single file for Python 3.6 or newer with the standard library
only. The program may be killed at any moment, because the next process reads the whole state from the cluster. After
any error of the API server, the program tries again.
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
import threading
import time
import typing
import urllib.parse

ACCOUNT = pathlib.Path("/var/run/secrets/kubernetes.io/serviceaccount")

ANSWER = 15  # maximum number of seconds until an answer begins or continues
WATCH = 60  # seconds of one watch; a dead connection costs WATCH and ANSWER
AFTER_WATCH = 1  # seconds between a watch and the next read
LOOK = 10  # seconds between two reads of the objects that start, before the start deadline
POLL = 5  # seconds between two requests for an object without a watch
AGAIN = 30  # seconds in which the finisher scales the StatefulSets to 0 again
GONE = 30  # seconds after which a deleted Job has ended: until then, a GitOps tool may create the Job again
NEVER_SEEN = 600  # seconds after which a Job that this process has never read has ended: until then, it may be created
LONGEST_PAUSE = 30  # seconds between two tries
LONGEST_RETRY_AFTER = 120  # maximum number of seconds of Retry-After
TELL = 600  # seconds of tries to notify the webhook, after the release; the address may be wrong

STARTED = "tfgen/started"  # the annotation on the Job that ends the run, once the run has met its start deadline

# Argo CD ignores an object with this annotation in the health of an Application. A suspended Job is never healthy:
# https://argo-cd.readthedocs.io/en/stable/operator-manual/health/#ignoring-child-resource-health-check-in-applications
IGNORE_HEALTH = {"argocd.argoproj.io/ignore-healthcheck": "true"}

KINDS = {"jobs": "Job", "statefulsets": "StatefulSet", "deployments": "Deployment"}

Object = typing.Any  # an object of the API server; None for an object that does not exist


class ApiError(Exception):
    """An error in the answer to a request. `wait` is the minimum number of seconds until the next try."""

    def __init__(self, message: str, wait: float = 0) -> None:
        super().__init__(message)
        self.wait = wait


class MissingError(Exception):
    """The object does not exist."""


class RefusedError(Exception):
    """The webhook refuses the message, and a retry is useless. The text contains no part of the webhook's address."""


# The errors of a request: connection, timeout, TLS, missing token; HTTP; JSON; an error of the API server.
TROUBLE = (OSError, http.client.HTTPException, ValueError, ApiError)


def log(message: str) -> None:
    """Print a line of the log in ASCII, because the locale of the image may support only ASCII."""
    line = message.encode("ascii", "backslashreplace").decode()
    # One call, because two threads write lines.
    print(time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()) + f" {line}\n", end="", flush=True)


def seconds(timestamp: str) -> float:
    """Return a Kubernetes timestamp in seconds since 1970."""
    return calendar.timegm(time.strptime(timestamp, "%Y-%m-%dT%H:%M:%SZ"))


# -- the API server ----------------------------------------------------------------------------------------------


def call(verb: str, resource: str, name: str, patch: Object = None) -> Object:
    """Send a request to the API server, and return the object in the answer; None if the object does not exist."""
    try:
        with ask(verb, resource, name, ANSWER, patch=patch) as response:
            return object_of(response.read(), "Scale" if resource.endswith("/scale") else KINDS[resource])
    except MissingError:
        return None


def object_of(text: bytes, kind: str) -> Object:
    """Parse the JSON text of an object, and check the kind of the object.

    A proxy may answer with a Status or with any JSON, although the object exists.
    """
    try:
        data = json.loads(text.decode())
    except RecursionError:
        data = None
    if not isinstance(data, dict) or not isinstance(data.get("metadata"), dict):
        raise ApiError("the answer is not a Kubernetes object")
    if data.get("kind") != kind or not all(isinstance(data.get(key, {}), dict) for key in ("spec", "status")):
        raise ApiError(f"the answer is not a {kind}: {data.get('message', '')!s:.200}".rstrip(": "))
    return data


@contextlib.contextmanager
def ask(
    verb: str, resource: str, name: str, timeout: float, query: str = "", patch: Object = None
) -> "typing.Iterator[http.client.HTTPResponse]":
    """Send a request to the API server, and yield the answer. Raise an exception if the answer is an error.

    The verb and the resource are those of RBAC, such as "patch" and "statefulsets/scale". The timeout is in seconds.
    Each request reads the token and the certificates, because both files change.
    """
    context = ssl.create_default_context(cafile=str(ACCOUNT / "ca.crt"))
    # The certificates of many clusters lack the key identifiers that Python 3.13 and newer require.
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
    """Return the exception for an answer with an HTTP error."""
    body = response.read().decode(errors="replace")
    try:
        status = dict(json.loads(body))
    except (ValueError, TypeError, RecursionError):  # the page of a proxy
        status = {}
    details = status.get("details")
    # A server also answers 404 for a path that the server does not have (yet).
    if status.get("reason") == "NotFound" and isinstance(details, dict) and details.get("name") == name:
        return MissingError()
    text = f"{response.status} {response.reason}: {status.get('message', body[:200])}"
    if response.status == 403:  # retried like all errors: a new API server may not have its Roles yet
        text += f"; {needed}"
    after = response.getheader("Retry-After", "")
    return ApiError(text, min(int(after), LONGEST_RETRY_AFTER) if after.isdigit() else 0)


class Pauses:
    """The pauses between retries. Each pause is longer, and a random part spreads the requests of many finishers."""

    def __init__(self) -> None:
        self.tries = 0

    def after(self, *failures: "tuple[str, Exception]") -> None:
        """Log the failures, and pause before the next try."""
        pause = min(2.0 ** min(self.tries, 10), LONGEST_PAUSE) * random.uniform(0.5, 1)  # noqa: S311 - no secret
        pause = max([pause, *(getattr(trouble, "wait", 0) for _, trouble in failures)])
        self.tries += 1
        for what, trouble in failures:
            log(f"{what}: {trouble!s:.500}; {type(trouble).__name__}, trying again in {pause:.1f} s")
        time.sleep(pause)


# -- waiting -----------------------------------------------------------------------------------------------------


class End(typing.NamedTuple):
    """The end of a Job: Complete, Failed, gone or not started; with the times of the end and of the start.

    Both times are in seconds since 1970.
    """

    how: str
    at: float
    began: "float | None" = None  # None for an unknown start


def end_of(job: Object) -> "End | None":
    """Return the end of a Job with the condition Complete or Failed; None for a Job without these conditions.

    The pods of a Job may run until the Job has one of these conditions.
    """
    for condition in job.get("status", {}).get("conditions", ()):
        if condition["type"] in ("Complete", "Failed") and condition["status"] == "True":
            return End(condition["type"], seconds(condition["lastTransitionTime"]))
    return None


def began_of(job: Object) -> "float | None":
    """Return the start of a Job in seconds since 1970; None for a Job that has not started."""
    timestamp = job.get("status", {}).get("startTime")
    return seconds(timestamp) if timestamp else None


def states(name: str, until_look: "typing.Callable[[], int]") -> "typing.Iterator[Object]":
    """Yield a Job at once, after each change, and after each interval. Yield None while the Job does not exist.

    Args:
        name: the name of the Job.
        until_look: returns the seconds until the next read of the Job.
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
    """Yield a Job at once and after each change, and None after its deletion, for a number of seconds.

    The request has no resourceVersion, so the watch begins with the newest version. A new API server may not have the
    version of a Job that has not changed for long, and would answer 410 to a watch from this version.
    https://kubernetes.io/docs/reference/using-api/api-concepts/#semantics-for-watch
    """
    query = {
        "watch": "true",
        "fieldSelector": f"metadata.name={name}",  # with the field selector, a Role that names the Job is sufficient
        "timeoutSeconds": duration,
    }
    with ask("watch", "jobs", name, duration + ANSWER, query=urllib.parse.urlencode(query)) as response:
        for line in response:
            event = json.loads(line.decode())
            if not isinstance(event, dict) or not isinstance(event.get("object"), dict):
                raise ApiError("the answer is not an event of a watch")
            if event.get("type") == "ERROR":
                raise ApiError(f"the watch ended: {event['object'].get('message')}")
            yield None if event.get("type") == "DELETED" else object_of(json.dumps(event["object"]).encode(), "Job")


def wait_for_end(name: str, start: "Start") -> End:
    """Wait until a Job has ended, was deleted, or has missed its start deadline."""
    has_existed = False
    missing_since = began = None
    for job in states(name, start.until_look):
        if job is None:
            limit = GONE if has_existed else NEVER_SEEN
            if missing_since is None:
                missing_since = time.monotonic()
                log(f"jobs/{name}: does not exist; if the Job is not created within {limit} s, the run has ended")
            elif time.monotonic() - missing_since > limit:
                return End("gone", time.time(), began)
            continue
        if missing_since is not None:
            log(f"jobs/{name}: exists")
        has_existed, missing_since = True, None
        began = began_of(job)
        end = end_of(job)
        if end:
            return end._replace(began=began)
        if start.is_missed(job):
            return End("not started", time.time())
    raise AssertionError("the states of a Job never end")


# -- the start ---------------------------------------------------------------------------------------------------


class Start:
    """The start of a run: the moment at which each StatefulSet and Job has had all of its pods ready.

    The start of the chief is not enough, because the chief may wait for hours for workers without a node.

    Args:
        ends: the Job that ends the run. The finisher annotates this Job after the start.
        workloads: the objects that must start, such as "statefulsets/mnist-ps".
        tasks: the number of pods that must be ready, if the gang may start without all pods; 0 for all pods.
        deadline: the seconds from the creation of the Job that ends the run; 0 for no deadline.
    """

    def __init__(self, ends: str, workloads: "list[str]", tasks: int, deadline: int) -> None:
        self.ends, self.workloads, self.tasks, self.deadline = ends, workloads, tasks, deadline
        self.trouble = ""  # the last error in the log
        self.begin({})

    def begin(self, metadata: Object) -> None:
        """Reset the state for a new Job with this metadata. A Job that was deleted and created again starts again."""
        self.uid = metadata.get("uid")
        self.due = seconds(metadata["creationTimestamp"]) + self.deadline if metadata else 0.0  # seconds since 1970
        self.ready_pods = dict.fromkeys(self.workloads, 0)  # the maximum number of pods that were ready at one time
        self.waiting = set(self.workloads)  # the objects that never had all pods ready
        self.is_noted = False

    def until_look(self) -> int:
        """Return the seconds until the next read, as a whole number for timeoutSeconds of a watch."""
        if not self.deadline or self.is_noted:
            return WATCH
        remaining = self.due - time.time()
        return min(LOOK, max(1, math.ceil(remaining)))

    def is_missed(self, job: Object) -> bool:
        """Check whether the run has started. Return True if it has not, and the deadline is over."""
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
            # The run may have started, so an error never releases the tasks.
            if str(trouble) != self.trouble:
                log(f"jobs/{self.ends}: the start is unknown: {trouble!s:.500}")
            self.trouble = str(trouble)
        return False

    def look(self, job: Object) -> None:
        """Read the objects that have not yet had all pods ready."""
        for workload in sorted(self.waiting):
            kind, name = workload.split("/")
            owner = job if workload == f"jobs/{self.ends}" else call("get", kind, name)
            if owner is None:
                continue
            desired, ready = pod_counts(kind, owner)
            self.ready_pods[workload] = max(self.ready_pods[workload], ready)
            # An earlier finisher may have scaled the object to 0 and then have been killed.
            if 0 < desired <= ready:
                self.waiting.discard(workload)

    def has_started(self) -> bool:
        """Return whether each object has had all pods ready, or the gang has had its minimum number of pods ready."""
        return not self.waiting or 0 < self.tasks <= sum(self.ready_pods.values())

    def note(self) -> None:
        """Annotate the Job after the start, so that the next process of the finisher knows that the run has started."""
        self.waiting = set()
        call("patch", "jobs", self.ends, {"metadata": {"annotations": {STARTED: "true"}}})
        self.is_noted = True
        log(f"jobs/{self.ends}: has started")

    def missing(self) -> str:
        """Return the objects that have not started, for the log."""
        return ", ".join(sorted(self.waiting))


def pod_counts(kind: str, owner: Object) -> "tuple[int, int]":
    """Return the number of pods that a StatefulSet or Job needs, and the number of ready or finished pods."""
    spec, status = owner.get("spec", {}), owner.get("status", {})
    if kind != "jobs":
        return spec.get("replicas", 1), status.get("readyReplicas", 0)
    desired = spec.get("completions", 1)
    # A failed pod had started. The failures of a Job with several pods may all be failures of one pod.
    failed = status.get("failed", 0) if desired == 1 else 0
    return desired, status.get("ready", 0) + status.get("succeeded", 0) + failed


# -- releasing ---------------------------------------------------------------------------------------------------


def release(ends: str, scale: "list[str]", suspend: "dict[str, float]") -> None:
    """Release all objects. A failure does not delay the other objects. Retry until the release succeeds.

    Args:
        ends: the Job that ends the run. Argo CD continues to show the health of this Job.
        scale: the objects to scale to 0, such as "statefulsets/mnist-ps".
        suspend: the Jobs to suspend, with the time until which a Job may end by itself, in seconds since 1970.
    """
    for name, due in suspend.items():
        if due > time.time():
            log(f"jobs/{name}: has {due - time.time():.0f} s to end by itself")
    pauses, remaining = Pauses(), [*scale, *(f"jobs/{name}" for name in suspend)]
    while remaining:
        waiting, failures = [], []
        for workload in remaining:
            kind, name = workload.split("/")
            try:
                if kind == "jobs":
                    done = stop_job(name, suspend[name], {} if name == ends else IGNORE_HEALTH)
                else:
                    done = scale_down(kind, name)
                if not done:
                    waiting.append(workload)
            except TROUBLE as trouble:
                failures.append((workload, trouble))
        remaining = [*(workload for workload, _ in failures), *waiting]
        if failures:
            pauses.after(*failures)
        elif waiting:
            time.sleep(POLL)
    log("finisher: all tasks are released")


def scale_down(kind: str, name: str) -> bool:
    """Scale a StatefulSet or Deployment to 0."""
    answer = call("patch", f"{kind}/scale", name, {"spec": {"replicas": 0}})
    log(f"{kind}/{name}: {'does not exist' if answer is None else 'scaled to 0'}")
    return True


def scale_down_again(ends: str, sets: "list[str]") -> None:
    """Repeat the scaling of the StatefulSets to 0 for AGAIN seconds, because another tool may undo the release.

    Helm and Argo CD read the objects in the cluster, and usually apply the rendered objects some seconds later. If the
    release happens between the two steps, the tool restores the old number of replicas. If a StatefulSet already has 0
    replicas, the request changes nothing. The repeats end if the Job no longer exists or has not ended, because a user
    may start the run again. After an error, the AGAIN seconds begin again, so the last requests succeed.

    A thread calls this function, because the evaluator and the webhook may need many minutes.

    Args:
        ends: the Job that ends the run.
        sets: the released StatefulSets. The next run may use the same Deployment, so a Deployment is not scaled again.
    """
    # The main thread receives the signals, which interrupt its requests.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM, signal.SIGTERM})
    pauses, last = Pauses(), time.monotonic() + AGAIN
    while time.monotonic() < last:
        time.sleep(POLL)
        failures = []
        try:
            job = call("get", "jobs", ends)
            if job is None or end_of(job) is None:
                log(f"jobs/{ends}: {'is active again' if job else 'does not exist'}; the repeats end")
                return
        except TROUBLE as trouble:
            failures.append((f"jobs/{ends}", trouble))
        for workload in () if failures else sets:
            kind, name = workload.split("/")
            try:
                call("patch", f"{kind}/scale", name, {"spec": {"replicas": 0}})
            except TROUBLE as trouble:
                failures.append((workload, trouble))
        if failures:
            pauses.after(*failures)
            last = time.monotonic() + AGAIN
        else:
            pauses.tries = 0


def stop_job(name: str, due: float, annotations: "dict[str, str]") -> bool:
    """Suspend and annotate a Job that has not ended by itself. Return False if the Job still has time to end."""
    job = call("get", "jobs", name)
    end = end_of(job) if job else None
    if job is None:
        log(f"jobs/{name}: does not exist")
    elif end:
        log(f"jobs/{name}: is {end.how}")
    elif time.time() < due:
        return False
    else:
        call("patch", "jobs", name, {"metadata": {"annotations": annotations}, "spec": {"suspend": True}})
        log(f"jobs/{name}: suspended")
    return True


# -- the webhook -----------------------------------------------------------------------------------------------------

RESULTS = {"gone": "Gone", "not started": "NotStarted"}  # further results are the conditions of Kubernetes


def tell(job: str, run: str, end: End) -> None:
    """Notify the webhook of the end of the run. A failure is only logged, because the tasks are already released.

    The log never contains the address of the webhook, because the address may be a secret. After a SIGTERM, the next
    finisher notifies the webhook again.
    """
    duration = None if end.began is None else round(end.at - end.began)
    message = {"job": job, "run": run, "result": RESULTS.get(end.how, end.how), "duration": duration}
    address = os.environ.get("NOTIFY_ADDRESS", "").strip()
    pauses, last = Pauses(), time.monotonic() + TELL
    try:
        if not address:
            raise RefusedError("no address: the Secret of completion.notify, or its key, does not exist")
        while True:
            try:
                post(address, json.dumps(message).encode())
            except TROUBLE as trouble:
                if time.monotonic() > last:
                    raise RefusedError(f"no successful answer in {TELL} s") from trouble
                pauses.after(("webhook", trouble if isinstance(trouble, ApiError) else without_address(trouble)))
            else:
                log("webhook: notified")
                return
    except RefusedError as refused:
        log(f"webhook: not notified: {refused}")
    except Exception as error:
        log(f"webhook: not notified: {type(error).__name__}")


def without_address(trouble: Exception) -> Exception:
    """Return an error without the address of the webhook, which errors of http.client may contain."""
    return ApiError(getattr(trouble, "strerror", None) or type(trouble).__name__)


def post(address: str, body: bytes) -> None:
    """Post JSON to an address.

    The program does not follow redirects, because only the Secret may select the receiver.

    Raises:
        RefusedError: the address is invalid, or the webhook refuses the message.
        ApiError: the request failed, and a retry may succeed.
    """
    parts = urllib.parse.urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname or not all("!" <= sign <= "~" for sign in address):
        raise RefusedError("the address in the Secret must begin with http:// or https://")
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=ANSWER)
    if parts.scheme == "https":
        context = ssl.create_default_context()
        connection = http.client.HTTPSConnection(parts.hostname, parts.port, timeout=ANSWER, context=context)
    # The timeout applies to one read, and an answer may come byte by byte.
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
            f"the answer is {status}: the finisher follows no redirect, so the Secret must contain the final address"
        )
    if 400 <= status < 500 and status not in (408, 425, 429):
        raise RefusedError(f"the answer is {status}")
    if not 200 <= status < 300:
        raise ApiError(f"the answer is {status}", min(int(after), LONGEST_RETRY_AFTER) if after.isdigit() else 0)


def late(*_: object) -> None:
    """Raise an error that ends a request which takes too long."""
    raise ApiError(f"no answer in {ANSWER} s")


# -- the command -------------------------------------------------------------------------------------------------


def grace(text: str) -> "tuple[str, int]":
    """Parse an argument of the form JOB=SECONDS."""
    name, _, number = text.partition("=")
    return name, int(number)


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ends", required=True, metavar="JOB", help="Job that ends the run")
    parser.add_argument(
        "--scale", action="append", default=[], metavar="KIND/NAME", help="object to scale to 0 after the end"
    )
    parser.add_argument("--suspend", action="append", default=[], metavar="JOB", help="Job to suspend after the end")
    parser.add_argument("--grace-for", action="append", default=[], type=grace, metavar="JOB=SECONDS")
    parser.add_argument("--on-failure", choices=["Release", "Keep"], default="Release")
    parser.add_argument(
        "--starts",
        action="append",
        default=[],
        metavar="KIND/NAME",
        help="object whose pods must start before the start deadline",
    )
    parser.add_argument(
        "--start-with",
        type=int,
        default=0,
        metavar="PODS",
        help="number of pods that must start before the start deadline; 0 for all",
    )
    parser.add_argument("--start-deadline", type=int, default=0, metavar="SECONDS", help="0 for no deadline")
    parser.add_argument("--job", default="", help="name of the job for the webhook in NOTIFY_ADDRESS")
    parser.add_argument("--run", default="", help="name of the run for the webhook")
    return parser.parse_args()


def stop(*_: object) -> None:
    """End the finisher at once. The Job then starts a new pod."""
    log("finisher: ended by SIGTERM")
    sys.exit(128 + signal.SIGTERM)


def main() -> None:
    """Wait for the end, release the tasks, and notify the webhook."""
    signal.signal(signal.SIGTERM, stop)
    args = arguments()
    log(f"jobs/{args.ends}: waiting for its end")
    start = Start(args.ends, args.starts, args.start_with, args.start_deadline)
    end = wait_for_end(args.ends, start)
    sets = [workload for workload in args.scale if workload.startswith("statefulsets/")]
    repeats = threading.Thread(target=scale_down_again, args=(args.ends, sets), daemon=True)
    if end.how == "not started":
        # No repeats: the end of the finisher is the sign of a run that has not started (live/missed_start.py).
        log(f"jobs/{args.ends}: has not started within {args.start_deadline} s, for want of {start.missing()}")
        release(args.ends, args.scale, dict.fromkeys([*args.suspend, args.ends], end.at))
    else:
        log(f"jobs/{args.ends}: is {end.how}")
        if end.how == "Failed" and args.on_failure == "Keep":
            log("finisher: no task is released, because --on-failure is Keep")
        else:
            if sets and end.how != "gone":
                log(f"finisher: keeps the StatefulSets at 0 for {AGAIN} s")
                try:
                    repeats.start()
                except RuntimeError as trouble:  # a limit of processes
                    log(f"finisher: does not repeat the release: {trouble}")
            graces = dict(args.grace_for)
            release(args.ends, args.scale, {name: end.at + graces.get(name, 0) for name in args.suspend})
    if args.job:
        tell(args.job, args.run, end)
    if repeats.is_alive():
        repeats.join()


if __name__ == "__main__":
    main()
