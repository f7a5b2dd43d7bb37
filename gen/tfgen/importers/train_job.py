"""Reader of TrainJobs of Kubeflow Trainer v2 that run TensorFlow, with their runtimes.

A runtime contains the template of a JobSet, and a TrainJob changes this template. In the same way as Kubeflow Trainer,
this module merges the template and the TrainJob into one JobSet. `job_set` reads this JobSet. Each part of the JobSet
keeps its position in the TrainJob or in the runtime.

Source of the fields and of their precedence: https://github.com/kubeflow/trainer/tree/v2.2.0,
pkg/apis/trainer/v1alpha1 and pkg/runtime/framework/plugins/jobset/builder.go.
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
from tfgen.kubernetes.merge import MERGE_KEYS

FORMAT: Final = "TrainJob"
GROUP: Final = "trainer.kubeflow.org"

_RUNTIMES: Final = ("ClusterTrainingRuntime", "TrainingRuntime")
"""The kinds of runtimes. The first kind is the default of a TrainJob."""
_PODS: Final = ("template", "spec", "template")
"""The path of the pod template in a replicated Job."""
_STEP: Final = "trainer.kubeflow.org/trainjob-ancestor-step"
"""The key of the label that marks a replicated Job as the target of the field ``trainer`` of a TrainJob."""
_NODE: Final = "node"
"""The name of the trainer's container, and the usual name of the replicated Job with this container."""
_QUEUE: Final = "scheduling.volcano.sh/queue-name"

_MERGED: Final[Mapping[str, str]] = {**MERGE_KEYS, "replicatedJobs": "name"}
_ATOMIC_KEYS: Final = ("env", "resources")
"""Fields that a TrainJob replaces as a whole: ``resources``, and each variable of ``env``."""
_WHY_REPLACED: Final = "the TrainJob overrides this value of its runtime"
_MAX_CHANGES: Final = 100
"""Maximum number of overrides and patches of a TrainJob, because each merge takes time. Usual TrainJobs have few."""
_FOREIGN_FRAMEWORKS: Final = ("flux", "jax", "mpi", "torch", "xgboost")


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


def read(item: Part, companions: Sequence[Part], options: Options, report: ImportReport) -> ForeignJob | None:
    """Read a TrainJob and its runtime. Return None if the import report has problems."""
    if refuse_misshapen(item, _SHAPE, report):
        return None
    runtime = _runtime(item, companions)
    if runtime and refuse_misshapen(runtime, _RUNTIME_SHAPE, report):
        return None
    if initializer := item.get("spec", "initializer"):
        message = "tfgen does not support an initializer; fetch the data in an initContainer of the role"
        report.refuse(initializer, message)
        return None
    changes = [*item.items("spec", "podTemplateOverrides"), *item.items("spec", "runtimePatches")]
    if len(changes) > _MAX_CHANGES:
        message = f"found {len(changes)} overrides and patches of the runtime, expected at most {_MAX_CHANGES}"
        report.refuse(changes[_MAX_CHANGES], message)
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
    # Omit the entries of the default template, which the user did not write. Their source is the name of this part.
    default = (item.get("spec", "trainer") or item.value["spec"]).name
    report.entries = [entry for entry in report.entries if entry.source != default]
    return job.replaced(format=FORMAT, spec=spec)


def _runtime(item: Part, companions: Sequence[Part]) -> Part | None:
    """Return the runtime of a TrainJob, or None if the runtime is not among the imported files."""
    runtime_name = item.text_at("spec", "runtimeRef", "name")
    runtime_kind = item.text_at("spec", "runtimeRef", "kind") or _RUNTIMES[0]
    runtimes = (item for item in companions if kind(item) == runtime_kind and api_group(item) == GROUP)
    return next((runtime for runtime in runtimes if runtime_name and name(runtime) == runtime_name), None)


def _job_set(item: Part, runtime: Part | None, report: ImportReport) -> Part | None:
    """Return the JobSet that Kubeflow Trainer creates for a TrainJob, or None if the report has problems."""
    spec = item.get("spec") or item
    template = runtime.get("spec", "template") if runtime else None
    template = template or _bare_template(spec)
    for patch in _patches(item, template, report):
        template = _merged(template, patch, report)
    jobs = list(template.items("spec", "replicatedJobs"))
    node = _trainer_job(jobs)
    if node is not None:
        jobs = [_with_trainer(job, spec, runtime, report) if job is node else job for job in jobs]
    if not any(command_of(job, *_PODS).has_cluster for job in jobs):
        report.refuse(item, f"the TrainJob does not configure a TensorFlow cluster; {_cluster_hint(item, runtime)}")
        return None
    _report_train_job(item, runtime, report)
    fields = {**dict((template.get("spec") or spec).entries()), "replicatedJobs": sequence(spec, jobs)}
    fields |= {key: part for key in ("suspend", "managedBy") if (part := spec.get(key))}
    head = {key: item.value[key].scalar(text) for key, text in _HEAD.items()}
    return item.replaced(value={**head, "metadata": _metadata(item, template, report), "spec": mapping(spec, fields)})


