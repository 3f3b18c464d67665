"""A frame: one immutable moment of a run, with what can be measured and drawn of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from pmdviz.densities.density import Density, effective_sample_size
from pmdviz.methods import Method, StepInfo
from pmdviz.metrics.divergences import NAMES, DensitiesOnGrid, measure, picture
from pmdviz.metrics.perfect_draws import known_floor
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
    limited_steps : int
        Steps that went less far than their schedule says, to leave enough particles alive.
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
    limited_steps: int
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
    def densities(self) -> dict[str, Density]:
        """What the state may be judged by, name -> q; of a chain a KDE and a Gaussian fit."""
        return self.method.densities(self.state, self.knobs, self.target)

    @cached_property
    def judged_by(self) -> str:
        """Name of the density with the lowest TV; the method's usual one where TV cannot be had."""
        names = [*self.densities]
        if len(names) == 1:
            return names[0]
        known = [self._judged[name]["tv"] for name in names]
        return names[int(np.argmin([np.inf if tv is None else tv for tv in known]))]

    @property
    def density(self) -> Density:
        """The approximation q."""
        return self.densities[self.judged_by]

    @property
    def caveat(self) -> str:
        """What one must know to judge the frame, such as a burn-in that is not over or particles that died; "" if none.

        A sentence, and up to its first colon a few words.
        """
        return self.method.caveat(self.state, self.knobs)

    @property
    def particles(self) -> np.ndarray:
        """Particles (m, d), read-only; of a chain its draws, also where the Gaussian fit to them is the better q."""
        return _read_only(self._primary_density.particles)

    @property
    def weights(self) -> np.ndarray:
        """Weights (m,), sum 1, read-only."""
        return _read_only(self._primary_density.weights)

    @property
    def _primary_density(self) -> Density:
        return next(iter(self.densities.values()))

    @cached_property
    def grids(self) -> dict[str, DensitiesOnGrid]:
        """p and each q on a grid that resolves both; empty above two dimensions."""
        if self.target.dim > 2:
            return {}
        exact, box = self.target.exact, self.target.view_box
        return {name: picture(density, exact, box) for name, density in self.densities.items()}

    @property
    def grid(self) -> DensitiesOnGrid | None:
        """p and q on a grid that resolves both; None above two dimensions."""
        return self.grids[self.judged_by] if self.grids else None

    @cached_property
    def _judged(self) -> dict[str, dict[str, float | None]]:
        """The metrics by each of the densities."""
        exact = self.target.exact
        if exact is None or not self.grids:
            return {name: dict.fromkeys(NAMES) for name in self.densities}
        return {name: measure(density, exact, self.grids[name]) for name, density in self.densities.items()}

    @cached_property
    def _measured(self) -> dict[str, float | None]:
        weighted = self.method.family == "particles"
        ess = effective_sample_size(self.density.log_weights) if weighted else None
        by_each = {f"tv_{name}": self._judged[name]["tv"] for name in self.densities if name}
        return {**self._judged[self.judged_by], **by_each, "ess": ess}

    @property
    def num_draws(self) -> int | None:
        """How many perfect draws the floor is of: as many as there are particles; None for other families."""
        return len(self.density.particles) if self.method.family == "particles" else None

    @property
    def floor_rule(self) -> str:
        """The rule of `floors.TABLES` by which perfect draws are judged beside this frame."""
        return "shaped" if getattr(self.knobs, "bandwidth_rule", "") == "shaped" else "local"

    @property
    def metrics(self) -> dict[str, float | None]:
        """tv, kl_forward, kl_reverse, cross_entropy (nats), mass_outside, ess (in [1, m]) and the floors.

        None where a value cannot be had; the floors (`floor_tv`, `floor_kl` and their standard errors `..._se`) are
        None until they have been computed. A method with several densities has the TV of each besides, `tv_<name>`.
        """
        floor = known_floor(self.target, self.num_draws, self.floor_rule) if self.num_draws else None
        return {
            **self._measured,
            "floor_tv": floor.tv if floor else None,
            "floor_tv_se": floor.tv_se if floor else None,
            "floor_kl": floor.kl if floor else None,
            "floor_kl_se": floor.kl_se if floor else None,
        }

    def replaced(self, **parts: Any) -> Frame:
        """The moment under other knobs or another budget; what was computed of it is kept unless a knob redraws it."""
        other = replace(self, **parts)
        redraw = other.knobs is not self.knobs and any(
            spec.acts == "at once" and getattr(other.knobs, name) != getattr(self.knobs, name)
            for name, spec in self.knobs.specs().items()
        )
        kept = () if redraw else ("densities", "judged_by", "grids", "_judged", "_measured")
        other.__dict__.update({name: value for name, value in self.__dict__.items() if name in kept})
        return other

    def without_caches(self) -> Frame:
        """The frame without its pictures, to be kept for long."""
        other = self.replaced()
        other.__dict__.pop("grids", None)
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
            "num_particles": len(self.particles),
            "step_size": self.info.step_size if self.info else None,
            "rejuvenations": self.rejuvenations,
            "limited_steps": self.limited_steps,
            "density_evaluations": self.density_evaluations,
            "gradient_evaluations": self.gradient_evaluations,
        }


def _read_only(array: np.ndarray) -> np.ndarray:
    view = array.view()
    view.flags.writeable = False
    return view
