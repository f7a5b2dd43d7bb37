"""Hand-made cases of tests/scheduling/plans beside the real scheduler: the answer predicts the placement of the pods.

The test applies a case's objects unchanged, except for fields that a server requires. The test omits jobs whose answer
is "not known", and claims that a server cannot have.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.client import Object, eventually
from tests.e2e.conftest import dns_label
from tests.e2e.control_plane import ControlPlane
from tests.e2e.jobs import write_job
from tests.e2e.servers.kwok import ANNOTATION
from tests.support.tools import ROOT
from tfgen import cli
from tfgen.graph.graph import plain_objects

PLANS = ROOT / "tests" / "scheduling" / "plans"
CASES = (
    "accounts",
    "anti-affinity",
    "anti-affinity-over-zones",
    "claims-of-each-pod",
    "defaults-of-a-limit-range",
    "host-network",
    "label-of-each-pod",
    "label-of-one-pod",
    "labels-of-controllers",
    "limit-range",
    "new-claims",
    "no-default-class",
    "pod-security",
    "pods-that-nobody-makes",
    "quota",
    "resize-in-place",
    "runtime-class",
    "volume-limits",
    "volumes",
)
LEFT_OUT = (
    *("absent", "driver", "lost", "unbound", "one", "two", "unread", "unsure", "on-unsure", "sooner"),
    *("later", "by-default-class", "good"),
    "elsewhere",
)
"""Jobs whose answer is "not known", their objects, and a claim whose lost volume the server reports late. Also jobs
whose new claims need a provisioner, and a job in a namespace that does not exist."""
IN_A_NAMESPACE = ("ServiceAccount", "LimitRange", "ResourceQuota")
HOLD = "example.com/hold"
"""A finalizer that prevents the deletion of a claim for as long as a test needs."""
PATIENCE = 60.0
"""The number of seconds to wait for the answers and the outcomes."""
LEVEL = "pod-security.kubernetes.io/enforce"
COUNTS = {"StatefulSet": "replicas", "Job": "completions"}


class Case:
    """A case on the server.

    Attributes:
        jobs: the jobs, in the case's namespace.
        answers: the answer for each job, from the comments at the start of the case's file.
        names: the names of the case's nodes and of its other objects.
    """

    def __init__(self, server: ControlPlane, name: str) -> None:
        text = (PLANS / f"{name}.yaml").read_text(encoding="utf-8")
        documents = [*yaml.safe_load_all(text)]
        self.server, self.client = server, server.client
        labels = [item["metadata"].get("labels") or {} for item in documents if item["kind"] == "Namespace"]
        level = next((of_namespace[LEVEL] for of_namespace in labels if LEVEL in of_namespace), "privileged")
        self.namespace = server.namespace(dns_label(name), level)
        self.jobs = [
            {**item, "metadata": {**item["metadata"], "namespace": self.namespace}}
            for item in documents
            if item["kind"] == "TrainingJob" and item["metadata"]["name"] not in LEFT_OUT
        ]
        lines = (line.removeprefix("# ").split(": ") for line in text.splitlines() if line.startswith("# "))
        answers = {words[0]: words[1] for words in lines if len(words) > 1}
        self.answers = {item["metadata"]["name"]: answers[item["metadata"]["name"]] for item in self.jobs}
        objects = [copy.deepcopy(item) for item in documents if item["kind"] != "TrainingJob"]
        self.names = {item["metadata"]["name"] for item in objects}
        for item in sorted(objects, key=lambda item: item["kind"] != "Node"):
            self._create(item)

    def _create(self, item: Object) -> None:
        kind, metadata = item["kind"], item["metadata"]
        metadata.pop("uid", None)
        name = metadata["name"]
        if name.removeprefix("pv-") in LEFT_OUT:
            return
        if name == "default" or (kind == "PriorityClass" and name.startswith("system-")):
            return  # every server has these
        if kind in IN_A_NAMESPACE:
            metadata.pop("namespace")
            self.client.create(item, self.namespace)
            return
        if kind == "Node":
            item["metadata"]["annotations"] = ANNOTATION
            item["status"]["capacity"] = item["status"]["allocatable"]
        elif kind == "Pod":
            for container in item["spec"]["containers"]:
                container.setdefault("image", "example.com/other:1")
            self._create_pod(item)
            return
        elif kind == "PersistentVolumeClaim":
            self._create_claim(item)
            return
        elif kind == "PersistentVolume":
            reference = item["spec"]["claimRef"]
            reference.pop("uid", None)
            reference["namespace"] = self.namespace
            if reference["name"] == "pending":
                item["spec"].pop("claimRef")  # with the reference, the claim would bind regardless of its size
            item["spec"] |= {"capacity": {"storage": "1Gi"}, "storageClassName": ""}
        self.client.create(item)

    def _create_claim(self, item: Object) -> None:
        metadata = item["metadata"]
        is_deleted = metadata.pop("deletionTimestamp", None)
        metadata.pop("namespace")
        if is_deleted:
            metadata["finalizers"] = [HOLD]
        size = "1Ti" if metadata["name"] == "pending" else "1Gi"  # more than the volume has
        item["spec"] |= {
            "accessModes": ["ReadWriteMany"],
            "resources": {"requests": {"storage": size}},
            "storageClassName": "",
        }
        item.pop("status")
        self.client.create(item, self.namespace)
        if is_deleted:
            self.client.delete("PersistentVolumeClaim", metadata["name"], self.namespace)

    def _create_pod(self, item: Object) -> None:
        name, status = item["metadata"]["name"], item.pop("status", None)
        item["metadata"].pop("namespace")
        self.client.create(item, self.namespace)

        def runs() -> bool:
            return bool(self.client.get("Pod", name, self.namespace)["status"].get("phase") == "Running")

        eventually(runs, f"pod {name} running")
        if status:
            live = self.client.get("Pod", name, self.namespace)["status"]["containerStatuses"][0]
            status["containerStatuses"] = [{**live, **status["containerStatuses"][0]}]
            for condition in status.get("conditions", ()):
                condition["status"] = "True"
            patch = json.dumps({"status": status})
            self.server.kubectl(
                "patch", "pod", name, "-n", self.namespace, "--subresource=status", "--type=strategic", "-p", patch
            )

    def plan(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> Mapping[str, str]:
        """Return the answers of the command for the case's objects, as the server returns the objects."""
        kinds = (
            "nodes,pods,namespaces,serviceaccounts,resourcequotas,limitranges,persistentvolumeclaims,persistentvolumes,"
            "storageclasses,csinodes,runtimeclasses,priorityclasses"
        )
        items = json.loads(self.server.kubectl("get", kinds, "-n", self.namespace, "-o", "json"))["items"]
        of_case = {*self.names, self.namespace, "default", "system-cluster-critical", "system-node-critical"}
        items = [item for item in items if item["metadata"]["name"] in of_case]
        (folder / "nodes.json").write_text(json.dumps({"kind": "List", "items": items}), encoding="utf-8")
        (folder / "job.yaml").write_text(yaml.safe_dump_all(self.jobs), encoding="utf-8")
        cli.run(["plan", str(folder / "job.yaml"), "--nodes", str(folder / "nodes.json"), "--format", "json"])
        return {run["run"]: run["answer"] for run in json.loads(capsys.readouterr().out)["runs"]}

    def outcome(self, job: Mapping[str, Any]) -> str | None:
        """Return the placement of a job's pods, or None while the scheduler or a controller has not decided."""
        name = job["metadata"]["name"]
        pods = self.client.list("v1/Pod", self.namespace, labels=f"tfgen/job={name}")
        objects = [item for item in plain_objects(job) if item["kind"] in COUNTS]
        wanted = sum(item["spec"].get(COUNTS[item["kind"]], 1) for item in objects)
        if len(pods) == wanted and all(pod["spec"].get("nodeName") for pod in pods):
            return "fits"
        conditions = [condition for pod in pods for condition in pod["status"].get("conditions") or ()]
        if any(condition.get("reason") == "Unschedulable" for condition in conditions):
            return "does not fit"
        makers = {item["metadata"]["name"] for item in objects}
        events = self.client.list("v1/Event", self.namespace, fields="reason=FailedCreate")
        return "does not fit" if any(event["involvedObject"]["name"] in makers for event in events) else None

    def remove(self) -> None:
        """Remove the case's nodes, and all objects that would occupy the nodes of the next case."""
        if self.client.find("PersistentVolumeClaim", "deleted", self.namespace):
            self.client.patch("PersistentVolumeClaim", "deleted", self.namespace, {"metadata": {"finalizers": None}})
        self.client.delete("Namespace", self.namespace)
        for kind in ("Node", "RuntimeClass", "PersistentVolume", "CSINode", "StorageClass"):
            for name in self.names:
                if self.client.find(kind, name):
                    self.client.delete(kind, name)


@pytest.mark.parametrize("name", CASES)
def test_the_answer_is_what_becomes_of_the_pods(
    whole_cluster: ControlPlane, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = Case(whole_cluster, name)
    try:
        # The answers equal those of the file once the server has set the claims' phases.
        eventually(lambda: case.plan(tmp_path, capsys) == case.answers, f"the answers {case.answers}", PATIENCE)
        for job in case.jobs:
            folder = tmp_path / job["metadata"]["name"]
            overlay = write_job(yaml.safe_dump(job), folder).overlay(None)
            whole_cluster.kubectl("apply", "--server-side", "-n", case.namespace, "-k", overlay)

        def outcomes() -> Mapping[str, str | None]:
            return {job["metadata"]["name"]: case.outcome(job) for job in case.jobs}

        eventually(lambda: outcomes() == case.answers, f"the outcomes {case.answers}", PATIENCE)
    finally:
        case.remove()
