"""Write a synthetic table of a robot's grasps: python -m examples.poses.

Each row is the pose of a gripper at a bottle at the origin: a position in metres, a unit quaternion
in the order x, y, z, w, and how often the bottle slipped before the grasp held. From above, the
gripper points down with one of two opposite yaws. From the side, it faces the bottle and slips more
often. Position, orientation and slips therefore depend on each other.
"""

import sys

import numpy as np
import pandas as pd
from scipy.spatial.transform import Rotation


def from_above(random: np.random.Generator):
    """Draw position, orientation and slips of a grasp from above."""
    position = random.normal([0, 0, 0.30], [0.010, 0.010, 0.012])
    yaw = random.choice([0, 180]) + random.normal(0, 18)
    turn = Rotation.from_euler("ZYX", [yaw, 0, 180 + random.normal(0, 6)], degrees=True)
    return position, turn, random.poisson(0.4)


def from_the_side(random: np.random.Generator):
    """Draw a grasp from the side: the tool's z axis points at the bottle."""
    around, height = random.normal(-90, 45), random.normal(0.14, 0.03)
    away = 0.11 + random.normal(0, 0.006)
    tilt = random.normal(0, 5) + 200 * (height - 0.14)
    turn = Rotation.from_euler("ZYX", [around, -90 + tilt, random.normal(0, 6)], degrees=True)
    position = [away * np.cos(np.deg2rad(around)), away * np.sin(np.deg2rad(around)), height]
    return np.array(position), turn, random.poisson(1 + 0.04 * abs(tilt) ** 1.5)


def main(path: str = "poses.csv", rows: str = "800", seed: str = "0") -> None:
    """Draw the table and write it."""
    random, n = np.random.default_rng(int(seed)), int(rows)
    table = []
    for _ in range(n):
        position, turn, slips = (from_above if random.random() < 0.45 else from_the_side)(random)
        table.append([*position.round(4), *turn.as_quat(canonical=True).round(5), slips])
    columns = ["x", "y", "z", "qx", "qy", "qz", "qw", "slips"]
    pd.DataFrame(table, columns=columns).astype({"slips": int}).to_csv(path, index=False)
    print(f"Wrote {n} synthetic grasps to {path}.")


if __name__ == "__main__":
    main(*sys.argv[1:])
