"""Training curves of the examples: the points from the printed lines, and the mark of a killed task."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from curves import RUNS, Curve, curve, svg
from tests.support.tools import ROOT

PARAMETER_SERVERS = """\
chief-0  | INFO step 100: loss 2.0000, 90 steps/s, saved /model/1
worker-1 | tfgen: killed after 20 s
worker-1 | INFO step 150: loss 9.9000
chief-0  | INFO lost a worker
chief-0  | INFO step 200: loss 0.5000, 80 steps/s, saved /model/2
chief-0  | INFO step 300: loss 0.1000, 90 steps/s, saved /model/3
"""

MODEL_FIT = """\
worker-0 | Epoch 1/3
worker-0 | 50/50 - 3s - loss: 0.7000 - accuracy: 0.5 - 3s/epoch
worker-0 | Epoch 2/3
worker-0 | 50/50 - 1s - loss: 0.2000 - accuracy: 0.9 - 1s/epoch
"""


@pytest.mark.parametrize(
    ("lines", "task", "expected"),
    [
        (PARAMETER_SERVERS, "chief-0", Curve([(100, 2.0), (200, 0.5), (300, 0.1)], 200, "step")),
        (MODEL_FIT, "worker-0", Curve([(1, 0.7), (2, 0.2)], None, "epoch")),
    ],
)
def test_a_curve_has_the_losses_of_one_task(lines: str, task: str, expected: Curve) -> None:
    assert curve(lines.splitlines(), task) == expected


def test_a_dashed_line_marks_the_step_after_the_restart() -> None:
    drawn = ET.fromstring(svg(Curve([(0, 1.0), (100, 0.1), (200, 0.01)], 100, "step"), "mnist"))
    (mark,) = drawn.iterfind("{http://www.w3.org/2000/svg}line[@class='resumed']")
    (points,) = drawn.iterfind("{http://www.w3.org/2000/svg}polyline")
    assert mark.attrib["x1"] == points.attrib["points"].split()[1].split(",")[0]


@pytest.mark.parametrize("example", RUNS)
def test_each_readme_shows_its_curve(example: str) -> None:
    folder = ROOT / "examples" / example
    assert "(curve.svg)" in (folder / "README.md").read_text(encoding="utf-8")
    assert "resumed at" in (folder / "curve.svg").read_text(encoding="utf-8")
