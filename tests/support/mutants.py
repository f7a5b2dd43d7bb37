"""Mutation testing: change the code in one place, and see whether a test fails.

    python -m tests.support.mutants --seed 1 --count 40               # change, test and report each mutant
    python -m tests.support.mutants --seed 1 --count 40 --only 3 17   # only the third and the 17th of them

A mutant negates a condition, drops an entry of a literal list, tuple, set or dict, or changes a number, a text, True or
False. A seed always draws the same mutants of the same code, in equal shares of the packages. The script changes only a
copy of the checkout. For each mutant the script runs the test files of the module, then the folders that test the
package, and at the end, for the survivors, all tests of `make test`. A test that also fails with the unchanged code
kills no mutant.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.support.repository import GIT_SETTINGS
from tests.support.tools import CACHE, ROOT

CODE: Final = Path("gen", "tfgen")
FOLDERS: Final = {
    "rules": ("invalid", "check"),
    "graph": ("golden", "equal", "invalid"),
    "targets": ("golden", "equal"),
    "importers": (),
    "tree": (),
    "git": ("rails", "change"),
    "live": ("report", "local"),
}
"""The packages whose code is changed, and the folders of tests that run soon, besides the folder of the package."""
KINDS: Final = ("condition", "entry", "constant")
FAST: Final = "not train and not e2e and not long and not nightly"
"""The pytest marks of `make test`."""
SECONDS, SECONDS_OF_ALL = 900, 3600
"""Seconds after which a run of some tests, or of all tests, counts as failed: a changed loop can run forever."""
BYTES: Final = 4 << 30
"""Memory of each process. A changed loop can also allocate forever."""
_FAILED: Final = re.compile(r"^(?:FAILED (.+?) \((?:setup|call|teardown)\):|ERROR (\S+))", re.MULTILINE)
"""The line of tests/support/failures.py for a failed test, or of pytest for a file that it cannot import."""


class Mutant(NamedTuple):
    """A change of the bytes `start` to `end` of a file. The path is relative to the root of the checkout."""

    path: Path
    kind: str
    line: int
    start: int
    end: int
    new: bytes

    def of(self, source: bytes) -> bytes:
        return source[: self.start] + self.new + source[self.end :]

    def diff(self, root: Path) -> str:
        source = (root / self.path).read_bytes()
        before, after = (text.decode().splitlines() for text in (source, self.of(source)))
        return "\n".join([*difflib.unified_diff(before, after, n=0, lineterm="")][2:])


# -- Mutants ------------------------------------------------------------------------------------------------------


def _changeable(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of which a mutant may change a part: not documentation, types, or texts of the log."""
    yield node
    children: Sequence[ast.AST | None] = [*ast.iter_child_nodes(node)]
    match node:
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            children = node.orelse
        case ast.Expr(value=ast.Constant()) | ast.Assign(targets=[ast.Name(id="__all__")]) | ast.JoinedStr():
            children = ()  # Python 3.11 does not know the positions in an f-string
        case ast.AnnAssign():
            children = () if "TypeAlias" in ast.dump(node.annotation) else (node.value,)
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            children = (*node.args.defaults, *node.args.kw_defaults, *node.decorator_list, *node.body)
        case ast.Call(func=ast.Name(id="cast")):
            children = node.args[1:]
        case ast.Call(func=ast.Attribute(value=ast.Name(id="log" | "logger" | "logging"))):
            children = ()
    for child in filter(None, children):
        yield from _changeable(child)


def places(tree: ast.AST) -> dict[str, list[tuple[ast.AST, int]]]:
    """Return the nodes that each kind of mutant may change. The number is the position of an entry in its node."""
    found: dict[str, list[tuple[ast.AST, int]]] = {kind: [] for kind in KINDS}
    for node in _changeable(tree):
        match node:
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
                found["condition"].append((test, 0))
            case ast.comprehension(ifs=tests):
                found["condition"] += [(test, 0) for test in tests]
            case ast.match_case(guard=ast.expr() as guard):
                found["condition"].append((guard, 0))
            case ast.Compare():
                found["condition"].append((node, 0))
            case ast.List() | ast.Tuple() | ast.Set() if isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
                found["entry"] += [(node, position) for position in range(len(node.elts))]
            case ast.Dict():
                found["entry"] += [(node, position) for position, key in enumerate(node.keys) if key]
            case ast.Constant(value=bool() | int() | float() | str() | bytes()) | ast.JoinedStr():
                found["constant"].append((node, 0))
    return {kind: [*dict.fromkeys(items)] for kind, items in found.items()}  # a test that compares is there twice


