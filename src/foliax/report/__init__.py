"""One self-contained page on a model: its data, its fit, whether to trust it, how to use it."""

from .assess import Assessment, assess
from .page import report

__all__ = ["Assessment", "assess", "report"]
