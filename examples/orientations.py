"""Write a synthetic table of orientations in Bunge's angles: python -m examples.orientations.

The grains have the ideal orientations of a rolled and partly recrystallised cubic metal with a
spread of some degrees, or no preferred orientation. A crystal looks the same after any of the 24
rotations of a cube, so that each grain gets one of its 24 equivalent orientations at random.
"""

import sys

import numpy as np
import pandas as pd
from scipy.spatial.transform import Rotation

COMPONENTS = {  # φ₁, Φ, φ₂; share; spread in degrees about each axis
    "cube": ((0, 0, 0), 0.30, 5),
    "goss": ((0, 45, 0), 0.10, 5),
    "brass": ((35, 45, 0), 0.15, 6),
    "copper": ((90, 35, 45), 0.15, 6),
    "S": ((59, 37, 63), 0.10, 6),
}


def main(path: str = "orientations.csv", rows: str = "1000", seed: str = "0") -> None:
    """Draw the table and write it."""
    random, n = np.random.default_rng(int(seed)), int(rows)
    shares = np.array([share for _, share, _ in COMPONENTS.values()])
    kinds = random.choice(len(shares) + 1, n, p=[*shares, 1 - shares.sum()])
    ideal = [Rotation.from_euler("ZXZ", angles, degrees=True) for angles, *_ in COMPONENTS.values()]
    spread = [degrees for *_, degrees in COMPONENTS.values()]
    cube = Rotation.create_group("O")
    grains = []
    for kind in kinds:
        if kind == len(shares):
            grain = Rotation.random(rng=random)
        else:
            blur = random.normal(size=3) * np.deg2rad(spread[kind])
            grain = Rotation.from_rotvec(blur) * ideal[kind]
        grains.append(grain * cube[random.integers(24)])
    angles = Rotation.concatenate(grains).as_euler("ZXZ", degrees=True)
    angles[:, ::2] %= 360
    pd.DataFrame(angles.round(2), columns=["phi1", "Phi", "phi2"]).to_csv(path, index=False)
    print(f"Wrote {n} synthetic grains to {path}.")


if __name__ == "__main__":
    main(*sys.argv[1:])
