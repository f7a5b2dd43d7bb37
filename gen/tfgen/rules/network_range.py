"""Rules of the network that Kubernetes refuses.

https://kubernetes.io/docs/concepts/services-networking/network-policies/: a range of ports ends where it begins or
later, and what is left out of a block of addresses is a part of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tfgen.data_path import Path
from tfgen.rules.finding import Finding
from tfgen.rules.rule import Rule
from tfgen.rules.view import View

_READERS: Final[Path] = ("tensorboard", "readers")
_RULES: Final[Path] = ("network", "egress", "rules")


def _check(view: View) -> Iterator[Finding]:
    for index, rule in enumerate(view.values["network"]["egress"]["rules"]):
        here = (*_RULES, index)
        for number, port in enumerate(rule.get("ports", ())):
            first, last = port["port"], port.get("endPort", port["port"])
            if last < first:
                message = f"the ports end at {last}, before they begin at {first}; endPort is the last of the range"
                yield Finding((*here, "ports", number, "endPort"), message)
        yield from _blocks((*here, "to"), rule.get("to", ()))
    yield from _blocks(_READERS, view.values.get("tensorboard", {}).get("readers", ()))


def _blocks(path: Path, peers: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    for index, peer in enumerate(peers):
        block = peer.get("ipBlock", {})
        for number, left_out in enumerate(block.get("except", ())):
            if not _is_within(left_out, block["cidr"]):
                message = f"except has {left_out}, which is no part of {block['cidr']}; name a smaller range within it"
                yield Finding((*path, index, "ipBlock", "except", number), message)


def _is_within(inner: str, outer: str) -> bool:
    """Whether a range of addresses is a part of another, and not all of it."""
    from ipaddress import ip_network  # 5 ms, which jobs without such a rule need not pay

    part, whole = ip_network(inner, strict=False), ip_network(outer, strict=False)
    is_longer = part.version == whole.version and part.prefixlen > whole.prefixlen
    return is_longer and part.network_address in whole


RULES: Final = (Rule("network-range", "error", "A range of ports or addresses has nothing in it.", _check),)
