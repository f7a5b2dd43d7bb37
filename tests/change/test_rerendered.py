"""Tests of an upgrade of tfgen for an unchanged job: a committed run cannot apply some changes of the overlays."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from tests.support.command import Command
from tests.support.repository import repository_fixture, run_tfgen, tfgen
from tfgen import __version__

JOB = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  image: mnist:1
  roles: {chief: {}, ps: {replicas: 2}, worker: {replicas: 4}}
  storage:
    model: {mountPath: /model, claim: {size: 20Gi, storageClass: nfs}}
  environments:
    dev: {roles: {worker: {replicas: 1}}}
    prod: {run: b}
"""
PS = "overlays/mnist/base/ps.yaml"
CHIEF = "overlays/mnist/base/chief.yaml"
CLAIM = "overlays/mnist/base/claim-model.yaml"
POLICY = "overlays/mnist/base/networkpolicy.yaml"
OLDER = "0.0.9"
SINCE = f"because the version of tfgen changed from {OLDER} to {__version__}"


@repository_fixture(autouse=True)
def repository() -> None:
    """Return the current folder, with a rendered job and without a commit."""
    Path("job.yaml").write_text(JOB, encoding="utf-8")
    tfgen("render", "job.yaml")


def commit() -> None:
    Command(("git", "add", "--all")).run()
    Command(("git", "commit", "--quiet", "--message=x")).run()


def committed_by_an_older_tfgen(*edits: tuple[str, str, str]) -> None:
    """Commit the tree of an older tfgen. An edit has a path, the text of this version, and the older text."""
    path = Path(".tfgen/mnist.json")
    ledger = json.loads(path.read_text(encoding="utf-8"))
    for name, new, old in edits:
        text = Path(name).read_text(encoding="utf-8")
        assert text.count(new) == 1
        Path(name).write_text(text.replace(new, old), encoding="utf-8")
        ledger["files"][name] = hashlib.sha256(Path(name).read_bytes()).hexdigest()
    path.write_text(json.dumps({**ledger, "tool": OLDER}, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    commit()


def change(old: str, new: str) -> None:
    text = Path("job.yaml").read_text(encoding="utf-8")
    assert text.count(old) == 1
    Path("job.yaml").write_text(text.replace(old, new), encoding="utf-8")


def checked(*command: str) -> list[str]:
    """Return the output of `tfgen check` or of another command."""
    code, out, err = run_tfgen(*(command or ("check", "job.yaml")))
    found = [line for line in (out or err).splitlines() if line.startswith("job.yaml:")]
    assert code == (1 if found else 0), err
    return found


GRACE = (PS, "enableServiceLinks: false", "enableServiceLinks: true")
FIELD = "spec.template.spec.enableServiceLinks was true and is false"
PS_REFUSED = (
    f"job.yaml:3:18: StatefulSet mnist-ps: {FIELD}, {SINCE}: Kubernetes refuses to change the template of the "
    "StatefulSet mnist-ps; for a new run: tfgen rerun job.yaml [new-run]"
)
PROD_REFUSED = (
    f"job.yaml:11:5: StatefulSet mnist-b-ps: {FIELD}, {SINCE}: Kubernetes refuses to change the template of the "
    "StatefulSet mnist-b-ps; for a new run: tfgen rerun job.yaml --env prod [new-run]"
)


def test_a_tree_that_nobody_renders_anew_stays() -> None:
    committed_by_an_older_tfgen(GRACE)
    assert checked() == []


def test_an_upgrade_needs_a_new_run() -> None:
    committed_by_an_older_tfgen(GRACE)
    tfgen("render", "--upgrade", "job.yaml")
    assert checked() == [PS_REFUSED, PROD_REFUSED]
    assert checked("commit", "job.yaml") == [PS_REFUSED, PROD_REFUSED]
    assert Command(("git", "log", "--format=%s")).run() == "x\n"


def test_an_upgrade_with_a_new_run_is_fine() -> None:
    committed_by_an_older_tfgen(GRACE)
    tfgen("rerun", "job.yaml")
    tfgen("rerun", "job.yaml", "--env", "prod")
    tfgen("render", "job.yaml")
    assert checked() == []
    assert checked("commit", "job.yaml") == []


def test_only_the_environment_that_has_no_new_run_is_said() -> None:
    committed_by_an_older_tfgen(GRACE)
    tfgen("rerun", "job.yaml", "--env", "prod")
    tfgen("render", "job.yaml")
    assert checked() == [PS_REFUSED]


def test_a_harmless_change_of_the_job_brings_the_newer_tree_along() -> None:
    """tfgen reports the problems also before the render, because `tfgen commit` would render the job."""
    committed_by_an_older_tfgen(GRACE)
    change("20Gi", "30Gi")
    (first, unrendered, second) = checked()
    assert [first, second] == [PS_REFUSED, PROD_REFUSED]
    assert unrendered.endswith("[not-rendered]")
    assert checked("commit", "job.yaml") == [PS_REFUSED, PROD_REFUSED]


def test_what_the_job_asks_for_is_said_of_the_job_alone() -> None:
    committed_by_an_older_tfgen(GRACE)
    change("ps: {replicas: 2}", "ps: {replicas: 2, command: [run]}")
    tfgen("render", "job.yaml")
    assert ["roles.ps.command" in line for line in checked()] == [True, True]


REFUSED_CHIEF = (
    'job.yaml:{}: Job {}: spec.template.spec.restartPolicy was "OnFailure" and is "Never", '
    f"{SINCE}: Kubernetes refuses to change the template of the Job {{}}; for a new run: tfgen rerun job.yaml{{}} "
    f"[new-run]"
)


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        ((POLICY, "policyTypes", "policyTypes"), []),
        (
            (CLAIM, "storageClassName: nfs", "storageClassName: efs"),
            [
                'job.yaml:3:18: PersistentVolumeClaim mnist-model: spec.storageClassName was "efs" and is "nfs", '
                f"{SINCE}: the claim mnist-model can only grow; for a new claim, rename the volume "
                "[claim-change]",
            ],
        ),
        # An environment with its own run has the objects of the base under other names.
        (
            (CHIEF, "restartPolicy: Never", "restartPolicy: OnFailure"),
            [
                REFUSED_CHIEF.format("3:18", "mnist-chief", "mnist-chief", ""),
                REFUSED_CHIEF.format("11:5", "mnist-b-chief", "mnist-b-chief", " --env prod"),
            ],
        ),
        ((CHIEF, "podReplacementPolicy: Failed", "podReplacementPolicy: TerminatingOrFailed"), []),
    ],
)
def test_an_upgrade_of_one_object(edit: tuple[str, str, str], expected: list[str]) -> None:
    committed_by_an_older_tfgen(edit)
    tfgen("render", "--upgrade", "job.yaml")
    assert checked() == expected


