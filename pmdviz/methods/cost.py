"""What a step costs, as a method's knobs declare it: counted, not timed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pmdviz.knobs import Knobs

if TYPE_CHECKING:
    from pmdviz.targets import Target


class Work(NamedTuple):
    """What the longest step computes, as numbers of pairs."""

    kernels: float = 0.0  # kernel values, of two particles
    likelihoods: float = 0.0  # of a particle and a datum
    gradients: float = 0.0  # of a particle and a datum


class MethodKnobs(Knobs):
    """The knobs of a method: they say what its longest step costs, which a server may limit."""

    def rows(self, num_data: int) -> int:
        """Data that a step visits: the batch, or all."""
        return min(getattr(self, "batch_size", num_data), num_data)

    def work_on(self, target: Target) -> Work:
        """The same on a target, by more than its number of data where that matters."""
        return self.work(target.num_data)

    def work(self, num_data: int) -> Work:
        """What the longest step computes with so many data in the target."""
        raise NotImplementedError
