"""Tests of the whole message for each change of a committed job."""

from __future__ import annotations

from functools import cache

import pytest

from tests.support.runs import CASES, CHIEF, CHIEF_B, CLUSTER, JOB, OBJECT_CASES, OBJECTS, runs
from tfgen.change import new_run
from tfgen.change.new_run import find_new_runs
from tfgen.check.jobs import check
from tfgen.report.problems import as_text
from tfgen.text.document import Document


@cache
def document(text: str) -> Document:
    checked = check(text, "job.yaml")
    assert as_text(checked.problems) == ""
    (found,) = checked.documents
    return found


def said(before: str, after: str) -> str:
    return as_text(find_new_runs(document(before), document(after)))


@pytest.mark.parametrize(("old", "new", "expected"), CASES.values(), ids=CASES)
def test_a_change(old: str, new: str, expected: str) -> None:
    assert JOB.count(old) == 1 or old == new
    assert said(JOB, JOB.replace(old, new)) == "".join(sorted(expected.splitlines(keepends=True), key=position))


@pytest.mark.parametrize(("old", "new", "expected"), OBJECT_CASES.values(), ids=OBJECT_CASES)
def test_a_change_of_an_object_of_the_job(old: str, new: str, expected: str) -> None:
    """A new run does not help: the object belongs to the job."""
    assert OBJECTS.count(old) == 1
    assert said(OBJECTS, OBJECTS.replace(old, new)) == expected
    other_run = OBJECTS.replace(old, new).replace("image: mnist:1", 'image: mnist:1\n  run: "2"')
    assert [line.partition(" ")[2] for line in said(OBJECTS, other_run).splitlines()] == [
        line.partition(" ")[2] for line in expected.splitlines()
    ]


def position(line: str) -> tuple[int, int, str]:
    _, row, column, message = line.split(":", 3)
    return int(row), int(column), message.rpartition(" [")[0]


MIRRORED = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  strategy: MultiWorkerMirrored
  image: mnist:1
  retries: 5
  roles: {worker: {replicas: 4}}
"""


def test_retries_by_index_cannot_change() -> None:
    assert said(MIRRORED, MIRRORED.replace("5", "6")) == runs(
        "7:12",
        "retries was 5 and is 6",
        "Kubernetes refuses to change the backoffLimitPerIndex of the Job mnist-worker",
    )


def test_exit_codes_that_cost_no_retry_cannot_change() -> None:
    first, second = (
        MIRRORED.replace("  retries: 5", f"  restart: {{ignoreExitCodes: [{codes}]}}") for codes in ("42", "42, 143")
    )
    why = "Kubernetes refuses to change the podFailurePolicy of the Job mnist-worker"
    assert said(first, second) == runs("7:13", "restart.ignoreExitCodes changed", why)


def test_the_size_of_a_cluster_of_jobs_cannot_change() -> None:
    assert said(MIRRORED, MIRRORED.replace("4", "5")) == runs("8:30", "roles.worker.replicas was 4 and is 5", CLUSTER)


@pytest.mark.parametrize(("scheduler", "is_fixed"), [("kubernetes", True), ("volcano", False)])
def test_the_gang_of_kubernetes_cannot_change(scheduler: str, is_fixed: bool) -> None:
    text = f"{MIRRORED}  gang: {{scheduler: {scheduler}, priorityClassName: low}}\n"
    (before,), (after,) = (check(each, "job.yaml").documents for each in (text, text.replace("low", "high")))
    why = "Kubernetes refuses to change the spec of the PodGroup mnist"
    change = 'gang.priorityClassName was "low" and is "high"'
    column = text.splitlines()[-1].index("low") + 1
    assert as_text(find_new_runs(before, after)) == (runs(f"9:{column}", change, why) if is_fixed else "")


def test_the_command_is_one_for_a_shell() -> None:
    before, after = (check(MIRRORED.replace("4", size), "my job.yaml").documents[0] for size in "45")
    assert "tfgen rerun 'my job.yaml' [new-run]" in as_text(find_new_runs(before, after))


def test_more_changes_than_are_tried_are_still_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(new_run, "MOST", 1)
    before = MIRRORED.replace("  strategy", "  network: {policy: 'Off'}\n  strategy")
    assert said(before, MIRRORED.replace("mnist:1", "mnist:2")) == runs(
        "4:1", "spec changed", "Kubernetes refuses to change the template of the Job mnist-worker"
    )


OVERRIDDEN = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  strategy: Single
  image: mnist:1
  roles: {chief: {}}
  environments:
    dev: {image: mnist:dev}
    prod: {image: mnist:prod, run: b}
"""


