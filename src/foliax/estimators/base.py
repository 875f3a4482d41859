"""What every estimator shares: a description that fits a density to a dataset."""

from __future__ import annotations

import abc
import dataclasses
import importlib
import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from jaxtyping import PRNGKeyArray

from ..density import AbstractDensity, Dataset, LocalizedDensity
from ..manifolds import AbstractManifold
from ..manifolds.far_values import explain_by_far_value
from ..training import Callback, Record
from .blocks import add_blocks
from .coordinates import find_coordinates, localize

MIN_ROWS_TO_HOLD_OUT = 200
"""Rows below which every one is needed for the fit."""
MAX_HELD_OUT_ROWS = 2000
"""Held-out rows that suffice to choose when to stop; more would take longer than training."""

MIN_BROAD_WEIGHT = 0.01
"""The least weight of a kernel's broadest component: no row costs more than ln 100 nats below it.

It costs other rows 0.01 nats. Rows that the weights are fitted to may all have close neighbours,
such as rows of a time series, while new rows have none.
"""
START_WORK_UNITS = 5.0
"""Work units of a fit to no rows, mostly compiling, of an estimator that declares no cost."""
ROW_WORK_UNITS = 2e-3
"""Work units of each row of such an estimator: those of the local kernel, the costliest."""

D = TypeVar("D", bound=AbstractDensity)
E = TypeVar("E", bound=type)


@dataclasses.dataclass(frozen=True)
class FitResult(Generic[D]):
    """A density, and the record of its fit."""

    density: D
    record: Record


class UnsupportedManifoldError(TypeError):
    """An estimator that does not serve the manifold.

    Args:
        message: What is wrong and how to fix it.
        serves: The manifolds that the estimator serves, in words; "" if nobody says.
    """

    def __init__(self, message: str, serves: str = ""):
        super().__init__(message)
        self.serves = serves


class FitError(ValueError):
    """A fit that failed on these data, for a reason that the message gives."""


class AbstractEstimator(abc.ABC):
    """A way to fit a density: a frozen dataclass of numbers, strings and other descriptions.

    An estimator declares what it serves, how many rows it needs and what a fit costs. `Auto`
    decides by these declarations what to try, and never by a clock. Costs are in work units: one is
    about one second of one core of a laptop of the 2020s, as calibrated at a release by
    `python -m benchmarks.cost`.
    """

    takes_condition: ClassVar[bool] = False
    """Whether the density may depend on the dataset's condition."""
    falls_back_on_blocks: ClassVar[bool] = False
    """Whether consecutive rows that are much alike are fitted as blocks, without being asked."""
    min_rows: ClassVar[int] = 1
    """Rows from which on the estimator is worth a fit, where others serve the manifold too."""

    @property
    def keeps_broad_component(self) -> bool:
        """Whether the density keeps a broad component, for rows far from those of the fit."""
        return False

    def fit(
        self,
        data: Dataset,
        *,
        key: PRNGKeyArray,
        validation: Dataset | None = None,
        callbacks: Sequence[Callback] = (),
    ) -> FitResult:
        """Fit a density to rows.

        Rows that float32 could not tell apart (large offsets, points close together) are centred
        and scaled in float64 first. Logarithms of half-lines and logits of intervals are always
        taken in float64. The result is then a `LocalizedDensity`, in the given units. A kernel has
        a broad component there too, the uniform density.

        Args:
            data: Rows of a manifold with weights and conditions; some estimators take a sampler.
            key: Chooses everything that is random: the same key gives the same result.
            validation: Held-out rows, for choices by held-out likelihood. An estimator that needs
                some and gets none holds out a part of `data`.
            callbacks: Told of the progress; a `Checkpoint` lets a training resume.

        Returns:
            The density and the record of the fit.

        Raises:
            UnsupportedManifoldError: The estimator does not serve the manifold.
            ResolutionError: Single precision cannot tell the values of a coordinate apart.
            FarValueError: A value is too far from the others for single precision.
            ValueError: The data have a condition, and the estimator cannot take one.
        """
        if data.condition is not None and not self.takes_condition:
            raise ValueError(
                f"{type(self).__name__} cannot fit a conditional density: use DequantizedFlow, or "
                "leave the condition out."
            )
        event = ""
        if self.falls_back_on_blocks:
            data, event = add_blocks(data)
        try:
            found = self._fit_in_coordinates(data, key, validation, callbacks)
        except FloatingPointError as error:
            if data.is_sampler:
                raise
            found = explain_by_far_value(error, data.manifold, data.rows, data.names.numbers)
            if found is error:
                raise
            raise found from error
        if event:
            found.record.events.insert(0, event)
        return found

    def _fit_in_coordinates(
        self,
        data: Dataset,
        key: PRNGKeyArray,
        validation: Dataset | None,
        callbacks: Sequence[Callback],
    ) -> FitResult:
        """Fit in local coordinates, if the rows need them."""
        local = find_coordinates(data)
        if local is None:
            return self._fit(data, key=key, validation=validation, callbacks=callbacks)
        held_out = None if validation is None else localize(validation, local)
        try:
            found = self._fit(
                localize(data, local), key=key, validation=held_out, callbacks=callbacks
            )
        except UnsupportedManifoldError as error:
            served = error.serves or "other manifolds"
            if not self.serves(data.manifold):
                raise unsupported(self, data.manifold, served) from error
            name = type(self).__name__
            raise UnsupportedManifoldError(
                f"The rows of {data.manifold} are too close together for {name}: single precision "
                f"resolves them only in local coordinates, on {local.working}, and {name} is for "
                f"{served}. Use ScaleMixtureKernel, LocalKernel or DequantizedFlow.",
                error.serves,
            ) from error
        # Where the volume stays finite in these coordinates, the density found keeps it itself.
        volumes = [m.log_total_volume() for m in (data.manifold, local.working)]
        lacks_uniform = math.isfinite(volumes[0]) and math.isinf(volumes[1])
        weight = MIN_BROAD_WEIGHT if self.keeps_broad_component and lacks_uniform else 0.0
        density = LocalizedDensity(data.manifold, local, found.density, weight)
        return FitResult(density, found.record)

    @abc.abstractmethod
    def _fit(
        self,
        data: Dataset,
        *,
        key: PRNGKeyArray,
        validation: Dataset | None = None,
        callbacks: Sequence[Callback] = (),
    ) -> FitResult:
        """Fit rows that float32 can tell apart."""

    def serves(self, manifold: AbstractManifold) -> bool:
        """Whether the estimator can fit rows of a manifold; by default every manifold."""
        return True

    def fit_work(self, n: int, manifold: AbstractManifold) -> float:
        """Work units of a fit to n rows, by the cost model. It never falls with n.

        Args:
            n: The number of rows.
            manifold: One that the estimator serves.
        """
        return START_WORK_UNITS + ROW_WORK_UNITS * n

    def min_work(self, n: int, manifold: AbstractManifold) -> float:
        """Work units with which a fit to n rows is worth a start; by default those of the fit."""
        return self.fit_work(n, manifold)

    def within(self, work: float, n: int, manifold: AbstractManifold) -> AbstractEstimator:
        """Choose rows, steps or components such that a fit to n rows takes at most `work`.

        Args:
            work: The work units to stay within.
            n: The number of rows.
            manifold: One that the estimator serves.

        Returns:
            The estimator with these settings, or with the smallest that it has. By default itself.
        """
        return self

    def uses_all_rows(self, n: int) -> bool:
        """Whether a fit to n rows needs none held out and improves with every row."""
        return False


