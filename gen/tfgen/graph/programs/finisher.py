r"""Release the tasks of a run when the Job that ends the run has ended, or has missed its start deadline.

    finisher.py --ends mnist-chief --scale statefulsets/mnist-ps --scale statefulsets/mnist-worker \
        --suspend mnist-evaluator --grace-for mnist-evaluator=600 --on-failure Keep \
        --starts jobs/mnist-chief --starts statefulsets/mnist-ps --start-deadline 3600

The program runs in a training image, so the program is a single file for Python 3.6 or newer with the standard library
only. The program may be killed at any moment, because the next process reads the whole state from the cluster.
"""

import argparse
import calendar
import contextlib
import functools
import http.client
import json
import os
import pathlib
import random
import signal
import ssl
import time
import typing
import urllib.parse

ACCOUNT = pathlib.Path("/var/run/secrets/kubernetes.io/serviceaccount")
ANSWER = 15  # maximum number of seconds of one request and its answer
POLL = 5  # seconds between two reads of an object
AGAIN = 30  # seconds in which the finisher scales the StatefulSets to 0 again
GONE = 30  # seconds after which a deleted Job has ended: until then, a GitOps tool may create the Job again
NEVER_SEEN = 600  # seconds after which a Job that this process has never read has ended: until then, it may be created
LONGEST_PAUSE = 30  # seconds between two tries
LONGEST_RETRY_AFTER = 120  # maximum number of seconds of Retry-After
TELL = 600  # seconds of tries to notify the webhook, after the release; the address may be wrong
STARTED = "tfgen/started"  # the annotation on the Job that ends the run, once the run has met its start deadline
Object = typing.Any  # an object of the API server; None for an object that does not exist


class RequestError(Exception):
    """A request failed, and a retry may succeed. `wait` is the minimum number of seconds until the next try."""

    def __init__(self, message: str, retry_after: str = "") -> None:
        super().__init__(message)
        self.wait = min(int(retry_after), LONGEST_RETRY_AFTER) if retry_after.isdigit() else 0


def log(message: str) -> None:
    """Print a line of the log in ASCII, because the locale of the image may support only ASCII."""
    line = message.encode("ascii", "backslashreplace").decode()
    print(time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), line, flush=True)


class Action:
    """Work in steps. A step returns the seconds until the next step, or None if the work is done."""

    def __init__(self, name: str, step: "typing.Callable[[], float | None]", after: float = 0) -> None:
        self.name, self.step, self.due, self.failures = name, step, time.monotonic() + after, 0


def finish(wanted: "list[Action]", others: "list[Action]") -> None:
    """Do each step when it is due, and again after an error, until `wanted` is empty. A step may add others."""
    while wanted:
        action = min(wanted + others, key=lambda action: action.due)
        time.sleep(max(0, action.due - time.monotonic()))
        try:
            pause = action.step()
            action.failures = 0
        except Exception as trouble:
            # Each pause is longer, and a random part spreads the requests of many finishers.
            pause = min(2.0 ** min(action.failures, 10), LONGEST_PAUSE) * random.uniform(0.5, 1)  # noqa: S311 - no secret
            pause = max(pause, getattr(trouble, "wait", 0))
            action.failures += 1
            log(f"{action.name}: {trouble!s:.500}; {type(trouble).__name__}, trying again in {pause:.1f} s")
        finally:
            signal.alarm(0)
        if pause is None:
            (wanted if action in wanted else others).remove(action)
        else:
            action.due = time.monotonic() + pause


