"""Trace the fields of objects and the lines of templates to the keys of job.yaml that set them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Final

from tfgen import data_path
from tfgen.data_path import Path
from tfgen.graph.built import BuiltJob, build, object_parts
from tfgen.graph.provenance import Part
from tfgen.job.origin import Origin, origins
from tfgen.record import Record
from tfgen.schema import file as schema_file
from tfgen.targets.chart.go_template.syntax import Lines
from tfgen.targets.chart.template_lines import chart_lines
from tfgen.text.document import Document

_PATCHES: Final = "patches"
"""Key of job.yaml whose entries are removed one by one to find the entry that changes a line."""


class JobParts(Record):
    """A job, with the job keys that set each field of its objects.

    Attributes:
        document: the job.
        built: the objects of the job.
    """

    document: Document
    built: BuiltJob

    @classmethod
    def of(cls, document: Document) -> JobParts:
        """Build the objects of a valid job."""
        return cls(document, build(document.data))

    @cached_property
    def templates(self) -> Mapping[str, Lines]:
        """The lines of each template, by the path of the template in the chart."""
        job = self.built.job
        return chart_lines(job.structure, [form.name for form in job.environments if form.enabled])

    def objects(self, environment: str | None) -> Mapping[str, Mapping[Path, Part]]:
        """Return the parts of each object of an environment, by the name of the object and the path in the object.

        A `Part` is a mapping, list or scalar in the object, together with the job keys that set its value. The name of
        an object is the name of its template. Example: the part `objects("prod")["worker"][("spec", "replicas")]`.
        """
        if environment not in self._objects:
            self._objects[environment] = object_parts(self.built, environment)
        return self._objects[environment]

    def origins(self, environment: str | None) -> Mapping[Path, Origin]:
        """Return the origin of each value that the job has in an environment, by the path of the value in the job."""
        if environment not in self._origins:
            self._origins[environment] = {row.path: row for row in origins(self.document, environment)}
        return self._origins[environment]

    def keys_that_shape_object(self, environment: str | None, key: str, path: Path) -> frozenset[Path]:
        """Return the job keys that decide whether an object has the field `path`, or that decide its value.

        `key` is the name of the object, such as `finisher-role`.
        """
        value = self.objects(environment)[key][path].value
        return frozenset(
            changed
            for changed, job in self._jobs_without_a_key.items()
            if path not in (parts := job.objects(environment).get(key, {})) or parts[path].value != value
        )

    def keys_that_shape_line(self, file: str, line: str) -> frozenset[Path]:
        """Return the job keys that decide whether the template `file` contains the line `line`."""
        return frozenset(
            changed for changed, job in self._jobs_without_a_key.items() if line not in job.templates.get(file, ())
        )

    @cached_property
    def _objects(self) -> dict[str | None, Mapping[str, Mapping[Path, Part]]]:
        return {}

    @cached_property
    def _origins(self) -> dict[str | None, Mapping[Path, Origin]]:
        return {}

    @cached_property
    def _jobs_without_a_key(self) -> Mapping[Path, JobParts]:
        """Copies of the job, each without one of the optional keys that decide the structure of the job.

        The keys of the mapping are the paths of the removed keys, such as ("spec", "gang").
        """
        data = self.document.data
        return {
            path: JobParts.of(Document.without_places(self.document.file, data_path.without(data, path)))
            for path in structure_keys(data)
        }


def structure_keys(job: Mapping[str, Any]) -> Iterator[Path]:
    """Yield the optional keys of a job that decide its structure."""
    spec = job["spec"]
    yield from _structure_keys(("spec",), spec)
    for role, data in spec["roles"].items():
        yield from _structure_keys(("spec", "roles", role), data or {})
    for name, environment in spec.get("environments", {}).items():
        yield from (("spec", "environments", name, _PATCHES, patch) for patch in environment.get(_PATCHES, ()))


def _structure_keys(around: Path, data: Mapping[str, Any]) -> Iterator[Path]:
    schema = schema_file.load()
    node = schema_file.node(schema, tuple(map(str, around))) or {}
    for key, value in data.items():
        if key in ("environments", "roles", "outputs", "gitops") or key in node.get("required", ()):
            continue
        if (schema_file.entry(schema, node, key) or {}).get("x-tunable"):
            continue
        if key == _PATCHES:
            yield from ((*around, key, name) for name in value)
        else:
            yield (*around, key)
