"""The model file: a density, what made it and how that went, in one safetensors file.

`save` and `load`; a file is data only, so that loading one never runs what it says.
"""

from .codec import from_json, to_json
from .container import ModelFileError
from .model import Saved, dumps, load, loads, save

__all__ = [
    "ModelFileError",
    "Saved",
    "dumps",
    "from_json",
    "load",
    "loads",
    "save",
    "to_json",
]
