"""View of one variant of a job, for the rules: the values of the variant, and the line that sets each value.

For example, in the view of the environment prod, `view.values["roles"]["worker"]["replicas"]` is the number of workers
in prod, and `view.place(("roles", "worker", "replicas"))` is the line of the job file that sets the number.

All paths are paths of the chart's values, and do not begin with `spec`. Each step of a path is a key of a mapping or
a list index.
"""

from __future__ import annotations

import functools
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from tfgen import data_path
from tfgen.data_path import UNKNOWN, Path
from tfgen.errors import Place
from tfgen.fix import NO_HINT, Fix, Hint, assignment, hint
from tfgen.graph import podspec, role_pod
from tfgen.graph.fill import Filler, Scope, compile_filler, evaluate, failing_scopes
from tfgen.graph.guards import file_guards, guards
from tfgen.graph.holes import ABSENT, Guard, Node
from tfgen.graph.workloads import WORKLOADS
from tfgen.job.training_job import MAX_STRUCTURES, Patch, Role, RoleName, Structure, TrainingJob
from tfgen.record import Record
from tfgen.schema import tunables
from tfgen.text.document import Document


class View(Record):
    """A variant of a job, for the rules.

    Attributes:
        document: the document of the job. Each value that the schema refuses is `UNKNOWN`.
        job: the job that tfgen read from the document.
        values: the complete values of the variant, with defaults for all missing values.
        all_values: the complete values of the job itself, then of each environment.
        environment: the name of the environment; None for the job itself.
        scope: the values and the names with which tfgen fills the object graph for this variant. The name of the Helm
            release is the name of the job.
    """

    document: Document
    job: TrainingJob
    values: Mapping[str, Any]
    all_values: tuple[Mapping[str, Any], ...]
    environment: str | None
    scope: Scope
    _facts: _StructureFacts

    @property
    def spec(self) -> Mapping[str, Any]:
        """The spec of the document, without the defaults of tfgen."""
        spec: Mapping[str, Any] = self.document.data["spec"]
        return spec

    @property
    def variant_data(self) -> Mapping[str, Any]:
        """The mapping that sets this variant's values: the spec of the job, or the mapping of the environment."""
        name = self.environment
        return self.spec if name is None else self.spec["environments"][name]

    @property
    def patches(self) -> tuple[Patch, ...]:
        """The patches of this variant."""
        structure = self.job.structure
        return structure.patches_in(self.environment if structure.environment_patches else None)

    @property
    def roles(self) -> tuple[Role, ...]:
        """The roles of the job."""
        return self.job.structure.roles

    def evaluate(self, node: Node) -> Any:
        """Return the value that an expression of the object graph has in this variant, such as 3 for `retries`."""
        return evaluate(node, self.scope)

    def evaluate_in_role(self, role: RoleName, node: Node) -> Any:
        """Return the value of an expression in a role's pod template, which may use `template_variables(role)`."""
        return evaluate(node, self._role_scopes[role])

    def find_broken_guards(self, rule: str) -> Iterator[tuple[Path, str, tuple[Fix, ...]]]:
        """Yield the path, the message and the fixes of each guard of a rule that fails for this variant.

        If several guards fail for the same path, yield only the longest message. `rule` is the id of the rule.
        """
        found: dict[Path, tuple[str, tuple[Fix, ...]]] = {}
        for guard in self._facts.guards.get(rule, ()):
            for scope in failing_scopes(guard, self.scope):
                steps = guard.at.split(".") if isinstance(guard.at, str) else guard.at
                path: Path = tuple(step for step in (evaluate(step, scope) for step in steps) if step is not ABSENT)
                advice = _ADVICE[rule](guard, self) if rule in _ADVICE else NO_HINT
                broken = (f"{evaluate(guard.message, scope)}{advice.text}", guard.fixes or advice.fixes)
                # A long run name makes the hosts of all roles too long. Report only the longest host.
                found[path] = max(broken, found.get(path, broken), key=lambda item: len(item[0]))
        yield from ((path, message, fixes) for path, (message, fixes) in found.items())

    def template_variables(self, role: RoleName) -> Mapping[str, Any]:
        """Return the template variables of a role's pod template by name, as in ``{"limits": {"cpu": "2"}, ...}``.

        A template variable is a name that the pod template in the object graph defines. In the chart, the template
        variable `limits` is the Go template variable `$limits`.
        """
        return self._role_scopes[role].bound

    @cached_property
    def _role_scopes(self) -> Mapping[RoleName, Scope]:
        return {role.name: role_pod.role_scope(self.job.structure, self.scope, role.name) for role in self.roles}

    def env(self, role: RoleName) -> Mapping[str, Any]:
        """Return the environment variables of a role by name, including defaults that the user may replace.

        Example: ``{"DATA_DIR": "/data"}``.
        """
        env: Mapping[str, Any] = self.template_variables(role)[podspec.ENV.name]
        return env

    def env_path(self, role: RoleName, name: str) -> Path:
        """Return the path of the environment variable `name` of a role.

        The path is in `env` of the role or, if the role does not set the variable, in `env` of the job.
        """
        role_path: Path = ("roles", role, "env", name)
        return role_path if name in self.values["roles"][role].get("env", {}) else ("env", name)

    def variables(self, role: RoleName) -> tuple[Mapping[str, Any], ...]:
        """Return the environment variables of a role's main container, in the order of the rendered list."""
        return self._variables[role]

    @cached_property
    def _variables(self) -> Mapping[RoleName, tuple[Mapping[str, Any], ...]]:
        fillers = self._facts.variables.items()
        return {role: tuple(filler(self._role_scopes[role])) for role, filler in fillers}

    def effective_field(self, role: RoleName, field: str) -> tuple[Path, Any]:
        """Return the path and the value of `field` of a role, or of the job if the role does not set `field`.

        Example: ``(("roles", "worker", "image"), "registry.example.com/ml/train:1.4.0")``. A map of the role is merged
        over the map of the job.
        """
        job_value, role_value = self.values[field], self.values["roles"][role].get(field)
        if role_value is None or role_value == {}:
            return (field,), job_value
        merged = {**job_value, **role_value} if isinstance(role_value, dict) else role_value
        return ("roles", role, field), merged

    @property
    def has_tensorboard(self) -> bool:
        """True if TensorBoard is enabled in this variant."""
        return bool(self.values.get("tensorboard", {}).get("enabled"))

    def volumes(self, role: str) -> Mapping[str, Any]:
        """Return the volumes that `role` mounts, by the name of the volume. `role` is a role or `tensorboard`."""
        storage = self.values["storage"]
        return {name: volume for name, volume in storage.items() if role in volume.get("for", [role])}

    def is_set_in_environment(self, path: Path) -> bool:
        """Return True if the environment sets the complete value at `path`, and not only some keys of a mapping."""
        if self.environment is None:
            return False
        data = self.spec["environments"][self.environment]
        for step in path:
            if not isinstance(data, Mapping):
                return True  # A list or a scalar of an environment replaces the complete value of the job.
            if step not in data:
                return False
            data = data[step]
        return not isinstance(data, Mapping) or not data_path.has(self.spec, path)

    def is_set(self, path: Path) -> bool:
        """Return True if the environment or the job sets a value at a path, and False if the value is a default."""
        return self.is_set_in_environment(path) or data_path.has(self.spec, path)

    def reported_path(self, *paths: Path) -> Path:
        """Return the first of `paths` that the environment sets. If the environment sets none, return `paths[0]`."""
        return next((path for path in paths if self.is_set_in_environment(path)), paths[0])

    def place(self, path: Path) -> Place:
        """Return the line that sets a value. For a default value, return the line of the nearest parent key."""
        return self.document.place(self._in_document(path))

    def text(self, path: Path) -> str:
        """Return the source text of the scalar at a path; empty if the document has no scalar at the path."""
        return self.document.text(self._in_document(path)) or ""

    def _in_document(self, path: Path) -> Path:
        base: Path = ("spec", "environments", self.environment or "") if self.is_set_in_environment(path) else ("spec",)
        return (*base, *path)

    def written_path(self, owner: Path, path: Path) -> Path:
        """Return the path in the document that an edit changes. The environment sets `owner`, or the job does.

        A new key inside `owner` belongs where `owner` is.
        """
        is_inside = path[: len(owner)] == owner and self.is_set_in_environment(owner)
        return (*self._in_document(owner), *path[len(owner) :]) if is_inside else self._in_document(path)

    def locate(self, path: Path) -> tuple[Place, str | None]:
        """Return the line of the mistake at `path`, and the environment that the message must name.

        The environment is None for a mistake of the job itself, and for a line inside the mapping of the environment.
        """
        return self.place(path), None if self.is_set_in_environment(path) else self.environment


