"""A run of a single environment: the overlay changes the objects of the base, and then renames the objects."""

from __future__ import annotations

from itertools import pairwise

import pytest
import yaml

from tests.support.generated import job, saying
from tests.support.rendered import Rendered, assert_outputs_equal
from tfgen.graph.fill import Scope, fill
from tfgen.graph.helper_pods import finisher_config_map

pytestmark = pytest.mark.long

JOB = job(
    roles={"chief": {}, "ps": {"replicas": 2}, "worker": {"replicas": 4, "args": ["a"]}, "evaluator": {}},
    storage={"model": {"mountPath": "/model", "claim": {"size": "1Gi"}}},
    gang={"scheduler": "volcano"},
    tensorboard={"logDir": "/model"},
)
MIRRORED = {
    "strategy": "MultiWorkerMirrored",
    "roles": {"chief": None, "ps": None, "evaluator": None},
    "tensorboard": None,
}

OF_RUN = ["Service mnist", "ConfigMap mnist", "NetworkPolicy mnist", "PodGroup mnist"]
ROLES = ["Job mnist-chief", "StatefulSet mnist-ps", "StatefulSet mnist-worker", "Job mnist-evaluator"]
PROGRAM = fill(finisher_config_map(), Scope({"run": "", "labels": {}, "annotations": {}}, "mnist", "mnist"))[
    "metadata"
]["name"]
FINISHER = [f"{kind} mnist-finisher" for kind in ("ServiceAccount", "Role", "RoleBinding")]
FINISHER += [f"ConfigMap {PROGRAM}", "Job mnist-finisher"]
ALL = [*OF_RUN, *ROLES, *FINISHER]
FILES_OF_FINISHER = [f"finisher-{part}.yaml" for part in ("role", "rolebinding", "serviceaccount")]
FILES_OF_FINISHER += ["files/finisher.py", "finisher.yaml"]
OTHERS = {
    "image": "registry.example.com/mnist:2",
    "env": {"A": "a"},
    "roles": {"ps": {"replicas": 3, "image": "other:1"}, "worker": {"replicas": 8, "args": ["b"]}},
}


def without(*titles):
    return [title for title in ALL if title not in titles]


CASES = {
    # The changes of the job, the environment, the renamed objects, the deleted objects, and the new files.
    "a new run alone": ({}, {"run": "2"}, ALL, [], []),
    "no run where the job has one": (
        {"run": "2"},
        {"run": ""},
        [title.replace("mnist", "mnist-2") for title in ALL],
        [],
        [],
    ),
    "other arguments, replicas and images": ({}, {"run": "2", **OTHERS}, ALL, [], []),
    "no gang and no isolation": (
        {},
        {"run": "2", "gang": {"enabled": False}, "network": {"policy": "Off"}},
        without("PodGroup mnist", "NetworkPolicy mnist"),
        ["NetworkPolicy mnist", "PodGroup mnist", "NetworkPolicy mnist-tensorboard"],
        [],
    ),
    "no finisher": (
        {**MIRRORED, "startDeadline": 60},
        {"run": "2", "startDeadline": 0},
        [*OF_RUN, "Job mnist-worker"],
        FINISHER,
        [],
    ),
    "a new finisher": (
        MIRRORED,
        {"run": "2", "startDeadline": 60},
        [*OF_RUN, "Job mnist-worker", *FINISHER],
        [],
        FILES_OF_FINISHER,
    ),
    "a run with the name of a part of another run": (
        {"network": {"egress": {"limited": True}}},
        {"run": "finisher"},
        without("NetworkPolicy mnist"),
        ["NetworkPolicy mnist"],
        ["finisher-networkpolicy.yaml"],
    ),
    "no label": ({"labels": {"a": "b"}}, {"run": "2", "labels": {"a": None, "c": "null"}}, ALL, [], []),
    "a reference of a user to an object of another environment": (
        {
            "envFrom": [{"configMapRef": {"name": "mnist", "optional": True}}],
            "roles": {"worker": {"serviceAccountName": "mnist-finisher"}},
        },
        {"run": "2"},
        without("ConfigMap mnist", "ServiceAccount mnist-finisher"),
        ["ConfigMap mnist", "ServiceAccount mnist-finisher"],
        ["configmap.yaml", "finisher-serviceaccount.yaml"],
    ),
}


def with_prod(values, prod):
    document = saying(JOB, values)
    return {**document, "spec": {**document["spec"], "environments": {"prod": prod}}}  # with each null


@pytest.mark.parametrize(("values", "prod", "renamed", "deleted", "new"), CASES.values(), ids=CASES)
def test_overlay_renames_the_objects_that_remain(values, prod, renamed, deleted, new, tmp_path):
    folder = assert_outputs_equal(with_prod(values, prod), tmp_path).overlay("prod")
    entries = yaml.safe_load((folder / "kustomization.yaml").read_text(encoding="utf-8"))["patches"]
    texts = [entry.get("patch") or (folder / entry["path"]).read_text(encoding="utf-8") for entry in entries]
    gone = [patch for patch in map(yaml.safe_load, texts) if "$patch" in patch]
    targets = [entry["target"] for entry in entries if "target" in entry]
    assert sorted(f"{target['kind']} {target['name'].strip('^$')}" for target in targets) == sorted(renamed)
    assert [f"{patch['kind']} {patch['metadata']['name']}" for patch in gone] == deleted
    others = files_below(folder).keys() - {"kustomization.yaml", *(entry.get("path") for entry in entries)}
    assert sorted(others) == sorted(new)


def test_new_run_changes_only_the_kustomization(tmp_path):
    """A rerun changes one file of the overlay for the reviewer, also in an environment with its own values."""
    own = {**OTHERS, "labels": {"team": "a"}, "tensorboard": {"enabled": False}, "startDeadline": 60}
    overlays = [
        files_below(Rendered.write(with_prod({}, {**own, "run": run}), tmp_path / f"run-{run}").overlay("prod"))
        for run in ("", "2", "3")
    ]
    for old, new in pairwise(overlays):
        assert {path for path in old.keys() | new.keys() if old.get(path) != new.get(path)} == {"kustomization.yaml"}


def test_patches_of_a_run_omit_the_references_that_kustomize_updates(tmp_path):
    overlay = Rendered.write(with_prod({}, {"run": "2"}), tmp_path).overlay("prod")
    updated = ("serviceName", "configMapKeyRef", "configMap:", "serviceAccountName", "roleRef", "subjects")
    assert [field for field in updated if field in files_below(overlay)["kustomization.yaml"]] == []


def files_below(folder):
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in files}


@pytest.mark.parametrize("name", ["123", "true", "null", "1e3"])
def test_new_name_that_yaml_reads_as_another_type_remains_a_text(name, tmp_path):
    document = job(serviceAccount={}, environments={"dev": {"serviceAccountName": name}})
    assert ("v1", "ServiceAccount", name) in assert_outputs_equal(document, tmp_path).by_kustomize("dev")
    if not name[0].isdigit():
        document = job(name, run="2", environments={"dev": {"run": ""}})
        assert ("v1", "Service", name) in assert_outputs_equal(document, tmp_path / "run").by_kustomize("dev")
