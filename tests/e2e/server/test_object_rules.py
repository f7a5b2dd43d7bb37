"""Tests that the API server refuses each field that the table of rules refuses, and accepts the similar correct field.

The requests are dry runs, so the API server stores no object.
"""

from __future__ import annotations

import json

import pytest

from tests.e2e.control_plane import ControlPlane
from tests.support.command import CommandError
from tests.support.refused_fields import CASES


@pytest.mark.parametrize("name", CASES)
def test_the_api_server_refuses_the_field(cluster: ControlPlane, name: str) -> None:
    refused, accepted = (json.dumps(item) for item in CASES[name])
    apply = ("apply", "--server-side", "--dry-run=server", "-n", "default", "-f", "-")
    cluster.kubectl(*apply, stdin=accepted)
    with pytest.raises(CommandError, match=r"is invalid|duplicate entries"):
        cluster.kubectl(*apply, stdin=refused)
