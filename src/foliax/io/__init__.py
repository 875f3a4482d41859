"""Model files: save and load fitted densities.

A file holds data only, so that loading one never runs code. `density_file` stores a density,
`model_file` adds the schema and the training data that a report needs.
May import: `estimators`, `tables` and everything below them, and `atomic`.
"""

from .codec import from_json, to_json
from .container import ModelFileError
from .density_file import Saved, dumps, load, loads, save

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
