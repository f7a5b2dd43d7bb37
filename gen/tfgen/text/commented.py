"""A mapping with comments on its entries, which YAML text shows above each entry.

CommentedMapping({"immutable": True}, {"immutable": "Peers read the ConfigMap once."})
    ->  # Peers read the ConfigMap once.
        immutable: true
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class CommentedMapping(dict[str, Any]):
    """A mapping that equals the plain mapping with the same entries.

    Attributes:
        comments: the comment above an entry, by the key of the entry.
    """

    __slots__ = ("comments",)

    def __init__(self, entries: Mapping[str, Any], comments: Mapping[str, str]) -> None:
        super().__init__(entries)
        self.comments = comments
