"""Writes the Helm chart of a job: the folder ``charts/NAME``."""

from __future__ import annotations

import fnmatch
import functools
import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, Final

from tfgen.job.training_job import MAX_STRUCTURES, ChartPage, Structure, TrainingJob
from tfgen.places import CHARTS
from tfgen.schema.values_schema import ValuesForm, once_a_form, values_form, values_schema_text
from tfgen.targets.chart.texts import NOTES, environment_note, readme, values_yaml
from tfgen.text import yaml_text
from tfgen.tree.cache import cached_texts
from tfgen.tree.ledger import generated_note
from tfgen.tree.staging import NumberedFile

# -- templates ---------------------------------------------------------------------------------------------------------
#
# The files of a chart that depend only on the structure of a job: templates, helper files, guards and notes.
#
# tfgen prints these files once for all jobs with the same structure. The files contain a placeholder for the name of
# the chart, which tfgen then replaces. The wrapping of lines depends on the length of the name, so tfgen
# wraps the lines once for all names of the same length. The cache on disk contains the files, because most edits of a
# job do not change its structure.


_NAME: Final = "\ufdd0"
"""The character that stands for each character of the job's name in cached texts. No text of a job may contain it."""


def template_files(job: TrainingJob, *, uses_cache: bool = False) -> dict[str, str]:
    """Return the text of each template, of each helper file, of the guards file and of the notes.

    The keys of the result are paths in the chart. Example: {"templates/worker.yaml": "apiVersion: ..."}.

    Args:
        job: the job.
        uses_cache: whether to read the files from the cache on disk, and to write new files to the cache.
    """
    mark = _NAME * len(job.name)
    return {path: text.replace(mark, job.name) for path, text in _printed(job.structure, mark, uses_cache).items()}


@functools.lru_cache(MAX_STRUCTURES)
def _printed(structure: Structure, mark: str, uses_cache: bool) -> Mapping[str, str]:
    def print_files() -> Mapping[str, str]:
        from tfgen.targets.chart.print_templates import print_templates  # takes 10 ms, which cached templates save

        return print_templates(structure, mark)

    parts = (b"templates", structure.text.encode(), b"%d" % len(mark))
    return cached_texts(parts, print_files) if uses_cache else print_files()


# -- Chart.yaml --------------------------------------------------------------------------------------------------------
#
# ``Chart.yaml`` and its version, such as ``1.3.69265643583774``.
#
# The second number is the revision in the ledger, which increases by one when any file of the chart changes. A merge of
# two branches with the same revision and different contents gets the next revision (`tree.ledger.merge_ledgers`), so
# the versions of a job increase in the order of its commits. The third number is the first 48 bits of the digest of
# these files, and distinguishes the contents of two branches with the same revision. All three parts are numbers, so
# version ranges and ``helm search repo`` find the newest chart:
# https://helm.sh/docs/chart_best_practices/conventions/#version-numbers. A version has two other parts, which are not
# suitable for the digest:
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
_KUBE_LEAST_DEVICE_CLAIMS: Final = "1.34"
"""The first Kubernetes version with the API resource.k8s.io/v1, which is on by default."""
_CONTENT_LENGTH: Final = 12
"""Number of hexadecimal digits of the digest in the version: 48 bits, because some tools limit integers to 2^53."""


def chart_yaml(job: TrainingJob, files: Mapping[str, str]) -> NumberedFile:
    """Return ``Chart.yaml``, in which tfgen later inserts the number of changes of the chart.

    The version contains a digest of all files of the chart, without the version itself.

    Args:
        job: the job.
        files: the text of each other file of the chart. Example: {"values.yaml": "image: ..."}.
    """
    before = {
        "apiVersion": "v2",
        "name": job.name,
        "description": f"The distributed TensorFlow job {job.name}.",
        "type": "application",
    }
    after = {
        **_app_version(job.values["image"]),
        "kubeVersion": f">={_oldest_kubernetes(job)}.0-0",
        **_page(job.chart_page),
    }
    head, tail = generated_note(job.name) + yaml_text.dump(before), yaml_text.dump(after)
    digest = hashlib.sha256()
    for path, text in sorted({**files, "Chart.yaml": head + tail}.items()):
        digest.update(f"{path}\0{text}\0".encode())
    content = int(digest.hexdigest()[:_CONTENT_LENGTH], 16)
    path = f"{CHARTS}/{job.name}/Chart.yaml"
    return NumberedFile(path, digest.hexdigest(), f"{head}version: 1.", f".{content}\n{tail}")


def _oldest_kubernetes(job: TrainingJob) -> str:
    """Return the oldest version of Kubernetes that supports the objects of a job, without its environments."""
    has_image_volume = any(volume.get("image") for volume in job.values["storage"].values())
    if job.structure.in_place or has_image_volume:
        return _KUBE_LEAST_NEW_GATES
    return _KUBE_LEAST_DEVICE_CLAIMS if job.structure.claims_devices else _KUBE_LEAST


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


def chart(
    job: TrainingJob, spec: Mapping[str, Any], *, uses_cache: bool = False
) -> tuple[dict[str, str], NumberedFile]:
    """Return the files of the chart, and the file ``Chart.yaml`` as a `NumberedFile`.

    The files are a mapping from the path in the output folder to the text. A `NumberedFile` is a file in which tfgen
    later inserts a number that counts the changes of the chart.

    Args:
        job: the job.
        spec: the spec of the job, from which tfgen makes the schema of the values.
        uses_cache: whether to use the cache on disk for the texts that depend only on the structure of the job.
    """
    environments = [environment for environment in job.environments if environment.enabled]
    files = template_files(job, uses_cache=uses_cache)
    if environments:
        files[NOTES] += environment_note(environments[0].name)
    form, note = values_form(spec), generated_note(job.name)
    files["values.yaml"] = (
        f"{note}# The values of {job.name}, each with its default.\n\n{values_yaml(job.values, form)}"
    )
    for environment in environments:
        text = f"# The values that differ in {environment.name}.\n{yaml_text.dump(dict(environment.overrides))}"
        files[f"values-{environment.name}.yaml"] = note + text
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
