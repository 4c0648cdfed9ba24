"""A fitted model on disk: a folder of LightGBM text models and one JSON file, never a pickle.

energy-0.txt, ..., time-0.txt, ...   LightGBM's own text format, a file for each member
model.json                           schema version, feature names, settings, laws, observed errors, SHA-256 of all
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np

from gpoeo_env.errors import ModelError
from gpoeo_env.version import __version__
from gpoeo_policies.gpoeo.boosting import TARGETS, BoostedPhysics, BoostingSettings
from gpoeo_policies.gpoeo.models import EnergyTimeModel
from gpoeo_policies.gpoeo.power_law import PowerLaw
from gpoeo_policies.gpoeo.spread import ErrorPatterns
from gpoeo_policies.gpoeo.time_law import TimeLaw

__all__ = ["SCHEMA_VERSION", "load_model", "save_model"]

SCHEMA_VERSION = 2
FORMAT = "gpoeo-env model"
DESCRIPTION = "model.json"


def save_model(model: EnergyTimeModel, folder: Path) -> None:
    """Write a fitted model; the folder appears complete or not at all.

    Raises:
        ModelError: the folder exists, or cannot be written.
    """
    try:
        if folder.exists():
            raise ModelError(f"{folder} exists already; name another folder or remove it")
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
        try:
            _write(model, draft)
            draft.rename(folder)
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)
            raise
    except OSError as error:
        raise ModelError(f"cannot write the model {folder}: {error.strerror}; name another folder") from error


def load_model(folder: Path) -> EnergyTimeModel:
    """Read a model.

    Raises:
        ModelError: something is missing, damaged, or written by another version.
    """
    description = _description(folder)
    try:
        settings = BoostingSettings(**description["settings"])
        texts = {target: _texts(folder, target, settings.members, description) for target in TARGETS}
        return EnergyTimeModel.from_parts(
            settings,
            BoostedPhysics(
                feature_names=tuple(description["feature_names"]),
                typical_w=float(description["typical_w"]),
                time_law=None if description["time_law"] is None else TimeLaw(**description["time_law"]),
                law=PowerLaw(**description["power_law"]),
                boosters={target: tuple(map(_booster, members)) for target, members in texts.items()},
            ),
            _errors(description),
        )
    except (KeyError, TypeError, ValueError, lightgbm.basic.LightGBMError) as error:
        raise ModelError(f"the model {folder} is damaged ({error}); fit it again") from error


def _errors(description: dict[str, Any]) -> ErrorPatterns:
    log_clocks = np.array(description["error_clocks"], dtype=np.float64).reshape(-1, 2)
    patterns = np.array(description["error_patterns"], dtype=np.float64).reshape(-1, 2, len(log_clocks))
    return ErrorPatterns(log_clocks, patterns)


def _write(model: EnergyTimeModel, folder: Path) -> None:
    texts = {
        f"{target}-{index}": booster.model_to_string()
        for target, boosters in model.physics.boosters.items()
        for index, booster in enumerate(boosters)
    }
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    description = {
        "format": FORMAT,
        "schema_version": SCHEMA_VERSION,
        "gpoeo_env": __version__,
        "sha256": {name: _sha256(text) for name, text in texts.items()},
        **model.describe(),
    }
    description["checksum"] = _checksum(description)
    (folder / DESCRIPTION).write_text(json.dumps(description, allow_nan=False), encoding="utf-8")


def _description(folder: Path) -> dict[str, Any]:
    """Return what model.json holds; `Any`: checked by its reader."""
    path = folder / DESCRIPTION
    try:
        description = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ModelError(
            f"no model in {folder}: it has no {DESCRIPTION}; name a folder that a fit has written"
        ) from None
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ModelError(f"{path} is damaged ({error}); fit the model again") from error
    if not isinstance(description, dict) or description.get("format") != FORMAT:
        raise ModelError(f"{path} does not describe a model of this project; name a folder that a fit has written")
    version = description.get("schema_version")
    if version != SCHEMA_VERSION:
        advice = "update gpoeo-env or fit the model again" if _is_newer(version) else "fit the model again"
        raise ModelError(f"{path} has schema version {version!r} and this version reads {SCHEMA_VERSION}; {advice}")
    if description.get("checksum") != _checksum(description):
        raise ModelError(f"{path} is damaged: its checksum does not fit its content; fit the model again")
    return description


def _is_newer(version: object) -> bool:
    return isinstance(version, int) and version > SCHEMA_VERSION


def _checksum(description: dict[str, Any]) -> str:
    """Return the checksum of everything else that model.json says."""
    rest = {key: value for key, value in description.items() if key != "checksum"}
    return _sha256(json.dumps(rest, sort_keys=True))


def _texts(folder: Path, target: str, members: int, description: dict[str, Any]) -> list[str]:
    return [_text(folder, f"{target}-{index}", description) for index in range(members)]


def _booster(text: str) -> lightgbm.Booster:
    return lightgbm.Booster(model_str=text)


def _text(folder: Path, name: str, description: dict[str, Any]) -> str:
    path = folder / f"{name}.txt"
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"{path} cannot be read ({error}); fit the model again") from error
    checksums = description.get("sha256")
    if not isinstance(checksums, dict) or checksums.get(name) != _sha256(text):
        raise ModelError(f"{path} is damaged: its checksum is not the one in {DESCRIPTION}; fit the model again")
    return text


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
