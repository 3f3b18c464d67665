"""A frame: one immutable moment of a run, with what can be measured and drawn of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from pmdviz.densities import KernelDensity, effective_sample_size
from pmdviz.divergences import NAMES, GridPicture, measure, picture
from pmdviz.floors import known_floor
from pmdviz.methods import Method, StepInfo
from pmdviz.targets import Target

OVERHEAD = 8192  # bytes of a kept frame besides its arrays


@dataclass(frozen=True, eq=False)
class Frame:
    """One moment: the method's state after `iteration` steps and what it cost.

    `density`, `grid` and `metrics` are pure functions of the state and the knobs, computed at the first use: drawing
    or measuring a frame never touches the run.

    Attributes
    ----------
    visited : int
        Rows passed to `log_likelihood` so far.
    density_evaluations, gradient_evaluations : int
        Pairs of particle and datum evaluated so far.
    seconds : float
        Time the steps took so far.
    rejuvenations : int
        How often the particles were drawn anew.
    knobs : Knobs
        In force from here on (a bandwidth already in this frame's picture).
    info : StepInfo or None
        What the last step did; None at iteration 0.
    """

    iteration: int
    visited: int
    density_evaluations: int
    gradient_evaluations: int
    seconds: float
    rejuvenations: int
    knobs: Any
    state: Any
    info: StepInfo | None
    budget: int | None
    target: Target
    method: Method

    @property
    def num_data(self) -> int:
        """N, the rows of the target's data."""
        return self.target.num_data

    @cached_property
    def density(self) -> KernelDensity:
        """The approximation q."""
        return self.method.density(self.state, self.knobs, self.target)

    @property
    def particles(self) -> np.ndarray:
        """Particles (m, d), read-only."""
        return _read_only(self.density.particles)

    @property
    def weights(self) -> np.ndarray:
        """Weights (m,), sum 1, read-only."""
        return _read_only(self.density.weights)

    @cached_property
    def grid(self) -> GridPicture | None:
        """p and q on a grid that resolves both; None above two dimensions."""
        if self.target.dim > 2:
            return None
        return picture(self.density, self.target.exact, self.target.view_box)

    @cached_property
    def _measured(self) -> dict[str, float | None]:
        known: dict[str, float | None] = dict.fromkeys(NAMES)
        if self.target.exact is not None and self.grid is not None:
            known = measure(self.density, self.target.exact, self.grid)
        return {**known, "ess": effective_sample_size(self.density.log_weights)}

    @property
    def metrics(self) -> dict[str, float | None]:
        """tv, kl_forward, kl_reverse, cross_entropy (nats), mass_outside, ess (in [1, m]) and the floors.

        None where a value cannot be had; the floors (`floor_tv`, `floor_kl` and their standard errors `..._se`) are
        None until they have been computed.
        """
        floor = known_floor(self.target, len(self.density.particles))
        return {
            **self._measured,
            "floor_tv": floor.tv if floor else None,
            "floor_tv_se": floor.tv_se if floor else None,
            "floor_kl": floor.kl if floor else None,
            "floor_kl_se": floor.kl_se if floor else None,
        }

    def replaced(self, *, redraw: bool = False, **parts: Any) -> Frame:
        """The moment under other knobs or another budget; unless `redraw`, what was computed of it is kept."""
        other = replace(self, **parts)
        kept = () if redraw else ("density", "grid", "_measured")
        other.__dict__.update({name: value for name, value in self.__dict__.items() if name in kept})
        return other

    def light(self) -> Frame:
        """The frame without its pictures, to be kept for long."""
        other = self.replaced()
        other.__dict__.pop("grid", None)
        return other

    @property
    def num_bytes(self) -> int:
        """Memory of the frame when kept: the state's arrays and some more."""
        return OVERHEAD + sum(part.nbytes for part in self.state if isinstance(part, np.ndarray))

    def row(self) -> dict[str, Any]:
        """The frame's row in the history."""
        return {
            "iteration": self.iteration,
            "visited": self.visited,
            **self._measured,
            "seconds": self.seconds,
            "num_particles": len(self.density.particles),
            "step_size": self.info.step_size if self.info else None,
            "rejuvenations": self.rejuvenations,
            "density_evaluations": self.density_evaluations,
            "gradient_evaluations": self.gradient_evaluations,
        }


def _read_only(array: np.ndarray) -> np.ndarray:
    view = array.view()
    view.flags.writeable = False
    return view
