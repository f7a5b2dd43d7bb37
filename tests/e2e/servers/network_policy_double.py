"""The agent that enforces NetworkPolicies on the real node: a test double (see tests/e2e/network_policy.py).

    python -m tests.e2e.servers.network_policy_double KUBECONFIG NETWORK READY

The agent reads the policies twice a second, and sets the rules of its network namespace. It creates the file READY
after the first rules are set.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from tests.e2e.client import Client
from tests.e2e.namespaces import Namespaces
from tests.e2e.network_policy import ruleset
from tests.e2e.servers.process import Process
from tests.support.tools import ROOT

PERIOD: Final = 0.5  # seconds


class NetworkPolicyDouble(Process):
    """The agent, in the network of a node."""

    def __init__(self, folder: Path, machine: Namespaces, kubeconfig: Path, network: str) -> None:
        """Describe the server.

        Args:
            folder: The folder for its log.
            machine: The namespaces of the process.
            kubeconfig: The kubeconfig file of a user who may list pods, namespaces and policies.
            network: The network of the pods' addresses.
        """
        ready = folder / "network-policy-double.ready"
        module = "tests.e2e.servers.network_policy_double"
        super().__init__(
            "network-policy-double",
            machine.command((sys.executable, "-m", module, kubeconfig, network, ready)),
            folder / "network-policy-double.log",
            ready=ready.exists,
            env={**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), os.environ.get("PYTHONPATH", "")))},
        )


def main(kubeconfig: Path, network: str, ready: Path) -> None:
    """Update the rules from the cluster's policies, forever."""
    client, set_before = Client(kubeconfig), ""
    while True:
        kinds = ("v1/Pod", "v1/Namespace", "networking.k8s.io/v1/NetworkPolicy")
        pods, namespaces, policies = (client.list(kind) for kind in kinds)
        rules = ruleset(pods, namespaces, policies, network)
        if rules != set_before:
            subprocess.run(("nft", "--file", "-"), input=rules.encode(), check=True)
            set_before = rules
            ready.touch()
        time.sleep(PERIOD)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
