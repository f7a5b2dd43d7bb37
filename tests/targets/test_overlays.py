"""The files of a job's base and overlays: which there are, and what stands in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from tests.support.tools import ROOT
from tfgen.graph.built import plain_objects
from tfgen.targets.render import render

EVERYTHING = ROOT / "tests" / "golden" / "everything" / "job.yaml"


def files(document: Any, *environments: str) -> Mapping[str, str]:
    """What is written of a job below its folder in overlays/, or of some of its environments."""
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
    documents = {path: yaml.safe_load(text) for path, text in files(everything(), "base").items()}
    resources = documents.pop("base/kustomization.yaml")["resources"]
    assert {f"base/{path}" for path in resources} == {*documents}
    assert [documents[f"base/{path}"] for path in resources] == [*plain_objects(everything())]


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
