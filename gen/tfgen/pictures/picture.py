"""Records that describe the picture of a job, without colours or coordinates.

The modules `svg` and `mermaid` read only these records, so all formats show the same content.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tfgen.record import Record


class Tasks(Record):
    """The equal tasks of one role.

    Attributes:
        role: chief, ps, worker or evaluator.
        count: number of tasks.
        devices: GPUs of one task, such as "1 NVIDIA-T4"; empty without GPUs.
        resources: CPU and memory that one task requests, such as "4 CPU, 8Gi".
        controller: kind and name of the object that creates the pods of the tasks.
        hosts: host names and port of the tasks, such as "mnist-worker-{0..3}.mnist:2222"; empty if an operator chooses
            the host names.
        start: the event that starts the tasks, as text, such as "with the gang".
        in_gang: whether the scheduler starts the tasks together with the tasks of other roles.
        ends: whether the job ends when these tasks end.
        mounts: name of a volume -> mount path.
    """

    role: str
    count: int
    devices: str
    resources: str
    controller: str
    hosts: str
    start: str
    in_gang: bool
    ends: bool
    mounts: Mapping[str, str]


class Volume(Record):
    """A volume that tasks mount, or a claim that no task mounts.

    Attributes:
        name: name of the volume in the job.
        source: source of the volume, such as "claim mnist-model, 20Gi, ReadWriteMany".
        is_kept: whether the volume is a claim. Claims remain after the run, and after the job is deleted.
    """

    name: str
    source: str
    is_kept: bool


class Panel(Record):
    """The part of a picture that shows one environment of a job, or a job without environments.

    Attributes:
        title: name of the environment, or of the job.
        facts: texts about namespace, cluster, run and image.
        gang: scheduler, queue and size of the gang; empty without a gang.
        tasks: the roles in the order chief, ps, worker, evaluator; empty for a retired environment.
        volumes: the volumes of all roles, by name.
        notes: label and text of each note about the end of the run, the network, TensorBoard and GitOps tools.
    """

    title: str
    facts: tuple[str, ...]
    gang: str
    tasks: tuple[Tasks, ...]
    volumes: tuple[Volume, ...]
    notes: tuple[tuple[str, str], ...]


class Picture(Record):
    """The picture of a job, with one panel for each environment."""

    title: str
    panels: tuple[Panel, ...]


def as_data(picture: Picture) -> dict[str, Any]:
    """Return the description of the picture as dicts and lists."""
    return {
        "job": picture.title,
        "panels": [
            {
                "title": panel.title,
                "facts": [*panel.facts],
                "gang": panel.gang or None,
                "tasks": [
                    {
                        "role": tasks.role,
                        "count": tasks.count,
                        "devices": tasks.devices or None,
                        "resources": tasks.resources or None,
                        "controller": tasks.controller,
                        "hosts": tasks.hosts or None,
                        "start": tasks.start,
                        "inGang": tasks.in_gang,
                        "endsJob": tasks.ends,
                        "mounts": dict(tasks.mounts),
                    }
                    for tasks in panel.tasks
                ],
                "volumes": [
                    {"name": volume.name, "source": volume.source, "kept": volume.is_kept} for volume in panel.volumes
                ],
                "notes": [{"label": label, "text": text} for label, text in panel.notes],
            }
            for panel in picture.panels
        ],
    }


def as_mermaid(picture: Picture) -> str:
    """Return the picture as Mermaid text."""
    lines = ["flowchart LR"]
    for index, panel in enumerate(picture.panels):
        title = picture.title if panel.title == picture.title else f"{picture.title} in {panel.title}"
        title = f"{title}: {', '.join(panel.facts)}" if panel.facts else title
        lines += [f'  subgraph p{index}["{_text([title])}"]', *_panel(index, panel), "  end"]
    return "\n".join(lines) + "\n"


def _panel(index: int, panel: Panel) -> Iterator[str]:
    in_gang = [tasks for tasks in panel.tasks if tasks.in_gang]
    if in_gang:
        yield f'    subgraph p{index}_gang["{_text([panel.gang])}"]'
    for tasks in in_gang:
        yield f"  {_tasks(index, tasks)}"
    if in_gang:
        yield "    end"
    yield from (_tasks(index, tasks) for tasks in panel.tasks if not tasks.in_gang)
    for number, volume in enumerate(panel.volumes):
        lines = [volume.name, volume.source, "kept after the run" if volume.is_kept else ""]
        yield f'    p{index}_v{number}[("{_text(lines)}")]'
    numbers = {volume.name: number for number, volume in enumerate(panel.volumes)}
    for tasks in panel.tasks:
        for name, path in tasks.mounts.items():
            yield f'    p{index}_{tasks.role} -- "{_text([path])}" --> p{index}_v{numbers[name]}'
    for number, (label, text) in enumerate(panel.notes):
        yield f'    p{index}_n{number}(["{_text([f"{label}: {text}"])}"])'


def _tasks(index: int, tasks: Tasks) -> str:
    size = ", ".join(filter(None, (tasks.resources, tasks.devices)))
    ends = "its exit ends the job" if tasks.ends else ""
    lines = [f"{tasks.role} × {tasks.count}", size, tasks.controller, tasks.hosts, tasks.start, ends]
    return f'    p{index}_{tasks.role}["{_text(lines)}"]'


def _text(lines: Iterable[str]) -> str:
    """Join lines into the text of a Mermaid node. Entity codes replace characters that Mermaid may read as syntax."""
    plain = " ./:,-_()=+×"
    texts = ("".join(c if c.isalnum() or c in plain else f"#{ord(c)};" for c in line) for line in lines if line)
    return "<br/>".join(texts)
