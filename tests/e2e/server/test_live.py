"""The commands that read a run in a cluster, with the Roles of docs/live.md, fewer permissions, and a faulty server.

All tests read the same run, on a real API server with real controllers. No test changes the run.
"""

from __future__ import annotations

import base64
import json
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import cast

import pytest
import yaml

from tests.e2e.client import eventually
from tests.e2e.control_plane import ControlPlane
from tests.e2e.custom_kinds import stand_in
from tests.e2e.finisher import running
from tests.e2e.jobs import write_job
from tests.e2e.server.live import execute, role, status, tensorboard
from tests.e2e.servers.faulty_proxy import FaultyProxy
from tests.e2e.servers.kubeconfig import write_kubeconfig
from tests.support.command import Command
from tests.support.repository import run_tfgen, tfgen
from tfgen import cli
from tfgen.live import api as live_api
from tfgen.live.api import ONCE
from tfgen.live.connection import Access, Connection

JOB = """
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist, namespace: NAMESPACE}
spec:
  image: registry.example.com/mnist:1
  retries: 0
  roles:
    chief: {}
    ps: {replicas: 2}
    worker: {replicas: 2, resources: {gpu: {count: 1}}}
  storage: {model: {mountPath: /model, emptyDir: {}}}
  tensorboard: {logDir: /model/logs}
  environments:
    dev: {roles: {worker: {replicas: 1}}}
    off: {enabled: false}
    far: {cluster: elsewhere}
"""


