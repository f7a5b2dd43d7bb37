"""``tfgen tensorboard``: forward a local port to the TensorBoard of a job."""

from __future__ import annotations

import functools
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from typing import Final

from tfgen.cli.arguments import number, release_arguments, run_arguments
from tfgen.cli.live import clusters_of, read_run
from tfgen.cli.output import print_json, print_message
from tfgen.errors import TfgenError
from tfgen.live.api import ONCE
from tfgen.live.clusters import tensorboard_pod
from tfgen.live.transport import LOOPBACK, forward, free_port

EXAMPLE: Final = "tfgen tensorboard job.yaml --env prod"

_PORTS: Final = 1 << 16


def arguments(parser: ArgumentParser) -> None:
    run_arguments(parser, may_be_removed=True)
    parser.add_argument(
        "--port",
        type=_port,
        metavar="N",
        help="the local port; 0 for any free port (default: the port of TensorBoard, or a free port)",
    )
    release_arguments(parser)


def run(args: Namespace) -> int:
    run = read_run(args)
    port = run.tensorboard_port
    if port is None:
        raise TfgenError(
            f"{run.title}: the job has no TensorBoard; set tensorboard.logDir, and remove tensorboard.enabled: false"
        )
    clusters = clusters_of(args, ONCE)
    run = clusters.with_release_names(run, args.release)
    live = clusters.place(run)
    api = clusters.api(live.context)
    find_pod = functools.partial(tensorboard_pod, api, live.namespace, run)
    find_pod()  # the reason why TensorBoard is not ready comes before a message about the port
    local = free_port(args.port, port)
    address = f"http://{LOOPBACK}:{local}/"

    def announce() -> None:
        if args.format == "json":
            print_json({"address": address})
        else:
            print(address)
        sys.stdout.flush()

    forward(clusters.access(live), find_pod, (local, port), announce, print_message)


def _port(text: str) -> int:
    port = number(text)
    if port >= _PORTS:
        raise ArgumentTypeError(f"{text} is not a port; write an integer from 0 to {_PORTS - 1}")
    return port
