"""The object graph of a job, the plain objects of the job and of its environments, and the names of these objects."""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, repeat
from typing import Any, Final, NamedTuple, TypeAlias

from tfgen.data_path import Path
from tfgen.graph import naming, storage, supporting
from tfgen.graph.cluster import config_map
from tfgen.graph.fill import Scope, Template
from tfgen.graph.helper_pods import NOTIFY, TENSORBOARD, FinisherPlan, connection_test, finisher, tensorboard
from tfgen.graph.holes import ABSENT, AllOf, AnyOf, ChartOnly, Key, NamedTemplate, Node, When, call, values_paths
from tfgen.graph.naming import CONTAINER, value
from tfgen.graph.patch_job import PatchedGraph, change_objects, patch_job
from tfgen.graph.podspec import IS_GPU
from tfgen.graph.schedulers import GANGS
from tfgen.graph.supporting import LITERAL
from tfgen.graph.workloads import WORKLOADS, Workload
from tfgen.job.training_job import MAX_STRUCTURES, ROLE_NAMES, Environment, FileCode, RoleName, Structure, TrainingJob
from tfgen.kubernetes import keys, quantity
from tfgen.kubernetes.object import Object, group
from tfgen.record import Record
from tfgen.schema import tunables
from tfgen.text.yaml_text import have_equal_text

# -- object graph ------------------------------------------------------------------------------------------------------


def graph(structure: Structure) -> tuple[Template, ...]:
    """Return the object graph of a job. The structure contains no tunables, so the graph does not depend on values."""
    return patched_graph(structure).templates


@functools.lru_cache(MAX_STRUCTURES)
def patched_graph(structure: Structure) -> PatchedGraph:
    """Return the object graph of a job after the application of the job's patches, and the faults in the patches."""
    workload = WORKLOADS[structure.kind]
    plan = workload.plan(structure)
    patched = patch_job(tuple(_templates(structure, workload, plan)), structure)
    templates = keep_released(patched.templates, plan) if plan else patched.templates
    return patched.replaced(templates=templates)


def _templates(structure: Structure, workload: Workload, plan: FinisherPlan | None) -> Iterator[Template]:
    """Yield the templates in the order in which their objects must be applied."""
    has_config_map = workload.has_config_map(structure)
    if workload.has_service(structure):
        yield Template("service", supporting.headless_service(structure))
    if has_config_map:
        yield Template("configmap", config_map(structure, workload.pod_name))
    yield Template("networkpolicy", supporting.run_policy())
    if structure.service_account:
        yield Template("serviceaccount", supporting.service_account())
    yield Template("priorityclass", supporting.priority_classes())
    yield from supporting.device_claims(structure)
    yield Template(supporting.LITERAL, supporting.literal_objects())
    if structure.gang and workload.has_pod_group(structure):
        yield from GANGS[structure.gang].pod_group(structure)
    if structure.eci and structure.eci.makes_cache:
        yield Template("imagecache", supporting.image_cache(structure))
    yield Template("claim", storage.claims(), survives_retirement=True)
    if isinstance(structure.code, FileCode):
        yield Template("code", storage.code_config_map(structure.code))
    if workload.has_run_lock:
        yield Template("run-lock", storage.lock_config_map(structure.ends))
    # The finisher precedes the tasks, because a quota may reject the last pods and only the finisher frees the quota.
    if plan:
        # If all tasks end by themselves, the job has a finisher only for a deadline, a notification or TensorBoard.
        is_needed = AnyOf((value("startDeadline"), NOTIFY, *([] if plan.board is None else [plan.board.test])))
        for template in finisher(structure, plan):
            yield template if plan.scale or plan.suspend else template.replaced(node=When(is_needed, template.node))
    yield from workload.templates(structure)
    if structure.disruption_budget:
        yield from supporting.budgets(structure, workload.is_scalable)
    if structure.tensorboard_port:
        yield from tensorboard(structure, structure.tensorboard_port)
    if has_config_map:
        yield Template("tests/connection", connection_test(structure), chart_only=True)


def objects(templates: Sequence[Template], scope: Scope) -> dict[str, dict[str, Any]]:
    """Fill the templates with the values of `scope`. Return the plain objects by file name.

    Example: {"worker": {"kind": "StatefulSet", ...}}. The order is the order of the templates. The result omits the
    objects that only the chart contains.
    """
    return {name: item for template in templates if not template.chart_only for name, item in template.objects(scope)}


# -- released state ----------------------------------------------------------------------------------------------------
#
# Fields of the chart that keep a Helm upgrade from restarting the tasks of a finished run.
#
# For example, {"replicas": hole} becomes {"replicas": When(is_released, 0, hole)}. Helm can read the cluster while it
# renders. So an upgrade renders a StatefulSet with 0 replicas if the finisher has scaled the StatefulSet to 0. The test
# is always false if Helm renders without a cluster, as in ``helm template`` and Argo CD, and in all other outputs.
# https://helm.sh/docs/chart_template_guide/functions_and_pipelines/#using-the-lookup-function


