"""The objects of the finisher: their changes by the plan and the values. tests/golden has the complete objects."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.api_server import ApiServer, ended, timestamp
from tests.support.finisher import Finisher
from tests.support.objects import container, job_with
from tfgen.graph import naming
from tfgen.graph.fill import Scope
from tfgen.graph.graph import objects as graph_objects
from tfgen.graph.helper_pods import FinisherPlan, finisher
from tfgen.graph.holes import Not, When
from tfgen.graph.naming import value
from tfgen.job.training_job import TrainingJob

SPEC = {
    "run": "r2",
    "roles": {"chief": {}, "ps": {"replicas": 2}, "worker": {"replicas": 4}, "evaluator": {}},
}
STARTS = (("jobs", "chief"), ("statefulsets", "ps"), ("statefulsets", "worker"))
PLAN = FinisherPlan(ends="chief", starts=STARTS, scale=("ps", "worker"), suspend=("evaluator",))
BOARD = When(value("network.policy"), naming.JOB)
COMPLETE = ["--ends=mnist-r2-chief", "--scale=statefulsets/mnist-r2-ps", "--scale=statefulsets/mnist-r2-worker"]
COMPLETE += ["--suspend=mnist-r2-evaluator"]


def objects(plan=PLAN, **more):
    """Return the objects of the finisher for a job with additional fields of its spec."""
    job = TrainingJob.from_document(job_with({**SPEC, **more}))
    return [*graph_objects(finisher(job.structure, plan), Scope(job.values, "mnist", "mnist")).values()]


def template(plan=PLAN, **more):
    (job,) = (item for item in objects(plan, **more) if item["kind"] == "Job")
    return job["spec"]["template"]


def program(plan=PLAN, **more):
    return container(template(plan, **more), "finisher")


def test_objects_are_in_the_order_of_their_application():
    made = objects()
    assert [item["kind"] for item in made] == ["ServiceAccount", "Role", "RoleBinding", "ConfigMap", "Job"]
    waves = [item["metadata"].get("annotations", {}).get("argocd.argoproj.io/sync-wave") for item in made]
    assert waves == ["-1"] * 4 + [None], "the Job is applied together with the pods"


OWN = {"image": "python:3.12"}


@pytest.mark.parametrize(
    ("images", "with_deadline"),
    [
        ({}, "job:1"),
        ({"chief": "chief:1"}, "job:1"),
        ({"chief": "a:1", "ps": "a:1", "worker": "b:1"}, "a:1"),
        ({"chief": "a:1", "ps": "b:1", "worker": "a:1"}, "a:1"),
        ({"chief": "a:1", "ps": "b:1", "worker": "c:1"}, "b:1"),
    ],
    ids=str,
)
def test_image_is_that_of_the_role_that_ends_or_one_that_two_roles_share(images, with_deadline):
    """With a start deadline, the image of one role may not be pullable.

    Without one, the finisher has no work before the image of the chief has run.
    """
    roles = {name: {"image": images[name]} if name in images else {} for name in ("chief", "ps", "worker")}
    assert program(image="job:1", roles=roles, startDeadline=60)["image"] == with_deadline
    assert program(image="job:1", roles=roles)["image"] == images.get("chief", "job:1")
    for deadline in (0, 60):
        assert program(image="job:1", roles=roles, startDeadline=deadline, completion=OWN)["image"] == OWN["image"]


def test_pull_policy_is_that_of_the_role_of_the_image_or_of_the_job():
    roles = {"chief": {"image": "chief:1", "imagePullPolicy": "Always"}, "ps": {"imagePullPolicy": "Never"}}
    assert program(roles=roles)["imagePullPolicy"] == "Always"
    assert program(roles=roles, startDeadline=60)["imagePullPolicy"] == "Never"
    assert "imagePullPolicy" not in program(roles=roles, completion=OWN)
    assert program(roles=roles, imagePullPolicy="IfNotPresent", completion=OWN)["imagePullPolicy"] == "IfNotPresent"


def test_partial_gang_is_an_argument_with_a_start_deadline():
    plan = PLAN.replaced(start_with=When(value("gang.minAvailable"), value("gang.minAvailable")))
    gang = {"scheduler": "volcano", "minAvailable": 4}
    assert "--start-with=4" in program(plan, gang=gang, startDeadline=60)["args"]
    for more in ({"gang": gang}, {"gang": {"scheduler": "volcano"}, "startDeadline": 60}):
        assert "--start-with=4" not in program(plan, **more)["args"]


@pytest.mark.parametrize("gang", [{}, {"gang": {"scheduler": "volcano", "queue": "research"}}])
def test_pod_runs_where_the_image_runs_and_is_in_no_gang(gang):
    placed = {
        "nodeSelector": {"kubernetes.io/arch": "arm64"},
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
        "priorityClassName": "research",
        "imagePullSecrets": [{"name": "hub"}],
    }
    pod = template(**placed, **gang)
    assert {key: pod["spec"][key] for key in placed} == placed
    assert "schedulerName" not in pod["spec"]
    assert pod["metadata"]["annotations"] == {"linkerd.io/inject": "disabled"}


@pytest.mark.parametrize("profile", ["restricted", "baseline", "privileged"])
def test_pod_meets_the_profile_of_the_job(profile):
    pod = template(security={"profile": profile})["spec"]
    assert pod["securityContext"].get("runAsNonRoot", False) == (profile == "restricted")
    assert ("capabilities" in pod["containers"][0]["securityContext"]) == (profile == "restricted")


@pytest.mark.parametrize(
    ("more", "args"),
    [
        ({}, [*COMPLETE, "--grace-for=mnist-r2-evaluator=300", "--on-failure=Release"]),
        (
            {"completion": {"onFailure": "Keep", "evaluatorGrace": 0}, "startDeadline": 3600},
            [
                *COMPLETE,
                "--grace-for=mnist-r2-evaluator=0",
                "--on-failure=Keep",
                "--starts=jobs/mnist-r2-chief",
                "--starts=statefulsets/mnist-r2-ps",
                "--starts=statefulsets/mnist-r2-worker",
                "--start-deadline=3600",
            ],
        ),
    ],
)
def test_values_of_the_completion_are_arguments(more, args):
    assert program(**more)["args"] == args


@pytest.mark.parametrize("is_there", [True, False])
def test_deployment_that_only_some_values_have_has_a_rule_and_an_argument_only_there(is_there):
    plan = FinisherPlan("worker", board=BOARD if is_there else When(Not(value("network.policy")), naming.JOB))
    ends = {"apiGroups": ["batch"], "resources": ["jobs"], "resourceNames": ["mnist-r2-worker"]}
    scales = {"apiGroups": ["apps"], "resources": ["deployments/scale"], "resourceNames": ["mnist"]}
    rules = [{**ends, "verbs": ["get"]}, {**scales, "verbs": ["patch"]}]
    assert objects(plan)[1]["rules"] == rules[: 1 + is_there]
    board = ["--scale=deployments/mnist"] if is_there else []
    assert program(plan)["args"] == ["--ends=mnist-r2-worker", *board, "--on-failure=Release"]


def test_graph_does_not_depend_on_the_values():
    def graph(**more):
        return finisher(TrainingJob.from_document(job_with({**SPEC, **more})).structure, PLAN)

    assert graph() == graph(run="r3", startDeadline=60, completion={"image": "python:3", "onFailure": "Keep"})


ALL_READY = {"ready": 1, "readyReplicas": 4}


# The clock of the finisher is 50 times faster, so the deadline is 12 minutes of real time.
@pytest.mark.parametrize("deadline", [0, 36000])
def test_role_allows_exactly_the_requests_of_the_program_with_its_arguments(tmp_path, deadline):
    made = objects(PLAN.replaced(board=BOARD), startDeadline=deadline)
    granted = {
        (verb, rule["resources"][0], name)
        for rule in made[1]["rules"]
        for verb in rule["verbs"]
        for name in rule["resourceNames"]
    }
    used = set()

    def allows(*request):
        used.add(request)
        return request in granted

    args = [arg.replace("=300", "=0") for arg in program(PLAN.replaced(board=BOARD), startDeadline=deadline)["args"]]
    with ApiServer() as server:
        server.put("statefulsets/mnist-r2-ps", {"spec": {"replicas": 2}})
        server.put("statefulsets/mnist-r2-worker", {"spec": {"replicas": 4}})
        server.put("jobs/mnist-r2-evaluator", {"status": {"active": 1}})
        server.put("deployments/mnist", {"spec": {"replicas": 1}})
        server.put("jobs/mnist-r2-chief", {"status": {"active": 1}, "metadata": {"creationTimestamp": timestamp(30)}})
        server.allows = allows
        with Finisher(server, tmp_path / "log", *args) as process:
            server.wait_for("get jobs/mnist-r2-chief")
            for kind, name in STARTS if deadline else ():
                server.put(f"{kind}/mnist-r2-{name}", {**server.get(f"{kind}/mnist-r2-{name}"), "status": ALL_READY})
            status = ALL_READY if deadline else ended("Complete")
            server.put("jobs/mnist-r2-chief", {**server.get("jobs/mnist-r2-chief"), "status": status})
            if deadline:
                process.wait_for_log("has started")
                server.put("jobs/mnist-r2-chief", {"status": ended("Complete")})
            assert process.end() == 0, process.log
    assert used == granted


def test_command_finds_the_program_in_the_image(tmp_path):
    """Run the command of the container in a folder with a module `json.py`, a name that the program imports."""
    file = tmp_path / "finisher.py"
    file.write_text(objects()[3]["data"]["finisher.py"])
    (tmp_path / "json.py").write_text("raise SystemExit('this is no json')")
    command = [part.replace("/finisher/finisher.py", str(file)) for part in program()["command"]]
    assert command[0] == "python3"
    ran = subprocess.run([sys.executable, *command[1:], "--help"], cwd=tmp_path, capture_output=True, text=True)
    assert ran.stdout.startswith("usage: finisher.py")


NOTIFY = {"completion": {"notify": {"secretKeyRef": {"name": "hook"}}}}


def test_address_of_the_webhook_is_a_secret_that_may_be_missing():
    reference = {"secretKeyRef": {"name": "hook", "key": "address", "optional": True}}
    assert program(**NOTIFY)["env"][1:] == [{"name": "NOTIFY_ADDRESS", "valueFrom": reference}]
    assert program(**NOTIFY)["args"][-2:] == ["--job=mnist", "--run=r2"]


def test_policy_allows_the_webhook_where_egress_is_limited():
    webhook = {"ports": [{"port": 80, "protocol": "TCP"}, {"port": 443, "protocol": "TCP"}]}
    for rules in ([], [{"ports": [{"port": 6443}]}]):
        egress = {"network": {"egress": {"limited": True, "apiServer": rules}}}
        assert objects(**NOTIFY, **egress)[-1]["spec"]["egress"] == [*rules, webhook]
        assert objects(**egress)[-1]["kind"] == ("NetworkPolicy" if rules else "Job")
