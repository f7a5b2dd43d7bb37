"""A job rendered into a folder, and its objects in the forms that must be equal.

rendered = Rendered.write(document, tmp_path)
rendered.assert_equal("prod")
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support import normal, tools
from tests.support.generated import Document, accepted, saying
from tests.support.helm import Helm
from tests.support.normal import Objects
from tfgen.graph.fill import Scope
from tfgen.graph.graph import graph, objects, plain_objects
from tfgen.graph.guards import guards
from tfgen.job.training_job import TrainingJob
from tfgen.schema import tunables
from tfgen.targets.kustomize.overlays import build_objects
from tfgen.targets.render import render


@dataclass(frozen=True)
class Rendered:
    """A job's document, and the folder that contains its charts/ and overlays/."""

    document: Document
    out: Path

    @classmethod
    def write(cls, document: Document, out: Path) -> Rendered:
        """Render the chart and the overlays of a job into an empty folder, even if its `outputs` excludes one."""
        document = {**document, "spec": {key: value for key, value in document["spec"].items() if key != "outputs"}}
        for path, text in render(document).tree.files.items():
            file = out / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8", newline="\n")
        return cls(document, out)

    @property
    def name(self) -> str:
        """Return the name of the job."""
        return str(self.document["metadata"]["name"])

    @property
    def chart(self) -> Path:
        """Return the folder of the chart."""
        return self.out / "charts" / self.name

    @property
    def environments(self) -> Sequence[str]:
        """Return the names of the job's environments."""
        return list(self.document["spec"].get("environments", {}))

    def namespace(self, environment: str | None) -> str | None:
        """Return the namespace of an environment, or of the job (None)."""
        of_job = self.document["metadata"].get("namespace")
        settings = self.document["spec"].get("environments", {}).get(environment, {})
        namespace: str | None = settings.get("namespace", of_job)
        return namespace

    def overlay(self, environment: str | None) -> Path:
        """Return the folder of an overlay, or of the base if the environment is None."""
        return self.out / "overlays" / self.name / (environment or "base")

    def values_args(self, environment: str | None) -> Sequence[str]:
        """Return Helm's arguments for an environment."""
        return ["--values", str(self.chart / f"values-{environment}.yaml")] if environment else []

    def by_helm(self, *args: str, release: str | None = None, helm: Helm | None = None) -> Objects:
        """Return the objects that `helm template` prints for a release, by default with the name of the job."""
        command = helm or tools.helm()
        return normal.read(command.template(self.chart, release or self.name, "--skip-tests", *args))

    def by_helm_with(self, values: Mapping[str, Any], helm: Helm | None = None) -> Objects:
        """Return the objects that `helm template` prints with a values file."""
        file = self.out / "values-of-the-test.json"
        file.write_text(json.dumps(values, ensure_ascii=False), encoding="utf-8")
        return self.by_helm("--values", str(file), helm=helm)

    def by_kustomize(self, environment: str | None) -> Objects:
        """Return the objects that `kustomize build` prints."""
        return normal.read(tools.kustomize_build(self.overlay(environment)))

    def by_our_reading(self, environment: str | None) -> Objects:
        """Return the objects that tfgen reads from the files of the overlay."""
        folder = self.out / "overlays" / self.name
        files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
        texts = {name: path.read_text(encoding="utf-8") for name, path in files.items()}
        return normal.by_identity(build_objects(texts, environment))

    def by_tfgen(self, environment: str | None) -> Objects:
        """Return the objects that tfgen fills."""
        return normal.by_identity(plain_objects(self.document, environment))

    def by_tfgen_as(self, release: str, chart: str | None = None, **values: str) -> Objects:
        """Return the objects that tfgen fills for another release name, an alias of the chart, and more values."""
        job = TrainingJob.from_document(self.document)
        scope = Scope({**job.values, **values}, release, chart or job.name)
        return normal.by_identity(objects(graph(job.structure), scope).values())

    def assert_equal(self, environment: str | None, helm: Helm | None = None) -> None:
        """Compare the outputs for an environment, or for the job without an environment (None).

        kustomize writes the namespace of the overlay. `helm install` and an API server add the namespace.
        """
        namespace = self.namespace(environment)
        by_kustomize = self.by_kustomize(environment)
        normal.assert_equal(
            {
                "helm": normal.in_namespace(self.by_helm(*self.values_args(environment), helm=helm), namespace),
                "tfgen": normal.in_namespace(self.by_tfgen(environment), namespace),
                "kustomize": normal.in_namespace(by_kustomize, namespace),
                "our reading of the overlay": normal.in_namespace(self.by_our_reading(environment), namespace),
            }
        )
        written = {item["metadata"].get("namespace") for item in by_kustomize.values()}
        assert written <= {namespace, None}
        assert namespace is None or namespace in written or not written

    def kubeconform(self, *environments: str | None) -> None:
        """Validate the objects of environments and of `helm test` against the schemas of Kubernetes and tfgen."""
        manifests = [
            manifest
            for environment in environments
            for manifest in (
                tools.helm_template(self.chart, self.name, *self.values_args(environment)),
                tools.kustomize_build(self.overlay(environment)),
            )
        ]
        # Validate pod templates separately, because the schemas of custom kinds do not describe a pod.
        objects = [item for manifest in manifests for item in normal.read(manifest).values()]
        pods = [json.dumps(pod, ensure_ascii=False) for item in objects for pod in _pod_templates(item.get("spec"))]
        stream = "\n---\n".join([*manifests, *dict.fromkeys(pods)])
        # One process validates all objects, because compiling the schemas takes most of the time.
        tools.kubeconform(stream, schemas=[f"{tools.ROOT}/schemas/{_CUSTOM_KIND}"], unknown=["Own"])


def assert_outputs_equal(document: Document, folder: Path) -> Rendered:
    """Check the invariant of a job: the outputs are equal for each environment, and values have one meaning.

    Helm renders the chart of the job without environments, with the values of an environment, to the objects of a job
    whose spec has these values. The graph, the guards and the templates do not depend on the values.
    """
    assert accepted(document), document
    rendered = Rendered.write(document, folder / "whole")
    for environment in (None, *rendered.environments):
        if environment is None or document["spec"]["environments"][environment].get("enabled", True):
            rendered.assert_equal(environment)
    plain = {**document, "spec": {key: value for key, value in document["spec"].items() if key != "environments"}}
    chart = Rendered.write(plain, folder / "plain")
    for settings in document["spec"].get("environments", {}).values():
        values = tunables.overrides(settings)
        other = saying(plain, values)
        structure, other_structure = (TrainingJob.from_document(each).structure for each in (plain, other))
        assert (graph(structure), guards(structure)) == (graph(other_structure), guards(other_structure))
        assert _templates(plain) == _templates(other)
        by_tfgen = normal.by_identity(plain_objects(other))
        normal.assert_equal({"helm": chart.by_helm_with(values), "tfgen": by_tfgen})
    return rendered


def _templates(document: Document) -> Mapping[str, str]:
    return {path: text for path, text in render(document).tree.files.items() if "/templates/" in path}


def _pod_templates(found: Any) -> Iterator[Mapping[str, Any]]:
    """Yield each pod template in an object as a PodTemplate object."""
    if isinstance(found, list):
        for item in found:
            yield from _pod_templates(item)
    if isinstance(found, Mapping):
        if "containers" in found.get("spec", {}):
            yield {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "of-a-role"}, "template": found}
        else:
            yield from _pod_templates(list(found.values()))


_CUSTOM_KIND = "{{.ResourceKind}}.{{.Group}}.{{.ResourceAPIVersion}}.json"
