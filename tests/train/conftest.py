"""TensorFlow for the training tests: without TensorFlow, the tests skip, and fail in CI."""

from __future__ import annotations

import importlib
import os
from types import ModuleType

import pytest


@pytest.fixture(scope="session", autouse=True)
def tf() -> ModuleType:
    """Return TensorFlow. Its summaries also need TensorBoard."""
    try:
        importlib.import_module("tensorboard")
        return importlib.import_module("tensorflow")
    except ImportError as error:
        reason = f"the training tests need tensorflow and tensorboard: {error}"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
