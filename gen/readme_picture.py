"""Draw docs/readme.svg: the picture of the job of README.md in the environment `prod`.

`make pictures` runs this module.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from tfgen.check.jobs import check
from tfgen.pictures.describe import describe
from tfgen.pictures.picture import as_svg

ROOT: Final = Path(__file__).parents[1]
PICTURE: Final = ROOT / "docs" / "readme.svg"

_BLOCK: Final = re.compile(r"^```yaml\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def readme_picture(readme: str) -> str:
    """Return the picture of the first job in the text of README.md, as SVG.

    Raises:
        ValueError: README.md has no job, or the job has errors.
    """
    block = _BLOCK.search(readme)
    if block is None:
        raise ValueError("README.md has no YAML block")
    (document,) = check(block[1], "README.md").documents
    return as_svg(describe(document, "prod"))


def main() -> None:
    """Write the picture."""
    PICTURE.write_text(readme_picture((ROOT / "README.md").read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
