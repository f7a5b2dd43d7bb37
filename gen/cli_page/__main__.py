"""Write docs/cli.md from the parsers of the commands: `make cli`."""

from __future__ import annotations

from pathlib import Path

from cli_page.page import page

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