_HEAD: Final[Mapping[str, str]] = {"apiVersion": f"{job_set.GROUP}/v1alpha2", "kind": "JobSet"}


def _bare_template(spec: Part) -> Part:
    """Return a JobSet template with one replicated Job named node, for a TrainJob whose runtime is not in the files."""
    pods = {"spec": {"containers": [{"name": _NODE}]}}
    job = {"name": _NODE, "template": {"spec": {"template": pods}}}
    return build_part(spec.get("trainer") or spec, {"spec": {"replicatedJobs": [job]}})


def _patches(item: Part, template: Part, report: ImportReport) -> Iterator[Part]:
    """Yield the patches with which a TrainJob changes the template of its runtime, in the order of Kubeflow Trainer.

    Args:
        item: the TrainJob.
        template: the template of the runtime.
        report: the import report.
    """
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


def _merged(base: Part, patch: Part, report: ImportReport, key: str = "") -> Part:
    """Apply the strategic merge patch `patch` to `base`, and return the result. Report replaced values as dropped.

    The rules are the same as in `kubernetes.merge`. In addition, each part keeps its position. `key` is the name of the
    field that contains `base`; empty for a whole object.
    """
    if isinstance(base.value, Mapping) and isinstance(patch.value, Mapping) and key not in _ATOMIC_KEYS:
        values = dict(base.value)
        for field_key, part in patch.entries():
            base_field = base.get(field_key)
            values[field_key] = part if base_field is None else _merged(base_field, part, report, field_key)
        return base.replaced(value=values)
    if isinstance(base.value, list) and isinstance(patch.value, list) and key in _MERGED:
        items = {_identity(item, _MERGED[key], number): item for number, item in enumerate(base.value)}
        for number, item in enumerate(patch.value, len(items)):
            identity = _identity(item, _MERGED[key], number)
            items[identity] = _merged(items[identity], item, report, key) if identity in items else item
        return base.replaced(value=list(items.values()))
    if base.data == patch.data:
        report.mark_read(base)
    else:
        report.drop(base, _WHY_REPLACED)
    return patch


def _identity(item: Part, key: str, number: int) -> str | int:
    part = item.get(key)
    return part.as_text if part else number


def _trainer_job(jobs: Sequence[Part]) -> Part | None:
    """Return the replicated Job to which the field ``trainer`` of a TrainJob applies, or None.

    The Job has the label `trainer.kubeflow.org/trainjob-ancestor-step: trainer`. Without such a Job, the result is the
    Job with the name node.
    """
    steps = {number: job.get("template", "metadata", "labels", _STEP) for number, job in enumerate(jobs)}
    labelled = next((jobs[number] for number, part in steps.items() if part and part.value == "trainer"), None)
    return labelled or next((job for job in jobs if job.text_at("name") == _NODE), None)


def _with_trainer(job: Part, spec: Part, runtime: Part | None, report: ImportReport) -> Part:
    """Apply the field ``trainer`` of a TrainJob, with the program and the number of nodes, to a replicated Job."""
    trainer = spec.get("trainer")
    pods = job.get(*_PODS) or job
    containers = list(pods.items("spec", "containers"))
    names = [container.text_at("name") for container in containers]
    main = containers[names.index(_NODE)] if _NODE in names else pod_template.main_container(pods)
    if main is not None and trainer is not None:
        fields = {key: trainer.get(key) for key in ("image", "command", "args", "env")}
        program = _merged(main, mapping(trainer, {**fields, "resources": trainer.get("resourcesPerNode")}), report)
        # The program comes first, because `job_set` takes the first container as the main container.
        sidecars = [container for container in containers if container is not main]
        pods = pods.with_part(("spec", "containers"), sequence(pods, [program, *sidecars]))
    job = job.with_part(_PODS, pods)
    nodes = trainer.get("numNodes") if trainer else None
    default_nodes = runtime.get("spec", "mlPolicy", "numNodes") if runtime else None
    if default_nodes and nodes and default_nodes is not nodes:
        report.drop(default_nodes, _WHY_REPLACED)
    if nodes := nodes or default_nodes:
        for key in ("parallelism", "completions"):
            if number := job.get("template", "spec", key):
                report.drop(number, "numNodes of the TrainJob or of its runtime replaces this number")
            job = job.with_part(("template", "spec", key), nodes)
        if number := job.get("replicas"):
            report.drop(number, "Kubeflow Trainer creates a single Job, and ignores this number")
            job = job.without("replicas")
    return job


