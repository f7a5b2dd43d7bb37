"""Train examples with `tfgen local`, kill a task in each run, and draw the loss into examples/NAME/curve.svg.

`make curves` needs TensorFlow and takes minutes. A dashed line in a curve marks the first step after the restart of
the killed task.
"""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from tfgen.live.training_log import losses

ROOT: Final = Path(__file__).parents[1]

RUNS: Final[Mapping[str, str]] = {
    "dist-mnist": "--env dev --fail worker=0@40s --set roles.worker.replicas=2 --set args=[--steps=3000]",
    "keras-distribution": "--fail worker=1@25s --set args=[--epochs=30]",
    "keras-mirrored": "--fail worker=1@40s --set args=[--epochs=30]",
    "keras-ps": "--fail worker=1@40s --set args=[--epochs=60]",
    "mirrored-cifar": "--env dev --fail worker=1@40s --set args=[--steps=1500]",
    "ps-evaluator": (
        "--env dev --workdir examples/dist-mnist --fail worker=0@40s "
        "--set roles.worker.replicas=2 --set args=[--steps=3000]"
    ),
    "single-gpu": "--env dev --fail chief=0@8s --set args=[--steps=6000,--checkpoint-every=250]",
    "tf1-flags": "--env dev --fail worker=1@50s --set args=[--steps=40000]",
}
"""Examples whose tasks resume after a failure, with the options of `tfgen local`."""

_KILLED: Final = "tfgen: killed after"
_STEP: Final = re.compile(r"\bstep (\d+)|^Epoch (\d+)/")
_WIDTH, _HEIGHT, _LEFT, _TOP = 560, 200, 56, 30
_STYLE: Final = """\
  text { font: 12px ui-sans-serif, system-ui, sans-serif; fill: #59636e; }
  .axis { stroke: #d1d9e0; }
  .loss { stroke: #0969da; stroke-width: 2; fill: none; }
  .resumed { stroke: #cf222e; stroke-dasharray: 4 3; }
  @media (prefers-color-scheme: dark) {
    text { fill: #9198a1; }
    .axis { stroke: #3d444d; }
    .loss { stroke: #4493f8; }
    .resumed { stroke: #f85149; }
  }"""


class Curve(NamedTuple):
    """The loss of a training.

    Attributes:
        points: the step, or the epoch of `model.fit`, and the loss at the step.
        resumed: the step of the first loss after the task was killed; None if no loss follows.
        unit: `step` or `epoch`.
    """

    points: Sequence[tuple[int, float]]
    resumed: int | None
    unit: str


def curve(lines: Iterable[str], task: str) -> Curve:
    """Return the curve of a task from the output of `tfgen local`, which contains the lines of all tasks."""
    points: list[tuple[int, float]] = []
    step, unit, killed, resumed = 0, "step", False, None
    for line in lines:
        name, _, text = line.partition(" | ")
        killed = killed or text.strip().startswith(_KILLED)
        if name.strip() != task:
            continue
        if match := _STEP.search(text.strip()):
            step, unit = int(match[1] or match[2]), "step" if match[1] else "epoch"
        if values := losses([text]):
            points.append((step, values[-1]))
            if killed and resumed is None:
                resumed = step
    return Curve(points, resumed, unit)


def svg(drawn: Curve, example: str) -> str:
    """Return the curve as an SVG that follows the light or dark scheme of the reader."""
    last = max(step for step, _ in drawn.points)
    first = min(step for step, _ in drawn.points)
    low = math.floor(math.log10(min(loss for _, loss in drawn.points)))
    high = math.ceil(math.log10(max(loss for _, loss in drawn.points)))

    def place(step: int, loss: float) -> tuple[float, float]:
        across, up = (step - first) / max(last - first, 1), (math.log10(loss) - low) / (high - low)
        return round(_LEFT + across * _WIDTH, 1), round(_TOP + _HEIGHT * (1 - up), 1)

    places = " ".join(f"{x},{y}" for x, y in (place(*point) for point in drawn.points))
    bottom = _TOP + _HEIGHT
    width, height = _LEFT + _WIDTH + 24, bottom + 40
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-label="Loss of {example} against the {drawn.unit}">',
        f"<style>\n{_STYLE}\n</style>",
        f'<line class="axis" x1="{_LEFT}" y1="{_TOP}" x2="{_LEFT}" y2="{bottom}"/>',
        f'<text x="{_LEFT}" y="18">loss of {example}, logarithmic scale</text>',
        *(_grid_line(10.0**power, place(first, 10.0**power)[1]) for power in range(low, high + 1)),
        f'<text x="{_LEFT}" y="{bottom + 18}">{drawn.unit} {first}</text>',
        f'<text x="{_LEFT + _WIDTH}" y="{bottom + 18}" text-anchor="end">{last}</text>',
        f'<polyline class="loss" points="{places}"/>',
    ]
    if drawn.resumed is not None:
        x, _ = place(drawn.resumed, 1)
        anchor, text_x = ("start", x + 6) if x < _LEFT + _WIDTH / 2 else ("end", x - 6)
        parts += [
            f'<line class="resumed" x1="{x}" y1="{_TOP}" x2="{x}" y2="{bottom}"/>',
            f'<text x="{text_x}" y="{_TOP + 14}" text-anchor="{anchor}">'
            f"killed, and resumed at {drawn.unit} {drawn.resumed}</text>",
        ]
    return "\n".join([*parts, "</svg>\n"])


def _grid_line(loss: float, y: float) -> str:
    return (
        f'<line class="axis" x1="{_LEFT}" y1="{y}" x2="{_LEFT + _WIDTH}" y2="{y}"/>\n'
        f'<text x="{_LEFT - 6}" y="{y + 4}" text-anchor="end">{loss:g}</text>'
    )


def train(example: str, options: Sequence[str]) -> list[str]:
    """Run `tfgen local` for an example, and return the printed lines.

    Raises:
        subprocess.CalledProcessError: the training failed.
    """
    command = (sys.executable, "-m", "tfgen", "local", str(ROOT / "examples" / example / "job.yaml"), *options)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)  # noqa: S603 the code of this repository
    return done.stdout.splitlines()


def main(examples: Sequence[str]) -> None:
    """Train the examples, or all examples of the table, and write a curve for each example."""
    for example in examples or RUNS:
        lines = train(example, RUNS[example].split())
        task = "chief-0" if any(line.startswith("chief-0") for line in lines) else "worker-0"
        path = ROOT / "examples" / example / "curve.svg"
        path.write_text(svg(curve(lines, task), example), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
