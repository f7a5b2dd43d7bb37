"""Tests of the builds of the server programs, which contain only the necessary packages."""

from __future__ import annotations

import re

import pytest

from tests.e2e.servers import core_dns
from tests.support.command import Command
from tests.support.tools import ROOT

CORE_DNS = ROOT / "tests" / "e2e" / "tools" / "coredns"


@pytest.mark.parametrize("target", ["servers", "images"])
def test_what_makes_a_cluster_possible_installs_its_client(target):
    """Without the client, `python -m tests.e2e.cluster` ends at its first import."""
    steps = Command(("make", "--dry-run", "--always-make", target), cwd=ROOT).run()
    assert "--editable '.[e2e]'" in steps


def test_core_dns_has_the_plugins_that_its_corefile_names():
    program = (CORE_DNS / "main.go").read_text(encoding="utf-8")
    (corefile,) = (item["data"]["Corefile"] for item in core_dns.objects("10.96.0.10") if item["kind"] == "ConfigMap")
    named = set(re.findall(r"^    ([a-z]+)\b", corefile, re.MULTILINE))
    assert set(re.findall(r"coredns/plugin/([a-z]+)", program)) == named


def test_core_dns_is_built_without_the_libraries_of_clouds():
    required = (CORE_DNS / "go.mod").read_text(encoding="utf-8")
    assert not re.findall(
        r"^\t(\S*(?:aws|azure|google\.com/go|datadog|nomad)\S*)", required, re.MULTILINE | re.IGNORECASE
    )