@pytest.fixture(scope="module")
def namespace(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Create a namespace in which the pods of the job run."""
    name = cluster.namespace("live")
    rendered = write_job(JOB.replace("NAMESPACE", name), tmp_path_factory.mktemp("live"))
    cluster.kubectl("apply", "--server-side", "-n", name, "-k", rendered.overlay(None))
    eventually(lambda: len(running(cluster.client, name)) == 7, "seven running pods")
    yield name
    cluster.client.delete("Namespace", name)


@pytest.fixture
def job(namespace: str, tmp_path: Path) -> Path:
    path = tmp_path / "job.yaml"
    path.write_text(JOB.replace("NAMESPACE", namespace), encoding="utf-8")
    return path


# -- plan ------------------------------------------------------------------------------------------------------------


def test_plan_needs_the_role_of_its_page(
    cluster: ControlPlane, job: Path, account: Callable[..., Path], tmp_path: Path
) -> None:
    job.write_text(job.read_text(encoding="utf-8").replace("name: mnist", "name: other"), encoding="utf-8")
    printed = tfgen("plan", str(job), "--cluster", "--kubeconfig", str(account(role("plan"))))
    assert printed.out.startswith("other: fits\n\nNODES ")
    assert re.fullmatch(r".*: 4 nodes and [0-9]+ pods?\n", printed.err), "and no less"
    job.write_text(job.read_text(encoding="utf-8").replace("gpu: {count: 1}", "gpu: {count: 9}"), encoding="utf-8")
    nodes = tmp_path / "nodes.yaml"
    nodes.write_text(cluster.kubectl("get", "nodes,pods", "--all-namespaces", "-o", "yaml"), encoding="utf-8")
    output = tfgen("plan", str(job), "--nodes", str(nodes), code=cli.PROBLEMS).out
    assert "other: does not fit: worker lacks 18 nvidia.com/gpu (2 pods without a node)" in output


def test_a_plan_of_who_may_list_little_says_what_it_left_out(job: Path, account: Callable[..., Path]) -> None:
    rules = [{"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["list"]}]
    least = {**role("plan"), "rules": rules}
    printed = tfgen("plan", str(job), "--cluster", "--kubeconfig", str(account(least)))
    assert printed.out.startswith("mnist: fits\n\nNODES ")
    assert re.findall(r"^([\w.]+): tfgen ignores these objects, because", printed.err, re.MULTILINE) == [
        "namespaces",
        "serviceaccounts",
        "resourcequotas",
        "limitranges",
        "persistentvolumeclaims",
        "persistentvolumes",
        "storageclasses.storage.k8s.io",
        "csinodes.storage.k8s.io",
        "runtimeclasses.node.k8s.io",
        "priorityclasses.scheduling.k8s.io",
        "deviceclasses.resource.k8s.io",
        "resourceclaims.resource.k8s.io",
        "resourceclaimtemplates.resource.k8s.io",
        "resourceslices.resource.k8s.io",
    ]


# -- status and wait --------------------------------------------------------------------------------------------------


def test_status_needs_the_role_of_its_page(job: Path, account: Callable[..., Path], namespace: str) -> None:
    (run,) = json.loads(status(job, account(role("status")), "--format", "json").out)["runs"]
    assert (run["phase"], run["namespace"], run["gpus"]) == ("Running", namespace, 2)
    assert {role["role"]: (role["ready"], role["wanted"]) for role in run["roles"]} == {
        "chief": (1, 1),
        "ps": (2, 2),
        "worker": (2, 2),
    }
    assert run["why"] == []
    assert not [text for text in run["notSeen"] if "forbidden" in text], "and no less"


def test_status_names_a_run_whose_job_file_is_gone(
    cluster: ControlPlane, job: Path, account: Callable[..., Path], namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """First another job is left in the namespace, and then no job is left."""
    repository = job.parent
    monkeypatch.chdir(repository)
    jobs = repository / "jobs"
    jobs.mkdir()
    text = job.read_text(encoding="utf-8").partition("  environments:")[0]
    job.rename(jobs / "job.yaml").write_text(text, encoding="utf-8")
    (jobs / "other.yaml").write_text(text.replace("name: mnist", "name: other"), encoding="utf-8")
    for words in (["init", "--quiet"], ["config", "user.name", "a"], ["config", "user.email", "a@example.com"]):
        Command(("git", *words)).run()
    line = (
        f"mnist in {namespace}: 7 pods and 2 GPUs in use, but no job file of the repository has the job mnist; to end "
        "the run, delete the Application, the Kustomization or the Helm release that applies the run, or run tfgen "
        "delete mnist if tfgen apply started the run"
    )
    assert line not in status(jobs, cluster.admin).out
    for file in ("job.yaml", "other.yaml"):
        Command(("git", "add", "--all")).run()
        Command(("git", "commit", "--quiet", "--message=x")).run()
        (jobs / file).unlink()
        assert status(jobs, account(role("status"))).out.splitlines()[-1] == line
    jobs.rmdir()
    Command(("git", "commit", "--quiet", "--all", "--message=x")).run()
    for words in (["jobs"], ["jobs/job.yaml"], []):
        assert tfgen("status", *words, "--kubeconfig", str(cluster.admin)).out.splitlines() == [line]
    printed = status(jobs, cluster.admin, "--namespace", "default", "--watch").out
    assert printed == "the jobs were removed, and no pod of a removed job runs in their namespaces\n"
    printed = status(jobs, cluster.admin, "--format", "json").out
    assert json.loads(printed) == {
        "runs": [],
        "withoutJobFile": [{"run": "mnist", "job": "mnist", "namespace": namespace, "pods": 7, "gpus": 2}],
    }


def test_all_runs_of_a_folder_have_a_line_each(cluster: ControlPlane, job: Path, namespace: str) -> None:
    job.write_text(job.read_text(encoding="utf-8").replace("    far: {cluster: elsewhere}\n", ""), encoding="utf-8")
    lines = status(job.parent, cluster.admin).out.splitlines()
    assert [line.split()[:3] for line in lines] == [
        ["RUN", "NAMESPACE", "PHASE"],
        ["mnist/dev", namespace, "Running"],
        ["mnist/off", namespace, "Disabled"],
    ]


def test_the_keys_of_a_kubeconfig_are_left_in_no_file(
    cluster: ControlPlane, job: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client writes the keys into temporary files, because OpenSSL reads only files."""
    config = yaml.safe_load(cluster.admin.read_text(encoding="utf-8"))
    user = config["users"][0]["user"]
    config["users"][0]["user"] = {
        f"{key}-data": base64.b64encode(Path(file).read_bytes()).decode() for key, file in user.items()
    }
    inline, temporary = tmp_path / "inline.kubeconfig", tmp_path / "temporary"
    inline.write_text(yaml.safe_dump(config), encoding="utf-8")
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    Command((sys.executable, "-m", "tfgen", "status", job, "--kubeconfig", inline)).run()
    assert [*temporary.iterdir()] == []


def test_an_account_that_may_do_nothing_is_told_what_it_lacks(job: Path, account: Callable[..., Path]) -> None:
    error = status(job, account(None), code=cli.FAILED).err
    assert re.fullmatch(
        r'tfgen: error: 403: pods is forbidden: User ".*:viewer-[0-9a-f]+" cannot list resource .*\n', error
    )


def test_an_account_that_may_do_little_gets_what_it_may_see(job: Path, account: Callable[..., Path]) -> None:
    least = {
        **role("status"),
        "rules": [{"apiGroups": ["", "batch"], "resources": ["pods", "jobs"], "verbs": ["list"]}],
    }
    out = status(job, account(least)).out
    assert ": Running for " in out
    assert re.findall(r"not seen: (?:log of )?(\w+).*forbidden", out) == ["StatefulSet", "Event", "mnist"]


def test_status_reads_the_object_that_delivers_the_job_with_the_role_of_its_page(
    cluster: ControlPlane, job: Path, account: Callable[..., Path], namespace: str
) -> None:
    """No GitOps tool runs: tests/e2e/gitops tests the messages of the tools."""
    gitops = f"gitops: {{repository: https://git.example.com/a.git, argocd: {{namespace: {namespace}}}}}"
    text = job.read_text(encoding="utf-8").replace("    off: {enabled: false}\n", "")
    job.write_text(f"{text}  {gitops}\n", encoding="utf-8")

    def lines(label: str, *rules: object, environment: str = "dev") -> list[str]:
        kubeconfig = account({**role("status"), "rules": [*cast("list[object]", role("status")["rules"]), *rules]})
        printed = status(job, kubeconfig, "--env", environment, "--context", "e2e").out
        return re.findall(f"^{label}: +(Application.*)$", printed, re.MULTILINE)

    rules = cast("list[object]", role("status", 1)["rules"])
    cluster.uninstall()
    assert lines("not seen") == ["Application of argoproj.io/v1alpha1: the cluster has no such kind"]
    cluster.install([stand_in("argoproj.io", "Application", ["v1alpha1"])])
    assert re.match('Application: 403: .* cannot list resource "applications"', lines("not seen")[0])
    assert lines("not seen", *rules) == [f"Application mnist-dev: the namespace {namespace} has no such object"]
    name = {"name": "mnist-dev", "namespace": namespace}
    cluster.client.apply({"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": name})
    error = {"conditions": [{"type": "ComparisonError", "message": "app path does not exist"}]}
    cluster.client.patch(
        "argoproj.io/v1alpha1/Application", "mnist-dev", namespace, {"status": error}, subresource="status"
    )
    assert lines("not seen", *rules) == []
    assert lines("why", *rules) == ["Application mnist-dev: ComparisonError: app path does not exist"]
    assert lines("not seen", environment="far") == ["Application mnist-far: Argo CD runs in another cluster"]


@pytest.mark.parametrize("code", [429, pytest.param(500, marks=pytest.mark.nightly), 503])
def test_a_server_that_fails_for_a_while_is_asked_again(
    job: Path, through: Path, proxy: FaultyProxy, code: int
) -> None:
    proxy.fail(code, times=3, headers={"Retry-After": "1"} if code == 429 else None)
    start = time.monotonic()
    assert ": Running for " in status(job, through).out
    assert code != 429 or time.monotonic() - start >= 3


def test_an_answer_that_no_server_gives_is_asked_for_again(job: Path, through: Path, proxy: FaultyProxy) -> None:
    for body in (b"", b"null", b"[]", b'{"items": null}', b"\xff", b"[" * 100_000, b"<html>"):
        proxy.fail(200, times=1, path="/(pods|statefulsets)[?]", body=body)
        assert ": Running for " in status(job, through).out
    proxy.fail(404, times=1, path="/apis/batch/v1$", body=b"404 page not found")
    assert ": Running for " in status(job, through).out


def test_a_list_that_is_too_old_to_go_on_with_begins_anew(
    cluster: ControlPlane, through: Path, proxy: FaultyProxy, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_api, "_CHUNK", 2)
    proxy.fail(410, times=1, path="continue=")
    api = live_api.Api(Connection(Access(str(through))), ONCE, print)
    pods = api.resource("v1", "Pod")
    assert pods
    names = [pod["metadata"]["name"] for pod in api.objects(pods, namespace)]
    assert sorted(names) == sorted({pod["metadata"]["name"] for pod in cluster.client.list("v1/Pod", namespace)})
    assert sum("/pods?" in path and "continue=" not in path for path in proxy.requests) == 2


def test_a_token_that_is_none_any_more_is_told(cluster: ControlPlane, job: Path, tmp_path: Path) -> None:
    old = write_kubeconfig(tmp_path / "old", cluster.url, cluster.authority.certificate, "expired")
    printed = status(job, old, code=cli.FAILED).err
    assert "401: the server rejects the account of the kubeconfig (Unauthorized); log in again" in printed


def exec_kubeconfig(cluster: ControlPlane, folder: Path, script: str) -> Path:
    """Write a kubeconfig whose user comes from a plugin."""
    plugin = folder / "plugin"
    plugin.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    plugin.chmod(0o700)
    path = write_kubeconfig(folder / "exec.kubeconfig", cluster.url, cluster.authority.certificate, "")
    config = yaml.safe_load(path.read_text(encoding="utf-8"))
    version = "client.authentication.k8s.io/v1"
    config["users"][0]["user"] = {"exec": {"apiVersion": version, "command": str(plugin), "interactiveMode": "Never"}}
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    return path


CREDENTIAL = '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"%s"}}'


def test_a_plugin_logs_in_and_again_when_its_token_has_expired(
    cluster: ControlPlane, job: Path, account: Callable[..., Path], tmp_path: Path
) -> None:
    user = yaml.safe_load(account(role("status")).read_text(encoding="utf-8"))["users"][0]["user"]
    good = CREDENTIAL % user["token"]
    runs = tmp_path / "runs"
    script = f"echo x >> {runs}\nif [ $(wc -l < {runs}) = 1 ]; then echo '{CREDENTIAL % 'old'}'; else echo '{good}'; fi"
    assert ": Running for " in status(job, exec_kubeconfig(cluster, tmp_path, script)).out
    assert runs.read_text(encoding="utf-8") == "x\nx\n"


def test_a_plugin_that_fails_is_heard(cluster: ControlPlane, job: Path, tmp_path: Path) -> None:
    printed = status(
        job, exec_kubeconfig(cluster, tmp_path, "echo 'the session is over' >&2; exit 7"), code=cli.FAILED
    ).err
    error = printed
    assert re.fullmatch(r"tfgen: error: .*: exec: process returned 7. the session is over\n", error)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--context", "e2d"], "no context 'e2d'; did you mean \"e2e\"?"),
        (
            ["--env", "far"],
            "runs in the cluster elsewhere, and the kubeconfig has no context with this name; its contexts are e2e",
        ),
        (["--env", "nope"], "no environment 'nope'; choose dev, off or far"),
    ],
)
def test_a_place_that_is_none_is_an_error(
    cluster: ControlPlane, job: Path, arguments: Sequence[str], message: str
) -> None:
    code, _, error = run_tfgen("status", job, "--kubeconfig", cluster.admin, *arguments)
    assert code in (cli.USAGE, cli.FAILED)
    assert message in error


