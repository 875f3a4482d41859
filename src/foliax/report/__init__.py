"""The HTML report on a fitted model: one file, without links to others.

`assess` computes what the report says, `sections` and `views` write it, `page` joins the parts.
May import: everything but `paper`, `cli` and `sklearn`.
"""

from .assess import Assessment, assess
from .page import report

__all__ = ["Assessment", "assess", "report"]
