"""View of one variant of a job, for the rules: the values of the variant, and the line that sets each value.

For example, in the view of the environment prod, `view.values["roles"]["worker"]["replicas"]` is the number of workers
in prod, and `view.place(("roles", "worker", "replicas"))` is the line of the job file that sets the number.

All paths are paths of the chart's values, and do not begin with `spec`. Each step of a path is a key of a mapping or
a list index.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from tfgen import data_path
from tfgen.data_path import Path
from tfgen.graph.fill import FillCache, Filler, Scope, cached_by_values, compile_filler, evaluate, failing_scopes
from tfgen.graph.guards import file_guards, guards
from tfgen.graph.holes import Guard, Node
from tfgen.graph.objects import environment
from tfgen.graph.reads import reads
from tfgen.graph.shape import cached_by_shape
from tfgen.graph.workloads import WORKLOADS, pod
from tfgen.job.training_job import Patch, Role, RoleName, Structure, TrainingJob
from tfgen.problems import Place
from tfgen.record import Record
from tfgen.rules.finding import Finding
from tfgen.rules.reading import ALL, Reading, TrackedValues
from tfgen.schema import tunables
from tfgen.schema.value_paths import whole_values
from tfgen.text.document import Document


class View(Record):
    """A variant of a job, for the rules.

    A view records the values that a rule reads. `find_in_variants` runs the rule for an environment only if the
    environment changes a recorded value, and reuses the findings of the job for the other environments.

    Attributes:
        document: the document of the job. The schema accepts the document.
        job: the job that tfgen read from the document.
        values: the complete values of the variant, with defaults for all missing values.
        all_values: the complete values of the job itself, then of each environment.
    """

    document: Document
    job: TrainingJob
    values: Mapping[str, Any]
    all_values: tuple[Mapping[str, Any], ...]
    _environment: str | None
    _scope: Scope
    _shape: _Shape
    _reading: Reading
    _differences: frozenset[Path]

    @property
    def environment(self) -> str | None:
        """The name of the environment; None for the job itself."""
        self._reading.paths.add(ALL)
        return self._environment

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

    @property
    def scope(self) -> Scope:
        """The values, and the name of the Helm release, with which tfgen fills the object graph for this variant.

        The name of the Helm release is the name of the job. The view cannot record the values that a rule reads from
        the scope. So a rule that uses the scope runs for each variant.
        """
        self._reading.paths.add(ALL)
        return self._scope

    def evaluate(self, node: Node) -> Any:
        """Return the value that an expression of the object graph has in this variant, such as 3 for `retries`."""
        self._reading.paths |= whole_values(reads(node))
        return evaluate(node, self._scope)

    def evaluate_in_role(self, role: RoleName, node: Node) -> Any:
        """Return the value of an expression in a role's pod template, which may use `template_variables(role)`."""
        self._reading.paths |= whole_values(pod.reads_in_role(self.job.structure, role, (node,)))
        return evaluate(node, self._role_scopes[role])

    def failing_guards(self, rule: str) -> Iterator[tuple[Guard, Scope]]:
        """Yield each failing guard of a rule, with the scope in which the caller evaluates the message of the guard.

        A guard that checks each role can fail for several roles, so the scope contains the name of the failing role.
        `rule` is the id of the rule.
        """
        for guard, paths in self._shape.guards.get(rule, ()):
            self._reading.paths |= paths
            for scope in failing_scopes(guard, self._scope):
                yield guard, scope

    def template_variables(self, role: RoleName) -> Mapping[str, Any]:
        """Return the template variables of a role's pod template by name, as in ``{"limits": {"cpu": "2"}, ...}``.

        A template variable is a name that the pod template in the object graph defines. In the chart, the template
        variable `limits` is the Go template variable `$limits`.
        """
        self._reading.paths |= self._shape.template_variables[role]
        return self._role_scopes[role].bound

    @cached_property
    def _role_scopes(self) -> Mapping[RoleName, Scope]:
        return {role.name: pod.role_scope(self.job.structure, self._scope, role.name) for role in self.roles}

    def env(self, role: RoleName) -> Mapping[str, Any]:
        """Return the environment variables of a role by name, including defaults that the user may replace.

        Example: ``{"DATA_DIR": "/data"}``.
        """
        env: Mapping[str, Any] = self.template_variables(role)[environment.ENV.name]
        return env

    def env_path(self, role: RoleName, name: str) -> Path:
        """Return the path of the environment variable `name` of a role.

        The path is in `env` of the role or, if the role does not set the variable, in `env` of the job.
        """
        role_path: Path = ("roles", role, "env", name)
        return role_path if name in self.values["roles"][role].get("env", {}) else ("env", name)

    def variables(self, role: RoleName) -> tuple[Mapping[str, Any], ...]:
        """Return the environment variables of a role's main container, in the order of the rendered list."""
        self._reading.paths |= self._shape.variables[role][1]
        return self._variables[role]

    @cached_property
    def _variables(self) -> Mapping[RoleName, tuple[Mapping[str, Any], ...]]:
        fillers = self._shape.variables.items()
        return {role: tuple(filler(self._role_scopes[role])) for role, (filler, _) in fillers}

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
        self._reading.queried_paths.add(path)
        if self._environment is None:
            return False
        data = self.spec["environments"][self._environment]
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
        base: Path = (
            ("spec", "environments", self._environment or "") if self.is_set_in_environment(path) else ("spec",)
        )
        return (*base, *path)

    def locate(self, path: Path) -> tuple[Place, str | None]:
        """Return the line of the mistake at `path`, and the environment that the message must name.

        The environment is None for a mistake of the job itself, and for a line inside the mapping of the environment.
        """
        return self.place(path), None if self.is_set_in_environment(path) else self._environment

    def matches(self, reading: Reading) -> bool:
        """Return True if this variant and the job have the same values at all paths that a rule has read."""
        return self._differences.isdisjoint(reading.paths) and not any(
            map(self.is_set_in_environment, reading.queried_paths)
        )