_RELEASED: Final[Mapping[str, tuple[Key, Node]]] = {
    "Deployment": ("replicas", 0),
    "Job": ("suspend", True),
    "StatefulSet": ("replicas", 0),
}
"""The field and the value that release the pods of an object, by the kind of the object."""

# `tfgen release` and a missed start deadline suspend the Job that ends the run. A user may also suspend this Job for a
# pause. So a suspended Job ends the run only for objects that are themselves suspended or have 0 replicas.
_IS_RELEASED: Final = NamedTemplate(
    "isReleased",
    "Non-empty text if the run in the cluster has ended and the object is released: with 0 replicas, suspended, or "
    "deleted after the end.",
    ChartOnly(
        """\
{{- $job := lookup "batch/v1" "Job" .root.Release.Namespace .ends }}
{{- $object := lookup (ternary "batch/v1" "apps/v1" (eq .kind "Job")) .kind .root.Release.Namespace .name }}
{{- $ended := false }}
{{- range dig "status" "conditions" list $job }}
{{- if and (eq .type "Complete" "Failed") (eq .status "True") }}{{ $ended = true }}{{ end }}
{{- end }}
{{- $idle := or (dig "spec" "suspend" false $object) (eq 0 (int (dig "spec" "replicas" 1 $object))) }}
{{- if or (and $ended (not $object)) (and $idle (or $ended (dig "spec" "suspend" false $job))) }}true{{ end }}""",
        reads_root=True,
    ),
    file="released",
    parameters=("ends", "kind", "name"),
)


def keep_released(templates: Sequence[Template], plan: FinisherPlan) -> tuple[Template, ...]:
    """Change the objects that the finisher releases, so that a released object stays released after a Helm upgrade.

    tfgen applies the patches of the job before this step, because a patch describes the objects of an active run.
    """
    conditions: dict[str, tuple[Node, ...]] = dict.fromkeys([*plan.scale, *plan.suspend], ())
    if plan.board is not None:
        conditions[TENSORBOARD] = (plan.board.test,)
    return tuple(
        _stay_released(template, plan.ends, conditions[template.name]) if template.name in conditions else template
        for template in templates
    )


def _stay_released(template: Template, ends: RoleName, conditions: tuple[Node, ...]) -> Template:
    """Add a test to each object of a template, so that a released object stays released after a Helm upgrade.

    Args:
        template: the template.
        ends: the role whose Job ends the run.
        conditions: the finisher releases the objects only if all these tests are true. If the tuple is empty, the
            finisher always releases the objects.
    """

    def keep(item: dict[Key, Node]) -> Node:
        metadata, spec, kind = item["metadata"], item["spec"], item["kind"]
        if not (isinstance(metadata, dict) and isinstance(spec, dict) and isinstance(kind, str)):
            raise TypeError(f"not a workload: {item!r}")
        field, released = _RELEASED[kind]
        is_released = call(_IS_RELEASED, ends=naming.workload(ends), kind=kind, name=metadata["name"])
        test = AllOf((*conditions, is_released)) if conditions else is_released
        state = {field: When(test, released, spec.get(field, ABSENT))}
        return {**item, "spec": {**spec, **state} if field in spec else {**state, **spec}}

    return template.replaced(node=change_objects(template.node, keep))


# -- plain objects -----------------------------------------------------------------------------------------------------


Objects: TypeAlias = Mapping[str, Mapping[str, Any]]
"""The plain objects of a job by file name. Example: {"worker": {"kind": "StatefulSet", ...}, "claim-model": {...}}."""


class BuiltJob(Record):
    """A job with its object graph and its plain objects.

    Attributes:
        templates: the object graph.
        base: the plain objects of the job without an environment.
        environments: the plain objects of each requested environment, by the name of the environment.
    """

    job: TrainingJob
    templates: tuple[Template, ...]
    base: Objects
    environments: Mapping[str, Objects]


def build(data: Mapping[str, Any], environments: Collection[str] | None = None) -> BuiltJob:
    """Build the object graph and the plain objects of a job.

    Args:
        data: the data of the job document, which must have no errors.
        environments: the names of the environments to build. None builds all environments.
    """
    job = TrainingJob.from_document(data)
    templates = graph(job.structure)
    requested = [e for e in job.environments if environments is None or e.name in environments]
    scope = _scope(job, job.values)
    of_templates = [() if template.chart_only else template.objects(scope) for template in templates]
    by_environment = {e.name: _environment_objects(job, templates, e, of_templates) for e in requested}
    return BuiltJob(job, templates, dict(chain.from_iterable(of_templates)), by_environment)


