"""Tables of durations, and budgets."""

from __future__ import annotations

import pytest

from tests.timings import __main__ as timings
from tests.timings.record import VARIABLE, Duration, append, read
from tests.timings.table import SLOWEST, budgets_of, compare_with_budgets, tables, tier_of

RUN = (
    Duration("step", "training", 40),
    Duration("test", "tests/train/test_a.py::test_a", 20, 31, "train"),
    Duration("test", "tests/train/test_a.py::test_b", 15, 3, "train"),
    Duration("test", "tests/graph/test_a.py::test_c", 2, 1, "fast"),
    Duration("server", "etcd", 1),
    Duration("server", "etcd", 4),
    Duration("server", "etcd", 2),
)


def test_what_is_appended_is_read(tmp_path, monkeypatch):
    path = tmp_path / "new" / "run.tsv"
    monkeypatch.setenv(VARIABLE, str(path))
    append(RUN[:3])
    append(RUN[3:])
    assert read(path) == RUN


def test_nothing_is_written_without_the_variable(tmp_path, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)
    append(RUN)
    assert [*tmp_path.iterdir()] == []


def test_a_line_of_an_unknown_kind_is_an_error(tmp_path):
    (tmp_path / "run.tsv").write_text("stage\ta\t1\t0\n", encoding="utf-8")
    with pytest.raises(ValueError, match="'stage"):
        read(tmp_path / "run.tsv")


@pytest.mark.parametrize(
    ("test", "marks", "tier"),
    [
        ("tests/graph/test_a.py::test_a", {}, "fast"),
        ("tests/equal/test_a.py::test_a", {"parametrize": 1}, "fast"),
        ("tests/equal/test_a.py::test_a", {"long": 1}, "long"),
        ("tests/train/test_a.py::test_a", {"train": 1}, "train"),
        ("tests/e2e/server/test_a.py::test_a", {"e2e": 1}, "server"),
        ("tests/e2e/gitops/test_a.py::test_a", {"e2e": 1}, "gitops"),
        ("tests/e2e/node/test_a.py::test_a", {"e2e": 1}, "cluster"),
    ],
)
def test_the_tier_of_a_test(test, marks, tier):
    assert tier_of(test, marks) == tier


def test_the_last_line_names_each_tier_above_its_budget():
    assert [*compare_with_budgets(RUN, {"train": 30, "fast": 1})] == [
        "fast: 2 s, budget 1 s",
        "train: 35 s, budget 30 s",
        "above budget: fast (2 s of 1 s), train (35 s of 30 s)",
    ]


def test_where_no_tier_is_above_its_budget_the_last_line_says_so():
    assert [*compare_with_budgets(RUN, {"train": 36, "fast": 2})][-1] == "no tier is above its budget"


def test_a_tier_at_its_budget_is_not_above_it():
    assert [*compare_with_budgets(RUN, {"train": 35})] == [
        "fast: 2 s, no budget yet",
        "train: 35 s, budget 35 s",
        "no tier is above its budget; without a budget: fast",
    ]


def test_a_budget_is_the_median_and_a_fifth():
    runs = [[Duration("test", "tests/train/test_a.py::test_a", seconds, 0, "train")] for seconds in (100, 10, 20)]
    assert budgets_of(runs) == {"train": 24}


def test_the_budgets_are_a_line_each():
    assert timings.read_budgets("# a comment\nfast 900\ntrain 36\n") == {"fast": 900, "train": 36}


def test_the_budgets_of_the_gate_name_tiers_alone():
    assert timings.read_budgets(timings.BUDGETS.read_text(encoding="utf-8")).keys() <= {
        *("fast", "long", "train", "server", "gitops", "cluster")
    }


def test_the_tables_have_a_column_for_each_run():
    assert (
        tables({"cold": RUN, "warm": RUN[:1]})
        == """\
| Step | cold | warm |
|---|---:|---:|
| training | 40 s | 40 s |

| Tier | cold | warm |
|---|---:|---:|
| fast | 2 s |  |
| train | 35 s |  |

| Start of a server: median, and number | cold | warm |
|---|---:|---:|
| etcd | 2.0 s, 3 |  |

| Slowest tests, cold | Time | Processor time |
|---|---:|---:|
| `tests/train/test_a.py::test_a` | 20.0 s | 31.0 s |
| `tests/train/test_a.py::test_b` | 15.0 s | 3.0 s |
| `tests/graph/test_a.py::test_c` | 2.0 s | 1.0 s |
"""
    )


def test_the_slowest_tests_are_thirty():
    run = [Duration("test", f"tests/graph/test_a.py::test_{number}", number) for number in range(40)]
    assert tables({"warm": run}).count("::test_") == SLOWEST == 30


def test_a_reader_without_a_run_learns_what_writes_one(tmp_path, monkeypatch):
    monkeypatch.setattr(timings, "FOLDER", tmp_path / ".timings")
    with pytest.raises(SystemExit, match=r"^\.timings/ has no run: bash \.ci/run writes one$"):
        timings.main([])


def test_the_newest_run_of_each_state_is_printed(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(timings, "FOLDER", tmp_path)
    for name, wall_s in (("20261124T1200-warm", 9), ("20261125T1200-warm", 8), ("20261123T1200-cold", 7)):
        (tmp_path / f"{name}.tsv").write_text(f"step\ttraining\t{wall_s}\t0\n", encoding="utf-8")
    timings.main([])
    assert capsys.readouterr().out == "| Step | cold | warm |\n|---|---:|---:|\n| training | 7 s | 8 s |\n"
