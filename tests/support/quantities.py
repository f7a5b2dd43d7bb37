"""Quantities, and their canonical text in the API server. tests/e2e/server/test_admission.py compares with a server."""

from __future__ import annotations

CANONICAL = {
    "0": "0",
    "1": "1",
    "1000m": "1",
    "1500m": "1500m",
    "0.5": "500m",
    "1.5": "1500m",
    "0.0001": "1m",
    "2000": "2k",
    "1100": "1100",
    "1e3": "1e3",
    "12e2": "1200",
    "0Gi": "0",
    "512": "512",
    "1024Mi": "1Gi",
    "1.5Gi": "1536Mi",
    "1000Ki": "1000Ki",
    "0.5Ki": "512",
    "2048k": "2048k",
    "1E": "1E",
}
