from foliax.manifolds.ball import Ball, Radial

from .contract import Case, suite

CASES = [
    Case(
        f"ball B^{d}",
        Radial(Ball(d, radius)),
        invalid=(([radius] + [0.0] * (d - 1), "must be below"), ([9.0] * d, "must be below")),
        awkward=(([0.0] * d, []), ([0.999 * radius] + [0.0] * (d - 1), [])),
        # A float32 y this near the rim knows its distance from it to 1e-4.
        tol32=1e-3,
    )
    for d, radius in ((1, 1.0), (2, 1.5), (3, 1.0))
]

test_contract = suite(CASES)
