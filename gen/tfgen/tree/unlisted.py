"""Files in tfgen's folders that no ledger lists.

    unlisted_files(Path("."), ledgers)  ->  ["charts/mnist/templates/extra.yaml", "overlays/ghost/kustomization.yaml"]

tfgen's folders are the chart of each job with a ledger, and everything below overlays/. A chart without a ledger is a
hand-written chart.
"""

from __future__ import annotations

import os
from pathlib import Path

from tfgen.places import CHARTS, OVERLAYS
from tfgen.tree.ledgers import Ledgers


def unlisted_files(out: Path, ledgers: Ledgers) -> list[str]:
    """Return the unlisted files by their paths from the output folder, in order. A link to a folder counts as a file.

    Args:
        out: the output folder.
        ledgers: the ledgers of all jobs in the folder.

    Raises:
        TfgenError: a ledger changed during the read.
    """
    files = []
    for folder in [*(f"{CHARTS}/{job}" for job in ledgers), OVERLAYS]:
        for parent, folders, names in os.walk(out / folder):
            folders.sort()
            links = [name for name in folders if os.path.islink(os.path.join(parent, name))]  # noqa: PTH114, PTH118
            place = os.path.relpath(parent, out)
            files += [path for name in sorted([*names, *links]) if not ledgers.lists(path := f"{place}/{name}")]
    return files
