"""Tables of measurements: from columns to points of a manifold and back.

`schema` describes the columns, `kinds` has one class for each kind of column, `propose` infers a
schema, `audit` looks for problems, and `files` reads and writes.
May import: `manifolds`.
"""

from .audit import Finding, audit
from .errors import TableError
from .files import read_table, write_table
from .kinds import KINDS, Kind, Measure
from .prepare import PreparedTable
from .propose import Proposal, propose
from .schema import Schema
from .weights import read_weights

__all__ = [
    "KINDS",
    "Finding",
    "Kind",
    "Measure",
    "PreparedTable",
    "Proposal",
    "Schema",
    "TableError",
    "audit",
    "propose",
    "read_table",
    "read_weights",
    "write_table",
]
