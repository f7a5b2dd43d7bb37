"""Property tests of imports: a drawn job of any format loses nothing, and each of its lines has an entry."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.draws import drawn
from tfgen.commands.import_ import Imported, ImportSource, import_jobs
from tfgen.importers.table import Options

pytestmark = pytest.mark.long

CPUS = st.sampled_from([1, "2", "500m", "1.5"])
MEMORIES = st.sampled_from(["4Gi", "1000Mi", 4194304])
TEXTS = st.sampled_from(["on", "1e3", "", "a b", "$(DATA)", "line\nline", "ünï", "--x=1", "'q\"", "#", "08", "null"])
NAMES = st.sampled_from(["data", "model", "cache", "tmp", "shm"])
SOURCES = st.sampled_from(
    [
        {"persistentVolumeClaim": {"claimName": "c"}},
        {"persistentVolumeClaim": {"claimName": "d", "readOnly": True}},
        {"emptyDir": {}},
        {"emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}},
        {"configMap": {"name": "settings", "defaultMode": 420}},
        {"hostPath": {"path": "/srv/data"}},
        {"nfs": {"server": "10.0.0.1", "path": "/x"}},
        {"gcePersistentDisk": {"pdName": "disk"}},
    ]
)
MOUNTS = st.fixed_dictionaries(
    {"mountPath": st.sampled_from(["/data", "/model", "/dev/shm", "/tmp", "/x/y"])},
    optional={"readOnly": st.booleans(), "subPath": st.just("sub"), "mountPropagation": st.just("HostToContainer")},
)
PORTS = st.lists(
    st.sampled_from(
        [
            {"name": "tfjob-port", "containerPort": 2222, "hostPort": 2222},
            {"name": "metrics", "containerPort": 9090},
            {"containerPort": 9091, "hostPort": 9091},
        ]
    ),
    max_size=3,
    unique_by=lambda port: port["containerPort"],
)
RESOURCES = st.fixed_dictionaries(
    {},
    optional={
        "limits": st.fixed_dictionaries(
            {}, optional={"cpu": CPUS, "memory": MEMORIES, "nvidia.com/gpu": st.integers(0, 4)}
        ),
        "requests": st.fixed_dictionaries({}, optional={"cpu": st.just("100m"), "memory": st.just("1Mi")}),
    },
)
LABELS = st.dictionaries(st.sampled_from(["team", "example.com/stage"]), st.sampled_from(["a", "b"]), max_size=2)


@st.composite
def templates(draw: st.DrawFn) -> dict[str, Any]:
    volumes = draw(st.dictionaries(NAMES, st.tuples(SOURCES, MOUNTS), max_size=3))
    taken: set[str] = set()
    container: dict[str, Any] = {"name": "tensorflow", "image": draw(st.sampled_from(["x:1", "y:2"]))}
    mounts = []
    for name, (_, mount) in volumes.items():
        if mount["mountPath"] not in taken:
            taken.add(mount["mountPath"])
            mounts.append({"name": name, **mount})
    container["volumeMounts"] = mounts
    for key in ("command", "args"):
        if draw(st.booleans()):
            container[key] = draw(st.lists(TEXTS, min_size=1, max_size=3))
    container["env"] = [
        {"name": name, "value": value}
        for name, value in draw(st.dictionaries(st.sampled_from("ABC"), TEXTS, max_size=3)).items()
    ]
    container["resources"] = draw(RESOURCES)
    container["ports"] = draw(PORTS)
    spec: dict[str, Any] = {
        "containers": [container],
        "volumes": [{"name": name, **source} for name, (source, _) in volumes.items()],
    }
    if draw(st.booleans()):
        spec["nodeSelector"] = draw(st.dictionaries(st.sampled_from(["zone", "disk"]), st.just("a"), max_size=2))
    if draw(st.booleans()):
        spec["containers"].append({"name": "side", "image": "s:1", "volumeMounts": mounts[:1]})
    if draw(st.booleans()):
        spec["hostNetwork"] = draw(st.booleans())
    return {"metadata": {"labels": draw(LABELS), "annotations": draw(LABELS)}, "spec": spec}


@st.composite
def tf_jobs(draw: st.DrawFn) -> dict[str, Any]:
    types = draw(st.sampled_from([("PS", "Worker"), ("Chief", "PS", "Worker"), ("Worker",), ("Master",)]))
    shared = draw(templates())
    replicas = {
        name: {
            "replicas": draw(st.integers(1, 5)) if name in ("PS", "Worker") else 1,
            "restartPolicy": draw(st.sampled_from(["Never", "OnFailure", "Always", "ExitCode"])),
            "template": draw(st.one_of(st.just(shared), templates())),
        }
        for name in types
    }
    policy = st.fixed_dictionaries(
        {},
        optional={
            "cleanPodPolicy": st.sampled_from(["None", "Running", "All"]),
            "backoffLimit": st.integers(0, 9),
            "activeDeadlineSeconds": st.integers(1, 9),
            "ttlSecondsAfterFinished": st.integers(1, 9),
            "suspend": st.booleans(),
        },
    )
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "TFJob",
        "metadata": {"name": "drawn", "labels": draw(LABELS)},
        "spec": {"runPolicy": draw(policy), "tfReplicaSpecs": replicas},
    }


@st.composite
def told_templates(draw: st.DrawFn, role: str, index: str) -> dict[str, Any]:
    """Draw a template whose program receives its role and index from TF_CONFIG."""
    template: dict[str, Any] = json.loads(json.dumps(draw(templates())))
    hosts = {"ps": ["a:2222"], "worker": ["b:2222"]}
    config = json.dumps({"cluster": hosts, "task": {"type": role}})[:-2] + f', "index": {index}}}}}'
    template["spec"]["containers"][0]["env"].append({"name": "TF_CONFIG", "value": config})
    template["metadata"] = {}
    return template


@st.composite
def volcano_jobs(draw: st.DrawFn) -> list[dict[str, Any]]:
    tasks = [
        {"name": role, "replicas": draw(st.integers(1, 4)), "template": draw(templates())} for role in ("ps", "worker")
    ]
    spec = {"schedulerName": "volcano", "plugins": {"tensorflow": [], "env": []}, "tasks": tasks}
    policy = {"event": "TaskCompleted", "action": "CompleteJob"}
    spec["tasks"][1] |= {"policies": [policy]} if draw(st.booleans()) else {}
    spec["queue"] = draw(st.sampled_from(["default", "research"]))
    return [
        {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "drawn"}, "spec": spec},
    ]


@st.composite
def job_sets(draw: st.DrawFn) -> list[dict[str, Any]]:
    jobs = []
    for role in ("ps", "worker"):
        number = draw(st.integers(1, 4))
        template = draw(told_templates(role, "$(JOB_COMPLETION_INDEX)"))
        jobs.append(
            {"name": role, "template": {"spec": {"parallelism": number, "completions": number, "template": template}}}
        )
    spec = {"replicatedJobs": jobs, "successPolicy": {"operator": "All", "targetReplicatedJobs": ["worker"]}}
    return [{"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "drawn"}, "spec": spec}]


@st.composite
def hand_written_tasks(draw: st.DrawFn) -> list[dict[str, Any]]:
    objects = []
    for role in ("ps", "worker"):
        template = draw(told_templates(role, "$(INDEX)"))
        spec = {"serviceName": "drawn", "replicas": draw(st.integers(1, 4)), "template": template}
        metadata = {"name": f"drawn-{role}"}
        objects.append({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata, "spec": spec})
    return objects


@st.composite
def train_jobs(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Draw a TrainJob and its runtime. Each field is in the TrainJob, in the runtime, or in both."""
    number = draw(st.integers(1, 4))
    pod = draw(templates())
    pod["spec"]["containers"][0]["name"] = "node"
    node: dict[str, Any] = {
        "name": "node",
        "template": {
            "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
            "spec": {"template": {"spec": pod["spec"]}},
        },
    }
    ps = {"name": "ps", "template": {"spec": {"template": draw(told_templates("ps", "$(JOB_COMPLETION_INDEX)"))}}}
    jobs = [*([ps] if draw(st.booleans()) else []), node]
    main = draw(templates())["spec"]["containers"][0]
    trainer = {key: main[key] for key in ("image", "command", "args") if key in main and draw(st.booleans())}
    trainer |= {"numNodes": number} if draw(st.booleans()) else {}
    trainer |= {"resourcesPerNode": main["resources"]} if draw(st.booleans()) else {}
    hosts = json.dumps({"ps": ["a:2222"], "worker": ["b:2222"]} if len(jobs) > 1 else {"worker": ["b:2222"]})
    config = f'{{"cluster": {hosts}, "task": {{"type": "worker", "index": $(JOB_COMPLETION_INDEX)}}}}'
    trainer["env"] = [*main["env"], {"name": "TF_CONFIG", "value": config}]
    change: dict[str, Any] = {"targetJobs": [{"name": "node"}], "spec": {"nodeSelector": {"disk": "ssd"}}}
    spec = {"runtimeRef": {"name": "drawn-runtime"}, "trainer": trainer}
    spec |= {"podTemplateOverrides": [change]} if draw(st.booleans()) else {}
    spec |= {"activeDeadlineSeconds": draw(st.integers(1, 9))} if draw(st.booleans()) else {}
    labels = {"metadata": {"labels": draw(LABELS)}} if draw(st.booleans()) else {}
    template = {**labels, "spec": {"replicatedJobs": jobs}}
    policy = {"mlPolicy": {"numNodes": draw(st.integers(1, 3))}} if draw(st.booleans()) else {}
    version = "trainer.kubeflow.org/v1alpha1"
    metadata = {"name": "drawn", "labels": draw(LABELS)}
    runtime = {"apiVersion": version, "kind": "ClusterTrainingRuntime", "metadata": {"name": "drawn-runtime"}}
    return [
        {**runtime, "spec": {**policy, "template": template}},
        {"apiVersion": version, "kind": "TrainJob", "metadata": metadata, "spec": spec},
    ]


