"""The files of a job's base and overlays, and their contents."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.tools import ROOT
from tfgen.graph import programs
from tfgen.graph.built import plain_objects
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
def test_neither_a_new_run_nor_the_jobs_name_renames_a_file(name: str) -> None:
    document = everything(run="another")
    assert files({**document, "metadata": {"name": name}}).keys() == files(everything()).keys()


def test_an_object_has_a_file_of_its_own() -> None:
    """Objects that the kustomization generates from files have no file."""
    base = dict(files(everything(), "base"))
    kustomization = yaml.safe_load(base.pop("base/kustomization.yaml"))
    made_of = [f"base/{path}" for entry in kustomization["configMapGenerator"] for path in entry["files"]]
    objects = [yaml.safe_load(base[f"base/{path}"]) for path in kustomization["resources"]]
    assert {*base} == {*made_of, *(f"base/{path}" for path in kustomization["resources"])}
    named = {entry["name"] for entry in kustomization["configMapGenerator"]}
    assert objects == [item for item in plain_objects(everything()) if item["metadata"]["name"] not in named]


@pytest.mark.parametrize("field", ["labels", "annotations"])
def test_a_program_is_in_an_object_where_kustomize_would_take_a_key_for_a_number(field: str) -> None:
    base = files(everything(**{field: {"1e3": "x"}}), "base")
    kustomization = yaml.safe_load(base["base/kustomization.yaml"])
    assert "configMapGenerator" not in kustomization
    assert yaml.safe_load(base["base/finisher-configmap.yaml"])["metadata"][field]["1e3"] == "x"


PROGRAM = Path(programs.__file__).with_name("finisher.py")


def test_a_program_is_the_same_file_in_the_chart_and_in_the_base() -> None:
    tree = render(everything()).tree.files
    copies = {path: text for path, text in tree.items() if path.endswith("/finisher.py")}
    assert copies == dict.fromkeys(
        ("charts/all/files/finisher.py", "overlays/all/base/files/finisher.py"), PROGRAM.read_text(encoding="utf-8")
    )


def test_a_new_program_of_an_environment_is_its_own_file() -> None:
    """An environment reads a new program from its own folder, and patches the ConfigMaps that the base generates."""
    single = {"strategy": "MultiWorkerMirrored", "roles": {"worker": {}}, "image": "mnist:1"}
    document = {"metadata": {"name": "mnist"}, "spec": {**single, "environments": {"prod": {"startDeadline": 60}}}}
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


def test_a_config_map_with_a_field_of_a_patch_is_not_generated() -> None:
    """A generator of kustomize sets only the data, the metadata and `immutable`."""
    patch = {"target": {"kind": "ConfigMap", "name": "finisher-configmap"}, "merge": {"more": "x"}}
    document = {
        "metadata": {"name": "mnist"},
        "spec": {"roles": {"chief": {}, "ps": {}, "worker": {}}, "image": "mnist:1", "patches": {"a": patch}},
    }
    written = files(document)
    (item,) = [i for i in plain_objects(document) if i["kind"] == "ConfigMap" and "finisher.py" in i["data"]]
    assert item["more"] == "x"
    assert item in [
        yaml.safe_load(text) for path, text in written.items() if path.startswith("base/") and "/files/" not in path
    ]


def test_what_users_call_things_meets_no_name_of_ours() -> None:
    classes = {name: {"value": 1} for name in ("worker", "a.patch", "a", "b-c", "b.c", "x" * 253)}
    document = {
        "metadata": {"name": "mnist"},
        "spec": {
            "image": "mnist:1",
            "roles": {"worker": {}},
            "strategy": "MultiWorkerMirrored",
            "storage": {name: {"mountPath": f"/{name}", "claim": {"size": "1Gi"}} for name in ("worker", "finisher")},
            "priorityClasses": classes,
            "environments": {"dev": {"labels": {"a": "b"}}},
        },
    }
    base = files(document, "base")
    assert len(base) == len(plain_objects(document)) + 1
    assert {"base/claim-worker.yaml", "base/claim-finisher.yaml", "base/priorityclass-b_c.yaml"} < base.keys()
    assert {path.replace("base/", "dev/").replace(".yaml", ".patch.yaml") for path in base} == {
        path.replace("dev/kustomization.yaml", "dev/kustomization.patch.yaml") for path in files(document, "dev")
    }