def filled(job: TrainingJob, templates: Sequence[Template], environment: str | None) -> Objects:
    """Fill the object graph `templates` of a job with the values of an environment; None for the values of the job.

    Raises:
        KeyError: the environment does not exist.
    """
    if environment is None:
        return objects(templates, _scope(job, job.values))
    return _environment_objects(job, templates, {e.name: e for e in job.environments}[environment])


def variant_objects(built: BuiltJob, environment: str | None) -> tuple[Mapping[str, Any], ...]:
    """Return the plain objects of an environment.

    If `environment` is None, return the plain objects of the job without an environment.
    """
    return tuple((built.base if environment is None else built.environments[environment]).values())


def plain_objects(data: Mapping[str, Any], environment: str | None = None) -> Sequence[Mapping[str, Any]]:
    """Build the plain objects of an environment.

    If `environment` is None, build the plain objects of the job without an environment.

    Raises:
        KeyError: the environment does not exist.
    """
    job = TrainingJob.from_document(data)
    return tuple(filled(job, graph(job.structure), environment).values())


def objects_with_run_name_of_job(built: BuiltJob, environment: str) -> Objects:
    """Return the objects of an environment, but with the run name of the job without an environment.

    If both run names are equal, return the mapping in `built` instead of a copy.
    """
    job = built.job
    variant = next(variant for variant in job.environments if variant.name == environment)
    if variant.values["run"] == job.values["run"]:
        return built.environments[environment]
    values = {**variant.values, "run": job.values["run"]}
    return _environment_objects(job, built.templates, variant.replaced(values=values))


class TaskObjects(Record):
    """The values of a job, and the objects, such as StatefulSets, that run the job's tasks without an operator."""

    structure: Structure
    values: Mapping[str, Any]
    objects: Sequence[Mapping[str, Any]]


def task_objects(data: Mapping[str, Any], environment: str | None = None) -> TaskObjects:
    """Build the objects that run a job's tasks without an operator and without a gang scheduler.

    The pods contain TF_CONFIG, even for a workload kind whose operator usually sets TF_CONFIG.

    Raises:
        KeyError: the environment does not exist.
    """
    job, spec = TrainingJob.from_document(data), data["spec"]
    structure = job.structure.replaced(kind="StatefulSet", gang=None, eci=None, patches=(), environment_patches={})
    values = tunables.values(spec, environment, of_any_kind=True)
    return TaskObjects(structure, values, tuple(objects(graph(structure), _scope(job, values)).values()))


def _environment_objects(
    job: TrainingJob,
    templates: Sequence[Template],
    environment: Environment,
    base: Iterable[Sequence[tuple[str, dict[str, Any]]] | None] = repeat(None),
) -> Objects:
    """Return the objects of an environment. If the environment disables the job, return only the claims.

    Args:
        job: the job.
        templates: the object graph.
        environment: the environment.
        base: the objects of the job without an environment, for each template. An object that the environment does not
            change is the object of `base`, so that a caller checks the object only once.
    """
    scope = _scope(job, environment.values)
    changed = [*_changed_paths(job.values, environment.values)]
    found: dict[str, dict[str, Any]] = {}
    for template, of_job in zip(templates, base, strict=False):
        if template.chart_only or not (environment.enabled or template.survives_retirement):
            continue
        if of_job is not None and not any(
            path.startswith(other) or other.startswith(path) for path in values_paths(template) for other in changed
        ):
            found.update(of_job)
            continue
        before = dict(of_job or ())
        for name, item in template.objects(scope):
            found[name] = before[name] if name in before and have_equal_text(before[name], item) else item
    return found


def _changed_paths(before: Any, after: Any, path: str = "") -> Iterator[str]:
    """Yield the paths of different values in the values of a job, in the form of `values_paths`."""
    if before is after:
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for key in before.keys() | after.keys():
            if key in before and key in after:
                yield from _changed_paths(before[key], after[key], f"{path}{key}.")
            else:
                yield f"{path}{key}."
    elif not have_equal_text(before, after):
        yield path


def _scope(job: TrainingJob, values: Mapping[str, Any]) -> Scope:
    """Return the values of a variant. The name of the Helm release is the name of the job."""
    return Scope(values, release=job.name, chart=job.name)


# -- identities --------------------------------------------------------------------------------------------------------
#
# The identity of an object needs only a few nodes of the object graph, so tfgen finds the names of all objects of an
# environment in a fraction of the time that tfgen needs to fill the objects.


_MAPS: Final = {LITERAL: "objects", "claim": "storage", "priorityclass": "priorityClasses"}
"""The map of the job whose entries create objects, by the beginning of the file names of the objects."""

