"""Find the files in the output folder that no ledger lists.

tfgen searches the chart folder of each job, and `overlays/`. A folder in `charts/` whose job has no ledger does not
count, because users may store hand-written charts in `charts/`.
"""

from __future__ import annotations

import os
from pathlib import Path

from tfgen.places import CHARTS, OVERLAYS, is_placeholder
from tfgen.tree.ledgers import Ledgers


def unlisted_files(out: Path, ledgers: Ledgers) -> list[str]:
    """Return the paths, from the output folder, of the files that no ledger lists. A link to a folder counts as a file.

    The result omits the placeholders in the folders of the GitOps tools, which stay after the last job.

    Args:
        out: the output folder.
        ledgers: the ledgers of all jobs in the folder.

    Raises:
        TfgenError: a ledger changed while tfgen ran.
    """
    files = []
    for folder in [*(f"{CHARTS}/{job}" for job in ledgers), OVERLAYS]:
        for parent, folders, names in os.walk(out / folder):
            folders.sort()
            links = [name for name in folders if os.path.islink(os.path.join(parent, name))]  # noqa: PTH114, PTH118
            place = os.path.relpath(parent, out)
            paths = [f"{place}/{name}" for name in sorted([*names, *links])]
            files += [path for path in paths if not (is_placeholder(path) or ledgers.lists(path))]
    return files
