"""Fixtures that every room shares."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest_plugins = ["tests.nvml_stand_in.fixtures"]


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of measured curves and recordings beside the checkout; not part of the repository."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"measured data sets are not here ({folder}); they may not be committed")
    return folder
