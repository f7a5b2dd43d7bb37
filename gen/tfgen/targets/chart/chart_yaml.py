"""``Chart.yaml``, and the version in it: ``1.3.69265643583774``.

The second number is the ledger's. It rises by one where any file of the chart comes out otherwise. The third is the
first 48 bits of the digest of these files. After a revert, or where two branches meet, one second number may stand for
two contents, and the third tells them apart. All three are numbers, so version ranges and ``helm search repo`` find the
newest: https://helm.sh/docs/chart_best_practices/conventions/#version-numbers. The digest stands nowhere else, because

- with a pre-release (``0.1.3-h3eff2a14b91e``) only ``--devel`` and ranges that end in ``-0`` find the chart;
- build metadata (``0.1.3+h3eff2a14b91e``) tells nobody two contents apart. Helm takes ``0.1.3+a`` and ``0.1.3+b`` for
  one version. Flux's source-controller compares texts, but writes a number of its own in that place beside
  ``valuesFiles``. Release 1.7 said "packaged 'mnist' chart with version '0.1.0+1'", and the release did not change.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final

from tfgen.job.training_job import ChartPage, TrainingJob
from tfgen.places import CHARTS
from tfgen.text import yaml_text
from tfgen.tree.rendering import Revision

# Pods' index labels, Jobs' success policy, back-off limit by index and pod replacement policy are all on by default
# from here (https://kubernetes.io/docs/reference/command-line-tools-reference/feature-gates/).
KUBE_LEAST: Final = "1.31"
KUBE_VERSION: Final = f">={KUBE_LEAST}.0-0"
_CONTENT_LENGTH: Final = 12
"""Hexadecimal digits: 48 bits, since there are tools that know whole numbers up to 2^53 alone."""


def chart_yaml(job: TrainingJob, files: Mapping[str, str]) -> Revision:
    """The file, by the chart's other files. Its digest is that of all files, but for the version in this one."""
    above, below = yaml_text.dump(_what_it_is(job)), yaml_text.dump(_what_is_in_it(job))
    digest = hashlib.sha256()
    for path, text in sorted({**files, "Chart.yaml": above + below}.items()):
        digest.update(f"{path}\0{text}\0".encode())
    content = int(digest.hexdigest()[:_CONTENT_LENGTH], 16)
    path = f"{CHARTS}/{job.name}/Chart.yaml"
    return Revision(path, digest.hexdigest(), f"{above}version: 1.", f".{content}\n{below}")


def _what_it_is(job: TrainingJob) -> dict[str, Any]:
    """The fields that stand above the version."""
    return {
        "apiVersion": "v2",
        "name": job.name,
        "description": f"The distributed TensorFlow job {job.name}.",
        "type": "application",
    }


def _what_is_in_it(job: TrainingJob) -> dict[str, Any]:
    """The fields that stand below it."""
    return {**_app_version(job.values["image"]), "kubeVersion": KUBE_VERSION, **_page(job.chart_page)}


def _page(page: ChartPage) -> dict[str, Any]:
    """What it says for the people who find the chart: https://helm.sh/docs/topics/charts/#the-chartyaml-file."""
    page_fields = {
        "keywords": [*page.keywords],
        "home": page.home,
        "sources": [*page.sources],
        "maintainers": [dict(maintainer) for maintainer in page.maintainers],
        "icon": page.icon,
    }
    return {key: value for key, value in page_fields.items() if value}


def _app_version(image: str) -> dict[str, str]:
    """The image's tag, or else its digest; of neither, nothing."""
    name, _, digest = image.partition("@")
    tag = name.rpartition("/")[2].partition(":")[2]
    version = tag or digest.replace(":", "-")
    return {"appVersion": version} if version else {}
