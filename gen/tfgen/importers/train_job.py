"""TrainJobs of Kubeflow's Trainer v2 that tell their tasks a cluster of TensorFlow's, with the runtime that they name.

A TrainJob says what is its own, and its runtime holds a JobSet. Trainer makes one JobSet of both, and so does this
module; each part of that JobSet stands where the TrainJob or the runtime says it. Fields and their order by Trainer's
own types and builder: https://github.com/kubeflow/trainer/tree/v2.2.0, pkg/apis/trainer/v1alpha1 and
pkg/runtime/framework/plugins/jobset/builder.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tfgen.importers import job_set, pod_template
from tfgen.importers.foreign_job import ForeignJob
from tfgen.importers.import_report import ImportReport
from tfgen.importers.job_reader import WHY_DEADLINE, command_of
from tfgen.importers.objects import api_group, kind, name
from tfgen.importers.options import Options
from tfgen.importers.part import Part, build_part, mapping, sequence
from tfgen.importers.shapes import METADATA, SCALAR, refuse_misshapen
from tfgen.kubernetes.merge_keys import MERGE_KEYS

FORMAT: Final = "TrainJob"
GROUP: Final = "trainer.kubeflow.org"

_RUNTIMES: Final = ("ClusterTrainingRuntime", "TrainingRuntime")
"""The kinds of a runtime; the first is the one that is meant where a TrainJob names none."""
_PODS: Final = ("template", "spec", "template")
"""The path of the pod template in a replicated Job."""
_STEP: Final = "trainer.kubeflow.org/trainjob-ancestor-step"
"""The label of the replicated Job that a TrainJob's ``trainer`` is about."""
_NODE: Final = "node"
"""The name of that Job's container, and the usual one of the Job."""
_QUEUE: Final = "scheduling.volcano.sh/queue-name"

_MERGED: Final[Mapping[str, str]] = {**MERGE_KEYS, "replicatedJobs": "name"}
_WHOLE: Final = ("env", "resources")
"""What a TrainJob gives as a whole: an entry of env, and all amounts."""
_WINS: Final = "the TrainJob says it otherwise"
_MOST_CHANGES: Final = 100
"""Overrides and patches of a TrainJob; people write a few."""
_OTHER_FRAMEWORKS: Final = ("flux", "jax", "mpi", "torch", "xgboost")


_SHAPE: Final = {
    "metadata": METADATA,
    "spec": {
        "activeDeadlineSeconds": SCALAR,
        "runtimeRef": {"kind": SCALAR, "name": SCALAR},
        "trainer": {"numNodes": SCALAR},
    },
}
_RUNTIME_SHAPE: Final = {
    "metadata": METADATA,
    "spec": {
        "mlPolicy": {"numNodes": SCALAR},
        "podGroupPolicy": {"coscheduling": {"scheduleTimeoutSeconds": SCALAR}},
        "template": {"metadata": METADATA, "spec": {"replicatedJobs": [job_set.JOB_SHAPE]}},
    },
}


def is_train_job(item: Part) -> bool:
    """Whether an object is a TrainJob."""
    return kind(item) == "TrainJob" and api_group(item) == GROUP


def read(item: Part, companions: Sequence[Part], options: Options, report: ImportReport) -> ForeignJob | None:
    """A TrainJob and its runtime; None where they cannot be imported, which the account then says."""
    if refuse_misshapen(item, _SHAPE, report):
        return None
    runtime = _runtime(item, companions)
    if runtime and refuse_misshapen(runtime, _RUNTIME_SHAPE, report):
        return None
    if initializer := item.get("spec", "initializer"):
        why = "tfgen has no step before the tasks; fetch the data in an initContainer of their role"
        report.refuse(initializer, why)
        return None
    changes = [*item.items("spec", "podTemplateOverrides"), *item.items("spec", "runtimePatches")]
    if len(changes) > _MOST_CHANGES:
        report.refuse(changes[_MOST_CHANGES], f"a TrainJob changes its runtime at most {_MOST_CHANGES} times")
        return None
    joined = _job_set(item, runtime, report)
    if joined is None:
        return None
    job = job_set.read(joined, companions, options, report)
    if job is None:
        return None
    spec = dict(job.spec)
    if deadline := item.get("spec", "activeDeadlineSeconds"):
        spec["deadline"] = deadline.value
        report.change(deadline, "spec", "deadline", why=WHY_DEADLINE)
    if runtime and "gang" not in spec:
        spec |= _gang(runtime, report)
    # No one wrote what stands for the runtime's template.
    usual = (item.get("spec", "trainer") or item.value["spec"]).name
    report.entries = [entry for entry in report.entries if entry.source != usual]
    return job.replaced(format=FORMAT, spec=spec)


