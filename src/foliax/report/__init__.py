"""The HTML report on a fitted model: one file that links to no other.

`assess` computes what the report says. `sections` and `views` write its parts, `page` joins them.
May import: everything except `paper`, `cli` and `sklearn`.
"""

from .assess import Assessment, assess
from .page import report

__all__ = ["Assessment", "assess", "report"]
