"""A handful of values with given probabilities: the smallest target there is, for methods on discrete states."""

from __future__ import annotations

import numpy as np

from pmdviz.knobs import Choice, Knobs, Real
from pmdviz.targets.base import Target
from pmdviz.targets.reference.enumeration import Enumeration
from pmdviz.targets.space import Discrete

TABLES: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {  # name -> values and their probabilities
    "five": ((-2, -1, 0, 1, 2), (0.1, 0.2, 0.25, 0.15, 0.3)),
    "three": ((-1, 0, 1), (0.25, 0.45, 0.3)),
    "halves": ((-1, -0.5, 0, 0.5, 1), (0.1, 0.2, 0.3, 0.1, 0.3)),
}
MARGIN = 0.3  # of the values' extent, to either side of a picture


def _weight(value: int) -> Real:
    return Real(
        1.0,
        bounds=(0, 1000),
        softbounds=(0, 10),
        label=f"Weight of {value}",
        acts="restart",
        only_if=("table", "own"),
        doc=f"The probability of the value {value} is its weight over the sum of all; one of weight 0 is left out.",
    )


class CategoricalOptions(Knobs):
    """Options of `categorical`."""

    kind_words = "option of target 'categorical':"

    table = Choice(
        "five",
        choices={
            "five": "five values, -2 to 2",
            "three": "three values, -1 to 1",
            "halves": "five values, -1 to 1",
            "own": "weights of your own",
        },
        label="Probabilities",
        acts="restart",
        doc="Five values: 0.1, 0.2, 0.25, 0.15, 0.3. Three values: 0.25, 0.45, 0.3. Five values from -1 to 1: 0.1, "
        "0.2, 0.3, 0.1, 0.3. Weights of your own: five values from 1 to 5.",
    )
    weight_1 = _weight(1)
    weight_2 = _weight(2)
    weight_3 = _weight(3)
    weight_4 = _weight(4)
    weight_5 = _weight(5)

    def table_of(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Values, and their probabilities: all above 0."""
        if self.table != "own":
            return TABLES[self.table]
        weights = {k: getattr(self, f"weight_{k}") for k in range(1, 6)}
        total, kept = sum(weights.values()), {k: w for k, w in weights.items() if w > 0}
        return tuple(map(float, kept)), tuple(w / total for w in kept.values())

    def check(self) -> None:
        """At least two values are possible."""
        if len(self.table_of()[0]) < 2:
            raise self.specs()["weight_1"].refusal(
                "to weight_5 must be above 0 for at least two of the values, or there is nothing to be in doubt about"
            )


class Categorical(Target):
    """p(z = a_k) = p_k, one coordinate, K values. A run starts from q0, which is uniform; log Z = 0."""

    name = "categorical"
    title = "Categorical (a few values)"
    about = "One unknown of three to five values whose probabilities are given: what is drawn can be counted."
    source = "Han 2019 (thesis), the categorical examples of its discrete chapter"
    Options = CategoricalOptions
    declared = frozenset({"conditionals"})

    def build(self) -> None:
        """Nothing is drawn."""
        values, probabilities = self.options.table_of()
        self.space = Discrete(values, 1, ("z",))
        self.dim, self.data, self.parameter_names = 1, None, self.space.names
        self.probabilities = np.array(probabilities)
        self._values, self._log_p = np.array(values, float), np.log(self.probabilities)
        low, high, margin = self._values[0], self._values[-1], MARGIN * np.ptp(self._values)
        self.scale, self.view_box = np.array([self._values.std()]), ((float(low - margin), float(high + margin)),)

    def make_exact(self) -> Enumeration:
        """By a visit of every value."""
        return Enumeration(self.space, self.log_joint)

    def sample_prior(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """n draws (n, 1), all values alike."""
        return self._values[rng.integers(len(self._values), size=(n, 1))]

    def _log_prior(self, theta: np.ndarray) -> np.ndarray:
        return np.full(len(theta), -np.log(len(self._values)))

    def _log_likelihood(self, theta: np.ndarray, batch: np.ndarray) -> np.ndarray:
        """log p - log q0, for every row of the batch."""
        log_p = self._log_p[np.searchsorted(self._values, theta[:, 0])]
        return len(batch) * (log_p - self._log_prior(theta))

    def _gibbs_sweep(self, rng: np.random.Generator, theta: np.ndarray, data: np.ndarray) -> np.ndarray:
        """A draw: there is nothing to be conditional on."""
        return self._values[[rng.choice(len(self._values), p=self.probabilities)]]
