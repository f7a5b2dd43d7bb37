"""Write docs/job-reference.md and docs/tfgen-reference.md from the schemas: `make cli`."""

from __future__ import annotations

from pathlib import Path

from schema_page.page import PAGES, page

DOCS = Path(__file__).parents[2] / "docs"


def main() -> None:
    """Write the pages."""
    for name in PAGES:
        (DOCS / name).write_text(page(name), encoding="utf-8")


if __name__ == "__main__":
    main()