class _File:
    """A source file, with the places of its mutants."""

    def __init__(self, root: Path, path: Path) -> None:
        self.path, self.source = path, (root / path).read_bytes()
        self.tree = ast.parse(self.source)
        self.places = places(self.tree)

    def mutant(self, kind: str, node: Any, position: int, draw: random.Random) -> Mutant | None:
        """Return a mutant that changes the compiled code, or None if the drawn change does not."""
        if ast.unparse(node) == "TYPE_CHECKING":
            return None
        edit = self._without(node, position) if kind == "entry" else self._changed(kind, node, draw)
        mutant = Mutant(self.path, kind, node.lineno, *edit)
        try:
            after = ast.parse(mutant.of(self.source))
        except SyntaxError:
            return None
        if ast.dump(after) == ast.dump(self.tree):
            return None
        # The removal of a character may only change a text, and not, for example, the expression in an f-string.
        return None if kind == "constant" and _shape(after) != _shape(ast.parse(self.source)) else mutant

    def _span(self, first: Any, last: Any = None) -> tuple[int, int]:
        """Return the offsets of the start of a node, and of the end of the node or of a later node."""
        lines, last = self.source.splitlines(keepends=True), last or first
        start = sum(map(len, lines[: first.lineno - 1])) + first.col_offset
        return start, sum(map(len, lines[: last.end_lineno - 1])) + last.end_col_offset

    def _without(self, node: Any, position: int) -> tuple[int, int, bytes]:
        keys, values = (node.keys, node.values) if isinstance(node, ast.Dict) else (node.elts, node.elts)
        if len(keys) == 1:
            return *self._span(node), {ast.List: b"[]", ast.Tuple: b"()", ast.Set: b"set()", ast.Dict: b"{}"}[
                type(node)
            ]
        if isinstance(node, ast.Tuple) and len(keys) == 2:
            return *self._span(*keys), self.source[slice(*self._span(keys[1 - position]))] + b","
        start, end = self._span(keys[position], values[position])
        comma = re.compile(rb"\s*,\s*").match(self.source, end)
        return (start, comma.end(), b"") if comma else (self._span(values[position - 1])[1], end, b"")

    def _changed(self, kind: str, node: Any, draw: random.Random) -> tuple[int, int, bytes]:
        start, end = self._span(node)
        match node:
            case _ if kind == "condition":
                return start, end, b"not (%b)" % self.source[start:end]
            case ast.Constant(value=bool(value)):
                return start, end, b"%a" % (not value)
            case ast.Constant(value=int() | float() as value):
                return start, end, b"%a" % (value + draw.choice((-1, 1)))
            case ast.Constant(value=""):
                return start, end, b'"x"'
        removed = draw.randrange(start + 1, end - 1)
        return removed, removed + 1, b""


def _shape(tree: ast.AST) -> str:
    """Return the syntax of a tree without the values of its constants, which the function removes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            node.value = type(node.value).__name__
    return ast.dump(tree)


def drawn(seed: int, count: int, root: Path = ROOT) -> list[Mutant]:
    """Return different mutants of the packages in turn, with about the same number of each kind."""
    draw = random.Random(seed)
    paths = {package: sorted((root / CODE / package).rglob("*.py")) for package in FOLDERS}
    files = [[_File(root, path.relative_to(root)) for path in found] for found in paths.values() if found]
    mutants: list[Mutant] = []
    while len(mutants) < count:
        kind, package = draw.choice(KINDS), files[len(mutants) % len(files)]
        if choices := [(file, *place) for file in package for place in file.places[kind]]:
            file, node, position = draw.choice(choices)
            mutant = file.mutant(kind, node, position, draw)
            mutants += [mutant] if mutant and mutant not in mutants else []
    return mutants


# -- Tests --------------------------------------------------------------------------------------------------------


def first_tests(root: Path, path: Path) -> list[str]:
    """Return the test files of a module: those that are named after the module, then those that import the module."""
    package, name = ".".join(path.parts[1:-1]), path.stem
    named = [item for item in _test_files(root) if Path(item).stem.startswith(f"test_{name}")]
    importing = _matching(root, rf"{re.escape(package)}\.{name}\b|from {re.escape(package)} import .*\b{name}\b")
    return [*dict.fromkeys((*named, *importing))]


def next_tests(root: Path, path: Path) -> list[str]:
    """Return the folders of tests of a module's package, and the other test files that import the package."""
    package = path.relative_to(CODE).parts[0]
    folders = [f"tests/{name}" for name in (package, *FOLDERS[package]) if (root / "tests" / name).is_dir()]
    importing = _matching(root, rf"tfgen\.{package}\b|from tfgen import .*\b{package}\b")
    return [*folders, *(item for item in importing if not item.startswith(tuple(f"{folder}/" for folder in folders)))]