def assert_explained(imported: Imported) -> None:
    """Check that each difference between an imported job and its source has a reason."""
    assert [str(entry) for entry in imported.entries if not entry.is_explained] == []


def assert_loses_nothing(manifest: str, options: Options) -> None:
    """Check that tfgen imports a manifest without a loss, or refuses a conflict with tfgen's own mounts and names."""
    sources = [ImportSource("a.yaml", manifest.encode())]
    imported = import_jobs(sources, options)
    errors = [str(problem) for problem in imported.problems if problem.severity == "error"]
    if errors:  # two volumes at a path of tfgen, or a name that is in use
        assert all("mount" in error or "/tmp" in error for error in errors), errors
        return
    assert_explained(imported)


@drawn(10)
@given(st.one_of(volcano_jobs(), job_sets(), hand_written_tasks(), train_jobs()))
def test_a_drawn_job_of_another_form_loses_nothing(objects: list[dict[str, Any]]) -> None:
    text = "---\n".join(json.dumps(item, indent=1) + "\n" for item in objects)
    assert_loses_nothing(text, Options())


FLAGS = st.fixed_dictionaries(
    {"--workers": st.integers(1, 4), "--image": st.sampled_from(["x:1", "y:2"])},
    optional={
        "--chief": st.just("true"),
        "--clean-task-policy": st.sampled_from(["Running", "None", "All"]),
        "--data": st.sampled_from(["claim:/data", "other:/model"]),
        "--env": st.sampled_from(["A=1", "B=a b"]),
        "--gpus": st.integers(0, 2),
        "--label": st.just("team=a"),
        "--ps": st.integers(1, 3),
        "--ps-image": st.just("z:1"),
        "--running-timeout": st.sampled_from(["1h30m", "90"]),
        "--selector": st.just("disk=ssd"),
        "--share-memory": st.just("8Gi"),
        "--success-policy": st.sampled_from(["ChiefWorker", "AllWorkers"]),
        "--worker-cpu": CPUS,
        "--worker-memory": MEMORIES,
    },
)


