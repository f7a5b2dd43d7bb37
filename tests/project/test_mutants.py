"""The mutants of a small checkout with one module, and the tests that kill them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.support import failures
from tests.support.command import Command
from tests.support.mutants import CODE, Copy, Mutant, drawn, first_tests, next_tests, places

MODULE = CODE / "rules" / "ages.py"
SOURCE = '''\
"""The documentation of a module is no code."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["word"]
NAMES: Literal["a"] = "ä"


def word(age: Literal["b"], limit: int = 18) -> Literal["c"]:
    """The documentation of a function is no code."""
    logging.info("no code")
    return f"{NAMES} old" if age >= limit else "young"


UNTESTED = ("x", "y")
'''.encode()
TEST = "from tfgen.rules.ages import word\n\n\ndef test_word():\n    assert word(18) == 'ä old'\n"
CONFTEST = b"""\
from tests.support.failures import Failures


def pytest_configure(config):
    config.pluginmanager.register(Failures(config))
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "checkout"
    texts = {
        MODULE: SOURCE,
        CODE / "__init__.py": b"",
        "tests/rules/test_ages.py": TEST.encode(),
        "tests/conftest.py": CONFTEST,
        "tests/support/failures.py": Path(failures.__file__).read_bytes(),
        "pytest.ini": b"[pytest]\nmarkers =\n  train\n  e2e\n  long\n  nightly\n",
    }
    for path, text in texts.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(text)
    Command(("git", "init", "--quiet"), cwd=root).run()
    return root


def test_documentation_types_and_texts_of_the_log_stay_the_same():
    found = places(ast.parse(SOURCE))
    assert [ast.unparse(node) for node, _ in found["constant"]] == [
        "'ä'",
        "18",
        "f'{NAMES} old'",
        "'young'",
        "'x'",
        "'y'",
    ]
    assert [ast.unparse(node) for node, _ in found["condition"]] == ["TYPE_CHECKING", "age >= limit"]
    assert [(ast.unparse(node), position) for node, position in found["entry"]] == [
        ("('x', 'y')", 0),
        ("('x', 'y')", 1),
    ]


def test_a_seed_draws_the_same_different_mutants(root):
    mutants = drawn(7, 9, root)
    assert mutants == drawn(7, 9, root)
    assert len({*mutants}) == 9
    sources = {mutant.of((root / MODULE).read_bytes()) for mutant in mutants}
    assert len(sources) == 9
    assert all(compile(source, "", "exec") and b"not (TYPE" not in source for source in sources)


@pytest.mark.parametrize(
    ("code", "kind", "expected"),
    [
        ("x = [a, b, c]", "entry", {"x = [b, c]", "x = [a, c]", "x = [a, b]"}),
        ("x = a, b", "entry", {"x = b,", "x = a,"}),
        ("x = {a}", "entry", {"x = set()"}),
        ("x = {a: b, **c}", "entry", {"x = {**c}"}),
        ("x = 1 if a and b else 2", "condition", {"x = 1 if not (a and b) else 2"}),
        ("x = [a for a in b if a > c]", "condition", {"x = [a for a in b if not (a > c)]"}),
        ("x = 5", "constant", {"x = 4", "x = 6"}),
        ("x = True", "constant", {"x = False"}),
        ("x = 'ab'", "constant", {"x = 'a'", "x = 'b'"}),
        ("x = ''", "constant", {'x = "x"'}),
        ("x = f'ab{c.de}'", "constant", {"x = f'a{c.de}'", "x = f'b{c.de}'"}),
    ],
)
def test_each_kind_of_change(root, code, kind, expected):
    (root / MODULE).write_text(f"{code}\n", encoding="utf-8")
    mutants = {mutant for seed in range(80) for mutant in drawn(seed, 1, root) if mutant.kind == kind}
    assert {mutant.of((root / MODULE).read_bytes()).decode() for mutant in mutants} == {
        f"{line}\n" for line in expected
    }


def test_the_tests_of_a_module_run_before_those_of_its_package(root):
    (root / "tests/rules/test_view.py").write_text("from tfgen.rules import (ages, view)\n")
    (root / "tests/rules/test_other.py").write_text("from tfgen.rules import table\n")
    assert first_tests(root, MODULE) == ["tests/rules/test_ages.py", "tests/rules/test_view.py"]
    (root / "tests/lsp").mkdir()
    (root / "tests/lsp/test_hover.py").write_text("from tfgen.rules import table\n")
    assert next_tests(root, MODULE) == ["tests/rules", "tests/lsp/test_hover.py"]


@pytest.mark.long
def test_a_test_kills_a_mutant_in_the_copy(root, tmp_path):
    copy = Copy(tmp_path / "work", root)
    start = SOURCE.index(b">=")
    mutant = Mutant(MODULE, "condition", 12, start, start + 2, b"> ")
    name = SOURCE.index(b'"x"') + 1
    unseen = Mutant(MODULE, "constant", 16, name, name + 1, b"")
    assert copy.killer(mutant, ["tests"]) == "tests/rules/test_ages.py::test_word"
    assert copy.killer(unseen, ["tests"]) == ""
    assert (root / MODULE).read_bytes() == (copy.tree / MODULE).read_bytes() == SOURCE


@pytest.mark.long
def test_a_test_that_always_fails_kills_no_mutant(root, tmp_path):
    (root / "tests/rules/test_ages.py").write_text("def test_fails():\n    assert False\n")
    copy = Copy(tmp_path / "work", root)
    assert copy.killer(Mutant(MODULE, "constant", 1, 0, 0, b"\n"), ["tests"]) == ""
    assert copy.broken == ["tests/rules/test_ages.py::test_fails"]
