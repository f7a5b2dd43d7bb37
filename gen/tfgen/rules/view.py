"""What a rule sees: a job, as it is or as one of its environments makes it, and where each part of it is written.

    view.values["roles"]["worker"]["replicas"]             -> 8, in prod
    view.place(("roles", "worker", "replicas"))            -> the line of prod that says so, or else the job's

A path here is one of the values: the spec's without `spec`, keys and indexes.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from functools import cached_property
from typing import Any

from tfgen import data_path
from tfgen.data_path import Path
from tfgen.graph.fill import Filler, Kept, Scope, compile_filler, once_for_values
from tfgen.graph.guards import file_guards, guards
from tfgen.graph.holes import Guard
from tfgen.graph.objects import environment
from tfgen.graph.shape import once_a_shape
from tfgen.graph.workloads import WORKLOADS, pod
from tfgen.job.training_job import Role, RoleName, Structure, TrainingJob
from tfgen.problems import Place
from tfgen.record import Record
from tfgen.schema import tunables
from tfgen.text.document import Document


class View(Record):
    """One of the forms in which a job runs.

    Attributes:
        document: what the schema accepts.
        job: what it says.
        environment: the environment's name; None for the job itself.
        values: the complete values; what nothing of the job reads has its default.
        guards: what must not be, whatever the values.
        all_values: the complete values of every form: the job's, then those of each environment.
        env_fillers: what makes the environment of each role's main container.
        filled: what was filled for a form of the job already.
    """

    document: Document
    job: TrainingJob
    environment: str | None
    values: Mapping[str, Any]
    guards: tuple[Guard, ...]
    all_values: tuple[Mapping[str, Any], ...]
    env_fillers: Mapping[RoleName, Filler]
    filled: dict[Hashable, Any]

    @property
    def spec(self) -> Mapping[str, Any]:
        """The spec as it is written."""
        spec: Mapping[str, Any] = self.document.data["spec"]
        return spec

    @property
    def own(self) -> Mapping[str, Any]:
        """What this form itself says: the job's spec, or the environment alone."""
        return self.spec if self.environment is None else self.spec["environments"][self.environment]

    @property
    def roles(self) -> tuple[Role, ...]:
        """The job's roles."""
        return self.job.structure.roles

    @cached_property
    def scope(self) -> Scope:
        """What fills the holes, as Helm sees a release that has the job's own name."""
        return Scope(self.values, release=self.job.name, chart=self.job.name, kept=Kept(self.values, self.filled))

    @cached_property
    def _role_scopes(self) -> Mapping[RoleName, Scope]:
        return {role.name: pod.role_scope(self.job.structure, self.scope, role.name) for role in self.roles}

    def role_scope(self, role: RoleName) -> Scope:
        """The same inside a role's document, where all is bound that its pod template names."""
        return self._role_scopes[role]

    def env(self, role: RoleName) -> Mapping[str, Any]:
        """The variables of a role by name: the user's, and those that tfgen sets unless the user does."""
        env: Mapping[str, Any] = self.role_scope(role).bound[environment.ENV.name]
        return env

    def env_path(self, role: RoleName, name: str) -> Path:
        """Where one of a role's variables is said: the role's own env, or the job's."""
        own: Path = ("roles", role, "env", name)
        return own if name in self.values["roles"][role]["env"] else ("env", name)

    def variables(self, role: RoleName) -> tuple[Mapping[str, Any], ...]:
        """The environment of a role's main container as it is printed, in its order."""
        return self._variables[role]

    @cached_property
    def _variables(self) -> Mapping[RoleName, tuple[Mapping[str, Any], ...]]:
        return {role.name: tuple(self.env_fillers[role.name](self.role_scope(role.name))) for role in self.roles}

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
        if self.environment is None:
            return False
        data = self.spec["environments"][self.environment]
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
        base: Path = ("spec", "environments", self.environment or "") if self.says(path) else ("spec",)
        return (*base, *path)


def views(document: Document) -> Iterator[View]:
    """The job of a document that the schema accepts, then each of its environments."""
    job = TrainingJob.from_document(document.data)
    shared = (*guards(job.structure), *file_guards(job.structure))
    own, by_environment = tunables.all_values(document.data["spec"], of_any_kind=True)
    every = (own, *(by_environment[form.name] for form in job.environments))
    fillers = _env_fillers(job.structure)
    filled: dict[Hashable, Any] = {}
    yield View(document, job, None, own, shared, every, fillers, filled)
    for form in job.environments:
        yield View(document, job, form.name, by_environment[form.name], shared, every, fillers, filled)


@once_a_shape
def _env_fillers(structure: Structure) -> Mapping[RoleName, Filler]:
    told = WORKLOADS[structure.kind].tells_cluster(structure)
    fillers = {}
    for role in structure.roles:
        variables = environment.variables(structure, role.name, index_label="", told=told)
        paths = pod.reads_in_role(structure, role.name, variables)
        fillers[role.name] = once_for_values(paths, compile_filler(variables))
    return fillers