def test_wait_needs_the_role_of_its_page(job: Path, account: Callable[..., Path]) -> None:
    arguments = ["wait", str(job), "--kubeconfig", str(account(role("wait"))), "--timeout", "3s"]
    captured = tfgen(*arguments, code=cli.FAILED)
    assert captured.out == "mnist: Running, 5/5 ready\n"
    assert captured.err == "tfgen: error: mnist: still Running after 3 s\n"


def test_wait_gives_up_in_time_where_no_server_answers(
    job: Path, through: Path, proxy: FaultyProxy, capsys: pytest.CaptureFixture[str]
) -> None:
    proxy.refuse()
    start = time.monotonic()
    assert cli.run(["wait", str(job), "--kubeconfig", str(through), "--timeout", "4"]) == cli.FAILED
    assert time.monotonic() - start < 10
    assert "no answer in" in capsys.readouterr().err


# -- logs ------------------------------------------------------------------------------------------------------------
# A fake node has no kubelet. tests/e2e/node/test_live.py tests the content of logs on a real node.


def test_logs_needs_the_role_of_its_page(job: Path, account: Callable[..., Path]) -> None:
    kubeconfig = account(role("logs"))
    printed = tfgen("logs", str(job), "--kubeconfig", str(kubeconfig), code=cli.FAILED).err
    assert re.search(
        r"500: Get .*/containerLogs/.*connection refused",
        printed,
    ), "all but a kubelet"


