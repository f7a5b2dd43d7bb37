"""The tutorial on the real node: all blocks of the page, except for the blocks that train on a laptop."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml

from tests.e2e.client import eventually
from tests.e2e.images import examples
from tests.e2e.node.conftest import END
from tests.e2e.real_node import STORAGE_CLASS, Node
from tests.e2e.servers.program import program
from tests.support.sessions import TUTORIAL, run_session, whole_session
from tests.support.tools import ROOT

NAMESPACE = "ml-dev"
HEADING = "\n## 6. A cluster\n"

DEFAULT_CLASS = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": STORAGE_CLASS, "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
    "provisioner": "kubernetes.io/no-provisioner",
}
"""The storage class of a claim that names no class. A cluster of kind also has a default class."""


def test_the_tutorial_runs_in_a_cluster(
    node: Node, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, heading, after = (ROOT / "docs" / TUTORIAL).read_text(encoding="utf-8").partition(HEADING)
    assert heading
    monkeypatch.setenv("PATH", f"{program('kubectl').parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("KUBECONFIG", str(node.cluster.admin))
    temporary = tmp_path_factory.mktemp("temporary")
    run_session(whole_session(before), tmp_path, temporary)
    registry = yaml.safe_load((tmp_path / "tfgen.yaml").read_text(encoding="utf-8"))["registry"]
    node.load(examples.image(tmp_path / "jobs" / "digits", examples.base(), temporary, registry))
    node.client.create(DEFAULT_CLASS)
    folder = node.volume("digits-model", NAMESPACE)
    try:
        run_session(whole_session(after, "cluster"), tmp_path, temporary)
        assert (folder / "export" / "saved_model.pb").is_file()
    finally:
        node.client.delete("Namespace", NAMESPACE)
        node.client.delete("StorageClass", STORAGE_CLASS)
        eventually(lambda: not node.client.list("v1/Pod", NAMESPACE), f"the end of the pods of {NAMESPACE}", END)
