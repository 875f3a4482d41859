"""The model file: a density, what made it and how that went, in one safetensors file.

`save` and `load`; a file is data only, so that loading one never runs what it says.
"""

from .container import ModelFileError
from .model import Saved, dumps, load, loads, save

__all__ = ["ModelFileError", "Saved", "dumps", "load", "loads", "save"]
