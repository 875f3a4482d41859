"""Columns and manifolds: schemas, reading and writing tables, audits."""

from .audit import Finding, audit
from .clean import Prepared
from .errors import TableError
from .files import read_table, write_table
from .kinds import KINDS, Kind, Measure
from .propose import Proposal, propose
from .schema import Schema

__all__ = [
    "KINDS",
    "Finding",
    "Kind",
    "Measure",
    "Prepared",
    "Proposal",
    "Schema",
    "TableError",
    "audit",
    "propose",
    "read_table",
    "write_table",
]
