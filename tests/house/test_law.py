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

import pytest

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


def modules(*names: str) -> list[str]:
    """Return the modules of rooms."""
    paths = sorted(path.relative_to(PACKAGE.parent) for name in names for path in (PACKAGE / name).rglob("*.py"))
    return [".".join(path.with_suffix("").parts) for path in paths]


def parent(module: str) -> str:
    return module.rpartition(".")[0]


def test_the_page_lists_every_room_once() -> None:
    names = [room.name for room in ROOMS]
    assert sorted(names) == sorted(room_names(PACKAGE))


def test_a_room_imports_only_what_stands_below_it() -> None:
    assert [*breaches(found_imports(), ROOMS)] == []


def test_the_tree_and_git_know_nothing_of_jobs() -> None:
    known = {room_of(item.imported) for item in found_imports() if room_of(item.importer) in ("tree", "git")}
    assert known <= {"tree", "git", ""}


def test_git_and_the_tree_do_not_know_each_other() -> None:
    both = {"tree", "git"}
    assert not [i for i in found_imports() if {room_of(i.importer), room_of(i.imported)} == both]


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
    assert found == {("tfgen.commands.git.replay_jobs", "tfgen.commands.render")}


def test_an_import_in_a_function_says_what_it_saves() -> None:
    """Imports in functions of cli need no comment, because a command imports only the modules that it uses."""
    for item in found_imports():
        if item.place is not Place.FUNCTION or room_of(item.importer) == "cli":
            continue
        path = ROOT / "gen" / Path(*item.importer.split(".")).with_suffix(".py")
        line = path.read_text(encoding="utf-8").splitlines()[item.line - 1]
        assert re.search(r"  # .*\b\d+ ms\b", line), f"{path}:{item.line}"


@pytest.mark.parametrize("module", modules("schema", "text"))
def test_a_module_of_the_schema_loads_no_room_above_it(module: str) -> None:
    """A fresh process shows cycles through imports in functions and packages, which no drawing shows."""
    name = module.removesuffix(".__init__")
    code = f"import sys, {name}; print(*(m for m in sys.modules if m.startswith('tfgen.')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {room_of(name) for name in done.stdout.split()} - {""} <= {"text", "schema", "kubernetes"}


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
