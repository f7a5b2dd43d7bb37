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
        path: where it is asked; it changes objects where a word of that is `mutate`.
        kind: the objects that it is asked about, as GROUP/VERSION/RESOURCE.
        operations: what is done to them; by default what most webhooks of that sort are asked about.
    """

    path: str
    kind: str
    operations: tuple[str, ...] = ()

    @property
    def mutates(self) -> bool:
        """Test whether the webhook changes objects."""
        return "mutate" in self.path


def register(client: Client, url: str, authority: Path, webhooks: Iterable[Webhook], prefix: str) -> None:
    """Has the API server ask webhooks, each by a configuration of its own: the prefix, and its path with dashes.

    Args:
        client: The administrator's.
        url: Where the operator listens.
        authority: The certificate that its own is checked with.
        webhooks: What it serves.
        prefix: What the configurations' names begin with; some operators look for theirs.
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
