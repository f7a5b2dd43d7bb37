"""Tests of the command line that runs a task in a container."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfgen.graph.task_pods import Pod
from tfgen.local.containers import Container, Runtime, remove_command, run_command
from tfgen.local.folders import Mount

POD = Pod(
    role="worker",
    index=0,
    name="mnist-worker-0",
    namespace="ml",
    labels={},
    annotations={},
    spec={
        "containers": [
            {"name": "tensorflow", "image": "mnist:1", "command": ["python", "-u"], "workingDir": "/opt"},
        ]
    },
    retries=None,
)


@pytest.mark.parametrize(
    ("program", "user", "gpus"),
    [
        ("/usr/bin/docker", "", '--gpus "device=0,1"'),
        ("/usr/bin/podman", " --userns keep-id", "--device nvidia.com/gpu=0 --device nvidia.com/gpu=1"),
    ],
)
def test_a_task_in_a_container(monkeypatch: pytest.MonkeyPatch, program: str, user: str, gpus: str) -> None:
    monkeypatch.setattr("os.getuid", lambda: 1000)
    monkeypatch.setattr("os.getgid", lambda: 100)
    container = Container(
        name="tfgen-mnist-worker-0-4711",
        pod=POD,
        words=["python", "-u", "train.py", "--steps=9"],
        variables={"MODEL_DIR": "/model", "TOKEN": "hunter2"},
        secrets={"TOKEN"},
        mounts=[Mount("/model/logs", Path("/home/ada/logs")), Mount("/model", Path("/home/ada/model"))],
        gpus="0,1",
    )
    command = run_command(Runtime(program), container)
    assert " ".join(command) == (
        f"{program} run --rm --init --name tfgen-mnist-worker-0-4711 --network host --ipc host "
        f"--user 1000:100{user} --env MODEL_DIR=/model --env TOKEN "
        "--volume /home/ada/model:/model --volume /home/ada/logs:/model/logs --workdir /opt "
        f"{gpus} --entrypoint python mnist:1 -u train.py --steps=9"
    )


def test_a_container_is_removed_by_its_name() -> None:
    assert remove_command(Runtime("docker"), "tfgen-x") == ("docker", "rm", "--force", "tfgen-x")
