"""Model files: save and load fitted densities.

`save` writes a density with its settings, its history, its schema and its training data; `load`
returns them as a `Model`. A file holds data only, so that loading one never runs code.
May import: `estimators`, `tables` and everything below them, and `atomic`.
"""

from .codec import from_json, to_json
from .container import ModelFileError
from .model_file import Model, dumps, load, load_with_schema, loads, save
from .training_data import TrainingData

__all__ = [
    "Model",
    "ModelFileError",
    "TrainingData",
    "dumps",
    "from_json",
    "load",
    "load_with_schema",
    "loads",
    "save",
    "to_json",
]