def test_a_tree_of_before_pod_templates_had_a_hash() -> None:
    """The committed tree stays unchanged during its run, because the API server would refuse a new pod template."""
    text = Path(PS).read_text(encoding="utf-8")
    without = "".join(line for line in text.splitlines(keepends=True) if "tfgen/pod-template-hash" not in line)
    committed_by_an_older_tfgen((PS, text, without))
    tfgen("render", "job.yaml")
    assert Path(PS).read_text(encoding="utf-8") == without
    assert checked() == []
    tfgen("render", "--upgrade", "job.yaml")
    assert checked() == [
        'job.yaml:3:18: StatefulSet mnist-ps: spec.selector.matchLabels["tfgen/pod-template-hash"] is new, '
        f"{SINCE}: Kubernetes refuses to change the template of the StatefulSet mnist-ps; for a new run: "
        "tfgen rerun job.yaml [new-run]"
    ]


@pytest.mark.parametrize("are_committed", [True, False])
def test_defaults_that_an_upgrade_lets_in(are_committed: bool) -> None:
    commit()
    Path("tfgen.yaml").write_text("apiVersion: tfgen/v1alpha1\nkind: Defaults\nspec: {env: {A: a}}\n", "utf-8")
    if are_committed:
        commit()
    assert checked() == []
    tfgen("render", "--upgrade", "job.yaml")
    of_job, of_prod = checked()
    assert of_job.startswith("job.yaml:3:18: ")
    assert ".env[A] is new, because the defaults of the job changed: " in of_job
    assert of_prod.endswith("tfgen rerun job.yaml --env prod [new-run]")