def test_what_every_environment_says_for_itself_may_change() -> None:
    assert said(OVERRIDDEN, OVERRIDDEN.replace("mnist:1", "mnist:2")) == ""


def test_a_variable_goes_with_the_null_that_removed_it_in_an_environment() -> None:
    """Without the variable in the job, the null in the environment would remove nothing."""
    before = JOB.replace("dev: {", "dev: {env: {DATA: null}, ")
    after = JOB.replace("  env: {DATA: /data}\n", "")
    assert said(before, after) == (runs("4:1", "env.DATA was removed", CHIEF_B, "--env prod"))


def test_a_job_that_had_no_environments_ran_by_itself() -> None:
    before = OVERRIDDEN[: OVERRIDDEN.index("  environments:")]
    assert said(before, OVERRIDDEN.replace("mnist:1", "mnist:2")) == runs(
        "6:10", 'image was "mnist:1" and is "mnist:2"', CHIEF
    )


CLASS = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  strategy: Single
  image: mnist:1
  roles: {chief: {}}
  priorityClasses:
    training: {value: 1000, description: Training, preemptionPolicy: Never}
"""


@pytest.mark.parametrize(
    ("old", "new", "place", "change", "field"),
    [
        ("1000", "2000", "9:23", "value was 1000 and is 2000", "value"),
        (
            "Never",
            "PreemptLowerPriority",
            "9:70",
            'preemptionPolicy was "Never" and is "PreemptLowerPriority"',
            "preemptionPolicy",
        ),
    ],
)
def test_a_priority_class_never_changes(old: str, new: str, place: str, change: str, field: str) -> None:
    """A new run does not help: the class belongs to the cluster."""
    after = CLASS.replace(old, new).replace("  image", "  run: '2'\n  image")
    line, column = place.split(":")
    assert said(CLASS, after) == (
        f"job.yaml:{int(line) + 1}:{column}: priorityClasses.training.{change}: Kubernetes refuses to change the "
        f"{field} of the PriorityClass training; for a new class, rename the class "
        "[priority-class-change]\n"
    )


def test_a_priority_class_may_be_told_of_in_other_words() -> None:
    assert said(CLASS, CLASS.replace("description: Training", "description: For training")) == ""


def test_each_change_is_tried_alone_be_it_half_of_one() -> None:
    """A rule refuses pods of two roles, but the jobs that tfgen tries for a single change need not be valid."""
    head = "apiVersion: tfgen/v1alpha1\nkind: TrainingJob\nmetadata: {name: mnist}\nspec:\n  image: mnist:1\n"
    before = f"{head}  roles: {{ps: {{}}, worker: {{}}}}\n  completion: {{by: AllWorkers}}\n  workload: {{kind: Job}}\n"
    after = f"{head}  roles: {{chief: {{}}}}\n  strategy: Single\n  workload: {{kind: Pod}}\n"
    lines = said(before, after).splitlines()
    assert lines
    assert {line.rpartition(" ")[2] for line in lines} == {"[new-run]"}


PATCHED = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  image: mnist:1
  roles: {chief: {}, ps: {}, worker: {}}
  patches:
    settle: {target: {kind: StatefulSet, name: worker}, merge: {spec: {minReadySeconds: 10}}}
    again: {target: {kind: Job, name: chief}, merge: {spec: {backoffLimitPerIndex: 1}}}
  environments:
    dev: {}
    prod:
      patches:
        settle: {target: {kind: StatefulSet, name: worker}, merge: {spec: {minReadySeconds: 30}}}
        again: {target: {kind: Job, name: chief}, merge: {spec: {backoffLimitPerIndex: 2}}}
"""


def test_what_a_controller_heeds_in_a_patch_may_change() -> None:
    """ValidateStatefulSetUpdate in pkg/apis/apps/validation accepts the fields, and the controller reads them."""
    assert said(PATCHED, PATCHED.replace(" 10}", " 20, revisionHistoryLimit: 3}").replace(" 30}", " 40}")) == ""


def test_a_patch_of_an_environment_is_told_with_what_it_says_there() -> None:
    assert said(PATCHED, PATCHED.replace("PerIndex: 2", "PerIndex: 3")) == (
        "job.yaml:15:88: patches.again.merge.spec.backoffLimitPerIndex was 2 and is 3: "
        "Kubernetes refuses to change the backoffLimitPerIndex of the Job mnist-chief; "
        "for a new run: tfgen rerun job.yaml --env prod [new-run]\n"
    )