@pytest.mark.parametrize("follow", [(), ("--follow",)])
def test_an_account_that_may_read_no_logs_is_told(
    job: Path, account: Callable[..., Path], follow: Sequence[str]
) -> None:
    printed = tfgen("logs", str(job), "--kubeconfig", str(account(role("wait"))), *follow, code=cli.FAILED).err
    assert re.search(
        r'403: .* cannot get resource "pods/log"',
        printed,
    )


def test_logs_of_a_role_that_is_none_are_an_error(cluster: ControlPlane, job: Path) -> None:
    printed = tfgen("logs", str(job), "--kubeconfig", str(cluster.admin), "--role", "wrker", code=cli.USAGE).err
    assert "the run does not have this role; the roles are chief, ps, worker and finisher" in printed


# -- exec and tensorboard --------------------------------------------------------------------------------------------
# A fake node has no kubelet. tests/e2e/node/test_live.py tests the effect of a command on a real node.


def lesser(command: str, rule: int) -> dict[str, object]:
    """Return the Role of a command with fewer verbs: only `list` for pods, or only `get` for their subresource."""
    rules = role(command)
    rules["rules"][rule]["verbs"] = [("list", "get")[rule]]  # type: ignore[index]
    return rules


def test_exec_needs_the_role_of_its_page(job: Path, account: Callable[..., Path]) -> None:
    error = execute(job, account(role("exec")), code=cli.FAILED).err
    assert re.search(r"mnist-chief-0-\w+: .*dial .* connection refused", error), "all but a kubelet"