def call(workload: str, patch: Object = None, subresource: str = "") -> Object:
    """Read or patch an object such as "statefulsets/mnist-ps". Return the answer; None if the object does not exist."""
    signal.alarm(ANSWER)  # the timeout of a connection applies to one read, and an answer may come byte by byte
    verb, (resource, name) = "patch" if patch else "get", workload.split("/")
    # Each request reads the token and the certificates, because both files change. The certificates of many clusters
    # lack the key identifiers that Python 3.13 and newer require.
    context = ssl.create_default_context(cafile=str(ACCOUNT / "ca.crt"))
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    token, namespace = ((ACCOUNT / file).read_text().strip() for file in ("token", "namespace"))
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/merge-patch+json"}
    path = f"/apis/{'batch' if resource == 'jobs' else 'apps'}/v1/namespaces/{namespace}/{workload}{subresource}"
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], int(os.environ["KUBERNETES_SERVICE_PORT"])
    with contextlib.closing(http.client.HTTPSConnection(host, port, context=context)) as connection:
        connection.request(verb.upper(), path, json.dumps(patch) if patch else None, headers)
        response = connection.getresponse()
        text = response.read().decode(errors="replace")
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):  # for example, the page of a proxy
        answer = None
    answer = answer if isinstance(answer, dict) else {}
    message = str(answer.get("message", text))[:200]
    if response.status >= 400:
        # A server also answers 404 for a path that the server does not have (yet).
        if answer.get("reason") == "NotFound" and answer.get("details", {}).get("name") == name:
            return None
        message = f"{response.status} {response.reason}: {message}"
        if response.status == 403:  # retried like all errors: a new API server may not have its Roles yet
            message += f"; the finisher's Role must allow {verb!r} on {resource + subresource!r} named {name!r}"
        raise RequestError(message, response.getheader("Retry-After", ""))
    # A proxy may answer with a Status or with any JSON, although the object exists.
    if not isinstance(answer.get("metadata"), dict) or answer["metadata"].get("name") != name:
        raise RequestError(f"the answer is not the object: {message}")
    return answer


def seconds(timestamp: str) -> float:
    """Return a Kubernetes timestamp in seconds since 1970."""
    return calendar.timegm(time.strptime(timestamp, "%Y-%m-%dT%H:%M:%SZ"))


def end_of(job: Object) -> "tuple[str, float] | None":
    """Return the end of a Job and its time in seconds since 1970. Until the end, the pods of the Job may run."""
    for condition in job.get("status", {}).get("conditions", ()):
        if condition["type"] in ("Complete", "Failed") and condition["status"] == "True":
            return condition["type"], seconds(condition["lastTransitionTime"])
    return None


