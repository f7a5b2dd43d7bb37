"""Tests of the paths of a pod on this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.local_job import JOB, run, write_job
from tfgen.local.folders import Folders
from tfgen.local.variables import loopback, replace_addresses


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/data", "DATA"),
        ("/data/train", "DATA/train"),
        ("/data/eval/x", "EVAL/x"),  # the deepest mount wins
        ("/database", "/database"),
        ("--data=/data/a,/data/b", "--data=DATA/a,DATA/b"),
        ("cd /data && ls '/data/x'", "cd DATA && ls 'DATA/x'"),
        ('{"dir":"/data"}', '{"dir":"DATA"}'),
        ("lib:/data/lib:/usr/bin", "lib:DATA/lib:/usr/bin"),
        ("https://host/data", "https://host/data"),
        ("gs://data/data", "gs://data/data"),
        ("./data", "./data"),
        ("a/data", "a/data"),
        ("/opt/train.py", "WORK/train.py"),
        ("/opt/pkg/model.py", "WORK/pkg/model.py"),
        ("/srv/other.py", "/srv/other.py"),
        ("/usr/bin/env", "/usr/bin/env"),  # the path exists on this machine too
    ],
)
def test_paths_of_the_pod_are_paths_of_this_machine(tmp_path: Path, text: str, expected: str) -> None:
    work = tmp_path / "work"
    (work / "pkg").mkdir(parents=True)
    (work / "train.py").touch()
    (work / "pkg" / "model.py").touch()
    mounts = {"/data/eval": tmp_path / "eval", "/data": tmp_path / "data"}
    local = Folders(mounts, work).replace_paths(text)
    for name, folder in (("WORK", work), ("EVAL", tmp_path / "eval"), ("DATA", tmp_path / "data")):
        local = local.replace(str(folder), name)
    assert local == expected


def test_addresses_are_replaced_whole() -> None:
    local = loopback({"m": {"cluster": '{"worker":["m-worker-0.m:2222","m-worker-1.m:2222"]}'}})
    first, second = local.values()
    assert replace_addresses("m-worker-0.m:2222,m-worker-1.m:2222", local) == f"{first},{second}"
    assert (
        replace_addresses("x.m-worker-0.m:2222 m-worker-0.m:22222", local) == "x.m-worker-0.m:2222 m-worker-0.m:22222"
    )


VOLUMES = (
    JOB
    + """\
  env: {MODEL_DIR: /model, CACHE: /cache}
  storage:
    data: {mountPath: /data, readOnly: true, claim: {name: datasets}}
    model: {mountPath: /model, runs: Separate, claim: {size: 1Gi}}
    cache: {mountPath: /cache, emptyDir: {}}
    creds: {mountPath: /creds, secret: {secretName: hub}}
  args: [--data=/data]
  code: {configMap: {files: {extra.py: "print('extra')"}}}
"""
)


def test_volumes_are_folders(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    program = """\
    print(sys.argv[1], os.environ["MODEL_DIR"], os.environ["CACHE"], os.environ["TMPDIR"] == os.environ["HOME"])
    open(os.environ["MODEL_DIR"] + "/" + name, "w").close()
    open(os.environ["CACHE"] + "/" + name, "w").close()
    meet()
    print(*sorted(os.listdir(os.environ["MODEL_DIR"])), *os.listdir(os.environ["CACHE"]), flush=True)
    meet("end")
    if name != "chief-0": time.sleep(600)
    """
    ran = run(write_job(tmp_path, program, VOLUMES), "--mount", "data=images")
    assert ran.code == 0, ran
    root = ran.logs.parent
    for task in ("chief-0", "ps-0", "worker-0", "worker-1"):
        assert ran.lines[task] == [
            f"--data={tmp_path}/images {root}/volumes/model/1 {root}/tasks/{task}/cache True",
            f"chief-0 ps-0 worker-0 worker-1 {task}",
        ]
    said = ran.said.splitlines()
    assert (
        said[0] == "note: the volume creds is empty, because its content is in the cluster; to use a local folder, add "
        "--mount creds=DIR"
    )
    assert sorted(said[-4:]) == [
        f"volume creds: {root}/volumes/creds",
        f"volume data: {tmp_path}/images",
        f"volume model: {root}/volumes/model",
        f"volume tfgen-code: {root}/volumes/tfgen-code",
    ]
    assert (root / "volumes" / "tfgen-code" / "extra.py").read_text() == "print('extra')"
    assert not (root / "tasks").exists()


def test_code_from_git_is_the_folder_of_the_code(tmp_path: Path) -> None:
    git = "{repository: https://git.example.com/ml/train.git, revision: v1, folder: training}"
    job = JOB.replace("/opt/train.py", "/code/train.py") + f"  code: {{git: {git}}}\n"
    (tmp_path / "src").mkdir()
    path = write_job(
        tmp_path / "src", "print('here', flush=True)\nmeet()\ntime.sleep(600 if name != 'chief-0' else 0)", job
    )
    ran = run(path.rename(tmp_path / "job.yaml"), "--workdir", "src")
    assert ran.code == 0
    assert ran.lines["chief-0"] == ["here"]
