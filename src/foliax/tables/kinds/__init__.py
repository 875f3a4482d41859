"""Column kinds: how columns become points of a manifold and back. One kind per file.

`base` has the interface and `column_kind`, the decorator that registers a kind. `options`,
`labels`, `periodic`, `unit_vectors`, `orthonormal`, `rotation` and `whole_numbers` are shared
helpers. All modules of the package are imported, so that a new kind is one new file.
"""

import importlib
import pkgutil

from .base import KINDS, Check, Kind, Measure, Suspicion, column_kind
from .options import option_fields

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

RESERVED = {
    "category": "Categories are not yet supported. Leave the column out, or split the table by it "
    "and fit each part.",
}
"""Names of kinds that are planned, each with what to do until then."""

__all__ = [
    "KINDS",
    "RESERVED",
    "Check",
    "Kind",
    "Measure",
    "Suspicion",
    "column_kind",
    "option_fields",
]
