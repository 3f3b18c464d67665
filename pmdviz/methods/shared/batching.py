"""Methods whose steps visit a batch of the data: their knobs, and that a batch is at most the data."""

from __future__ import annotations

from typing import Any

from pmdviz.knobs import Choice, Whole
from pmdviz.methods.base import Method
from pmdviz.methods.step import MethodKnobs
from pmdviz.targets import Target


def batch_size_knob(default: int) -> Whole:
    """The knob `batch_size`, for a method whose own default it is."""
    return Whole(
        default,
        bounds=(1, 10_000_000),
        softbounds=(1, 1000),
        log=True,
        label="Batch size B",
        unit="data points",
        basic=True,
        doc="How many data points a step uses; at most N.",
    )


class BatchKnobs(MethodKnobs):
    """Which rows a step visits."""

    batch_size = batch_size_knob(100)
    batches = Choice(
        "epochs",
        choices={"epochs": "shuffled passes", "replacement": "with replacement"},
        label="Batches",
        doc="Shuffled passes use every data point once per pass. With replacement, each batch is drawn independently, "
        "as in the paper; a batch of size N is then a bootstrap sample and not the whole data set.",
    )


class BatchMethod(Method):
    """A method with `BatchKnobs`: its batch is at most the data."""

    def fitted(self, knobs: Any, target: Target) -> Any:
        """`knobs` with a batch that is at most the data."""
        return knobs if knobs.batch_size <= target.num_data else knobs.changed({"batch_size": target.num_data})

    def idle_knobs(self, target: Target) -> frozenset[str]:
        """Where there is one datum, or none, there is no choice of batches."""
        own = frozenset(BatchKnobs.specs()) & frozenset(self.Knobs.specs())
        return own if target.num_data == 1 else frozenset()

    def check_pair(self, target: Target, knobs: Any) -> None:
        """The batch must fit into the data. Raises InputError."""
        super().check_pair(target, knobs)
        if knobs.batch_size > target.num_data:
            raise knobs.specs()["batch_size"].refusal(
                f"must be a whole number at least 1 and at most {target.num_data:,} (the number of data points); "
                f"given: {knobs.batch_size:,}"
            )

    def batch_size(self, state: Any, knobs: Any, num_data: int) -> int:
        """B."""
        return min(knobs.batch_size, num_data)
