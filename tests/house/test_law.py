"""The order of imports that ARCHITECTURE.md defines."""

from __future__ import annotations

import functools
import re
import subprocess
import sys
from collections import defaultdict
from graphlib import TopologicalSorter
from inspect import cleandoc
from pathlib import Path

from house.__main__ import drawn
from house.imports import Import, Place, imports, room_of
from house.rooms import Room, breaches, room_names, rooms
from tfgen.targets.chart import go_template

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "gen" / "tfgen"
ROOMS = rooms((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"))


@functools.cache
def found_imports() -> tuple[Import, ...]:
    """Read the imports of the package, once and in a test: every process of pytest-xdist imports this module."""
    return tuple(imports(PACKAGE))


def parent(module: str) -> str:
    return module.rpartition(".")[0]


def test_the_page_lists_every_room_once() -> None:
    names = [room.name for room in ROOMS]
    assert sorted(names) == sorted(room_names(PACKAGE))


def test_a_room_imports_only_what_stands_below_it() -> None:
    assert [*breaches(found_imports(), ROOMS)] == []


def test_git_imports_no_room_and_the_tree_imports_only_git() -> None:
    found = {(room_of(item.importer), room_of(item.imported)) for item in found_imports()}
    ways = {(room, imported) for room, imported in found if room in ("tree", "git") and imported not in (room, "")}
    assert ways == {("tree", "git")}


def test_only_the_language_server_uses_its_protocol() -> None:
    protocol = re.compile(r"^\s*(?:import|from) (?:pygls|lsprotocol)\b", re.MULTILINE)
    users = [path.parent.name for path in PACKAGE.rglob("*.py") if protocol.search(path.read_text(encoding="utf-8"))]
    assert {*users} == {"lsp"}
    ways = {item for item in found_imports() if room_of(item.imported) == "lsp" != room_of(item.importer)}
    assert {(way.importer, way.place) for way in ways} == {("tfgen.commands.lsp", Place.MODULE)}


def test_no_import_circle_between_modules_exists() -> None:
    """`prepare` raises a CycleError that names the modules of the circle."""
    imported: dict[str, set[str]] = defaultdict(set)
    for item in found_imports():
        imported[item.importer].add(item.imported)
    TopologicalSorter(imported).prepare()


def test_a_module_of_the_printer_uses_only_what_its_package_lists_above_it() -> None:
    package = go_template.__name__
    listed = cleandoc(go_template.__doc__ or "").partition("in this list:\n")[2]
    order = [f"{package}.{line.split()[0]}" for line in listed.splitlines() if line]
    uses = [i for i in found_imports() if parent(i.importer) == parent(i.imported) == package]
    assert sorted(order) == sorted({module for i in uses for module in (i.importer, i.imported)})
    assert [i for i in uses if order.index(i.imported) >= order.index(i.importer)] == []


def test_a_step_of_commands_imports_no_command() -> None:
    """Only the replay of commits may render again."""
    commands = ROOT / "gen" / "tfgen" / "commands"
    modules = {f"tfgen.commands.{path.stem}" for path in commands.glob("*.py") if path.stem != "__init__"}
    steps = {f"tfgen.commands.{path.parent.name}" for path in commands.glob("*/__init__.py")}
    found = {(i.importer, i.imported) for i in found_imports() if parent(i.importer) in steps and i.imported in modules}
    assert found == {("tfgen.commands.git.replay", "tfgen.commands.render")}


def test_an_import_in_a_function_says_what_it_saves() -> None:
    """Imports in functions of cli need no comment, because every command imports cli."""
    for item in found_imports():
        if item.place is not Place.FUNCTION or room_of(item.importer) == "cli":
            continue
        path = ROOT / "gen" / Path(*item.importer.split(".")).with_suffix(".py")
        line = path.read_text(encoding="utf-8").splitlines()[item.line - 1]
        assert re.search(r"  # .*\b\d+ ms\b", line), f"{path}:{item.line}"


def test_the_schema_and_the_text_load_no_room_above_them() -> None:
    """Imports into an empty interpreter show cycles through imports in functions and packages."""
    paths = [path.relative_to(PACKAGE.parent) for room in ("schema", "text") for path in (PACKAGE / room).rglob("*.py")]
    names = [".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in paths]
    code = cleandoc("""
        import importlib, sys
        for name in sys.argv[1:]:
            importlib.import_module(name)
            loaded = [module for module in sys.modules if module.startswith("tfgen.")]
            print(*loaded)
            for module in loaded:
                del sys.modules[module]
    """)
    done = subprocess.run([sys.executable, "-c", code, *names], capture_output=True, text=True, check=True)
    assert {room_of(name) for name in done.stdout.split()} - {""} == {"text", "schema", "kubernetes"}


def test_a_breach_is_found() -> None:
    order = [Room("cli", ""), Room("graph", ""), Room("job", "")]
    up = Import("tfgen.job.facts", "tfgen.graph.holes", 3, Place.FUNCTION)
    down = Import("tfgen.graph.holes", "tfgen.job.facts", 3, Place.MODULE)
    out_of_the_ground = Import("tfgen.words", "tfgen.job.facts", 3, Place.TYPES)
    assert [*breaches([up, down, out_of_the_ground], order)] == [up, out_of_the_ground]


def test_imports_are_read_wherever_they_stand(tmp_path: Path) -> None:
    package = tmp_path / "tfgen"
    (package / "job").mkdir(parents=True)
    for path in ("__init__.py", "words.py", "job/__init__.py", "job/facts.py"):
        (package / path).touch()
    (package / "job" / "origin.py").write_text(
        "from typing import TYPE_CHECKING\nfrom tfgen.words import shown\nif TYPE_CHECKING:\n"
        "    from tfgen.job import facts\ndef f():\n    import tfgen.job.facts\n"
    )
    assert imports(package) == [
        Import("tfgen.job.origin", "tfgen.words", 2, Place.MODULE),
        Import("tfgen.job.origin", "tfgen.job.facts", 4, Place.TYPES),
        Import("tfgen.job.origin", "tfgen.job.facts", 6, Place.FUNCTION),
    ]


def test_the_picture_is_that_of_the_imports() -> None:
    assert (ROOT / "docs" / "rooms.svg").read_text(encoding="utf-8") == drawn(), "run 'make rooms'"
