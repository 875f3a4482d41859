"""Train densities by gradient descent.

`loop` runs the training, `objectives` has the losses, `settings` the numbers. `checkpoint` resumes
an interrupted training, `history` records it, `progress` shows it in a terminal.
May import: `density` and the packages below it, and `atomic`.
"""

from .checkpoint import Checkpoint, CheckpointError
from .history import Block, Record
from .loop import TrainingDivergedError, train
from .objectives import (
    ELBO,
    AbstractObjective,
    ImportanceWeighted,
    Likelihood,
    OwnSamples,
    ReverseKL,
)
from .settings import Training
from .steps import count_parameters, partition

__all__ = [
    "ELBO",
    "AbstractObjective",
    "Block",
    "Checkpoint",
    "CheckpointError",
    "ImportanceWeighted",
    "Likelihood",
    "OwnSamples",
    "Record",
    "ReverseKL",
    "Training",
    "TrainingDivergedError",
    "count_parameters",
    "partition",
    "train",
]
