"""The parts of a PodSpec: resources, threads, nodes, cloud instances, security, and the hash of a pod template."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

import pytest

from tests.support.objects import container, job_with, objects, of_kind, pods
from tfgen.graph.fill import Scope
from tfgen.graph.graph import graph
from tfgen.job.training_job import TrainingJob


def worker(resources, more=""):
    return pods(f"strategy: MultiWorkerMirrored\n{more}\nroles: {{worker: {{resources: {{{resources}}}}}}}")["worker"]


def variables(pod):
    return {each["name"]: each.get("value", each.get("valueFrom")) for each in container(pod)["env"]}


# -- GPUs -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ("gpu: {count: 2}", {"nvidia.com/gpu": 2}),
        ("gpu: {count: 1, resource: nvidia.com/mig-1g.5gb}", {"nvidia.com/mig-1g.5gb": 1}),
        (
            "gpu: {count: 8, resource: aliyun.com/gpu-mem, share: {aliyun.com/gpu-core.percentage: 30}}",
            {"aliyun.com/gpu-mem": 8, "aliyun.com/gpu-core.percentage": "30"},
        ),
        ("gpu: {share: {volcano.sh/vgpu-memory: 4096}}", {}),
        (
            "gpu: {count: 1, share: {nvidia.com/gpumem: 4096}}, limits: {nvidia.com/gpumem: 1}",
            {"nvidia.com/gpu": 1, "nvidia.com/gpumem": "1"},
        ),
    ],
)
def test_limits_of_gpus(resources, expected):
    assert container(worker(resources)).get("resources", {}).get("limits", {}) == expected


@pytest.mark.parametrize(
    ("resources", "visible"),
    [
        # The device plugin sets the variable.
        ("gpu: {count: 1}", None),
        ("gpu: {count: 1, resource: example.com/accelerator}", None),
        ("gpu: {count: 1, resource: nvidia.com/mig-1g.5gb}", None),
        ("limits: {nvidia.com/gpu: 1}", None),
        ('limits: {aliyun.com/gpu-mem: "4"}', None),
        ("limits: {volcano.sh/vgpu-number: 1, volcano.sh/vgpu-memory: 1024}", None),
        ("limits: {tencent.com/vcuda-core: 50}", None),
        # The task has no GPU.
        ("", "void"),
        ("cpu: 2, memory: 4Gi", "void"),
        ("gpu: {count: 0, product: NVIDIA-L4, share: {volcano.sh/vgpu-memory: 4096}}", "void"),
        ("limits: {nvidia.com/gpu: 0}", "void"),
        ('limits: {nvidia.com/gpu: "0", ephemeral-storage: 1Gi}', "void"),
        ("limits: {rdma/hca: 1}", "void"),
    ],
)
def test_task_without_a_gpu_sees_none(resources, visible):
    assert variables(worker(resources)).get("NVIDIA_VISIBLE_DEVICES") == visible
    assert variables(worker(resources, "env: {NVIDIA_VISIBLE_DEVICES: all}"))["NVIDIA_VISIBLE_DEVICES"] == "all"


def test_product_is_the_label_of_a_cloud_and_only_for_tasks_with_a_gpu():
    pod = worker("gpu: {count: 1, product: nvidia-l4, productLabel: cloud.google.com/gke-accelerator}")
    assert pod["spec"]["nodeSelector"] == {"cloud.google.com/gke-accelerator": "nvidia-l4"}
    gpu = "gpu: {count: 1, product: NVIDIA-T4}"
    made = pods(
        f"roles: {{chief: {{resources: {{{gpu}}}}}, ps: {{}}, worker: {{resources: {{{gpu.replace('1', '0')}}}}}, "
        "evaluator: {resources: {gpu: {count: 0, product: NVIDIA-T4}, limits: {nvidia.com/mig-1g.5gb: 1}}}}"
    )
    product = {"nvidia.com/gpu.product": "NVIDIA-T4"}
    found = {role: pod["spec"].get("nodeSelector") for role, pod in made.items() if role != "finisher"}
    assert found == {"chief": product, "ps": None, "worker": None, "evaluator": product}


# -- threads ----------------------------------------------------------------------------------------------------------

LIMITED = {"resourceFieldRef": {"resource": "limits.cpu"}}


@pytest.mark.parametrize(
    ("resources", "between", "within"),
    [
        *((f"cpu: {cpu}", "2", LIMITED) for cpu in ("1", "1000m", "500m", "'0.5'", "'.25'", "50m")),
        *((f"cpu: {cpu}", LIMITED, LIMITED) for cpu in ("2", "10", "1500m", "1001m", "'1.5'", "2000m", "1k")),
        ("memory: 1Gi", None, None),
    ],
)
def test_tensorflow_has_as_many_threads_as_cpus_and_at_least_two_between_operations(resources, between, within):
    names = ("TF_NUM_INTEROP_THREADS", "TF_NUM_INTRAOP_THREADS", "OMP_NUM_THREADS")
    env = variables(worker(resources))
    assert tuple(env.get(name) for name in names) == (between, within, within)
    assert variables(worker(resources, f'env: {{{names[0]}: "1"}}'))[names[0]] == "1"


# -- nodes ------------------------------------------------------------------------------------------------------------

GPU = {"key": "nvidia.com/gpu", "operator": "Exists"}
TOLERATED = "tolerations: [{key: nvidia.com/gpu, operator: Exists}]"
# The documents of Google, Microsoft and Oracle give these taints of spot nodes.
SPOT = [
    {"key": key, "operator": "Exists", "effect": "NoSchedule"}
    for key in (
        "cloud.google.com/gke-spot",
        "kubernetes.azure.com/scalesetpriority",
        "oci.oraclecloud.com/oke-is-preemptible",
    )
]


@pytest.mark.parametrize(
    ("spec", "chief", "ps", "worker"),
    [
        (TOLERATED, [GPU], [GPU], [GPU]),
        (
            f"{TOLERATED}\nspot: true\n"
            "roles: {chief: {}, worker: {tolerations: [{key: a}]}, ps: {spot: false}}",
            [*SPOT, GPU],
            [GPU],
            [*SPOT, {"key": "a"}],
        ),
        ("roles: {chief: {}, ps: {}, worker: {spot: true}}", None, None, SPOT),
    ],
)
def test_pods_tolerate_spot_nodes_only_where_the_job_or_the_role_allows_them(spec, chief, ps, worker):
    found = pods(spec)
    roles = {"chief": chief, "ps": ps, "worker": worker}
    assert {role: found[role]["spec"].get("tolerations") for role in roles} == roles


def test_pod_of_helm_test_finds_the_nodes_of_the_job():
    """If all nodes of a cluster have a taint, `helm test` waits forever for a pod without the toleration."""
    job = TrainingJob.from_document(job_with(f"{TOLERATED}\nspot: true\nnodeSelector: {{pool: training}}"))
    (template,) = (template for template in graph(job.structure) if template.name == "tests/connection")
    ((_, pod),) = template.objects(Scope(job.values, "mnist", "mnist"))
    assert pod["spec"]["nodeSelector"] == {"pool": "training"}
    assert pod["spec"]["tolerations"] == [*SPOT, GPU]


# -- containers that tfgen adds ---------------------------------------------------------------------------------------

DISTRIBUTED = """\
roles: {chief: {}, ps: {}, worker: {}, evaluator: {}}
code: {git: {repository: "https://git.example.com/ml/train.git"}}
tensorboard: {logDir: /model}
storage: {model: {mountPath: /model, runs: Separate, claim: {size: 1Gi}}}
"""
ELASTIC = "roles: {ps: {}, worker: {}}\nworkload: {kind: ElasticDL}\nsecurity: {profile: baseline}"


def helpers(spec):
    """Return all containers of a job that tfgen adds, including those of the pod of `helm test`."""
    job = TrainingJob.from_document(job_with(spec))
    items = [item for each in graph(job.structure) for _, item in each.objects(Scope(job.values, "mnist", "mnist"))]
    specs = [i["spec"] if i["kind"] == "Pod" else i.get("spec", {}).get("template", {}).get("spec", {}) for i in items]
    found = [each for spec in specs for each in (*spec.get("initContainers", ()), *spec.get("containers", ()))]
    return [each for each in found if each["name"] != "tensorflow"]


@pytest.mark.parametrize(
    ("spec", "names"),
    [(DISTRIBUTED, {"connect", "fetch-code", "finisher", "lock-model", "tensorboard"}), (ELASTIC, {"master"})],
)
def test_helper_sees_no_gpu_and_has_the_amounts_that_a_quota_needs(spec, names):
    assert {each["name"] for each in helpers(spec)} == names
    for each in helpers(spec):
        assert {"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"} in each["env"], each["name"]
        for amounts in each["resources"].values():
            assert amounts.keys() == {"cpu", "memory"}, each["name"]
        if each["name"] in ("fetch-code", "lock-model"):  # they leave a pod in the class Guaranteed
            assert each["resources"]["requests"] == each["resources"]["limits"]


def test_each_amount_of_a_small_helper_may_be_set():
    amounts = {"requests": {"cpu": "20m", "memory": "32Mi"}, "limits": {"cpu": "1", "memory": "64Mi"}}
    for each in helpers(f"{DISTRIBUTED}\nhelpers: {{resources: {json.dumps(amounts)}}}"):
        if each["name"] in ("connect", "finisher", "lock-model"):
            assert each["resources"] == amounts


def test_container_of_the_pod_template_has_the_security_of_the_profile_where_it_has_no_own():
    (task,) = of_kind(
        "Job",
        "strategy: Single\nroles: {chief: {}}\n"
        "sidecars: [{name: log, image: 'log:1', securityContext: {capabilities: {add: [NET_BIND_SERVICE]}}}]\n"
        "podTemplate: {spec: {initContainers: [{name: log, image: 'log:2'}], "
        "containers: [{name: more, image: 'more:1', securityContext: {runAsUser: 7}}]}}",
    )
    drop = {"drop": ["ALL"]}
    restricted = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": drop}
    assert {
        name: container(task["spec"]["template"], name)["securityContext"] for name in ("log", "tensorflow", "more")
    } == {
        "log": {**restricted, "capabilities": {**drop, "add": ["NET_BIND_SERVICE"]}},
        "tensorflow": restricted,
        "more": {**restricted, "runAsUser": 7},
    }


# -- Alibaba Cloud's container instances ------------------------------------------------------------------------------

SINGLE = "strategy: Single\nroles: {chief: {image: 'b:2'}}\nworkload: {kind: Pod}"
VNODE = {"key": "k8s.aliyun.com/vnode", "operator": "Equal", "value": "true", "effect": "NoSchedule"}
VIRTUAL = {**VNODE, "key": "virtual-kubelet.io/provider", "value": "alibabacloud"}


def eci(text, more=""):
    return f"tensorboard: {{logDir: /logs}}\ncloud: {{eci: {{{text}}}}}\n{more}"


def notes(pod):
    """Return the ECI annotations of a pod, without the common prefix of their keys."""
    found = pod["metadata"].get("annotations", {})
    return {key.removeprefix("k8s.aliyun.com/eci-"): text for key, text in found.items() if "aliyun" in key}


@pytest.mark.parametrize(
    ("way", "label", "selector", "tolerations"),
    [
        ("Label", "true", None, None),
        ("VirtualNode", None, {"type": "virtual-kubelet"}, [VIRTUAL]),
        ("VNode", None, {"k8s.aliyun.com/vnode": "true"}, [VNODE]),
        ("Serverless", None, None, None),
    ],
)
def test_ways_to_an_instance(way, label, selector, tolerations):
    made = pods(eci(f"way: {way}, gpuType: P4"))
    for role in ("chief", "ps", "worker"):
        assert made[role]["metadata"]["labels"].get("alibabacloud.com/eci") == label
        assert made[role]["spec"].get("nodeSelector") == selector
        assert made[role]["spec"].get("tolerations") == tolerations
    for role in ("finisher", "tensorboard"):
        assert notes(made[role]) == {}
        assert "nodeSelector" not in made[role]["spec"]


def test_instance_keeps_tolerations_and_node_selectors_of_the_job():
    made = pods(eci("way: VNode", "tolerations: [{key: a}]\nspot: true\nnodeSelector: {zone: b}"))["worker"]["spec"]
    assert made["tolerations"] == [VNODE, *SPOT, {"key": "a"}]
    assert made["nodeSelector"] == {"k8s.aliyun.com/vnode": "true", "zone": "b"}


def test_annotations_of_an_instance():
    lists = "specs: [a, b], vSwitches: [vsw-1, vsw-2]"
    assert notes(pods(eci(lists))["ps"]) == {"use-specs": "a,b", "vswitch": "vsw-1,vsw-2", "image-cache": "true"}
    assert notes(pods(eci("imageCache: {match: false}"))["chief"]) == {}


def test_environment_without_instances_has_the_pods_of_a_job_without_instances():
    assert pods(eci("enabled: false, gpuType: P4, way: VNode, imageCache: {make: {}}")) == pods(
        "tensorboard: {logDir: /logs}"
    )


BESIDE = """\
initContainers: [{name: fetch, image: "fetch:1"}]
podTemplate: {spec: {containers: [{name: tensorflow, image: "own:1"}, {name: log, image: "log:1"}]}}
code: {git: {repository: "https://git.example.com/ml/train.git", revision: v1, image: "git-sync:1"}}
roles:
  chief: {sidecars: [{name: metrics, image: "metrics:1"}]}
  ps: {}
  worker: {sidecars: [{name: metrics, image: "metrics:1"}]}