class _Shape(Record):
    """Data that all variants of a job share, because the data follows from the structure of the job.

    Attributes:
        guards: the guards of each rule, by the id of the rule. Each guard has the paths of the values that it reads.
        template_variables: the paths of the values that `View.template_variables` reads for each role.
        variables: for each role, a function that computes the environment variables of the role's main container, and
            the paths of the values that the function reads.
    """

    guards: Mapping[str, Sequence[tuple[Guard, frozenset[Path]]]]
    template_variables: Mapping[RoleName, frozenset[Path]]
    variables: Mapping[RoleName, tuple[Filler, frozenset[Path]]]


def find_in_variants(
    check: Callable[[View], Iterable[Finding]], variants: Sequence[View]
) -> Iterator[tuple[View, Finding]]:
    """Run the check of a rule on the variants of a job. For each finding, yield the variant and the finding.

    Args:
        check: the function of the rule. The function runs for the job, and again for each environment that changes a
            value which the function has read.
        variants: the result of `views`.
    """
    job, *environments = variants
    job._reading.begin()
    findings: list[Finding] = []
    for finding in check(job):
        findings.append(finding)
        yield job, finding
    # Compare all variants before the next check, because each check adds paths to the record.
    matches = [variant.matches(job._reading) for variant in environments]
    for variant, is_match in zip(environments, matches, strict=True):
        for finding in findings if is_match else check(variant):
            yield variant, finding


def views(document: Document) -> tuple[View, ...]:
    """Return the views of a valid document: first the view of the job, then a view of each environment."""
    job = TrainingJob.from_document(document.data)
    job_values, by_environment = tunables.all_values(document.data["spec"], of_any_kind=True)
    names = [environment.name for environment in job.environments]
    all_values = (job_values, *(by_environment[name] for name in names))
    reading, shape, filled = Reading(), _shape(job.structure), dict[Hashable, Any]()
    caches = [FillCache(values, job_values, filled) for values in all_values]
    return tuple(
        View(
            document=document,
            job=job,
            values=values if name else TrackedValues(values, reading),
            all_values=all_values,
            _environment=name,
            _scope=Scope(values, release=job.name, chart=job.name, cache=cache),
            _shape=shape,
            _reading=reading,
            _differences=cache.differing | {ALL},
        )
        for name, values, cache in zip((None, *names), all_values, caches, strict=True)
    )


@cached_by_shape
def _shape(structure: Structure) -> _Shape:
    by_rule: dict[str, list[tuple[Guard, frozenset[Path]]]] = {}
    for guard in (*guards(structure), *file_guards(structure)):
        by_rule.setdefault(guard.rule, []).append((guard, whole_values(reads(guard))))
    roles = [role.name for role in structure.roles]
    return _Shape(
        guards=by_rule,
        template_variables={role: whole_values(pod.reads_in_role(structure, role)) for role in roles},
        variables={role: _variables(structure, role) for role in roles},
    )


def _variables(structure: Structure, role: RoleName) -> tuple[Filler, frozenset[Path]]:
    has_cluster = WORKLOADS[structure.kind].has_config_map(structure)
    variables = environment.variables(structure, role, index_label="", has_cluster=has_cluster)
    paths = pod.reads_in_role(structure, role, variables)
    return cached_by_values(paths, compile_filler(variables)), whole_values(paths)