def _runtime(item: Part, companions: Sequence[Part]) -> Part | None:
    """The runtime that a TrainJob names, where it stands beside it."""
    wanted = item.get("spec", "runtimeRef", "kind")
    named = item.get("spec", "runtimeRef", "name")
    of_kind = wanted.as_text if wanted else _RUNTIMES[0]
    runtimes = (other for other in companions if kind(other) == of_kind and api_group(other) == GROUP)
    return next((other for other in runtimes if named and name(other) == named.as_text), None)


def _job_set(item: Part, runtime: Part | None, report: ImportReport) -> Part | None:
    """The JobSet that Trainer makes of a TrainJob; None where it tells no task a cluster."""
    spec = item.get("spec") or item
    template = runtime.get("spec", "template") if runtime else None
    template = template or _bare_template(spec)
    for patch in _patches(item, template, report):
        template = _merged(template, patch, report)
    jobs = list(template.items("spec", "replicatedJobs"))
    node = _trainer_job(jobs)
    if node is not None:
        jobs = [_with_trainer(job, spec, runtime, report) if job is node else job for job in jobs]
    if not any(_tells(job) for job in jobs):
        report.refuse(item, f"nothing tells its tasks of a cluster of TensorFlow's: {_where_it_may_be(item, runtime)}")
        return None
    _account_for(item, runtime, report)
    fields = {**dict((template.get("spec") or spec).entries()), "replicatedJobs": sequence(spec, jobs)}
    fields |= {key: part for key in ("suspend", "managedBy") if (part := spec.get(key))}
    head = {key: item.value[key].scalar(text) for key, text in _HEAD.items()}
    return item.replaced(value={**head, "metadata": _metadata(item, template, report), "spec": mapping(spec, fields)})


_HEAD: Final[Mapping[str, str]] = {"apiVersion": f"{job_set.GROUP}/v1alpha2", "kind": "JobSet"}


def _bare_template(spec: Part) -> Part:
    """Return the known part of a runtime in another file: one replicated Job, whose tasks are the nodes."""
    pods = {"spec": {"containers": [{"name": _NODE}]}}
    job = {"name": _NODE, "template": {"spec": {"template": pods}}}
    return build_part(spec.get("trainer") or spec, {"spec": {"replicatedJobs": [job]}})


def _patches(item: Part, template: Part, report: ImportReport) -> Iterator[Part]:
    """What a TrainJob changes in its runtime's template, in the order in which Trainer does."""
    for override in item.items("spec", "podTemplateOverrides"):
        targets = [part.text_at("name") for part in override.items("targetJobs") if part.get("name")]
        if part := override.get("targetJobs"):
            report.mark_read(part)
        pod = override.without("targetJobs")
        names = [part for job in template.items("spec", "replicatedJobs") if (part := job.get("name"))]
        patches = [
            {"name": part, "template": {"spec": {"template": pod}}}
            for part in names
            if not targets or part.as_text in targets
        ]
        yield build_part(override, {"spec": {"replicatedJobs": patches}})
    for patch in item.items("spec", "runtimePatches"):
        for key in ("manager", "time"):
            if part := patch.get(key):
                report.mark_read(part)
        if part := patch.get("trainingRuntimeSpec", "template"):
            yield part


def _merged(under: Part, over: Part, report: ImportReport, key: str = "") -> Part:
    """A part with another over it, as Kubernetes' strategic merge has it; what loses is dropped.

    `kubernetes.merge` does the same with plain data. Here each part keeps its position, and the account has it.
    """
    if isinstance(under.value, Mapping) and isinstance(over.value, Mapping) and key not in _WHOLE:
        values = dict(under.value)
        for inner, part in over.entries():
            below = under.get(inner)
            values[inner] = part if below is None else _merged(below, part, report, inner)
        return under.replaced(value=values)
    if isinstance(under.value, list) and isinstance(over.value, list) and key in _MERGED:
        items = {_identity(item, _MERGED[key], number): item for number, item in enumerate(under.value)}
        for number, item in enumerate(over.value, len(items)):
            identity = _identity(item, _MERGED[key], number)
            items[identity] = _merged(items[identity], item, report, key) if identity in items else item
        return under.replaced(value=list(items.values()))
    if under.data == over.data:
        report.mark_read(under)
    else:
        report.drop(under, _WINS)
    return over


def _identity(item: Part, key: str, number: int) -> str | int:
    part = item.get(key)
    return part.as_text if part else number


def _trainer_job(jobs: Sequence[Part]) -> Part | None:
    """The replicated Job that ``trainer`` is about: the labelled one."""
    steps = {number: job.get("template", "metadata", "labels", _STEP) for number, job in enumerate(jobs)}
    labelled = next((jobs[number] for number, part in steps.items() if part and part.value == "trainer"), None)
    return labelled or next((job for job in jobs if job.text_at("name") == _NODE), None)


