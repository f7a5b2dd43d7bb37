"""What a rule sees: a job, as it is or as one of its environments makes it, and where each part of it is written.

    view.values["roles"]["worker"]["replicas"]             -> 8, in prod
    view.place(("roles", "worker", "replicas"))            -> the line of prod that says so, or else the job's

A path here is one of the values: the spec's without `spec`, keys and indexes.
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
from tfgen.rules.reading import ALL, Noted, Reading
from tfgen.schema import tunables
from tfgen.schema.value_paths import whole_values
from tfgen.text.document import Document


class View(Record):
    """One of the forms in which a job runs.

    What is another in another form is read through the properties and methods, which note it.

    Attributes:
        document: what the schema accepts.
        job: what it says.
        values: the complete values; what nothing of the job reads has its default.
        all_values: the complete values of every form: the job's, then those of each environment.
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
        """The environment's name; None for the job itself."""
        self._reading.paths.add(ALL)
        return self._environment

    @property
    def spec(self) -> Mapping[str, Any]:
        """The spec as it is written."""
        spec: Mapping[str, Any] = self.document.data["spec"]
        return spec

    @property
    def own(self) -> Mapping[str, Any]:
        """What this form itself says: the job's spec, or the environment alone."""
        name = self.environment
        return self.spec if name is None else self.spec["environments"][name]

    @property
    def patches(self) -> tuple[Patch, ...]:
        """The patches of this form."""
        structure = self.job.structure
        return structure.patches_in(self.environment if structure.environment_patches else None)

    @property
    def roles(self) -> tuple[Role, ...]:
        """The job's roles."""
        return self.job.structure.roles

    @property
    def scope(self) -> Scope:
        """What fills the holes, as Helm sees a release that has the job's own name. Nobody knows what is read of it."""
        self._reading.paths.add(ALL)
        return self._scope

    def evaluate(self, node: Node) -> Any:
        """What an expression comes to."""
        self._reading.paths |= whole_values(reads(node))
        return evaluate(node, self._scope)

    def evaluate_in_role(self, role: RoleName, node: Node) -> Any:
        """The same inside a role's document, where all is bound that its pod template names."""
        self._reading.paths |= whole_values(pod.reads_in_role(self.job.structure, role, (node,)))
        return evaluate(node, self._role_scopes[role])

    def failing_scopes(self, rule: str) -> Iterator[tuple[Guard, Scope]]:
        """The guards of a rule that do not hold, whatever the values may be, each with what it is filled from."""
        for guard, paths in self._shape.guards.get(rule, ()):
            self._reading.paths |= paths
            for scope in failing_scopes(guard, self._scope):
                yield guard, scope

    def bound(self, role: RoleName) -> Mapping[str, Any]:
        """What a role's pod template names."""
        self._reading.paths |= self._shape.bound[role]
        return self._role_scopes[role].bound

    @cached_property
    def _role_scopes(self) -> Mapping[RoleName, Scope]:
        return {role.name: pod.role_scope(self.job.structure, self._scope, role.name) for role in self.roles}

    def env(self, role: RoleName) -> Mapping[str, Any]:
        """The variables of a role by name: the user's, and those that tfgen sets unless the user does."""
        env: Mapping[str, Any] = self.bound(role)[environment.ENV.name]
        return env

    def env_path(self, role: RoleName, name: str) -> Path:
        """Where one of a role's variables is said: the role's own env, or the job's."""
        own: Path = ("roles", role, "env", name)
        return own if name in self.values["roles"][role]["env"] else ("env", name)

    def variables(self, role: RoleName) -> tuple[Mapping[str, Any], ...]:
        """The environment of a role's main container as it is printed, in its order."""
        self._reading.paths |= self._shape.variables[role][1]
        return self._variables[role]

    @cached_property
    def _variables(self) -> Mapping[RoleName, tuple[Mapping[str, Any], ...]]:
        fillers = self._shape.variables.items()
        return {role: tuple(filler(self._role_scopes[role])) for role, (filler, _) in fillers}

    def effective(self, role: RoleName, field: str) -> tuple[Path, Any]:
        """A field that a role may say for itself: the path that counts, and its value."""
        own = self.values["roles"][role][field]
        return (("roles", role, field), own) if own else ((field,), self.values[field])

    @property
    def has_tensorboard(self) -> bool:
        """Whether TensorBoard runs."""
        return bool(self.values.get("tensorboard", {}).get("enabled"))

    def volumes(self, role: str) -> Mapping[str, Any]:
        """What a role, or TensorBoard, has of the storage, by name."""
        storage = self.values["storage"]
        return {name: volume for name, volume in storage.items() if role in volume.get("for", [role])}

    def says(self, path: Path) -> bool:
        """Whether the environment itself says what the values have at the path, and does not only add to it."""
        self._reading.sayings.add(path)
        if self._environment is None:
            return False
        data = self.spec["environments"][self._environment]
        for step in path:
            if not isinstance(data, Mapping):
                return True  # a list or a scalar takes the place of all that the job has there
            if step not in data:
                return False
            data = data[step]
        return not isinstance(data, Mapping) or not data_path.has(self.spec, path)

    def has(self, path: Path) -> bool:
        """Whether the environment or the job says something there; else it is a default."""
        return self.says(path) or data_path.has(self.spec, path)

    def blamed(self, *paths: Path) -> Path:
        """Of the paths that contradict each other, the first that the environment says, or else the first."""
        return next((path for path in paths if self.says(path)), paths[0])

    def place(self, path: Path) -> Place:
        """Where the value at the path is said: in the environment, else in the job, else the nearest key around."""
        return self.document.place(self._in_document(path))

    def text(self, path: Path) -> str:
        """The scalar at the path as it was written; empty where there is none."""
        return self.document.text(self._in_document(path)) or ""

    def _in_document(self, path: Path) -> Path:
        base: Path = ("spec", "environments", self._environment or "") if self.says(path) else ("spec",)
        return (*base, *path)

    def locate(self, path: Path) -> tuple[Place, str | None]:
        """Where a mistake is, and the environment to name with it: none for the job's, and where the place says it."""
        return self.place(path), None if self.says(path) else self._environment

    def agrees(self, reading: Reading) -> bool:
        """Whether all that was read of the job itself is the same in this form."""
        return self._differences.isdisjoint(reading.paths) and not any(map(self.says, reading.sayings))


