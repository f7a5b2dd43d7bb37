"""The test of ``helm test``: a pod of the run that connects to each task that listens on a port."""

from __future__ import annotations

from typing import Final

from tfgen.graph.holes import Node, Splice, if_set
from tfgen.graph.objects import cluster, naming, podspec
from tfgen.graph.objects.podspec import pod_spec
from tfgen.graph.objects.values import value, value_for_role
from tfgen.job.training_job import Structure
from tfgen.kubernetes import keys

_LISTENERS: Final = "LISTENERS"
_PROGRAM: Final = f"""\
import json, os, socket

for role, hosts in json.loads(os.environ["TF_CLUSTER"]).items():
    for host in {_LISTENERS}:
        name, port = host.rsplit(":", 1)
        socket.create_connection((name, int(port)), timeout=10).close()
        print(role, host, "answers")
"""


def connection_test(structure: Structure) -> Node:
    """Return the Pod for ``helm test``, with the image of the first role.

    The Pod has the labels of the run, because the network policy of the run blocks all other pods.
    """
    role = structure.roles[0].name
    # With keras.distribution, only the coordinator listens on a port.
    listeners = "hosts[:1]" if structure.uses_keras_distribution else "hosts"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": naming.CONNECTION_TEST,
            "labels": {
                Splice("selector"): naming.RUN_SELECTOR,
                keys.NAME: naming.NAME,
                keys.ISTIO_INJECT: "false",
            },
            "annotations": {
                keys.LINKERD_INJECT: "disabled",
                keys.HOOK: "test",
                keys.HOOK_DELETE: "before-hook-creation,hook-succeeded",
            },
        },
        "spec": pod_spec(
            {},
            {"restartPolicy": "Never"},
            {
                "securityContext": podspec.pod_context_template(structure.profile),
                **podspec.job_scheduling(),
                "imagePullSecrets": value("imagePullSecrets"),
                "containers": [
                    {
                        "name": "connect",
                        "image": value_for_role(role, "image"),
                        "imagePullPolicy": if_set(value_for_role(role, "imagePullPolicy")),
                        "command": ["python3", "-c", _PROGRAM.replace(_LISTENERS, listeners)],
                        "env": [cluster.variable("TF_CLUSTER", cluster.CLUSTER), podspec.NO_GPUS],
                        "resources": podspec.helper_resources("helpers"),
                        "securityContext": podspec.container_context_template(structure.profile),
                    }
                ],
            },
        ),
    }