class Wait:
    """The wait for the end of the run. `end` is Complete, Failed, Gone or NotStarted, and the time of the end."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args, self.name = args, f"jobs/{args.ends}"
        self.end: tuple[str, float] | None = None
        self.job: Object = None  # the Job at the last read that found the Job
        self.missing_since: float | None = None
        self.wanting: list[str] = []  # the objects that never had all pods ready
        self.ready_pods: dict[str, int] = {}  # the maximum number of pods of an object that were ready at one time

    def look(self) -> "float | None":
        """Read the Job. Return the seconds until the next read, or None after the end."""
        job = call(self.name)
        if job is None:
            limit = GONE if self.job else NEVER_SEEN
            if self.missing_since is None:
                self.missing_since = time.monotonic()
                log(f"{self.name}: does not exist; if the Job is not created within {limit} s, the run has ended")
            elif time.monotonic() - self.missing_since > limit:
                self.end = "Gone", time.time()
            return None if self.end else POLL
        if self.missing_since is not None:
            log(f"{self.name}: exists")
        if self.job is None or self.job["metadata"].get("uid") != job["metadata"].get("uid"):
            self.wanting, self.ready_pods = sorted(self.args.starts), {}  # a Job that is created again starts again
        self.job, self.missing_since, self.end = job, None, end_of(job)
        if not self.end and self.args.start_deadline and STARTED not in job["metadata"].get("annotations", {}):
            return self.look_at_start()
        return None if self.end else POLL

    def look_at_start(self) -> "float | None":
        """Annotate the Job after the start, for the next process of the finisher. Set the end at the start deadline.

        The run has started when each StatefulSet and Job has had all pods ready, or the gang its minimum number of
        pods. The chief alone may wait for hours for workers without a node. After an error, the start is unknown.
        """
        for workload in [*self.wanting]:
            owner = self.job if workload == self.name else call(workload)
            desired, ready = pod_counts(owner) if owner else (0, 0)
            self.ready_pods[workload] = max(self.ready_pods.get(workload, 0), ready)
            # An earlier finisher may have scaled the object to 0 and then have been killed.
            if 0 < desired <= ready:
                self.wanting.remove(workload)
        if not self.wanting or 0 < self.args.start_with <= sum(self.ready_pods.values()):
            call(self.name, {"metadata": {"annotations": {STARTED: "true"}}})
            log(f"{self.name}: has started")
            return POLL
        remaining: float = self.args.start_deadline + seconds(self.job["metadata"]["creationTimestamp"]) - time.time()
        if remaining > 0:
            return min(POLL, remaining)
        log(f"{self.name}: has not started within {self.args.start_deadline} s, for want of {', '.join(self.wanting)}")
        self.end = "NotStarted", time.time()
        return None


def pod_counts(owner: Object) -> "tuple[int, int]":
    """Return the number of pods that a StatefulSet or Job needs, and the number of ready or finished pods."""
    spec, status = owner.get("spec", {}), owner.get("status", {})
    if owner["kind"] != "Job":
        return spec.get("replicas", 1), status.get("readyReplicas", 0)
    desired = spec.get("completions", 1)
    # A failed pod had started. The failures of a Job with several pods may all be failures of one pod.
    failed = status.get("failed", 0) if desired == 1 else 0
    return desired, status.get("ready", 0) + status.get("succeeded", 0) + failed


class Scaling:
    """The scaling of an object to 0, and its repeats for AGAIN seconds, because another tool may undo the release.

    Helm and Argo CD read the objects in the cluster, and usually apply the rendered objects some seconds later. If the
    release happens between the two steps, the tool restores the old number of replicas.
    """

    def __init__(self, workload: str, ends: str, remaining: int, actions: "list[Action]") -> None:
        self.workload, self.ends, self.remaining, self.actions = workload, ends, remaining, actions

    def scale(self) -> None:
        """Scale the object to 0, and add the repeats for the remaining seconds to the actions."""
        answer = call(self.workload, {"spec": {"replicas": 0}}, "/scale")
        log(f"{self.workload}: {'does not exist' if answer is None else 'scaled to 0'}")
        if self.remaining > 0:
            self.actions.append(Action(self.workload, self.scale_again, POLL))

    def scale_again(self) -> "float | None":
        """Scale the object to 0 again, unless a user has deleted the run or started the run again."""
        remaining, self.remaining = self.remaining, AGAIN  # after an error, the AGAIN seconds begin again
        job = call(self.ends)
        if job is None or not end_of(job):
            log(f"{self.ends}: {'is active again' if job else 'does not exist'}; the repeats for {self.workload} end")
            return None
        call(self.workload, {"spec": {"replicas": 0}}, "/scale")
        self.remaining = remaining - POLL
        return POLL if self.remaining > 0 else None


def suspend(name: str, due: float, annotations: "dict[str, str]") -> "float | None":
    """Suspend and annotate a Job, unless the Job ends by itself before the time `due`, in seconds since 1970."""
    job = call(name)
    end = end_of(job) if job else None
    if job and not end and time.time() < due:
        return POLL
    if job and not end:
        call(name, {"metadata": {"annotations": annotations}, "spec": {"suspend": True}})
    log(f"{name}: {f'is {end[0]}' if end else 'suspended' if job else 'does not exist'}")
    return None


def release(args: argparse.Namespace, how: str, at: float, repeats: "list[Action]") -> None:
    """Release all objects after an end, and add the repeats. The time `at` of the end is in seconds since 1970."""
    ends, graces = f"jobs/{args.ends}", dict(text.split("=") for text in args.grace_for)
    due = {f"jobs/{name}": at + int(graces.get(name, 0)) for name in args.suspend}
    if how == "NotStarted":
        due = dict.fromkeys([*due, ends], at)
    # The next run may use the same Deployment. A run that has not started has no repeats, because the end of the
    # finisher is the sign of such a run for `tfgen status`.
    sets = [each for each in args.scale if each.startswith("statefulsets/") and how in ("Complete", "Failed")]
    if sets:
        log(f"finisher: keeps the StatefulSets at 0 for {AGAIN} s")
    releases = [Action(each, Scaling(each, ends, AGAIN if each in sets else 0, repeats).scale) for each in args.scale]
    for job, until in due.items():
        if until > time.time():
            log(f"{job}: has {until - time.time():.0f} s to end by itself")
        # Argo CD never shows a suspended Job as healthy, so Argo CD must ignore the Jobs that do not end the run:
        # https://argo-cd.readthedocs.io/en/stable/operator-manual/health/#ignoring-child-resource-health-check-in-applications
        annotations = {} if job == ends else {"argocd.argoproj.io/ignore-healthcheck": "true"}
        releases.append(Action(job, functools.partial(suspend, job, until, annotations)))
    finish(releases, repeats)
    log("finisher: all tasks are released")


def tell(message: str, last: float) -> None:
    """Notify the webhook until the time `last` of the monotonic clock. A failure is only logged."""
    try:
        problem = post(message)
    except Exception as trouble:
        if time.monotonic() > last:
            problem = f"no successful answer in {TELL} s"
        elif isinstance(trouble, RequestError):
            raise
        else:  # the text of the error may contain the address of the webhook, which may be a secret
            raise RequestError(getattr(trouble, "strerror", None) or type(trouble).__name__) from None
    log(f"webhook: not notified: {problem}" if problem else "webhook: notified")


def post(message: str) -> str:
    """Post JSON to the webhook, without redirects. Return the problem if a retry is useless, or an empty text."""
    address = os.environ.get("NOTIFY_ADDRESS", "").strip()
    if not address:
        return "no address: the Secret of completion.notify, or its key, does not exist"
    parts = urllib.parse.urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname or not all("!" <= sign <= "~" for sign in address):
        return "the address in the Secret must begin with http:// or https://"
    protocol = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    signal.alarm(ANSWER)
    with contextlib.closing(protocol(parts.hostname, parts.port)) as connection:
        connection.request("POST", target, message, {"Content-Type": "application/json"})
        response = connection.getresponse()
    answer = f"the answer is {response.status}"
    if 300 <= response.status < 400:
        return f"{answer}: the finisher follows no redirect, so the Secret must contain the final address"
    if 400 <= response.status < 500 and response.status not in (408, 425, 429):
        return answer
    if not 200 <= response.status < 300:
        raise RequestError(answer, response.getheader("Retry-After", ""))
    return ""


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description="Release the tasks of a run after its end.")
    several: typing.Any = {"action": "append", "default": []}
    parser.add_argument("--ends", required=True, metavar="JOB", help="Job that ends the run")
    parser.add_argument("--scale", **several, metavar="KIND/NAME", help="object to scale to 0 after the end")
    parser.add_argument("--suspend", **several, metavar="JOB", help="Job to suspend after the end")
    parser.add_argument("--grace-for", **several, metavar="JOB=SECONDS", help="time before the suspension")
    parser.add_argument("--on-failure", choices=["Release", "Keep"], default="Release")
    parser.add_argument("--starts", **several, metavar="KIND/NAME", help="object that must start before the deadline")
    parser.add_argument("--start-with", type=int, default=0, metavar="PODS", help="pods that must start; 0 for all")
    parser.add_argument("--start-deadline", type=int, default=0, metavar="SECONDS", help="0 for no deadline")
    parser.add_argument("--job", default="", help="name of the job for the webhook in NOTIFY_ADDRESS")
    parser.add_argument("--run", default="", help="name of the run for the webhook")
    return parser.parse_args()


def handle(number: int, _: object) -> None:
    """End a request that takes too long, or after SIGTERM the finisher. The Job then starts a new pod."""
    if number == signal.SIGALRM:
        raise RequestError(f"no answer in {ANSWER} s")
    log("finisher: ended by SIGTERM")
    raise SystemExit(128 + signal.SIGTERM)


def main() -> None:
    """Wait for the end, release the tasks, and notify the webhook."""
    signal.signal(signal.SIGTERM, handle)
    signal.signal(signal.SIGALRM, handle)
    args = arguments()
    wait = Wait(args)
    log(f"{wait.name}: waiting for its end")
    actions = [Action(wait.name, wait.look)]
    finish(actions, [])
    how, at = wait.end or ("", 0.0)
    if how != "NotStarted":
        log(f"{wait.name}: is {how.lower() if how == 'Gone' else how}")
    if how == "Failed" and args.on_failure == "Keep":
        log("finisher: no task is released, because --on-failure is Keep")
    else:
        release(args, how, at, actions)
    if args.job:
        began = wait.job and how != "NotStarted" and wait.job.get("status", {}).get("startTime")
        duration = round(at - seconds(began)) if began else None
        message = json.dumps({"job": args.job, "run": args.run, "result": how, "duration": duration})
        actions.append(Action("webhook", functools.partial(tell, message, time.monotonic() + TELL)))
    finish(actions, [])


if __name__ == "__main__":
    main()
