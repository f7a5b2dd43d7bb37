"""A kubeconfig file: an API server and a user: https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/."""

from __future__ import annotations

from pathlib import Path

import yaml

from tests.e2e.servers.pki import KeyPair


def write_kubeconfig(path: Path, server: str, authority: Path, user: KeyPair | str) -> Path:
    """Write a kubeconfig file that only this user of the machine can read.

    Args:
        path: The file.
        server: The https URL of the API server.
        authority: The certificate that verifies the server's own.
        user: A certificate, or a bearer token.

    Returns:
        The file.
    """
    credentials = (
        {"token": user}
        if isinstance(user, str)
        else {"client-certificate": str(user.certificate), "client-key": str(user.key)}
    )
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "e2e", "cluster": {"server": server, "certificate-authority": str(authority)}}],
        "users": [{"name": path.stem, "user": credentials}],
        "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": path.stem}}],
        "current-context": "e2e",
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    path.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
    return path
