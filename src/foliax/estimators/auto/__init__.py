"""The default estimator: fit candidates in a time limit and stack them.

`policy` orders the candidates and shares out the time, `budget` measures what they cost, and
`selection` weights them by held-out likelihood.
May import: the other estimators.
"""

from .policy import Auto, fit_watched, spec_of

__all__ = ["Auto", "fit_watched", "spec_of"]