JOB_NAME: Final[Path] = ()
"""The cause of a name that follows only from the name of the job."""


class Identity(NamedTuple):
    """The identity of an object within a namespace, and the cause of the identity.

    Attributes:
        group: the API group without its version; empty for the core group.
        cause: the values path of the value that gives the object its name, such as ("storage", "model"), ("run",) or
            ("serviceAccountName",). `JOB_NAME` for a name that follows only from the name of the job.
    """

    group: str
    kind: str
    name: str
    cause: Path


def identities(structure: Structure, scope: Scope) -> Iterator[Identity]:
    """Yield the identity of each object of a job that the values of `scope` create.

    Unlike the chart, the result omits the objects that only the chart contains.
    """
    for file, item in objects(_identity_graph(structure), scope).items():
        name = item["metadata"]["name"]
        yield Identity(group(item), item["kind"], name, _cause(file, name, scope))


@functools.lru_cache(MAX_STRUCTURES)
def _identity_graph(structure: Structure) -> tuple[Template, ...]:
    """Return the object graph, reduced to the fields of the objects that identify an object."""

    def identify(item: dict[Key, Node]) -> Node:
        match item:
            case {"apiVersion": version, "kind": kind, "metadata": {"name": name}}:
                return {"apiVersion": version, "kind": kind, "metadata": {"name": name}}
        return item

    return tuple(
        template.replaced(node=change_objects(template.node, identify))
        for template in graph(structure)
        if not template.chart_only
    )


def _cause(file: str, name: str, scope: Scope) -> Path:
    prefix, _, key = file.partition("-")
    if key and prefix in _MAPS:
        return _MAPS[prefix], key
    if file == "serviceaccount" and scope.values.get("serviceAccountName"):
        return ("serviceAccountName",)
    run = scope.values["run"]
    return ("run",) if run and f"{scope.release}-{run}" in name else JOB_NAME


# -- pods of tasks -----------------------------------------------------------------------------------------------------
#
# The pods that the controllers of Kubernetes create for the tasks of a job, and the GPUs that they request.


class Pod(Record):
    """The pod of one task.

    Attributes:
        name: the host name of the pod.
        labels: the labels of the pod template, and the labels that the controller adds to the pod.
        spec: the PodSpec of Kubernetes.
        retries: the number of times that the controller restarts the pod; None for no limit.
    """

    role: str
    index: int
    name: str
    namespace: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    spec: Mapping[str, Any]
    retries: int | None

    @property
    def task(self) -> str:
        """The name of the task: its role and its index, such as `worker-0`."""
        return f"{self.role}-{self.index}"

    @property
    def container(self) -> Mapping[str, Any]:
        """The training container."""
        containers: Sequence[Mapping[str, Any]] = self.spec["containers"]
        return next(container for container in containers if container["name"] == CONTAINER)


def pods(objects: Sequence[Object], namespace: str) -> Iterator[Pod]:
    """Yield the pods of all tasks in the order of the objects. The pods of each object are sorted by index.

    Args:
        objects: the objects of the job. Only StatefulSets and Jobs of roles have tasks.
        namespace: the namespace of the job.
    """
    for item in objects:
        role = item["metadata"].get("labels", {}).get(keys.COMPONENT)
        if role not in ROLE_NAMES or item["kind"] not in ("StatefulSet", "Job"):
            continue
        spec = item["spec"]
        is_job = item["kind"] == "Job"
        template = spec["template"]
        for index in range(spec["completions"] if is_job else spec["replicas"]):
            name = f"{item['metadata']['name']}-{index}"
            controller_labels = (
                {keys.JOB_INDEX: str(index)}
                if is_job
                else {keys.STATEFUL_SET_INDEX: str(index), keys.STATEFUL_SET_POD: name}
            )
            yield Pod(
                role=role,
                index=index,
                name=name,
                namespace=namespace,
                labels={**template["metadata"].get("labels", {}), **controller_labels},
                annotations={**template["metadata"].get("annotations", {}), **(controller_labels if is_job else {})},
                spec=template["spec"],
                retries=spec.get("backoffLimit", spec.get("backoffLimitPerIndex")) if is_job else None,
            )


def gpu_count(container: Mapping[str, Any]) -> int:
    """Return the number of GPUs that a container requests. A share of a GPU, or of its memory, counts as one GPU.

    The claims of a container for devices count as one GPU, because the container does not contain their numbers.
    """
    resources = container.get("resources", {})
    limits = resources.get("limits", {})
    amounts = {name: quantity.parse(amount) for name, amount in limits.items() if re.search(IS_GPU, name)}
    gpus = sum(int(amount) for name, amount in amounts.items() if name.endswith("/gpu"))
    return gpus or int(any(amounts.values()) or bool(resources.get("claims")))
