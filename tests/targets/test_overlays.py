"""The files of a job's base and overlays, and their contents."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.generated import job
from tests.support.tools import ROOT
from tfgen.graph import programs
from tfgen.graph.graph import plain_objects
from tfgen.targets.kustomize.overlays import build_objects
from tfgen.targets.render import render

EVERYTHING = ROOT / "tests" / "golden" / "everything" / "job.yaml"


def files(document: Any, *environments: str) -> Mapping[str, str]:
    """Return the files of a job in overlays/, or of some of its environments."""
    folder = f"overlays/{document['metadata']['name']}/"
    tree = render(document).tree.files
    paths = {path.removeprefix(folder): text for path, text in tree.items() if path.startswith(folder)}
    return {path: text for path, text in paths.items() if not environments or path.split("/")[0] in environments}


def everything(**spec: Any) -> Any:
    document = yaml.safe_load(EVERYTHING.read_text(encoding="utf-8"))
    return {**document, "spec": {**document["spec"], **spec}}


@pytest.mark.parametrize("name", ["all", "a-much-longer-name"])
def test_new_run_or_name_renames_no_file(name: str) -> None:
    document = everything(run="another")
    assert files({**document, "metadata": {"name": name}}).keys() == files(everything()).keys()


@pytest.mark.parametrize("field", ["labels", "annotations"])
def test_program_is_an_object_if_a_key_looks_like_a_number(field: str) -> None:
    base = files(everything(**{field: {"1e3": "x"}}), "base")
    kustomization = yaml.safe_load(base["base/kustomization.yaml"])
    assert "configMapGenerator" not in kustomization
    assert yaml.safe_load(base["base/finisher-configmap.yaml"])["metadata"][field]["1e3"] == "x"


WORKERS = {"strategy": "MultiWorkerMirrored", "roles": {"worker": {}}}
PROGRAM = Path(programs.__file__).with_name("finisher.py")


KEEP = {"completion": {"release": "Keep"}}


@pytest.mark.parametrize(
    ("spec", "folders"),
    [
        pytest.param({}, ["charts/mnist", "overlays/mnist/base"], id="released"),
        # A value of the chart can set a deadline or a webhook, also with `release: Keep`.
        pytest.param(KEEP, ["charts/mnist"], id="kept"),
        pytest.param({**KEEP, "startDeadline": 60}, ["charts/mnist", "overlays/mnist/base"], id="kept-with-a-deadline"),
        *(pytest.param({"workload": {"kind": kind}}, [], id=kind) for kind in ("TFJob", "VolcanoJob", "JobSet", "Pod")),
    ],
)
def test_finisher_is_a_file_only_if_it_can_be_rendered(spec: Mapping[str, Any], folders: list[str]) -> None:
    tree = render(job(**spec)).tree.files
    paths = [path for path in sorted(tree) if path.endswith("finisher.py")]
    assert paths == [f"{each}/files/finisher.py" for each in folders]
    templates = [text for path, text in tree.items() if path.startswith("charts/mnist/templates/")]
    assert any("files/finisher.py" in text for text in templates) == bool(folders)


def test_new_program_of_an_environment_is_its_own_file() -> None:
    """An environment reads a new program from its own folder, and patches the ConfigMaps that the base generates."""
    document = job(**WORKERS, environments={"prod": {"startDeadline": 60}})
    written = files(document)
    assert "base/files/finisher.py" not in written
    assert written["prod/files/finisher.py"] == PROGRAM.read_text(encoding="utf-8")
    (entry,) = yaml.safe_load(written["prod/kustomization.yaml"])["configMapGenerator"]
    (item,) = [i for i in plain_objects(document, "prod") if i["kind"] == "ConfigMap" and "finisher.py" in i["data"]]
    metadata = item["metadata"]
    assert entry == {
        "name": metadata["name"],
        "files": ["files/finisher.py"],
        "options": {
            "disableNameSuffixHash": True,
            "immutable": True,
            "labels": metadata["labels"],
            "annotations": metadata["annotations"],
        },
    }


def test_config_map_with_a_field_of_a_patch_is_not_generated() -> None:
    """A generator of kustomize sets only the data, the metadata and `immutable`."""
    patch = {"target": {"kind": "ConfigMap", "name": "finisher-configmap"}, "merge": {"more": "x"}}
    document = job(patches={"a": patch})
    written = files(document)
    (item,) = [i for i in plain_objects(document) if i["kind"] == "ConfigMap" and "finisher.py" in i["data"]]
    assert item["more"] == "x"
    assert item in [
        yaml.safe_load(text) for path, text in written.items() if path.startswith("base/") and "/files/" not in path
    ]


def test_name_of_a_user_differs_from_the_names_of_tfgen() -> None:
    classes = {name: {"value": 1} for name in ("worker", "a.patch", "a", "b-c", "b.c", "x" * 253)}
    storage = {name: {"mountPath": f"/{name}", "claim": {"size": "1Gi"}} for name in ("worker", "finisher")}
    environments = {"dev": {"labels": {"a": "b"}}}
    document = job(**WORKERS, storage=storage, priorityClasses=classes, environments=environments)
    base = files(document, "base")
    assert len(base) == len(plain_objects(document)) + 1
    assert {"base/claim-worker.yaml", "base/claim-finisher.yaml", "base/priorityclass-b_c.yaml"} < base.keys()
    assert {path.replace("base/", "dev/").replace(".yaml", ".patch.yaml") for path in base} == {
        path.replace("dev/kustomization.yaml", "dev/kustomization.patch.yaml") for path in files(document, "dev")
    }


def test_null_of_an_environment_removes_the_labels_of_a_role() -> None:
    document = job(
        **{**WORKERS, "roles": {"worker": {"labels": {"team": "a"}}}},
        environments={"dev": {"roles": {"worker": {"labels": None}}}},
    )
    patch = yaml.safe_load(files(document, "dev")["dev/worker.patch.yaml"])
    assert patch["spec"]["template"]["metadata"]["labels"]["team"] is None


def test_new_name_of_an_image_changes_no_other_tag() -> None:
    old, new = "registry.example.com/mnist", "registry.example.com/other:1"
    document = job(
        workload={"kind": "VolcanoJob"},
        image=f"{old}:2",
        tensorboard={"enabled": True, "image": f"{old}:1"},
        environments={"dev": {"image": new, "tensorboard": {"image": new}}},
    )
    objects = build_objects(files(document), "dev")
    assert set(re.findall(r'"image": "([^"]*)"', json.dumps(objects))) == {new}
