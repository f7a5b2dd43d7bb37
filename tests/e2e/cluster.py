"""A test cluster for manual use:

    python -m tests.e2e.cluster up --nodes 4 --gpus 8
    export KUBECONFIG=.build/cluster/admin.kubeconfig
    kubectl get nodes
    python -m tests.e2e.cluster down

With `--node`, which needs root, the cluster has one real node instead, which runs pods (tests/e2e/real_node.py). `up`
starts a process in the background that runs the servers until `down`. `run` runs the servers in the foreground, until
Ctrl-C. The folder (`--folder`) contains logs, data and certificates; `down` removes the folder.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.e2e.control_plane import GANG_API, GANG_SCHEDULING, ControlPlane, fake_node
from tests.e2e.real_node import Node
from tests.support.tools import ROOT

FOLDER = ROOT / ".build" / "cluster"
READY = "ready"
"""The file that marks a running cluster. The file contains the process id of `run`."""


def main(argv: list[str] | None = None) -> int:
    """Run one command. The exit code is 0 on success."""
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.cluster", description="A Kubernetes control plane.")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (("up", "start it and return"), ("run", "run it until Ctrl-C"), ("down", "end it")):
        command = commands.add_parser(name, help=text)
        command.add_argument("--folder", type=Path, default=FOLDER, help="for its files (default: %(default)s)")
        if name != "down":
            command.add_argument("--nodes", type=int, default=2, help="number of fake nodes (default: %(default)s)")
            command.add_argument("--node", action="store_true", help="one real node instead, which runs pods")
            command.add_argument("--gpus", type=int, default=0, help="GPUs of each node (default: %(default)s)")
            command.add_argument("--gang", action="store_true", help="with Kubernetes' own gang scheduling")
    args = parser.parse_args(argv)
    folder: Path = args.folder.resolve()
    if args.command == "down":
        return down(folder)
    if folder.exists():
        print(f"{folder} is there already: `python -m tests.e2e.cluster down` first", file=sys.stderr)
        return 1
    return up(folder, sys.argv[2:] if argv is None else argv[1:]) if args.command == "up" else run(folder, args)


def run(folder: Path, args: argparse.Namespace) -> int:
    """Run a cluster until SIGINT or SIGTERM."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    folder.mkdir(parents=True)
    try:
        with _cluster(folder, args) as cluster:
            print(f"export KUBECONFIG={cluster.admin}", flush=True)
            written = folder / f"{READY}.tmp"
            written.write_text(f"{os.getpid()}\n", encoding="utf-8")
            written.rename(folder / READY)  # last and atomic: a process that sees the file reads all of it
            signal.pause()
    except KeyboardInterrupt:
        pass
    return 0


@contextmanager
def _cluster(folder: Path, args: argparse.Namespace) -> Iterator[ControlPlane]:
    """Start the cluster that the arguments describe."""
    gates, apis = (GANG_SCHEDULING, GANG_API) if args.gang else ({}, ())
    if args.node:
        with Node(folder, gpus=args.gpus, feature_gates=gates, apis=apis) as node:
            yield node.cluster
    else:
        nodes = [fake_node(f"node-{number}", gpus=args.gpus) for number in range(args.nodes)]
        with ControlPlane(folder, nodes=nodes, feature_gates=gates, apis=apis) as cluster:
            yield cluster


def up(folder: Path, args: list[str]) -> int:
    """Start `run` as a separate process, and return when the cluster is ready."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    log = folder.with_suffix(".log")
    with log.open("wb") as output:
        holder = subprocess.Popen(
            [sys.executable, "-m", "tests.e2e.cluster", "run", *args],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    while not (folder / READY).exists():
        if holder.poll() is not None:
            print(log.read_text(encoding="utf-8"), file=sys.stderr, end="")
            return 1
        time.sleep(0.1)
    print(log.read_text(encoding="utf-8"), end="")
    return 0


def down(folder: Path) -> int:
    """End the cluster of a folder, and remove the folder."""
    if not folder.exists():
        print(f"no cluster in {folder}", file=sys.stderr)
        return 1
    ready = folder / READY
    if ready.exists() and _holds_a_cluster(holder := int(ready.read_text(encoding="utf-8"))):
        os.kill(holder, signal.SIGTERM)
        while _holds_a_cluster(holder):
            time.sleep(0.1)
    shutil.rmtree(folder)
    folder.with_suffix(".log").unlink(missing_ok=True)
    return 0


def _holds_a_cluster(pid: int) -> bool:
    """Test whether a process is a `run` of this module, and not a later process with a reused id."""
    try:
        argv = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return b"tests.e2e.cluster" in argv


if __name__ == "__main__":
    sys.exit(main())
