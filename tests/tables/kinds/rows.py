"""Random rows of rotations and vectors, in several conventions."""

from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

RNG = np.random.default_rng(3)
ROTATIONS = Rotation.from_rotvec(RNG.normal(size=(6, 3)))
UNIT = RNG.normal(size=(6, 3))
UNIT /= np.linalg.norm(UNIT, axis=1, keepdims=True)
FRAMES = ROTATIONS.as_matrix()[:, :, :2].reshape(6, 6)
WXYZ = ROTATIONS.as_quat(canonical=True, scalar_first=True)
BUNGE = ROTATIONS.as_euler("ZXZ", degrees=True)
BUNGE[:, ::2] %= 360
NINE = "m11 m12 m13 m21 m22 m23 m31 m32 m33"


def table(names: str, rows: np.ndarray) -> dict[str, Any]:
    """Return columns by name."""
    return dict(zip(names.split(), np.asarray(rows).T, strict=True))
