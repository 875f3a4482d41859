"""The kinds of columns. To add one: a `Kind` beside these, its line here, a row in the tests."""

from .angles import CircleKind, SphereKind, TorsionsKind
from .base import Check, Kind, Measure, Suspicion, option_fields
from .numbers import CountKind, IntegerKind, IntervalKind, PositiveKind, RealKind, RoundedKind
from .rotations import EulerKind, MatrixKind, QuaternionKind, RotvecKind
from .vectors import AxisKind, DirectionKind, FrameKind

KINDS: dict[str, type[Kind]] = {
    kind.name: kind
    for kind in (
        SphereKind,
        CircleKind,
        TorsionsKind,
        DirectionKind,
        AxisKind,
        QuaternionKind,
        EulerKind,
        RotvecKind,
        MatrixKind,
        FrameKind,
        RealKind,
        PositiveKind,
        IntervalKind,
        CountKind,
        IntegerKind,
        RoundedKind,
    )
}

RESERVED = {
    "category": "Categories are not yet supported. Leave the column out, or split the table by it "
    "and fit each part.",
}
"""Kinds that are to come, and what to do until then."""

__all__ = ["KINDS", "RESERVED", "Check", "Kind", "Measure", "Suspicion", "option_fields"]
