"""A mapping with comments on its entries. In YAML text, the comment of an entry is above the entry.

# Peers read the ConfigMap once.
immutable: true
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class CommentedMapping(dict[str, Any]):
    """A mapping with comments. The comments do not affect comparisons with other mappings.

    Attributes:
        comments: the comment of each commented entry, by key of the entry.
    """

    __slots__ = ("comments",)

    def __init__(self, entries: Mapping[str, Any], comments: Mapping[str, str]) -> None:
        super().__init__(entries)
        self.comments = comments
