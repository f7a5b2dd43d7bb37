"""Writes the Helm chart of a job: the folder ``charts/NAME``."""

from __future__ import annotations

import fnmatch
import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, Final

from tfgen.job.training_job import ChartPage, TrainingJob
from tfgen.places import CHARTS
from tfgen.schema.values_schema import ValuesForm, once_a_form, values_form
from tfgen.targets.chart.readme import NOTES, environment_notes, readme
from tfgen.targets.chart.templates import template_files
from tfgen.targets.chart.values_yaml import values_yaml
from tfgen.targets.generated_note import generated_note
from tfgen.text import yaml_text
from tfgen.tree.cache import cached_texts
from tfgen.tree.staging import Revision

# -- Chart.yaml --------------------------------------------------------------------------------------------------------
#
# ``Chart.yaml`` and its version, such as ``1.3.69265643583774``.
#
# The second number is the revision in the ledger, which increases by one when any file of the chart changes. The third
# number is the first 48 bits of the digest of these files. After a revert or a merge, two different contents may have
# the same revision, and the third number distinguishes them. All three parts are numbers, so version ranges and ``helm
# search repo`` find the newest chart: https://helm.sh/docs/chart_best_practices/conventions/#version-numbers. A version
# has two other parts, which are not suitable for the digest:
#
# - Pre-release (``0.1.3-h3eff2a14b91e``): only ``--devel`` and ranges that end in ``-0`` find such a version.
# - Build metadata (``0.1.3+h3eff2a14b91e``): versions that differ only in the build metadata, such as ``0.1.3+a`` and
#   ``0.1.3+b``, are the same version for Helm. With ``valuesFiles``, Flux's source-controller replaces the build
#   metadata by its own number: release 1.7 packaged version '0.1.0+1' of the chart, and did not upgrade the Helm
#   release.


# From this version, these features are on by default: the index labels of pods, and the success policy, the backoff
# limit per index and the pod replacement policy of Jobs
# (https://kubernetes.io/docs/reference/command-line-tools-reference/feature-gates/).
_KUBE_LEAST: Final = "1.31"
_KUBE_LEAST_NEW_GATES: Final = "1.35"
"""The first Kubernetes version in which the feature gates ContainerRestartRules and ImageVolume are on by default."""
_CONTENT_LENGTH: Final = 12
"""Number of hexadecimal digits of the digest in the version: 48 bits, because some tools limit integers to 2^53."""


def chart_yaml(job: TrainingJob, files: Mapping[str, str]) -> Revision:
    """Return ``Chart.yaml`` as a `Revision`, a file in which tfgen later inserts the number of changes of the chart.

    The version contains a digest of all files of the chart, without the version itself.

    Args:
        job: the job.
        files: the text of each other file of the chart. Example: {"values.yaml": "image: ..."}.
    """
    head = generated_note(job.name) + yaml_text.dump(_head_fields(job))
    tail = yaml_text.dump(_tail_fields(job))
    digest = hashlib.sha256()
    for path, text in sorted({**files, "Chart.yaml": head + tail}.items()):
        digest.update(f"{path}\0{text}\0".encode())
    content = int(digest.hexdigest()[:_CONTENT_LENGTH], 16)
    path = f"{CHARTS}/{job.name}/Chart.yaml"
    return Revision(path, digest.hexdigest(), f"{head}version: 1.", f".{content}\n{tail}")


def _head_fields(job: TrainingJob) -> dict[str, Any]:
    """Return the fields of ``Chart.yaml`` before the version."""
    return {
        "apiVersion": "v2",
        "name": job.name,
        "description": f"The distributed TensorFlow job {job.name}.",
        "type": "application",
    }


def _tail_fields(job: TrainingJob) -> dict[str, Any]:
    """Return the fields of ``Chart.yaml`` after the version."""
    return {
        **_app_version(job.values["image"]),
        "kubeVersion": f">={_oldest_kubernetes(job)}.0-0",
        **_page(job.chart_page),
    }


def _oldest_kubernetes(job: TrainingJob) -> str:
    """Return the oldest version of Kubernetes that supports the objects of a job, without its environments."""
    has_image_volume = any(volume.get("image") for volume in job.values["storage"].values())
    return _KUBE_LEAST_NEW_GATES if job.structure.in_place or has_image_volume else _KUBE_LEAST