@drawn(10)
@given(FLAGS, st.sampled_from(["python train.py", "python train.py | tee log", "cd /x; python train.py"]))
def test_a_drawn_command_loses_nothing(flags: dict[str, Any], program: str) -> None:
    command = shlex.join(["arena", "submit", "tfjob", "--name=drawn", *(f"{k}={v}" for k, v in flags.items()), program])
    sources, options = [ImportSource("a.sh", command.encode())], Options()
    imported = import_jobs(sources, options)
    errors = [str(problem) for problem in imported.problems if problem.severity == "error"]
    if errors:  # a chief that becomes worker 0 must equal the workers
        assert all("the chief becomes worker 0" in error for error in errors), errors
        return
    assert_explained(imported)


AMOUNTS = st.sampled_from(["cpu=1,memory=4096Mi", "cpu=500m,memory=1Gi,gpu=1", "cpu=2", "memory=1Gi,disk=2Gi", ""])
ELASTIC_FLAGS = st.fixed_dictionaries(
    {"--num_ps_pods": st.integers(1, 3), "--image_name": st.sampled_from(["x:1", "y:2"])},
    optional={
        "--checkpoint_dir": st.just("/model/a b"),
        "--distribution_strategy": st.sampled_from(["ParameterServerStrategy", ""]),
        "--envs": st.sampled_from(["A=1", "A=1,B=2"]),
        "--image_pull_policy": st.sampled_from(["Always", "IfNotPresent", "Never"]),
        "--job_command": st.sampled_from(["python train.py", "python train.py --x='a b' | tee log"]),
        "--master_pod_priority": st.just("high"),
        "--master_resource_limit": AMOUNTS,
        "--master_resource_request": AMOUNTS,
        "--minibatch_size": st.integers(1, 99),
        "--namespace": st.sampled_from(["ml", "default"]),
        "--need_tf_config": st.sampled_from(["true", "false"]),
        "--num_workers": st.integers(1, 4),
        "--ps_pod_priority": st.sampled_from(["high", "low"]),
        "--ps_resource_limit": AMOUNTS,
        "--ps_resource_request": AMOUNTS,
        "--relaunch_on_worker_failure": st.integers(0, 5),
        "--restart_policy": st.sampled_from(["Never", "OnFailure"]),
        "--volume": st.sampled_from(
            ["claim_name=c,mount_path=/data", "host_path=/h,mount_path=/x;claim_name=c,mount_path=/data,sub_path=s"]
        ),
        "--worker_pod_priority": st.sampled_from(["high", "high=0.5"]),
        "--worker_resource_request": AMOUNTS,
        "--worker_resource_limit": AMOUNTS,
    },
)


