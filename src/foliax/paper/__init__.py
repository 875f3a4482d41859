"""Reproduce the paper: targets, published tables, recipes and trials.

`run` runs the trials in processes, `tables` and `figures` present them, and `model_cache` stores
the trained densities. The command is `foliax reproduce`.
May import: everything but `report`, `cli` and `sklearn`.
"""

from . import targets

__all__ = ["targets"]
