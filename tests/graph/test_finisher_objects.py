"""The objects of the finisher: one complete example, then the changes by the plan and the values."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from textwrap import dedent
from typing import Any

import pytest
import yaml

from tests.support.api_server import ApiServer, ended, timestamp
from tests.support.finisher import Finisher
from tfgen.graph import programs
from tfgen.graph.fill import Scope
from tfgen.graph.graph import objects as graph_objects
from tfgen.graph.holes import Not, When
from tfgen.graph.objects import naming
from tfgen.graph.objects.finisher import Kind, Plan, finisher
from tfgen.graph.objects.values import value
from tfgen.job.training_job import RoleName, TrainingJob

PROGRAM = programs.file("finisher").text
DIGEST = hashlib.sha256(PROGRAM.encode()).hexdigest()[:8]

JOB = """\
metadata: {name: mnist}
spec:
  run: r2
  image: registry.example.com/ml/mnist:1
  labels: {team: vision}
  tolerations: [{key: nvidia.com/gpu, operator: Exists}]
  roles:
    chief: {}
    ps: {replicas: 2}
    worker: {replicas: 4}
    evaluator: {}
"""
STARTS: tuple[tuple[Kind, RoleName], ...] = (("jobs", "chief"), ("statefulsets", "ps"), ("statefulsets", "worker"))
PLAN = Plan(ends="chief", starts=STARTS, scale=("ps", "worker"), suspend=("evaluator",))

Values = Mapping[str, Any]


def objects(plan: Plan = PLAN, **more: Any) -> list[Any]:
    """Return the objects of the finisher for a job with additional fields of its spec."""
    document = yaml.safe_load(JOB)
    document["spec"] |= more
    job = TrainingJob.from_document(document)
    return [*graph_objects(finisher(job.structure, plan), Scope(job.values, "mnist", "mnist")).values()]


def container(made: list[Any]) -> Any:
    return made[-1]["spec"]["template"]["spec"]["containers"][0]


def test_all_objects_in_the_order_of_their_application():
    expected = f"""\
        apiVersion: v1
        kind: ServiceAccount
        metadata: &metadata
          name: mnist-r2-finisher
          labels: &labels
            app.kubernetes.io/name: mnist
            app.kubernetes.io/instance: mnist
            app.kubernetes.io/managed-by: tfgen
            team: vision
          annotations: {{argocd.argoproj.io/sync-wave: "-1"}}
        automountServiceAccountToken: false
        ---
        apiVersion: rbac.authorization.k8s.io/v1
        kind: Role
        metadata: METADATA
        rules:
        - apiGroups: [batch]
          resources: [jobs]
          resourceNames: [mnist-r2-chief]
          verbs: [get, watch]
        - apiGroups: [batch]
          resources: [jobs]
          resourceNames: [mnist-r2-evaluator]
          verbs: [get, patch]
        - apiGroups: [apps]
          resources: [statefulsets/scale]
          resourceNames: [mnist-r2-ps, mnist-r2-worker]
          verbs: [patch]
        ---
        apiVersion: rbac.authorization.k8s.io/v1
        kind: RoleBinding
        metadata: METADATA
        roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: mnist-r2-finisher}}
        subjects: [{{kind: ServiceAccount, name: mnist-r2-finisher}}]
        ---
        apiVersion: v1
        kind: ConfigMap
        metadata: METADATA-{DIGEST}
        immutable: true
        data: {{finisher.py: PROGRAM}}
        ---
        apiVersion: batch/v1
        kind: Job
        metadata: METADATA
        spec:
          completions: 1
          backoffLimit: 10000
          podReplacementPolicy: Failed
          podFailurePolicy:
            rules: [{{action: Ignore, onPodConditions: [{{type: DisruptionTarget, status: "True"}}]}}]
          template:
            metadata:
              labels:
                tfgen/job: mnist
                tfgen/run: r2
                tfgen/role: finisher
                app.kubernetes.io/name: mnist
                app.kubernetes.io/instance: mnist
                app.kubernetes.io/component: finisher
                sidecar.istio.io/inject: "false"
                team: vision
              annotations: {{linkerd.io/inject: disabled}}
            spec:
              serviceAccountName: mnist-r2-finisher
              automountServiceAccountToken: true
              enableServiceLinks: false
              restartPolicy: Never
              securityContext:
                runAsNonRoot: true
                runAsUser: 1000
                runAsGroup: 1000
                fsGroup: 1000
                fsGroupChangePolicy: OnRootMismatch
                seccompProfile: {{type: RuntimeDefault}}
              tolerations: [{{key: nvidia.com/gpu, operator: Exists}}]
              containers:
              - name: finisher
                image: registry.example.com/ml/mnist:1
                command: [python3, -I, -u, /finisher/finisher.py]
                args:
                - --ends=mnist-r2-chief
                - --scale=statefulsets/mnist-r2-ps
                - --scale=statefulsets/mnist-r2-worker
                - --suspend=mnist-r2-evaluator
                - --grace-for=mnist-r2-evaluator=300
                - --on-failure=Release
                env: [{{name: NVIDIA_VISIBLE_DEVICES, value: void}}]
                resources: {{requests: {{cpu: 100m, memory: 128Mi}}, limits: {{cpu: 100m, memory: 128Mi}}}}
                securityContext:
                  allowPrivilegeEscalation: false
                  readOnlyRootFilesystem: true
                  capabilities: {{drop: [ALL]}}
                volumeMounts: [{{name: finisher, mountPath: /finisher, readOnly: true}}]
              volumes: [{{name: finisher, configMap: {{name: mnist-r2-finisher-{DIGEST}}}}}]
        """
    account, *others = yaml.safe_load_all(dedent(expected))
    for item in others:
        suffix = item["metadata"].removeprefix("METADATA")
        item["metadata"] = {**account["metadata"], "name": f"mnist-r2-finisher{suffix}"}
        if item["kind"] == "ConfigMap":
            item["data"] = {"finisher.py": PROGRAM}
    del others[-1]["metadata"]["annotations"]  # the Job itself is applied together with the pods
    template = others[-1]["spec"]["template"]
    text = json.dumps(template, sort_keys=True, separators=(",", ":"))
    template["metadata"]["labels"]["tfgen/pod-template-hash"] = hashlib.sha256(text.encode()).hexdigest()[:12]
    assert objects() == [account, *others]


def test_the_image_is_the_one_that_is_named_or_else_that_of_the_role_that_ends():
    chief = {"chief": {"image": "chief:1", "imagePullPolicy": "Always"}}
    assert container(objects(roles=chief))["image"] == "chief:1"
    assert container(objects(roles=chief))["imagePullPolicy"] == "Always"
    assert container(objects(roles=chief, completion={"image": "python:3"}))["image"] == "python:3"


IMAGES = {
    "all have one": ({}, "job:1"),
    "the chief has its own": ({"chief": "chief:1"}, "job:1"),
    "the chief has the ps's": ({"chief": "a:1", "ps": "a:1", "worker": "b:1"}, "a:1"),
    "the chief has the worker's": ({"chief": "a:1", "ps": "b:1", "worker": "a:1"}, "a:1"),
    "each has its own": ({"chief": "a:1", "ps": "b:1", "worker": "c:1"}, "b:1"),
}


@pytest.mark.parametrize(("images", "expected"), IMAGES.values(), ids=IMAGES)
def test_where_the_start_has_a_deadline_no_role_s_image_alone_keeps_the_others(images, expected):
    """If two roles share an image, the finisher uses this image, because the image of one role may not be pullable."""
    roles = {name: {"image": images[name]} if name in images else {} for name in ("chief", "ps", "worker")}
    with_deadline = container(objects(image="job:1", roles=roles, startDeadline=60))
    assert with_deadline["image"] == expected
    # Without a start deadline, the finisher has no work before the image of the chief has run.
    assert container(objects(image="job:1", roles=roles))["image"] == images.get("chief", "job:1")
    named = {"image": "python:3"}
    assert container(objects(image="job:1", roles=roles, startDeadline=60, completion=named))["image"] == "python:3"


def test_an_image_of_its_own_is_pulled_as_the_job_says_and_not_as_a_role_says_of_its_own():
    roles = {"chief": {"image": "chief:1", "imagePullPolicy": "Never"}}
    own = {"completion": {"image": "python:3.12"}}
    assert "imagePullPolicy" not in container(objects(roles=roles, **own))
    assert container(objects(roles=roles, imagePullPolicy="Always", **own))["imagePullPolicy"] == "Always"


def test_the_pull_policy_is_that_of_the_role_whose_image_it_is():
    roles = {"chief": {"image": "chief:1", "imagePullPolicy": "Always"}, "ps": {"imagePullPolicy": "Never"}}
    assert container(objects(roles=roles, startDeadline=60))["imagePullPolicy"] == "Never"


def test_a_gang_that_may_begin_with_less_is_told_with_how_many():
    plan = PLAN.replaced(start_with=When(value("gang.minAvailable"), value("gang.minAvailable")))
    gang = {"scheduler": "volcano", "minAvailable": 4}
    assert "--start-with=4" in container(objects(plan, gang=gang, startDeadline=60))["args"]
    for more in ({"gang": gang}, {"gang": {"scheduler": "volcano"}, "startDeadline": 60}):
        assert "--start-with=4" not in container(objects(plan, **more))["args"]


def test_it_goes_where_the_image_runs_and_is_no_less_than_the_training():
    selector = {"kubernetes.io/arch": "arm64"}
    pod = objects(nodeSelector=selector, priorityClassName="research", imagePullSecrets=[{"name": "hub"}])[-1]
    spec = pod["spec"]["template"]["spec"]
    assert [spec["nodeSelector"], spec["priorityClassName"], spec["imagePullSecrets"]] == [
        selector,
        "research",
        [{"name": "hub"}],
    ]


@pytest.mark.parametrize("gang", [{}, {"gang": {"scheduler": "volcano", "queue": "research"}}])
def test_it_is_in_no_gang_and_can_be_evicted(gang):
    template = objects(**gang)[-1]["spec"]["template"]
    assert "schedulerName" not in template["spec"]
    assert template["metadata"]["annotations"] == {"linkerd.io/inject": "disabled"}


@pytest.mark.parametrize("profile", ["restricted", "baseline", "privileged"])
def test_it_meets_the_profile_of_the_job(profile):
    pod = objects(security={"profile": profile})[-1]["spec"]["template"]["spec"]
    assert pod["securityContext"].get("runAsNonRoot", False) == (profile == "restricted")
    assert ("capabilities" in pod["containers"][0]["securityContext"]) == (profile == "restricted")


def test_a_chart_s_user_may_tune_the_completion():
    args = container(objects(completion={"onFailure": "Keep", "evaluatorGrace": 0}, startDeadline=3600))["args"]
    assert args[-6:] == [
        "--grace-for=mnist-r2-evaluator=0",
        "--on-failure=Keep",
        "--starts=jobs/mnist-r2-chief",
        "--starts=statefulsets/mnist-r2-ps",
        "--starts=statefulsets/mnist-r2-worker",
        "--start-deadline=3600",
    ]


def test_the_amounts_are_the_helpers_and_each_may_be_set():
    amounts = {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"cpu": 1, "memory": "256Mi"}}
    expected = {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"cpu": "1", "memory": "256Mi"}}
    assert container(objects(helpers={"resources": amounts}))["resources"] == expected


def test_a_deployment_that_only_some_values_have_is_in_no_rule_and_no_argument_elsewhere():
    plan = Plan("worker", deployments=(When(Not(value("network.policy")), naming.JOB), naming.RELEASE))
    _, role, _, _, job = objects(plan)
    assert role["rules"] == [
        {
            "apiGroups": ["batch"],
            "resources": ["jobs"],
            "resourceNames": ["mnist-r2-worker"],
            "verbs": ["get", "watch"],
        },
        {"apiGroups": ["apps"], "resources": ["deployments/scale"], "resourceNames": ["mnist"], "verbs": ["patch"]},
    ]
    assert job["spec"]["template"]["spec"]["containers"][0]["args"] == [
        "--ends=mnist-r2-worker",
        "--scale=deployments/mnist",
        "--on-failure=Release",
    ]


def test_the_graph_does_not_see_the_values():
    def graph(**more: Any) -> Any:
        document = yaml.safe_load(JOB)
        document["spec"] |= more
        return finisher(TrainingJob.from_document(document).structure, PLAN)

    assert graph() == graph(run="r3", startDeadline=60, completion={"image": "python:3", "onFailure": "Keep"})


ALL_READY = {"ready": 1, "readyReplicas": 4}


@pytest.fixture
def server() -> Iterator[ApiServer]:
    with ApiServer() as server:
        server.put("statefulsets/mnist-r2-ps", {"spec": {"replicas": 2}})
        server.put("statefulsets/mnist-r2-worker", {"spec": {"replicas": 4}})
        server.put("jobs/mnist-r2-evaluator", {"status": {"active": 1}})
        server.put("deployments/mnist", {"spec": {"replicas": 1}})
        yield server


# The clock of the finisher is 50 times faster, so the deadline is 12 minutes of real time.
@pytest.mark.parametrize("deadline", [0, 36000])
def test_the_role_allows_what_the_program_does_with_its_arguments_and_nothing_else(server, tmp_path, deadline):
    made = objects(PLAN.replaced(deployments=(naming.JOB,)), startDeadline=deadline)
    granted = {
        (verb, rule["resources"][0], name)
        for rule in made[1]["rules"]
        for verb in rule["verbs"]
        for name in rule["resourceNames"]
    }
    used = set()

    def allows(verb: str, resource: str, name: str) -> bool:
        used.add((verb, resource, name))
        return (verb, resource, name) in granted

    server.allows = allows
    server.put("jobs/mnist-r2-chief", {"status": {"active": 1}, "metadata": {"creationTimestamp": timestamp(30)}})
    args = [arg.replace("=300", "=0") for arg in container(made)["args"]]
    with Finisher(server, tmp_path / "log", *args) as finisher:
        server.wait_for("watch jobs/mnist-r2-chief")
        for kind, name in STARTS if deadline else ():
            server.put(f"{kind}/mnist-r2-{name}", {**server.get(f"{kind}/mnist-r2-{name}"), "status": ALL_READY})
        status = ALL_READY if deadline else ended("Complete")
        server.put("jobs/mnist-r2-chief", {**server.get("jobs/mnist-r2-chief"), "status": status})
        if deadline:
            finisher.wait_for_log("has started")
            server.put("jobs/mnist-r2-chief", {"status": ended("Complete")})
        assert finisher.end() == 0, finisher.log
    assert used == granted


def test_the_command_finds_the_program_in_the_image(tmp_path):
    """Run the command of the container in a folder with a module `json.py`, a name that the program imports."""
    file = tmp_path / "finisher.py"
    file.write_text(objects()[3]["data"]["finisher.py"])
    (tmp_path / "json.py").write_text("raise SystemExit('this is no json')")
    command = [part.replace("/finisher/finisher.py", str(file)) for part in container(objects())["command"]]
    assert command[0] == "python3"
    ran = subprocess.run([sys.executable, *command[1:], "--help"], cwd=tmp_path, capture_output=True, text=True)
    assert ran.stdout.startswith("usage: finisher.py")


# -- the webhook -------------------------------------------------------------------------------------------------

NOTIFY = {"completion": {"notify": {"secretKeyRef": {"name": "hook"}}}}


def test_the_address_of_the_webhook_is_a_secrets_that_may_be_missing() -> None:
    told = objects(**NOTIFY)
    (finisher_job,) = (item for item in told if item["kind"] == "Job")
    (finisher_container,) = finisher_job["spec"]["template"]["spec"]["containers"]
    assert finisher_container["env"][1:] == [
        {
            "name": "NOTIFY_ADDRESS",
            "valueFrom": {"secretKeyRef": {"name": "hook", "key": "address", "optional": True}},
        }
    ]
    assert finisher_container["args"][-2:] == ["--job=mnist", "--run=r2"]


def test_the_webhook_is_reached_where_egress_is_limited() -> None:
    webhook = {"ports": [{"port": 80, "protocol": "TCP"}, {"port": 443, "protocol": "TCP"}]}
    for rules in ([], [{"ports": [{"port": 6443}]}]):
        egress = {"network": {"egress": {"limited": True, "apiServer": rules}}}
        policy = objects(**NOTIFY, **egress)[-1]
        assert policy["spec"]["egress"] == [*rules, webhook]
        assert objects(**egress)[-1]["kind"] == ("NetworkPolicy" if rules else "Job")