class _StructureFacts(Record):
    """Data that all variants of a job share, because the data follows from the structure of the job.

    Attributes:
        guards: the guards of each rule, by the id of the rule.
        variables: for each role, a function that computes the environment variables of the role's main container.
    """

    guards: Mapping[str, Sequence[Guard]]
    variables: Mapping[RoleName, Filler]


def views(document: Document) -> tuple[View, ...]:
    """Return the views of a document: first the view of the job, then a view of each environment.

    An environment that is unknown has no view.

    Raises:
        UnknownValueError, TypeError: the structure of the job depends on an unknown value.
    """
    data, unknown = _with_readable_environments(document.data)
    job = TrainingJob.from_document(data)
    job_values, by_environment = tunables.all_values(data["spec"], of_any_kind=True)
    names = [environment.name for environment in job.environments]
    all_values = (job_values, *(UNKNOWN if name in unknown else by_environment[name] for name in names))
    facts = _facts(job.structure)
    return tuple(
        View(
            document=document,
            job=job,
            values=values,
            all_values=all_values,
            environment=name,
            scope=Scope(values, release=job.name, chart=job.name),
            _facts=facts,
        )
        for name, values in zip((None, *names), all_values, strict=True)
        if values is not UNKNOWN
    )


def _with_readable_environments(data: Any) -> tuple[Any, Collection[str]]:
    """Return the data with a mapping for each environment that is unknown, and the names of these environments."""
    environments = data["spec"].get("environments", {})
    unknown = [name for name, environment in environments.items() if environment is UNKNOWN]
    if not unknown:
        return data, ()
    place = dict.fromkeys(("namespace", "cluster", "enabled"), UNKNOWN)
    readable = {**environments, **dict.fromkeys(unknown, place)}
    return {**data, "spec": {**data["spec"], "environments": readable}}, unknown