def _matching(root: Path, pattern: str) -> list[str]:
    return [item for item in _test_files(root) if re.search(pattern, (root / item).read_text(encoding="utf-8"))]


def _test_files(root: Path) -> list[str]:
    found = (item.relative_to(root) for item in sorted((root / "tests").rglob("test_*.py")))
    return [item.as_posix() for item in found if item.parts[1] not in ("bench", "e2e", "house", "train")]


class Copy:
    """A copy of the checkout, in which one file at a time is changed."""

    def __init__(self, folder: Path, root: Path = ROOT) -> None:
        self.folder, self.tree = folder, folder / "tree"
        self.broken: list[str] = []
        """Tests that fail with the unchanged code. No later run includes them."""
        listing = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
        for name in subprocess.check_output(listing, cwd=root, text=True).split("\0"):
            if (root / name).is_file():
                (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(root / name, self.tree / name)
        for command in (("init", "--quiet"), ("add", "--all"), ("commit", "--quiet", "--message=Copy")):
            env = {**os.environ, **GIT_SETTINGS}
            subprocess.run(("git", *command), cwd=self.tree, check=True, env=env)  # some tests list the files
        # The results in the cache of tfgen belong to one build of tfgen, but the programs of the tests belong to all.
        (folder / "cache" / "tfgen").mkdir(parents=True)
        (folder / "cache" / "tfgen" / "bin").symlink_to(CACHE)

    def killer(self, mutant: Mutant, tests: Sequence[str], seconds: int = SECONDS) -> str:
        """Return the test that fails only with a mutant, or the last words of a run that cannot start; else ""."""
        file = self.tree / mutant.path
        source = file.read_bytes()
        while True:
            try:
                self._write(file, mutant.of(source))
                failed = self._failure(tests, seconds)
            finally:
                self._write(file, source)
            if "::" not in failed or not self._failure([failed], seconds):
                return failed
            self.broken.append(failed)

    def _write(self, file: Path, source: bytes) -> None:
        file.write_bytes(source)
        for compiled in file.parent.glob(f"__pycache__/{file.stem}.*.pyc"):
            compiled.unlink()  # Python compares only the size and the seconds of the time

    def _failure(self, tests: Sequence[str], seconds: int) -> str:
        """Run the tests, and return the first failed test, or the last line of a run that fails without one."""
        options = ("-q", "-x", "-n2", "-pno:cacheprovider", "--hypothesis-seed=0", "--ignore=tests/house", "-m", FAST)
        own = (f"--basetemp={self.folder / 'tests'}", *(f"--deselect={test}" for test in self.broken))
        env = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join((str(self.tree / "gen"), str(self.tree))),
            "XDG_CACHE_HOME": str(self.folder / "cache"),
            "GIT_EDITOR": "false",  # a commit without its message waits for no person
        }
        argv = (sys.executable, "-m", "pytest", *options, *own, *tests)
        with (self.folder / "output").open("w+", encoding="utf-8", errors="replace") as output:
            process = subprocess.Popen(
                argv, cwd=self.tree, env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=output, process_group=0
            )
            try:
                code = process.wait(seconds)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                return f"no end within {seconds} seconds"
            output.seek(0)
            text = output.read()
        if code in (0, 5):  # 5: the files have no test of `make test`
            return ""
        named = _FAILED.search(text)
        return named[1] or named[2] if named else (text.strip() or "no output").splitlines()[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--only", type=int, nargs="+", metavar="NUMBER")
    options = parser.parse_args()
    left = dict(enumerate(drawn(options.seed, options.count), 1))
    left = {number: left[number] for number in options.only or left}
    total = len(left)
    resource.setrlimit(resource.RLIMIT_DATA, (BYTES, BYTES))
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = Copy(Path(folder))
        for choose, seconds in ((first_tests, SECONDS), (next_tests, SECONDS), (lambda *_: ["tests"], SECONDS_OF_ALL)):
            for number, mutant in [*left.items()]:
                tests = choose(copy.tree, mutant.path)
                if tests and (killer := copy.killer(mutant, tests, seconds)):
                    print(f"{number} killed {mutant.path}:{mutant.line} {mutant.kind} by {killer}", flush=True)
                    del left[number]
    for number, mutant in left.items():
        print(f"{number} survived {mutant.path}:{mutant.line} {mutant.kind}\n{mutant.diff(ROOT)}")
    print(f"{total - len(left)} of {total} mutants killed; fail with the unchanged code: {copy.broken or 'no test'}")


if __name__ == "__main__":
    main()
