"""Every kind of data passes fit, score, sample and plot in the user's units."""

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.transform import Rotation

from .running import QUAKES, run, run_all

RANDOM = np.random.default_rng(0)
N = 40
KERNEL = ("-m", "kernel")


def units(n, size):
    v = RANDOM.normal(size=(n, size)) + np.eye(size)[0] * 2
    return v / np.linalg.norm(v, axis=1, keepdims=True)


QUAKE_ROWS = pd.read_csv(QUAKES).iloc[:N]
VECTORS = pd.DataFrame(units(N, 3), columns=["x", "y", "z"])
CASES = {
    "circle": (
        pd.DataFrame({"hour": RANDOM.uniform(20, 28, N) % 24}),
        "circle(hour, unit=hours)",
        "log density per hour",
        {"hour": (0, 24)},
    ),
    "torus": (
        pd.DataFrame(RANDOM.normal(170, 20, (N, 2)), columns=["phi", "psi"]),
        "t: torsions(phi, psi, unit=degrees)",
        "log density per degree²",
        {"phi": (0, 360), "psi": (0, 360)},
    ),
    "sphere": (
        QUAKE_ROWS[["lat", "long"]],
        "sphere(lat=lat, lon=long)",
        "log density per steradian",
        {"lat": (-60, 10), "long": (120, 240)},
    ),
    "axes": (VECTORS, "axis(x, y, z)", "log density per steradian", {"x": (-1, 1)}),
    "counts": (
        QUAKE_ROWS[["stations"]],
        "count(stations)",
        "log density probability of stations",
        {"stations": (0, 10_000)},
    ),
    "mixed": (
        QUAKE_ROWS,
        "where: sphere(lat=lat, lon=long); mag: rounded(mag, step=0.1)",
        "log density per steradian · per unit of mag",
        {"long": (0, 360), "mag": (0, 20)},
    ),
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[pytest.mark.slow] if n in ("circle", "torus") else []) for n in CASES],
)
def test_every_kind_goes_from_fit_to_plot_in_the_users_units(name, tmp_path):
    frame, schema, column, ranges = CASES[name]
    scored, drawn = run_all(tmp_path, frame, schema, *KERNEL)
    assert np.isfinite(scored[column]).all()
    assert (scored["standard error"] == 0).all()
    assert len(scored) == len(frame)
    for label, (low, high) in ranges.items():
        assert drawn[label].between(low, high).all()
    finite = name in ("circle", "torus", "sphere", "axes")
    assert ("density × uniform" in scored) == finite


@pytest.mark.slow
def test_a_flow_fits_frames(tmp_path):
    noise = RANDOM.normal(size=(N, 3, 2)) + 2 * np.eye(3)[:, :2]
    u, _, vh = np.linalg.svd(noise, full_matrices=False)
    names = [f"f{i}{j}" for i in range(3) for j in range(2)]
    frame = pd.DataFrame((u @ vh).reshape(N, 6), columns=names)
    schema = f"f: frame({', '.join(names)}, n=3, p=2)"
    scored, drawn = run_all(tmp_path, frame, schema, "-m", "flow", "--steps", 4)
    assert np.isfinite(scored["log density × uniform"]).all()
    matrices = drawn[names].to_numpy().reshape(-1, 3, 2)
    products = np.swapaxes(matrices, 1, 2) @ matrices
    assert np.abs(products - np.eye(2)).max() < 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("symmetry", ["", ", symmetry=cubic"])
def test_every_convention_of_rotations_gives_the_same_density(symmetry, tmp_path):
    turns = Rotation.from_rotvec(RANDOM.normal(0, 0.3, (12, 3)))
    right = symmetry and f"{symmetry}, side=right"
    bunge = np.rad2deg(turns.as_euler("ZXZ"))
    cells = [f"m{i}{j}" for i in range(1, 4) for j in range(1, 4)]
    written = {
        "wxyz": (
            turns.as_quat(scalar_first=True),
            "abcd",
            f"quaternion(w=a, x=b, y=c, z=d{right})",
        ),
        "xyzw": (turns.as_quat(), "abcd", f"quaternion(w=d, x=a, y=b, z=c{right})"),
        "bunge": (bunge, "abc", f"euler(a, b, c, convention=bunge, unit=degrees{symmetry})"),
        "matrix": (turns.as_matrix().reshape(-1, 9), cells, f"matrix({', '.join(cells)}{right})"),
    }
    scores = {}
    for name, (values, columns, schema) in written.items():
        folder = tmp_path / name
        folder.mkdir()
        frame = pd.DataFrame(values, columns=list(columns))
        frame.to_csv(folder / "data.csv", index=False)
        run("fit", folder / "data.csv", "-s", schema, *KERNEL)
        run("score", folder / "data.foliax", folder / "data.csv", "-o", folder / "scored.csv")
        scores[name] = pd.read_csv(folder / "scored.csv")["log density × uniform"].to_numpy()
    # The kernels are float32, and the rotations differ in the last bits of float64.
    for found in scores.values():
        np.testing.assert_allclose(found, scores["wxyz"], atol=2e-3)
    run_all(folder, frame, schema, *KERNEL)
