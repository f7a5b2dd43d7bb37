"""Trace the TensorFlow server of a task, and write the files of the trace to standard output as a tar archive.

    python3 -c SOURCE worker 1 5     # worker-1 for 5 seconds

The program runs in the container of the task, because the TensorFlow server writes the trace to the container's file
system. The exit codes distinguish the failures that tfgen explains.
"""

import json
import os
import pathlib
import sys
import tarfile
import tempfile
from typing import List  # the image may have Python 3.6

NO_TENSORFLOW, TOO_OLD, NO_SERVER, NO_TRACE = 64, 65, 66, 67


def main(role: str, index: str, seconds: str) -> int:
    """Trace a task, and return the exit code of the program."""
    archive = os.dup(1)
    os.dup2(2, 1)  # TensorFlow's client prints lines to standard output
    address = server_address(role, int(index))
    if not address:
        return NO_SERVER
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"  # the GPUs belong to the training
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "1"  # a warning names the reason of a missing trace
    try:
        import tensorflow as tf
    except ImportError as error:
        print(error)
        return NO_TENSORFLOW
    try:
        trace = tf.profiler.experimental.client.trace
    except AttributeError:
        print(tf.__version__)
        return TOO_OLD
    with tempfile.TemporaryDirectory() as folder:
        try:
            trace("grpc://" + address, folder, int(seconds) * 1000, num_tracing_attempts=1)
        except Exception as error:  # the type differs between versions of TensorFlow
            print(error)
            return NO_TRACE
        with os.fdopen(archive, "wb") as file, tarfile.open(fileobj=file, mode="w|") as tar:
            for path in sorted(pathlib.Path(folder).glob("plugins/profile/*/*")):
                suffix = path.name.partition(".")[2]  # the name begins with the address
                tar.add(str(path), arcname=f"{role}-{index}.{suffix}")
    return 0


def server_address(role: str, index: int) -> str:
    """Return the local address of the TensorFlow server of a task; empty if TF_CONFIG does not list the task."""
    hosts: List[str] = json.loads(os.environ.get("TF_CONFIG") or "{}").get("cluster", {}).get(role, [])
    return "localhost:" + hosts[index].rpartition(":")[2] if index < len(hosts) else ""


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