class _Shape(Record):
    """What follows from a job's structure, each with the paths of the values that it reads.

    Attributes:
        guards: what must not be, whatever the values, by rule.
        bound: only the paths: of what a role's pod template names.
        variables: what makes the environment of each role's main container.
    """

    guards: Mapping[str, Sequence[tuple[Guard, frozenset[Path]]]]
    bound: Mapping[RoleName, frozenset[Path]]
    variables: Mapping[RoleName, tuple[Filler, frozenset[Path]]]


def find_in_forms(check: Callable[[View], Iterable[Finding]], forms: Sequence[View]) -> Iterator[tuple[View, Finding]]:
    """Run the check of a rule on the variants of a job, and yield each finding with its variant.

    Args:
        check: runs again only for an environment that changes a value which the check reads of the job.
        forms: the result of `views`.
    """
    job, *environments = forms
    job._reading.begin()
    findings: list[Finding] = []
    for finding in check(job):
        findings.append(finding)
        yield job, finding
    same = [form.agrees(job._reading) for form in environments]
    for form, is_same in zip(environments, same, strict=True):
        for finding in findings if is_same else check(form):
            yield form, finding


def views(document: Document) -> tuple[View, ...]:
    """The job of a document that the schema accepts, then each of its environments."""
    job = TrainingJob.from_document(document.data)
    own, by_environment = tunables.all_values(document.data["spec"], of_any_kind=True)
    every = (own, *(by_environment[form.name] for form in job.environments))
    names = (None, *(form.name for form in job.environments))
    reading, shape, filled = Reading(), _shape(job.structure), dict[Hashable, Any]()
    kept = [FillCache(values, own, filled) for values in every]
    return tuple(
        View(
            document=document,
            job=job,
            values=values if name else Noted(values, reading),
            all_values=every,
            _environment=name,
            _scope=Scope(values, release=job.name, chart=job.name, cache=of_form),
            _shape=shape,
            _reading=reading,
            _differences=of_form.differing | {ALL},
        )
        for name, values, of_form in zip(names, every, kept, strict=True)
    )


@cached_by_shape
def _shape(structure: Structure) -> _Shape:
    by_rule: dict[str, list[tuple[Guard, frozenset[Path]]]] = {}
    for guard in (*guards(structure), *file_guards(structure)):
        by_rule.setdefault(guard.rule, []).append((guard, whole_values(reads(guard))))
    roles = [role.name for role in structure.roles]
    return _Shape(
        guards=by_rule,
        bound={role: whole_values(pod.reads_in_role(structure, role)) for role in roles},
        variables={role: _variables(structure, role) for role in roles},
    )


def _variables(structure: Structure, role: RoleName) -> tuple[Filler, frozenset[Path]]:
    told = WORKLOADS[structure.kind].has_config_map(structure)
    variables = environment.variables(structure, role, index_label="", told=told)
    paths = pod.reads_in_role(structure, role, variables)
    return cached_by_values(paths, compile_filler(variables)), whole_values(paths)
