"""Print the times of the last runs of .ci/run, and compare tiers with their budgets.

python -m tests.timings                   # tables of the newest run with empty caches, and with warm caches
python -m tests.timings budgets RUN...    # lines for .ci/budgets: the median of the runs plus 20 %
python -m tests.timings compare RUN       # each tier of a run with its budget
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.support.tools import ROOT
from tests.timings.record import read
from tests.timings.table import budgets_of, compare_with_budgets, tables

FOLDER = ROOT / ".timings"
BUDGETS = ROOT / ".ci" / "budgets"


def main(arguments: list[str]) -> None:
    """Run one of the three commands."""
    match arguments:
        case ["compare", path]:
            print("\n".join(compare_with_budgets(read(Path(path)), read_budgets(BUDGETS.read_text(encoding="utf-8")))))
        case ["budgets", *paths] if paths:
            for tier, seconds in budgets_of([read(Path(path)) for path in paths]).items():
                print(tier, seconds)
        case []:
            # The name of a file begins with the date of the run, so the newest file is the last one.
            newest = {path.stem.rpartition("-")[2]: path for path in sorted(FOLDER.glob("*.tsv"))}
            if not newest:
                sys.exit(f"{FOLDER.name}/ has no run: bash .ci/run writes one")
            print(tables({state: read(path) for state, path in newest.items()}), end="")
        case _:
            sys.exit(__doc__)


def read_budgets(text: str) -> dict[str, float]:
    """Return the seconds of each tier: one tier in each line, after the comment lines."""
    rows = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    return {tier: float(seconds) for tier, seconds in rows}


if __name__ == "__main__":
    main(sys.argv[1:])