def unsupported(
    estimator: object, manifold: AbstractManifold, serves: str
) -> UnsupportedManifoldError:
    """The refusal of a manifold, which names what the estimator does serve."""
    return UnsupportedManifoldError(
        f"{type(estimator).__name__} does not serve {manifold}: it is for {serves}. "
        "DequantizedFlow serves every manifold.",
        serves,
    )


_named: dict[str, Callable[[], AbstractEstimator]] = {}


def named_estimator(name: str) -> Callable[[E], E]:
    """Register a class under the name by which users ask for it, with its default settings.

    Args:
        name: A word or two, such as "local kernel".

    Returns:
        A decorator that returns the class itself.
    """

    def register(cls: E) -> E:
        name_estimator(name, cls)
        return cls

    return register


def name_estimator(name: str, make: Callable[[], AbstractEstimator]) -> None:
    """Register an estimator under the name by which users ask for it."""
    if name in _named:
        raise ValueError(f"There is an estimator named {name!r} already.")
    _named[name] = make


def estimator_names() -> tuple[str, ...]:
    """The names by which users can ask for an estimator, "auto" first."""
    importlib.import_module(__package__ or "")  # which imports all estimators
    return tuple(sorted(_named, key=lambda name: (name != "auto", name)))


def get_estimator(
    model: str | AbstractEstimator, *, time_limit: float | None = None, steps: int | None = None
) -> AbstractEstimator:
    """Find the estimator of a name.

    Args:
        model: A name from `estimator_names`, or an estimator, which is returned as it is.
        time_limit: Seconds for "auto"; by default its own.
        steps: Training steps of a flow; by default its own.

    Raises:
        ValueError: There is no such name.
    """
    if isinstance(model, AbstractEstimator):
        return model
    known = estimator_names()
    name = str(model).replace("-", " ").replace("_", " ")
    if not isinstance(model, str) or name not in known:
        raise ValueError(f"model is one of {', '.join(known)}, or an estimator; not {model!r}.")
    changes = {"time_limit": time_limit, "steps": steps}
    return _with_settings(_named[name](), {k: v for k, v in changes.items() if v is not None})


def _with_settings(estimator: AbstractEstimator, settings: dict[str, Any]) -> AbstractEstimator:
    """The estimator, and those inside it, with those of the settings that they have."""
    if not dataclasses.is_dataclass(estimator) or not settings:
        return estimator
    fields = {f.name: getattr(estimator, f.name) for f in dataclasses.fields(estimator)}
    changes: dict[str, Any] = {k: v for k, v in settings.items() if k in fields}
    if "training" in fields and "steps" in settings:
        changes["training"] = dataclasses.replace(fields["training"], steps=settings["steps"])
    inner = {k: v for k, v in settings.items() if k == "steps"}
    for name, value in fields.items():
        if isinstance(value, AbstractEstimator):
            changes[name] = _with_settings(value, inner)
    return dataclasses.replace(estimator, **changes)
