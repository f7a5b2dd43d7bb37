"""`pytest tests/golden --golden-update` writes the trees anew; look at the difference before it is committed."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--golden-update", action="store_true", help="write the expected trees instead of comparing")
