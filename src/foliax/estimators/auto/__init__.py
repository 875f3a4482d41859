"""The default estimator: fit candidates within a time limit and stack them.

`policy` has the numbers and the order of the candidates, `budget` measures what they cost,
`selection` weights them by held-out likelihood, and `estimator` runs them.
May import: the other estimators.
"""

from .estimator import Auto
from .policy import Policy

__all__ = ["Auto", "Policy"]