def test_profile_needs_the_role_of_its_page(job: Path, account: Callable[..., Path], tmp_path: Path) -> None:
    out = tmp_path / "trace"
    command = ["profile", str(job), "--kubeconfig", str(account(role("profile"))), "--out", str(out)]
    printed = tfgen(*command, code=cli.FAILED).err
    assert re.search(r"mnist-chief-0-\w+: .*dial .* connection refused", printed), "all but a kubelet"
    assert not out.exists()


@pytest.mark.parametrize("rule", [0, 1], ids=["pods", "subresource"])
def test_an_account_that_may_run_nothing_is_told(job: Path, account: Callable[..., Path], rule: int) -> None:
    error = execute(job, account(lesser("exec", rule)), code=cli.FAILED).err
    assert re.search(r'(?m)^tfgen: error: mnist-chief-0-\w+: .*pods "mnist-chief-0-\w+" is forbidden: User ', error)
    assert error.endswith("; the account needs the verb get for pods, and the verb create for pods/exec\n")


def test_exec_in_a_task_that_is_not_there_says_which_are(cluster: ControlPlane, job: Path, namespace: str) -> None:
    printed = execute(job, cluster.admin, "--role", "worker", "--index", "2", code=cli.FAILED).err
    there = "chief-0, ps-0, ps-1, worker-0 and worker-1"
    message = f"mnist: worker-2 has no pod in the namespace {namespace}; the run has {there}"
    assert printed == f"tfgen: error: {message}\n"
    printed = execute(job, cluster.admin, "--role", "wrker", code=cli.USAGE).err
    assert "the run does not have this role; the roles are chief, ps, worker and finisher" in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--tty"], "--tty needs --stdin: write -it"),
        (
            ["-it", "--format", "json"],
            "--format json cannot contain the output of a terminal; remove --tty or --format json",
        ),
    ],
)
def test_a_terminal_for_nobody_is_refused(
    cluster: ControlPlane, job: Path, arguments: Sequence[str], message: str
) -> None:
    assert execute(job, cluster.admin, *arguments, code=cli.USAGE).err == f"tfgen: error: {message}\n"


def test_tensorboard_needs_the_role_of_its_page(job: Path, account: Callable[..., Path]) -> None:
    printed = tensorboard(job, account(role("tensorboard")), code=cli.FAILED).err
    assert re.search("dial .* connection refused", printed), "all but a kubelet"


@pytest.mark.parametrize("rule", [0, 1], ids=["pods", "subresource"])
def test_an_account_that_may_forward_nothing_is_told(job: Path, account: Callable[..., Path], rule: int) -> None:
    error = tensorboard(job, account(lesser("tensorboard", rule)), code=cli.FAILED).err
    assert re.match(r'tfgen: error: mnist-tensorboard-\S+: .*pods "mnist-tensorboard-\S+" is forbidden: User ', error)
    assert error.endswith("; the account needs the verb get for pods, and the verb create for pods/portforward\n")


def test_release_by_an_account_that_may_only_look_is_refused(job: Path, account: Callable[..., Path]) -> None:
    printed = tfgen("release", str(job), "--kubeconfig", str(account(role("status"))), code=cli.FAILED).err
    assert re.search(
        r'403: .* cannot get resource "statefulsets"',
        printed,
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--wait", "--dry-run"],
            "--dry-run applies nothing, so --wait has no run to wait for; remove --wait or --dry-run",
        ),
        (["--timeout", "5s"], "--timeout needs --wait"),
    ],
)
def test_a_wait_for_nothing_is_refused(job: Path, arguments: Sequence[str], message: str) -> None:
    assert message in tfgen("apply", str(job), *arguments, code=cli.USAGE).err
