"""`python -m tests.e2e.images`: builds what the real node's images begin with, where it is not built yet."""

from __future__ import annotations

from tests.e2e.images import examples

if __name__ == "__main__":
    examples.base()
