"""Webhook configurations for an operator that runs next to the API server, as its installation would register them.

register(client, "volcano", "https://127.0.0.1:16474", authority.certificate, [Webhook("/jobs/mutate", ...)])
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from tests.e2e.client import Client, Object


class Webhook(NamedTuple):
    """Webhook of an operator.

    Attributes:
        path: the path of its URL. A webhook whose path contains `mutate` changes objects.
        kind: the kind of the objects that it receives, as GROUP/VERSION/RESOURCE.
        operations: the operations that it receives. By default, the usual operations of mutating or validating
            webhooks.
    """

    path: str
    kind: str
    operations: tuple[str, ...] = ()

    @property
    def mutates(self) -> bool:
        """Test whether the webhook changes objects."""
        return "mutate" in self.path


def register(client: Client, url: str, authority: Path, webhooks: Iterable[Webhook], prefix: str) -> None:
    """Register webhooks, each with its own configuration, whose name is the prefix and the path with dashes.

    Args:
        client: The client of the administrator.
        url: The URL of the operator.
        authority: The certificate that verifies the operator's own.
        webhooks: The webhooks that the operator serves.
        prefix: The prefix of the configurations' names. Some operators look for a fixed prefix.
    """
    bundle = base64.b64encode(authority.read_bytes()).decode()
    for webhook in webhooks:
        name = prefix + webhook.path.replace("/", "-")
        client.apply(_configuration(webhook, name, {"url": url + webhook.path, "caBundle": bundle}), force=True)


def _configuration(webhook: Webhook, name: str, address: Object) -> Object:
    group, version, resource = webhook.kind.split("/")
    operations = webhook.operations or (("CREATE",) if webhook.mutates else ("CREATE", "UPDATE"))
    rule = {"apiGroups": [group], "apiVersions": [version], "resources": [resource], "operations": [*operations]}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration" if webhook.mutates else "ValidatingWebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": [
            {
                "name": f"{name}.tfgen.invalid",
                "admissionReviewVersions": ["v1"],
                "sideEffects": "NoneOnDryRun",
                "clientConfig": address,
                "rules": [rule],
            }
        ],
    }
