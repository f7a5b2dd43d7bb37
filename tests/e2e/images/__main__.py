"""`python -m tests.e2e.images`: build the base of the real node's images if the cache does not contain the base."""

from __future__ import annotations

from tests.e2e.images import examples

if __name__ == "__main__":
    examples.base()
