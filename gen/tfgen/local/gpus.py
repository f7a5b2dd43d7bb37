"""Finds the GPUs of this machine, and distributes the GPUs to the tasks.

shares([0, 1, 1], ["0", "1"])  # ["", "0", "1"]
shares([1, 1, 1], ["0"])       # ["0", "0", "0"]
"""

from __future__ import annotations

import itertools
import os
import subprocess
from collections.abc import Sequence
from typing import Final

VISIBLE: Final = "CUDA_VISIBLE_DEVICES"
"""Environment variable that limits a process to the listed GPUs.

https://docs.nvidia.com/cuda/cuda-c-programming-guide/#cuda-environment-variables
"""


def find_gpus() -> list[str]:
    """Return the indexes of the GPUs that this process may use; empty without NVIDIA's driver."""
    if VISIBLE in os.environ:
        # CUDA ignores the first invalid index, such as -1, and all later indexes.
        named = itertools.takewhile(lambda name: name and name != "-1", os.environ[VISIBLE].split(","))
        return [name.strip() for name in named]
    try:
        listed = subprocess.run(
            ("nvidia-smi", "--query-gpu=index", "--format=csv,noheader"),  # noqa: S607 - as the PATH has it
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    return listed.stdout.split() if listed.returncode == 0 else []


def shares(numbers: Sequence[int], gpus: Sequence[str]) -> list[str]:
    """Return the GPU indexes for each task as text, such as "0,1". If the machine has too few GPUs, tasks share GPUs.

    Args:
        numbers: the number of GPUs that each task requests.
        gpus: the indexes of the GPUs of the machine.
    """
    turn = itertools.cycle(gpus)
    return [",".join(itertools.islice(turn, min(number, len(gpus)))) for number in numbers]
