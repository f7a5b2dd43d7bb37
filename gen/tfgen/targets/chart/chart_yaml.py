"""``Chart.yaml``, and the version in it: ``0.1.3-h3f07c2a91d5e``.

The number is the ledger's. It rises by one where any file of the chart comes out otherwise, so that version ranges find
the newest: https://helm.sh/docs/chart_best_practices/conventions/#version-numbers. The digest behind it is for those
who compare the text: after a revert, or where two branches meet, one number may stand for two contents, and Flux takes
a chart for a new one where the text is another. It is no build metadata (``+h...``): beside ``valuesFiles``, Flux's
source-controller writes a number of its own there. Release 1.7 said "packaged 'mnist' chart with version '0.1.0+1'".
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
_DIGEST_LENGTH: Final = 12
_MARK: Final = "0-h"


def chart_yaml(job: TrainingJob, files: Mapping[str, str]) -> Revision:
    """The file, by the chart's other files. Its digest is that of all files, but for the version in this one."""
    head, _, tail = _text(job).partition(_MARK)
    digest = hashlib.sha256()
    for path, text in sorted({**files, "Chart.yaml": head + tail}.items()):
        digest.update(f"{path}\0{text}\0".encode())
    short = digest.hexdigest()[:_DIGEST_LENGTH]
    path = f"{CHARTS}/{job.name}/Chart.yaml"
    return Revision(path, digest.hexdigest(), head, f"-h{short}{tail}")


def _text(job: TrainingJob) -> str:
    """The file, with a mark for what is another in each version."""
    return yaml_text.dump(
        {
            "apiVersion": "v2",
            "name": job.name,
            "description": f"The distributed TensorFlow job {job.name}.",
            "type": "application",
            "version": f"0.1.{_MARK}",
            **_app_version(job.values["image"]),
            "kubeVersion": KUBE_VERSION,
            **_page(job.chart_page),
        }
    )


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
