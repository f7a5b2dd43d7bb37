"""A kubeconfig file: which API server, and as whom: https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/."""

from __future__ import annotations

from pathlib import Path

import yaml

from tests.e2e.servers.pki import KeyPair


def write_kubeconfig(path: Path, server: str, authority: Path, user: KeyPair | str) -> Path:
    """Writes a kubeconfig file that none but this user of the machine can read.

    Args:
        path: The file.
        server: The API server's address, of https.
        authority: The certificate that the server's own is checked with.
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