def _cluster_hint(item: Part, runtime: Part | None) -> str:
    """Return the end of the error message about a TrainJob without a TensorFlow cluster.

    The text names the object to which the user can add TF_CONFIG.
    """
    reference = item.get("spec", "runtimeRef", "name")
    if runtime is not None:
        framework = next((key for key in _FOREIGN_FRAMEWORKS if runtime.get("spec", "mlPolicy", key) is not None), None)
        kind_of_runtime = f", which is for {framework}" if framework else ""
        return f"expected TF_CONFIG in the TrainJob or in its runtime {name(runtime)[:63]}{kind_of_runtime}"
    if reference is None:
        return "expected TF_CONFIG in the TrainJob, because the TrainJob names no runtime"
    return f"the runtime {reference.as_text[:63]} is not among the files; import its file as well, or set TF_CONFIG"


def _metadata(item: Part, template: Part, report: ImportReport) -> Part:
    """Return the metadata of a TrainJob, merged with the labels and annotations of its runtime."""
    metadata = item.get("metadata") or item.replaced(value={})
    merged = metadata
    for key in ("labels", "annotations"):
        for part in (template.get("metadata", key), item.get("spec", key)):
            if part is not None and isinstance(part.value, Mapping):
                base = mapping(metadata, {key: part.without(_QUEUE)})
                merged = _merged(base, merged, report)
    return merged


def _gang(runtime: Part, report: ImportReport) -> dict[str, Any]:
    """Return the key ``gang`` for a runtime with a podGroupPolicy. For any other runtime, the result is empty.

    With a podGroupPolicy, Kubeflow Trainer creates a PodGroup of all tasks.
    """
    policy = runtime.get("spec", "podGroupPolicy")
    if policy is None:
        return {}
    scheduler = "volcano" if "volcano" in policy.value else "coscheduling"
    gang: dict[str, Any] = {"scheduler": scheduler}
    report.mark_read(policy)
    report.note(policy, f"the imported job gets a gang of all tasks, with the scheduler {scheduler}", explains_all=True)
    timeout = policy.get("coscheduling", "scheduleTimeoutSeconds")
    if timeout is not None:
        gang["scheduleTimeoutSeconds"] = timeout.value
        report.carry(timeout, "spec", "gang", "scheduleTimeoutSeconds")
    queue = runtime.get("spec", "template", "metadata", "annotations", _QUEUE)
    if queue is not None and scheduler == "volcano":
        gang["queue"] = queue.as_text
        report.carry(queue, "spec", "gang", "queue")
    if topology := policy.get("volcano", "networkTopology"):
        report.drop(topology, "to place the tasks near each other, set spec.placement")
    return {"gang": gang}


def _report_train_job(item: Part, runtime: Part | None, report: ImportReport) -> None:
    """Report the fields of a TrainJob and of its runtime that have no place in a JobSet, such as `runtimeRef`.

    The import converts the TrainJob to a JobSet, and `job_set` reports the fields of the JobSet.
    """
    for part in (item.get("apiVersion"), item.get("kind")):
        if part:
            report.mark_read(part)
    reference = item.get("spec", "runtimeRef")
    trainer = item.get("spec", "trainer")
    if (processes := trainer.get("numProcPerNode") if trainer else None) is not None:
        report.drop(processes, "the field applies to PyTorch and MPI; a task of TensorFlow has one process")
    if reference and runtime:
        report.carry(reference, why="the imported job contains the fields of this runtime")
        report.keep(runtime.value["metadata"], "other TrainJobs may use this runtime")
        for key, part in runtime.entries("spec", "mlPolicy"):
            if key != "numNodes":
                report.drop(part, f"the field applies to {key}, not to TensorFlow")
    elif reference:
        why = (
            "the runtime is not among the files, so the job lacks its settings; import the file of the runtime as well"
        )
        report.drop(reference, why)