@drawn(10)
@given(ELASTIC_FLAGS)
def test_a_drawn_line_of_elastic_dl_loses_nothing(flags: dict[str, Any]) -> None:
    words = ["elasticdl", "train", "--job_name=drawn", *(f"{key}={value}" for key, value in flags.items())]
    sources, options = [ImportSource("a.sh", shlex.join(words).encode())], Options()
    imported = import_jobs(sources, options)
    errors = [str(problem) for problem in imported.problems if problem.severity == "error"]
    assert not errors
    assert_explained(imported)


@st.composite
def environments(draw: st.DrawFn) -> dict[str, dict[str, Any]]:
    """Draw a job in two environments with the same roles, but with some different templates and numbers."""
    dev = draw(tf_jobs())
    prod: dict[str, Any] = json.loads(json.dumps(dev))
    prod["metadata"] = {"name": "prod-drawn", "namespace": "ml", "labels": draw(LABELS)}
    for name, replica in prod["spec"]["tfReplicaSpecs"].items():
        replica["template"] = draw(st.one_of(st.just(replica["template"]), templates()))
        # All environments have the same sidecars.
        replica["template"]["spec"]["containers"][1:] = []
        dev["spec"]["tfReplicaSpecs"][name]["template"]["spec"]["containers"][1:] = []
        replica["replicas"] = draw(st.integers(2, 5)) if name in ("PS", "Worker") else 1
    return {"dev": dev, "prod": prod}


@drawn(10)
@given(environments(), st.sampled_from(["StatefulSet", "TFJob"]))
def test_a_drawn_job_loses_nothing_in_any_environment(jobs: dict[str, dict[str, Any]], kind: Any) -> None:
    sources = {name: [ImportSource(f"{name}.yaml", json.dumps(job, indent=1).encode())] for name, job in jobs.items()}
    options = Options(kind=kind)
    imported = import_jobs((), options, sources)
    errors = [str(problem) for problem in imported.problems if problem.severity == "error"]
    if errors:
        structural = ("mount", "/tmp", "must be the same in every environment")
        assert all(any(word in error for word in structural) for error in errors), errors
        return
    assert {environment for imported_job in imported.jobs for environment in imported_job.comparisons} == {
        "dev",
        "prod",
    }
    assert_explained(imported)


@drawn(10)
@given(tf_jobs(), st.sampled_from(["StatefulSet", "TFJob"]))
def test_a_drawn_job_loses_nothing(job: dict[str, Any], kind: Any) -> None:
    assert_loses_nothing(json.dumps(job, indent=1), Options(kind=kind))
