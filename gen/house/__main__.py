"""Draw docs/rooms.svg from the imports: `make rooms`."""

from __future__ import annotations

from pathlib import Path

from house.imports import imports, room_of
from house.picture import picture
from house.rooms import rooms

ROOT = Path(__file__).parents[2]


def drawn() -> str:
    """Return the picture of the current imports."""
    arrows = {(room_of(item.importer), room_of(item.imported)) for item in imports(ROOT / "gen" / "tfgen")}
    return picture(rooms((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")), arrows)


def main() -> None:
    """Write the picture."""
    (ROOT / "docs" / "rooms.svg").write_text(drawn(), encoding="utf-8")


if __name__ == "__main__":
    main()
