"""Train densities by gradient descent.

`loop` runs the training, `objectives` has the losses, `settings` the numbers. `checkpoint` resumes
an interrupted training, `history` records it, `progress` shows it in a terminal.
May import: `density` and the packages below it, and `atomic`.
"""

from .callbacks import Callback, OnBlock
from .checkpoint import Checkpoint, CheckpointError
from .history import Block, Record
from .loop import TrainingDivergedError, train
from .objectives import (
    ELBO,
    AbstractObjective,
    ImportanceWeighted,
    Likelihood,
    MemberLikelihood,
    OwnSamples,
    ReverseKL,
)
from .rows import Batch
from .settings import Training
from .steps import count_parameters, partition

__all__ = [
    "ELBO",
    "AbstractObjective",
    "Batch",
    "Block",
    "Callback",
    "Checkpoint",
    "CheckpointError",
    "ImportanceWeighted",
    "Likelihood",
    "MemberLikelihood",
    "OnBlock",
    "OwnSamples",
    "Record",
    "ReverseKL",
    "Training",
    "TrainingDivergedError",
    "count_parameters",
    "partition",
    "train",
]