def _page(page: ChartPage) -> dict[str, Any]:
    """Return the fields of ``Chart.yaml`` that chart repositories show, such as `icon`.

    https://helm.sh/docs/topics/charts/#the-chartyaml-file
    """
    page_fields = {
        "keywords": [*page.keywords],
        "home": page.home,
        "sources": [*page.sources],
        "maintainers": [dict(maintainer) for maintainer in page.maintainers],
        "icon": page.icon,
    }
    return {key: value for key, value in page_fields.items() if value}


def _app_version(image: str) -> dict[str, str]:
    """Return the field ``appVersion`` with the tag of the image, or with the digest of an image without a tag.

    For an image without tag and digest, the result is empty.
    """
    name, _, digest = image.partition("@")
    tag = name.rpartition("/")[2].partition(":")[2]
    version = tag or digest.replace(":", "-")
    return {"appVersion": version} if version else {}


# -- all files ---------------------------------------------------------------------------------------------------------


_VALUES_SCHEMA: Final = "values.schema.json"
_STRAY_FILES: Final = (".DS_Store", ".git/", ".idea/", ".vscode/", "*.bak", "*.orig", "*.swp", "*.tmp", "*~")
"""Patterns of files that Helm ignores: https://helm.sh/docs/chart_template_guide/helm_ignore_file/."""


def chart(job: TrainingJob, spec: Mapping[str, Any], *, uses_cache: bool = False) -> tuple[dict[str, str], Revision]:
    """Return the files of the chart, and the file ``Chart.yaml`` as a `Revision`.

    The files are a mapping from the path in the output folder to the text. A `Revision` is a file in which tfgen later
    inserts a number that counts the changes of the chart.

    Args:
        job: the job.
        spec: the spec of the job, from which tfgen makes the schema of the values.
        uses_cache: whether to use the cache on disk for the texts that depend only on the structure of the job.
    """
    environments = [environment for environment in job.environments if environment.enabled]
    files = template_files(job.structure, uses_cache=uses_cache)
    files[NOTES] += environment_notes(environment.name for environment in environments)
    form, note = values_form(spec), generated_note(job.name)
    files["values.yaml"] = (
        f"{note}# The values of {job.name}, each with its default.\n\n{values_yaml(job.values, form)}"
    )
    for environment in environments:
        files[f"values-{environment.name}.yaml"] = note + _environment_values(environment.name, environment.overrides)
    files[_VALUES_SCHEMA] = _values_schema(form, uses_cache)
    files["README.md"] = readme(job, form, _oldest_kubernetes(job))
    files[".helmignore"] = _helm_ignore(files)
    version = chart_yaml(job, files)
    folder = f"{CHARTS}/{job.name}"
    tree = {f"{folder}/{path}": text for path, text in files.items()}
    return {**tree, version.path: version.text(0)}, version


@once_a_form
def _values_schema(form: ValuesForm, uses_cache: bool) -> str:
    def write_schema() -> Mapping[str, str]:
        from tfgen.schema.values_schema import values_schema_text  # takes 2 ms, which a cached schema saves

        return {_VALUES_SCHEMA: values_schema_text(form)}

    parts = (_VALUES_SCHEMA.encode(), repr(form).encode())
    return (cached_texts(parts, write_schema) if uses_cache else write_schema())[_VALUES_SCHEMA]


def _helm_ignore(files: Iterable[str]) -> str:
    """Return the text of ``.helmignore``, which lists the files that Helm does not package.

    If the chart contains a file such as x.tmp, the text omits the pattern ``*.tmp``, so that Helm packages the file.
    """
    names = [path.rpartition("/")[2] for path in files]
    patterns = [pattern for pattern in _STRAY_FILES if not fnmatch.filter(names, pattern)]
    return "\n".join(("# Files of editors and operating systems.", *patterns, ""))


def _environment_values(name: str, overrides: Mapping[str, Any]) -> str:
    return f"# The values that differ in {name}.\n{yaml_text.dump(dict(overrides))}"