@functools.lru_cache(MAX_STRUCTURES)
def _facts(structure: Structure) -> _StructureFacts:
    by_rule: dict[str, list[Guard]] = {}
    for guard in (*guards(structure), *file_guards(structure)):
        by_rule.setdefault(guard.rule, []).append(guard)
    return _StructureFacts(by_rule, {role.name: _variables(structure, role.name) for role in structure.roles})


def _variables(structure: Structure, role: RoleName) -> Filler:
    has_cluster = WORKLOADS[structure.kind].has_config_map(structure)
    return compile_filler(podspec.variables(structure, role, index_label="", has_cluster=has_cluster))


# -- advice of guards --------------------------------------------------------------------------------------------------


def _max_workers(guard: Guard, view: View) -> Hint:
    """Return advice that names the largest number of workers that `guard` accepts. A bisection finds the number."""
    roles = view.values["roles"]

    def too_many(workers: int) -> bool:
        values = {**view.values, "roles": {**roles, "worker": {**roles["worker"], "replicas": workers}}}
        return bool(evaluate(guard.when, Scope(values, release=view.job.name, chart=view.job.name)))

    if "worker" not in roles or too_many(1):
        return NO_HINT
    max_workers = bisect_left(range(roles["worker"]["replicas"]), True, lo=1, key=too_many) - 1
    return Hint(f"; at most {max_workers} workers fit")


def _new_priority_syntax(_guard: Guard, view: View) -> Hint:
    """Return the advice to replace ``high=0.5``, the syntax of ElasticDL in 2020, by ``0.5``."""
    priority: str = view.values["workload"]["elasticDL"]["workerPriority"]
    name, equals, fraction = priority.partition("=")
    path = ("workload", "elasticDL", "workerPriority")
    return hint(assignment(path, fraction, f"write {fraction}")) if equals and name == "high" else NO_HINT


_ADVICE: Final[Mapping[str, Callable[[Guard, View], Hint]]] = {
    "elasticdl-priority": _new_priority_syntax,
    "tf-config-size": _max_workers,
}
