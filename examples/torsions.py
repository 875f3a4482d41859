"""Write a synthetic table of torsion angles φ, ψ, χ₁ in degrees: python -m examples.torsions.

The angles are drawn around the regions of the Ramachandran plot in textbooks, each with its own
shares of the three rotamers of χ₁. A few residues are uniform outliers.
"""

import sys

import numpy as np
import pandas as pd

REGIONS = {  # share, (φ, ψ), standard deviations, correlation, shares of χ₁ = −65°, 180°, 62°
    "right-handed helix": (0.42, (-64, -42), (8, 9), -0.6, (0.57, 0.38, 0.05)),
    "sheet": (0.28, (-115, 132), (22, 16), -0.3, (0.52, 0.28, 0.20)),
    "polyproline": (0.20, (-67, 145), (9, 13), -0.3, (0.60, 0.25, 0.15)),
    "left-handed helix": (0.06, (57, 42), (7, 9), -0.6, (0.75, 0.20, 0.05)),
    "turn": (0.04, (-95, 5), (13, 15), -0.7, (0.60, 0.30, 0.10)),
}
ROTAMERS, WIDTH = np.array([-65.0, 180.0, 62.0]), 9.0
OUTLIERS = 8


def main(path: str = "torsions.csv", rows: str = "1500", seed: str = "0") -> None:
    """Draw the table and write it."""
    random, n = np.random.default_rng(int(seed)), int(rows)
    shares = np.array([region[0] for region in REGIONS.values()])
    angles = np.empty((n, 3))
    for i, kind in enumerate(random.choice(len(shares), n, p=shares)):
        _, middle, (s, t), r, rotamers = list(REGIONS.values())[kind]
        covariance = [[s * s, r * s * t], [r * s * t, t * t]]
        angles[i, :2] = random.multivariate_normal(middle, covariance)
        angles[i, 2] = random.normal(random.choice(ROTAMERS, p=rotamers), WIDTH)
    angles[random.choice(n, OUTLIERS, replace=False)] = random.uniform(-180, 180, (OUTLIERS, 3))
    angles = (angles + 180) % 360 - 180
    pd.DataFrame(angles.round(2), columns=["phi", "psi", "chi1"]).to_csv(path, index=False)
    print(f"Wrote {n} synthetic residues to {path}.")


if __name__ == "__main__":
    main(*sys.argv[1:])
