"""scikit-learn's face: a density as an estimator."""

from __future__ import annotations

import contextlib
import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
from scipy.spatial import KDTree
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from . import io
from .density import Dataset, Evaluation
from .density.blocks import as_blocks
from .estimators import get_estimator
from .evaluation.mass import check_total_mass
from .io import model_file
from .io.training_data import TrainingData, collect_training_data
from .manifolds import Euclidean
from .manifolds.row_errors import RowNames, name_rows
from .tables import Measure, Schema
from .tables.columns import as_frame
from .tables.constant import check_columns_vary
from .tables.row_names import names_of_rows
from .training.history import CUT_SHORT


class DensityEstimator(DensityMixin, BaseEstimator):
    """A density on a manifold, in scikit-learn's manner; log densities per `measure_`.

    Rows are points of `manifold`, by default Euclidean space of X's width, or the columns that a
    `schema` (its text, its file or a `Schema`) names, in the user's units. `model`: an estimator,
    or its name, such as "auto", "kernel" or "spline flow". `time_limit`: seconds for auto.
    `project`: move rows that are off the manifold to their nearest points, instead of refusing
    them. `tol`: the standard error that log densities should have. `blocks`: a number of
    consecutive parts, whose rows depend on each other, so that no split separates them; 0 declares
    rows independent. Fitted: `density_`, `record_`, `manifold_`, `schema_`, `measure_`.
    """

    # scikit-learn wants any values taken here, and complaints only from `fit`.
    def __init__(
        self,
        manifold: Any = None,
        schema: Any = None,
        model: Any = "auto",
        *,
        time_limit: Any = 120.0,
        project: Any = False,
        tol: Any = 0.01,
        blocks: Any = None,
        random_state: Any = 0,
    ):
        self.manifold = manifold
        self.schema = schema
        self.model = model
        self.time_limit = time_limit
        self.project = project
        self.tol = tol
        self.blocks = blocks
        self.random_state = random_state

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None
    ) -> DensityEstimator:
        """Fit to rows, each counted `sample_weight` times.

        `groups` labels blocks of rows that depend on each other; it takes precedence over `blocks`.
        """
        if self.manifold is not None and self.schema is not None:
            raise ValueError("Give a manifold or a schema, not both: a schema has its manifold.")
        self.schema_ = None
        if self.schema is not None:
            schema = self.schema if isinstance(self.schema, Schema) else Schema.load(self.schema)
            schema = schema.infer_conventions(as_frame(X, schema.columns))
            self._set_manifold(schema, schema.manifold())
        X = self._table(X, reset=True)
        if self.schema_ is None:
            self._set_manifold(None, self.manifold or Euclidean(X.shape[1]))
        rows = self._points(X)
        blocks = self.blocks if groups is None else groups
        blocks = None if blocks is None else as_blocks(blocks, len(rows))
        names = self._row_names(X)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, ensure_non_negative=True)
            used = sample_weight > 0
            rows, sample_weight = rows[used], sample_weight[used]
            blocks = None if blocks is None else blocks[used]
            names = names.take(used)
            X = X[used]
        if self.schema_ is not None:
            check_columns_vary(self.schema_.factors, X)
        key = _key(self.random_state)
        estimator = get_estimator(self.model, time_limit=float(self.time_limit))
        naming = self.schema_.name_columns_in_errors() if self.schema_ else contextlib.nullcontext()
        with naming:
            data = Dataset(rows, self.manifold_, sample_weight, blocks=blocks, row_names=names)
            fitted = estimator.fit(data, key=key)
        check_total_mass(fitted.density, rows, fitted.record, key=jax.random.fold_in(key, 1))
        for text in fitted.record.warnings:
            warnings.warn(text, stacklevel=2)
        if fitted.record.stopped == CUT_SHORT:
            warnings.warn("The fit was cut short: see record_.events.", stacklevel=2)
        self.density_, self.record_ = fitted.density, fitted.record
        return self

    def log_prob(self, X: Any, return_std: bool = False) -> Any:
        """Log density of each row, and with `return_std` its standard error (0 where exact)."""
        found = self._evaluate(X)
        value = found.value + self.measure_.log_unit
        return (value, found.error) if return_std else value

    def score_samples(self, X: Any) -> np.ndarray:
        """Log density of each row."""
        return self.log_prob(X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Mean log density of the rows."""
        return float(np.average(self.score_samples(X), weights=sample_weight))

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Any:
        """Exact draws: an array, or with a schema a table in its columns and units."""
        check_is_fitted(self)
        drawn = self.density_.sample(n_samples, key=_key(random_state))
        return drawn if self.schema_ is None else self.schema_.decode(drawn)

    def typicality(self, X: Any, n_samples: int = 2000) -> np.ndarray:
        """The share of the model's own samples that are less likely than each row."""
        value = self._evaluate(X).value
        own = self.density_.sample(n_samples, key=_key(self.random_state))
        return np.searchsorted(np.sort(self._scores(own)), value) / n_samples

    def modes(self, n_samples: int = 2000, neighbours: int = 50) -> Any:
        """Places of locally highest density, the highest first; rows as `sample` gives them.

        Of the model's own samples, those denser than all their `neighbours` nearest ones (in
        standardised features), each improved by a random search that narrows down.
        """
        check_is_fitted(self)
        drawn = self.density_.sample(n_samples, key=_key(self.random_state))
        height = self._scores(drawn)
        features = np.asarray(jax.vmap(self.manifold_.features)(jnp.asarray(drawn)), float)
        features = features / np.maximum(features.std(0), 1e-9)
        nearest = KDTree(features).query(features, min(neighbours + 1, n_samples))[1]
        near = np.asarray(nearest).reshape(n_samples, -1)
        tops = np.flatnonzero(height >= height[near].max(1))
        _, first = np.unique(drawn[tops], axis=0, return_index=True)
        tops = tops[np.sort(first)]
        spread = np.array([drawn[near[top]].std(0) for top in tops])
        found, height = self._climb(drawn[tops], height[tops], spread)
        found = found[np.argsort(-height)]
        return found if self.schema_ is None else self.schema_.decode(found)

    def plot(self, X: Any = None, path: Any = None, **options: Any) -> Any:
        """A figure of the density, with rows where given, and into a file where named."""
        from . import plots

        check_is_fitted(self)
        rows = None if X is None else self._points(self._table(X))
        axes = {} if self.schema_ is None else self.schema_.axes()
        key = _key(self.random_state)
        figure = plots.draw(self.density_, rows, key=key, **{**axes, **options})
        if path is not None:
            plots.save(figure, path)
        return figure

    def save(self, path: Any, X: Any = None, held_out: Any = None) -> None:
        """Write a model file, as `foliax fit` does, for `load` and for the command line.

        With a schema, the fitted rows X and rows that were not fitted may go with it: `foliax
        report` needs them.
        """
        check_is_fitted(self)
        training_data = None
        if X is not None:
            training_data = self._training_data(X, held_out)
        about = {} if not isinstance(self.model, str) else {"model": self.model}
        model_file.save(
            path,
            self.density_,
            estimator=get_estimator(self.model, time_limit=float(self.time_limit)),
            schema=self.schema_,
            record=self.record_,
            training_data=training_data,
            extra=about,
        )

    @classmethod
    def load(cls, path: Any, *, manifold: Any = None) -> DensityEstimator:
        """The estimator of a model file, fitted; with its schema, if it was fitted to a table.

        `manifold`: the user's own, which a file only describes.
        """
        found = model_file.load(path, manifold=manifold)
        estimator = cls(schema=found.schema, model=found.estimator or "auto")
        if found.schema is None:
            estimator.manifold = found.density.manifold
        estimator._set_manifold(found.schema, found.density.manifold)
        estimator.density_, estimator.record_ = found.density, found.record
        # scikit-learn remembers the columns of what was fitted.
        like: Any = np.zeros((1, found.density.manifold.size))
        if found.schema is not None:
            like = pd.DataFrame(columns=list(found.schema.columns))
        validate_data(estimator, like, reset=True, skip_check_array=True)
        return estimator

    def _set_manifold(self, schema: Schema | None, manifold: Any) -> None:
        self.schema_, self.manifold_ = schema, manifold
        reference = Measure(f"the reference measure of {manifold}", 0.0)
        self.measure_ = reference if schema is None else schema.measure()

    def _training_data(self, X: Any, held_out: Any) -> TrainingData:
        if self.schema_ is None:
            raise ValueError("Rows go into a model file by their columns: fit with a schema.")
        frames = [
            as_frame(part, self.schema_.columns) for part in (X, held_out) if part is not None
        ]
        both = pd.concat(frames, ignore_index=True)
        self.schema_.prepare(both, project=self.project)  # an error where a row is invalid
        train, test = np.split(np.arange(len(both)), [len(frames[0])])
        shuffled = check_random_state(0).permutation
        train, test = shuffled(train), shuffled(test)
        return collect_training_data(both, None, self.schema_, train, test)

    def _climb(self, best: np.ndarray, height: np.ndarray, spread: np.ndarray) -> tuple:
        random, project = np.random.default_rng(0), jax.jit(jax.vmap(self.manifold_.project))
        for step in np.repeat(0.5 ** np.arange(8), 4):
            noise = step * spread * random.normal(size=best.shape)
            tried = np.asarray(project(jnp.asarray(best + noise, best.dtype)))
            off = np.asarray(jax.vmap(self.manifold_.violation)(jnp.asarray(tried))) > 1e-4
            off |= ~np.isfinite(tried).all(axis=1)
            tried = np.where(off[:, None], best, tried)
            reached = self._scores(tried)
            better = reached > height
            best = np.where(better[:, None], tried, best)
            height = np.where(better, reached, height)
        return best, height

    def _scores(self, points: np.ndarray) -> np.ndarray:
        return self.density_.evaluate(points, tol=self.tol).value

    def _evaluate(self, X: Any) -> Evaluation:
        check_is_fitted(self)
        X = self._table(X)
        with name_rows(self._row_names(X)):
            return self.density_.evaluate(self._points(X), tol=self.tol)

    def _table(self, X: Any, *, reset: bool = False) -> Any:
        """X as scikit-learn checks it: a frame of the schema's columns, or an array."""
        if self.schema_ is None:
            least = 2 if reset else 1
            kinds = [np.float64, np.float32]
            return validate_data(self, X, reset=reset, dtype=kinds, ensure_min_samples=least)
        frame = as_frame(X, self.schema_.columns)
        named: Any = self.schema_.select_columns(frame)
        validate_data(self, named, reset=reset, skip_check_array=True)
        return frame

    def _points(self, X: Any) -> np.ndarray:
        if self.schema_ is not None:
            return self.schema_.prepare(X, project=self.project).points
        if not self.project:
            return X
        return np.asarray(jax.jit(jax.vmap(self.manifold_.project))(jnp.asarray(X)))

    def _row_names(self, X: Any) -> RowNames:
        return RowNames(np.arange(len(X))) if self.schema_ is None else names_of_rows(X)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "density_")

    def __getstate__(self) -> Any:
        known: Any = BaseEstimator.__getstate__(self)
        state: dict[str, Any] = dict(known)
        if "density_" in state:
            # A flow's closures do not pickle; the model file's bytes hold it as data.
            state["_density_bytes"] = io.dumps(state.pop("density_"))
        return state

    def __setstate__(self, state: Any) -> None:
        state = dict(state)
        data = state.pop("_density_bytes", None)
        BaseEstimator.__setstate__(self, state)
        if data is not None:
            self.density_ = io.loads(data, manifold=self.manifold).density


def _key(random_state: Any):
    return jax.random.key(check_random_state(random_state).randint(2**31 - 1))
