"""Tests of the formats of a picture: each format shows the whole description, and no two labels overlap in SVG."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from itertools import combinations

import pytest

from readme_picture import readme_picture
from tests.support.repository import tfgen
from tests.support.tools import ROOT
from tfgen.pictures.picture import Panel, Picture, Tasks, Volume, as_mermaid, as_svg

SVG = "{http://www.w3.org/2000/svg}"
NOTES = (("end", 'when chief-0 exits, the finisher stops "ps"; and <worker>'),)


def tasks(role: str, count: int, *, in_gang: bool = True, devices: str = "1 NVIDIA-T4") -> Tasks:
    return Tasks(
        role=role,
        count=count,
        devices=devices,
        resources="4 CPU, 8Gi memory",
        controller=f"StatefulSet {'recommendation-model-for-the-shop' * (count > 100)}mnist-{role}",
        hosts=f"mnist-{role}-{{0..{count - 1}}}.mnist:2222",
        start="starts with the gang",
        in_gang=in_gang,
        ends=role == "chief",
        mounts={"data": "/data"},
    )


def picture(count: int, volumes: int = 1) -> Picture:
    names = ["data", *(f"volume-{number}" for number in range(1, volumes))]
    panel = Panel(
        title="prod",
        facts=("namespace ml", "run 2"),
        gang="gang of 7 pods in queue research, started together (scheduling.volcano.sh)",
        tasks=(tasks("chief", 1, devices=""), tasks("worker", count), tasks("evaluator", 1, in_gang=False)),
        volumes=tuple(Volume(name, "claim mnist-data, 20Gi, ReadWriteMany", is_kept=True) for name in names),
        notes=NOTES,
    )
    return Picture("mnist", (panel, panel))


def boxes(node: ElementTree.Element, x: float = 0, y: float = 0) -> Iterator[tuple[str, float, float, float, float]]:
    """Yield each text and each task with its left, top, right and bottom edge."""
    if move := re.fullmatch(r"translate\(([\d.]+) ([\d.]+)\)", node.get("transform", "")):
        x, y = x + float(move[1]), y + float(move[2])
    if node.tag == f"{SVG}text":
        left, base = x + float(node.get("x", 0)), y + float(node.get("y", 0))
        text = node.text or ""
        # The width of a character is estimated for wide common fonts: 6 pixels for a height of 12 pixels.
        yield text, left, base - 9, left + 6 * len(text), base + 3
    elif node.tag == f"{SVG}rect" and node.get("class") in ("task", "gpu"):
        left, top = x + float(node.get("x", 0)), y + float(node.get("y", 0))
        yield "task", left, top, left + float(node.get("width", 0)), top + float(node.get("height", 0))
    for child in node:
        yield from boxes(child, x, y)


@pytest.mark.parametrize("count", [1, 60, 61, 500])
@pytest.mark.parametrize("volumes", [1, 9])
def test_no_label_and_no_task_overlaps_another(count: int, volumes: int) -> None:
    root = ElementTree.fromstring(as_svg(picture(count, volumes)))
    drawn = [*boxes(root)]
    assert sum(name == "task" for name, *_ in drawn) == 2 * (count + 2)
    labels = [box for box in drawn if box[0] != "task"]
    for (one, *a), (two, *b) in (*combinations(labels, 2), *((label, box) for label in labels for box in drawn)):
        apart = a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
        assert apart or (one, a) == (two, b), (one, two)
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    assert all(left >= 0 and right <= width and bottom <= height for _, left, _, right, bottom in drawn)


def test_the_picture_of_the_documents_is_up_to_date() -> None:
    printed = tfgen("draw", str(ROOT / "examples" / "dist-mnist" / "job.yaml")).out
    assert printed == (ROOT / "docs" / "dist-mnist.svg").read_text(encoding="utf-8"), "run 'make pictures'"


def test_the_picture_of_the_readme_is_up_to_date() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme_picture(readme) == (ROOT / "docs" / "readme.svg").read_text(encoding="utf-8"), "run 'make pictures'"


def test_svg_follows_the_scheme_and_has_words_for_a_screen_reader() -> None:
    root = ElementTree.fromstring(as_svg(picture(4)))
    assert root.get("role") == "img"
    assert "prefers-color-scheme: dark" in (root.findtext(f"{SVG}style") or "")
    assert (root.findtext(f"{SVG}desc") or "").startswith(
        "prod: 1 chief task, 4 worker tasks with 1 NVIDIA-T4 each, 1 evaluator task with 1 NVIDIA-T4 each, gang"
    )


def test_mermaid() -> None:
    assert as_mermaid(Picture("mnist", picture(4).panels[:1])).replace("<br/>", "<br/>\n").splitlines() == [
        "flowchart LR",
        '  subgraph p0["mnist in prod: namespace ml, run 2"]',
        '    subgraph p0_gang["gang of 7 pods in queue research, started together (scheduling.volcano.sh)"]',
        '      p0_chief["chief × 1<br/>',
        "4 CPU, 8Gi memory<br/>",
        "StatefulSet mnist-chief<br/>",
        "mnist-chief-#123;0..0#125;.mnist:2222<br/>",
        "starts with the gang<br/>",
        'its exit ends the job"]',
        '      p0_worker["worker × 4<br/>',
        "4 CPU, 8Gi memory, 1 NVIDIA-T4<br/>",
        "StatefulSet mnist-worker<br/>",
        "mnist-worker-#123;0..3#125;.mnist:2222<br/>",
        'starts with the gang"]',
        "    end",
        '    p0_evaluator["evaluator × 1<br/>',
        "4 CPU, 8Gi memory, 1 NVIDIA-T4<br/>",
        "StatefulSet mnist-evaluator<br/>",
        "mnist-evaluator-#123;0..0#125;.mnist:2222<br/>",
        'starts with the gang"]',
        '    p0_v0[("data<br/>',
        "claim mnist-data, 20Gi, ReadWriteMany<br/>",
        'kept after the run")]',
        '    p0_chief -- "/data" --> p0_v0',
        '    p0_worker -- "/data" --> p0_v0',
        '    p0_evaluator -- "/data" --> p0_v0',
        '    p0_n0(["end: when chief-0 exits, the finisher stops #34;ps#34;#59; and #60;worker#62;"])',
        "  end",
    ]
