"""Reproduce the paper: targets, published tables, recipes and trials.

`run` runs the trials in processes, `tables` and `figures` present them, and `model_cache` keeps
what was trained. `foliax reproduce` is the command.
May import: everything but `report`, `cli` and `sklearn`.
"""

from . import targets

__all__ = ["targets"]
