"""Records that describe the picture of a job, without colours or coordinates.

The modules `svg` and `mermaid` read only these records, so all formats show the same content.
"""

from __future__ import annotations

from collections.abc import Mapping

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
