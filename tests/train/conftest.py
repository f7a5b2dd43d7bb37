"""TensorFlow for the training tests: without TensorFlow, the tests skip, and fail in CI."""

from __future__ import annotations

import importlib
import importlib.util
import os
from types import ModuleType

import pytest


@pytest.fixture(scope="session", autouse=True)
def _programs() -> None:
    """Look for TensorFlow, and for TensorBoard, which TensorFlow's summaries need. The import would take seconds."""
    missing = [name for name in ("tensorflow", "tensorboard") if not importlib.util.find_spec(name)]
    if missing:
        reason = f"the training tests need {' and '.join(missing)}"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)


@pytest.fixture(scope="session")
def tf() -> ModuleType:
    """Return TensorFlow."""
    return importlib.import_module("tensorflow")
