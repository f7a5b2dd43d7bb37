"""TensorFlow for the training tests: a skip where it is not installed, a failure in CI."""

from __future__ import annotations

import importlib
import os
from types import ModuleType

import pytest


@pytest.fixture(scope="session", autouse=True)
def tf() -> ModuleType:
    """Return TensorFlow; its summaries need TensorBoard too."""
    try:
        importlib.import_module("tensorboard")
        return importlib.import_module("tensorflow")
    except ImportError as error:
        reason = f"the training tests need tensorflow and tensorboard: {error}"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
