"""The default estimator: fit candidates within a time limit and stack them.

`policy` has the numbers and the order of the candidates, `budget` counts what they cost, `search`
fits them, `validation` scores them by a held-out set or by folds, `selection` weights them by these
scores, and `estimator` does all of it.
May import: the other estimators.
"""

from .estimator import Auto
from .policy import Policy

__all__ = ["Auto", "Policy"]