def test_a_tree_that_was_committed_without_its_job() -> None:
    commit()
    change("worker: {replicas: 4}", "worker: {replicas: 5}")
    commit()
    (unrendered, found) = sorted(checked(), key=lambda line: "[new-run]" in line)
    assert unrendered.endswith("[not-rendered]")
    assert "the committed files were rendered from a different version of the job: running tasks keep their" in found


def test_another_revision() -> None:
    committed_by_an_older_tfgen(GRACE)
    tfgen("render", "--upgrade", "job.yaml")
    commit()
    assert checked() == []
    assert checked("check", "job.yaml", "--against", "HEAD~1") == [PS_REFUSED, PROD_REFUSED]


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (("kustomization.yaml", "- ../base", "- ../nowhere"), "KeyError('dev/../nowhere')"),
        (
            ("configmap.patch.yaml", "  name: mnist\n", "  name: gone\n"),
            "a patch changes the ConfigMap gone, which the overlay does not have",
        ),
    ],
    ids=["folder", "object"],
)
def test_a_committed_overlay_that_is_none_is_a_note(edit: tuple[str, str, str], reason: str) -> None:
    file, before, after = edit
    committed_by_an_older_tfgen((f"overlays/mnist/dev/{file}", before, after))
    tfgen("render", "--upgrade", "job.yaml")
    printed = tfgen("check", "job.yaml").err
    assert (
        "note: tfgen cannot compare the overlays of mnist with HEAD: dev/kustomization.yaml: not an overlay "
        f"that tfgen wrote ({reason})" in (printed)
    )


OTHER_NAMES = {
    "overlays/mnist/base/worker.yaml": "overlays/mnist/base/statefulset-mnist-worker.yaml",
    "overlays/mnist/dev/configmap.patch.yaml": "overlays/mnist/dev/configmap-mnist.patch.yaml",
    "charts/mnist/templates/finisher-role.yaml": "charts/mnist/templates/rbac.yaml",
}


def rendered_under_other_names() -> None:
    """Commit the tree of an older tfgen, which uses other names for some files."""
    path = Path(".tfgen/mnist.json")
    ledger = json.loads(path.read_text(encoding="utf-8"))
    for name, other in OTHER_NAMES.items():
        kustomization = Path(name).with_name("kustomization.yaml")
        Path(name).rename(other)
        ledger["files"][other] = ledger["files"].pop(name)
        if kustomization.exists():
            text = kustomization.read_text(encoding="utf-8")
            assert Path(name).name in text
            kustomization.write_text(text.replace(Path(name).name, Path(other).name), encoding="utf-8")
            ledger["files"][str(kustomization)] = hashlib.sha256(kustomization.read_bytes()).hexdigest()
    path.write_text(json.dumps({**ledger, "tool": OLDER}, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    commit()


def test_files_of_other_names_go_with_an_upgrade() -> None:
    """An upgrade renames files without a new run, because the objects are equal, and deletes the old files."""
    rendered_under_other_names()
    tfgen("render", "job.yaml")
    assert [Path(other).exists() for other in OTHER_NAMES.values()] == [True] * len(OTHER_NAMES)
    tfgen("render", "--upgrade", "job.yaml")
    assert [Path(other).exists() for other in OTHER_NAMES.values()] == [False] * len(OTHER_NAMES)
    assert [Path(name).exists() for name in OTHER_NAMES] == [True] * len(OTHER_NAMES)
    assert checked() == []
    assert checked("commit", "job.yaml") == []
    renamed = Command(("git", "show", "--find-renames", "--diff-filter=R", "--name-status", "--format=")).run()
    assert {tuple(line.split("\t")[1:]) for line in renamed.splitlines()} == {
        (other, name) for name, other in OTHER_NAMES.items()
    }


def test_an_edited_file_of_another_name_stops_the_upgrade() -> None:
    rendered_under_other_names()
    edited = OTHER_NAMES["overlays/mnist/base/worker.yaml"]
    Path(edited).write_text("# mine\n", encoding="utf-8")
    assert f"{edited}: the file was edited by hand" in tfgen("render", "--upgrade", "job.yaml", code=1).err
    assert not Path("overlays/mnist/base/worker.yaml").exists()


def test_a_job_of_files_of_other_names_is_removed() -> None:
    rendered_under_other_names()
    tfgen("rm", "job.yaml")
    assert [path for path in (*Path("charts").rglob("*"), *Path("overlays").rglob("*")) if path.is_file()] == []
