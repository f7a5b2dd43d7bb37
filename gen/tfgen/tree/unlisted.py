"""Find the files in the output folder that no ledger lists.

tfgen searches the chart folder of each job, and `overlays/`. In any other folder of `charts/`, users may store
hand-written charts. There, only the files count that change what a GitOps tool applies.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Final

from tfgen.places import OVERLAYS, is_placeholder
from tfgen.tree.ledgers import Ledgers

_OF_TOOLS: Final = (".argocd-source*.yaml", "kustomization.yaml", "kustomization.yml", "Kustomization")
"""File names with which Argo CD and kustomize replace the content of a folder."""


def unlisted_files(paths: Iterable[str], ledgers: Ledgers) -> list[str]:
    """Return the files of an output folder that no ledger lists.

    The result omits the placeholders in the folders of the GitOps tools, which stay after the last job.

    Args:
        paths: the files below charts/ and overlays/, as paths from the output folder.
        ledgers: the ledgers of all jobs in the folder.

    Raises:
        TfgenError: a ledger changed while tfgen ran.
    """
    return [
        path
        for path in paths
        if not (is_placeholder(path) or ledgers.lists(path))
        and (path.startswith(f"{OVERLAYS}/") or path.split("/")[1] in ledgers or _is_of_tool(path))
    ]


def _is_of_tool(path: str) -> bool:
    return any(fnmatchcase(path.rpartition("/")[2], pattern) for pattern in _OF_TOOLS)