def _with_trainer(job: Part, spec: Part, runtime: Part | None, report: ImportReport) -> Part:
    """A replicated Job with what a TrainJob says of it: how many tasks, and what they run."""
    trainer = spec.get("trainer")
    pods = job.get(*_PODS) or job
    containers = list(pods.items("spec", "containers"))
    names = [container.text_at("name") for container in containers]
    main = containers[names.index(_NODE)] if _NODE in names else pod_template.main_container(pods)
    if main is not None and trainer is not None:
        fields = {key: trainer.get(key) for key in ("image", "command", "args", "env")}
        program = _merged(main, mapping(trainer, {**fields, "resources": trainer.get("resourcesPerNode")}), report)
        # The container that TensorFlow runs in is the first, from here on.
        rest = [container for container in containers if container is not main]
        pods = pods.with_part(("spec", "containers"), sequence(pods, [program, *rest]))
    job = job.with_part(_PODS, pods)
    number = trainer.get("numNodes") if trainer else None
    of_runtime = runtime.get("spec", "mlPolicy", "numNodes") if runtime else None
    if of_runtime and number and of_runtime is not number:
        report.drop(of_runtime, _WINS)
    if number := number or of_runtime:
        for key in ("parallelism", "completions"):
            if old := job.get("template", "spec", key):
                report.drop(old, "numNodes says it")
            job = job.with_part(("template", "spec", key), number)
        if old := job.get("replicas"):
            report.drop(old, "Trainer makes one Job of it")
            job = job.without("replicas")
    return job


def _tells(job: Part) -> bool:
    return command_of(job, *_PODS).tells


def _where_it_may_be(item: Part, runtime: Part | None) -> str:
    named = item.get("spec", "runtimeRef", "name")
    if runtime is not None:
        used = next((key for key in _OTHER_FRAMEWORKS if runtime.get("spec", "mlPolicy", key) is not None), None)
        of = f" (of {used})" if used else ""
        return f"neither it nor its runtime {name(runtime)[:63]}{of} sets TF_CONFIG"
    if named is None:
        return "it sets no TF_CONFIG, and names no runtime"
    return f"it sets no TF_CONFIG, and its runtime {named.as_text[:63]} is not among the files; name that, too"


def _metadata(item: Part, template: Part, report: ImportReport) -> Part:
    """The TrainJob's metadata, with labels and annotations of its runtime's JobSet."""
    own = item.get("metadata") or item.replaced(value={})
    document_part = own
    for key in ("labels", "annotations"):
        for part in (template.get("metadata", key), item.get("spec", key)):
            if part is not None and isinstance(part.value, Mapping):
                below = mapping(own, {key: part.without(_QUEUE)})
                document_part = _merged(below, document_part, report)
    return document_part


def _gang(runtime: Part, report: ImportReport) -> dict[str, Any]:
    """The gang of a runtime's PodGroup; Trainer makes one of all tasks."""
    policy = runtime.get("spec", "podGroupPolicy")
    if policy is None:
        return {}
    scheduler = "volcano" if "volcano" in policy.value else "coscheduling"
    gang: dict[str, Any] = {"scheduler": scheduler}
    report.mark_read(policy)
    report.note(policy, f"a gang of {scheduler}, of all tasks", covers=True)
    timeout = policy.get("coscheduling", "scheduleTimeoutSeconds")
    if timeout is not None:
        gang["scheduleTimeoutSeconds"] = timeout.value
        report.carry(timeout, "spec", "gang", "scheduleTimeoutSeconds")
    queue = runtime.get("spec", "template", "metadata", "annotations", _QUEUE)
    if queue is not None and scheduler == "volcano":
        gang["queue"] = queue.as_text
        report.carry(queue, "spec", "gang", "queue")
    if topology := policy.get("volcano", "networkTopology"):
        report.drop(topology, "see spec.placement")
    return {"gang": gang}


def _account_for(item: Part, runtime: Part | None, report: ImportReport) -> None:
    """What a TrainJob and its runtime say besides the JobSet."""
    for part in (item.get("apiVersion"), item.get("kind")):
        if part:
            report.mark_read(part)
    reference = item.get("spec", "runtimeRef")
    trainer = item.get("spec", "trainer")
    if (processes := trainer.get("numProcPerNode") if trainer else None) is not None:
        report.drop(processes, "it is for PyTorch and MPI; TensorFlow has one process a task")
    if reference and runtime:
        report.carry(reference, why="the job says itself what its runtime says")
        report.keep(runtime.value["metadata"], "other TrainJobs may name it")
        for key, part in runtime.entries("spec", "mlPolicy"):
            if key != "numNodes":
                report.drop(part, f"it is for {key}, and not for TensorFlow")
    elif reference:
        why = "it is not among the files; what it adds to the pods is not known here. Name it, too"
        report.drop(reference, why)
