"""Actions of a kubelet on pods of fake nodes, at the times that a test chooses.

environment(client, pod)["TF_CONFIG"]              the variables of the pod's container
end(client, pod, exit_code=1)                      end the pod's containers
PodProcess(cluster, pod, folder)                   run the pod's program, with the token of its service account
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from tests.e2e.client import Client, Object
from tests.e2e.control_plane import ControlPlane
from tests.e2e.servers.process import Process

ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"


def environment(client: Client, pod: Object) -> dict[str, str]:
    """Return the variables of a pod's first container, in the order of their declaration.

    https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables/: `$(NAME)`
    is a variable declared before, `$$` a dollar sign, and a reference to any other variable stays unchanged.
    """
    container = pod["spec"]["containers"][0]
    found: dict[str, str] = {}
    for variable in container.get("env", ()):
        source = variable.get("valueFrom")
        found[variable["name"]] = _value(client, pod, source) if source else _expanded(variable.get("value", ""), found)
    return found


def end(client: Client, pod: Object, exit_code: int = 0) -> None:
    """End a pod's containers, as if their programs had ended. The kubelet must not restart the containers."""
    final = ("Never",) if exit_code else ("Never", "OnFailure")
    assert pod["spec"]["restartPolicy"] in final, "its containers would start again"
    state = {"terminated": {"exitCode": exit_code, "reason": "Error" if exit_code else "Completed"}}
    statuses = [
        {"name": container["name"], "image": container["image"], "imageID": "", "ready": False, "restartCount": 0}
        | {"state": state}
        for container in pod["spec"]["containers"]
    ]
    status = {"phase": "Failed" if exit_code else "Succeeded", "containerStatuses": statuses}
    name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
    client.patch("v1/Pod", name, namespace, {"status": status}, subresource="status")


class PodProcess(Process):
    """The first container of a pod as a process of this machine: its command, variables, ConfigMaps and token.

    A ConfigMap is in a folder with the name of its mount, and the arguments contain this folder in place of the mount's
    path. The files of the service account are at their usual path, in a mount that only this process sees.
    """

    def __init__(self, cluster: ControlPlane, pod: Object, folder: Path) -> None:
        """Describe the process, and write its files into an empty folder.

        Args:
            cluster: The cluster of the pod.
            pod: A pod with a service account. The programs of its image must be on the PATH of this machine.
            folder: The folder for the files and the log.
        """
        container = pod["spec"]["containers"][0]
        namespace = pod["metadata"]["namespace"]
        account = folder / "account"
        account.mkdir(parents=True)
        (account / "token").write_text(cluster.client.token(pod["spec"]["serviceAccountName"], namespace))
        (account / "namespace").write_text(namespace)
        (account / "ca.crt").write_bytes(cluster.authority.certificate.read_bytes())
        places = {ACCOUNT: ACCOUNT}
        for mount in container.get("volumeMounts", ()):
            (volume,) = (volume for volume in pod["spec"]["volumes"] if volume["name"] == mount["name"])
            if "configMap" in volume:
                files = cluster.client.get("v1/ConfigMap", volume["configMap"]["name"], namespace)["data"]
                place = folder / mount["name"]
                place.mkdir()
                for name, text in files.items():
                    (place / name).write_text(text, encoding="utf-8")
                places[mount["mountPath"]] = str(place)
        command = [_moved(word, places) for word in (*container["command"], *container.get("args", ()))]
        host, port = cluster.url.removeprefix("https://").split(":")
        # /run gets its own file system, which contains the account. /var/run is a link to /run.
        mount = (
            f"mount -t tmpfs tmpfs /run && mkdir -p {Path(ACCOUNT).parent} && "
            f'ln -s {account.resolve()} {ACCOUNT} && exec "$@"'
        )
        super().__init__(
            pod["metadata"]["name"],
            ("unshare", "--mount", "--propagation=private", "sh", "-c", mount, "sh", *command),
            folder / "log",
            ready=lambda: True,
            env={
                "PATH": os.environ["PATH"],
                **environment(cluster.client, pod),
                "KUBERNETES_SERVICE_HOST": host,
                "KUBERNETES_SERVICE_PORT": port,
            },
        )


def _moved(word: str, places: Mapping[str, str]) -> str:
    for mounted, place in places.items():
        if word.startswith(f"{mounted}/"):
            return place + word.removeprefix(mounted)
    return word


def _value(client: Client, pod: Object, source: Mapping[str, Any]) -> str:
    """Return the value of a variable from its source.

    https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.36/#envvarsource-v1-core
    """
    match source:
        case {"fieldRef": {"fieldPath": path}}:
            labelled = re.fullmatch(r"metadata\.labels\['(.*)'\]", path)
            assert labelled, f"this kubelet knows no {path}"
            return str(pod["metadata"]["labels"].get(labelled[1], ""))
        case {"configMapKeyRef": {"name": name, "key": key}}:
            return str(client.get("v1/ConfigMap", name, pod["metadata"]["namespace"])["data"][key])
        case {"resourceFieldRef": {"resource": "limits.cpu"}}:
            return _whole_cpus(pod["spec"]["containers"][0]["resources"]["limits"]["cpu"])
    raise AssertionError(f"this kubelet knows no {source}")


def _whole_cpus(quantity: str) -> str:
    """Return a number of CPUs, rounded up like in the downward API without a divisor."""
    cpus = Decimal(quantity[:-1]) / 1000 if quantity.endswith("m") else Decimal(quantity)
    return str(int(-(-cpus // 1)))


def _expanded(text: str, variables: Mapping[str, str]) -> str:
    def replaced(found: re.Match[str]) -> str:
        if found[0] == "$$":
            return "$"
        return variables.get(found[1], found[0])

    return re.sub(r"\$\$|\$\(([^)]*)\)", replaced, text)