"""


@pytest.mark.parametrize(
    ("more", "images"),
    [(SINGLE, ["b:2"]), (BESIDE, ["git-sync:1", "fetch:1", "metrics:1", "own:1", "log:1"])],
)
def test_image_cache_has_every_image_of_the_job(more, images):
    (cache,) = of_kind("ImageCache", eci("imageCache: {make: {}}", more))
    assert cache["spec"] == {"images": ["registry.example.com/ml/mnist:1", *images], "imageCacheSize": 20}


def test_single_pod():
    made = objects(eci("gpuType: P4", SINGLE))
    assert not {"Job", "StatefulSet", "ConfigMap"} & {kind for kind, _ in made}
    assert made["Pod", "mnist-chief"]["spec"]["restartPolicy"] == "OnFailure"
    queued = pods(f"{SINGLE}\ngang: {{scheduler: kueue, queue: research}}")["chief"]
    assert queued["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "research"
    storage = "storage: {model: {mountPath: /model, runs: Shared, claim: {name: m}}}"
    lock = container(pods(f"{SINGLE}\n{storage}")["chief"], "lock-model")
    assert {"name": "TASK_INDEX", "value": "0"} in lock["env"]


# -- the hash of a pod template ---------------------------------------------------------------------------------------

HASH = "tfgen/pod-template-hash"
HASHED = {
    "env": {"GREETING": "<é & 世>"},
    "roles": {"chief": {}, "ps": {"replicas": 2}, "worker": {"replicas": 4}, "evaluator": {}},
    "podDisruptionBudget": {},
    "tensorboard": {"logDir": "/tmp"},
}


def hashes(**more):
    """Return the hashes by component."""
    labels = {component: pod["metadata"]["labels"] for component, pod in pods({**HASHED, **more}).items()}
    return {component: each[HASH] for component, each in labels.items() if HASH in each}


@pytest.mark.parametrize("role", ["ps", "worker"])
def test_hash_is_the_digest_of_the_template_without_the_hash(role):
    spec = objects(HASHED)["StatefulSet", f"mnist-{role}"]["spec"]
    template = json.loads(json.dumps(spec["template"]))
    label = template["metadata"]["labels"].pop(HASH)
    text = json.dumps(template, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert label == hashlib.sha256(text.encode()).hexdigest()[:12]
    assert spec["selector"]["matchLabels"] == {"tfgen/job": "mnist", "tfgen/run": "", "tfgen/role": role, HASH: label}


def test_pods_of_a_run_have_a_hash_that_only_their_stateful_set_selects():
    """Selectors of a run match its pods with every hash of the pod template."""
    assert hashes().keys() == {"chief", "ps", "worker", "evaluator", "finisher"}
    for (kind, name), item in objects(HASHED).items():
        for path in paths(item):
            if path[-1] == HASH:
                selects = kind == "StatefulSet" and path[:3] == ("spec", "selector", "matchLabels")
                assert selects or path == ("spec", "template", "metadata", "labels", HASH), name
    for kind in ("TFJob", "VolcanoJob", "JobSet"):
        assert HASH not in json.dumps([*objects({"workload": {"kind": kind}}).values()])


def paths(data, path=()):
    for key, child in data.items() if isinstance(data, Mapping) else enumerate(data):
        yield (*path, str(key))
        if isinstance(child, (Mapping, list)):
            yield from paths(child, (*path, str(key)))


@pytest.mark.parametrize(
    ("more", "changed"),
    [
        ({"labels": {"team": "vision"}}, {"chief", "ps", "worker", "evaluator", "finisher"}),
        ({"image": "mnist:2"}, {"chief", "ps", "worker", "evaluator", "finisher"}),
        ({"env": {"GREETING": ""}}, {"chief", "ps", "worker", "evaluator"}),
        ({"deadline": 3600}, {"chief"}),
        ({"startDeadline": 60}, {"finisher"}),
        ({"roles": {"chief": {}, "ps": {"replicas": 3}, "worker": {"replicas": 9}, "evaluator": {}}}, set()),
        ({"retries": 7}, set()),
        ({"network": {"policy": "Off"}}, set()),
        ({"gitops": {"repository": "https://example.com/x.git"}}, set()),
    ],
)
def test_hash_changes_only_with_the_pods(more, changed):
    before, after = hashes(), hashes(**more)
    assert {name for name in before if before[name] != after[name]} == changed
