"""Logistic regression on data of MNIST8M's shape, 1.6 million images that are never in memory at once."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import psutil
from sklearn.linear_model import SGDClassifier
from threadpoolctl import threadpool_limits

from benchmarks.helpers.contest import figures
from benchmarks.helpers.jittered import Components, components, jittered, originals
from pmdviz.methods import find_method
from pmdviz.targets.logistic import Logistic
from pmdviz.targets.rows import Split

OPTIONS = {"seed": 0}  # of the split and the jitter
PAIR, NUM_TRAIN, K = (8, 6), 800, 50
ROWS, QUICK_ROWS, BLOCK, BATCH = 1_600_000, 60_000, 10_000, 100
FOR_COMPONENTS = 50_000  # of the first rows
PARTICLES, TOLD = 1000, 10  # times that memory and accuracy are told
DRAWS = 1000  # of q, that predict


class Streamed(Logistic):
    """Target `logistic` without its data: batches come from elsewhere. It has no name, and enters no table."""

    name = ""

    def __init__(self, num_rows: int, test: np.ndarray) -> None:
        self._num_rows, self._test = num_rows, test
        super().__init__(dim=K + 1, prior_sd=1.0, num_data=1)

    def build(self) -> None:
        """The prior and the held-out rows."""
        super().build()
        self.test_data = self._test

    @property
    def num_data(self) -> int:
        """How many rows will come."""
        return self._num_rows


class Learner(NamedTuple):
    """What learns from a batch of rows, and the probabilities of class 1 that it predicts for held-out rows."""

    learn: Callable[[np.ndarray], None]
    predict: Callable[[np.ndarray], np.ndarray]


def run(options: Namespace) -> dict[str, Any]:
    """Seconds of making and reducing the rows, and of each learner on them, one after the other."""
    num_rows = QUICK_ROWS if options.quick else ROWS
    split = originals(PAIR, NUM_TRAIN, options.seed)
    with threadpool_limits(1):  # one BLAS thread for everybody
        found = components(_images(split, FOR_COMPONENTS if not options.quick else BLOCK, options.seed), K)
        test = found.rows(split.test_features, split.test_classes)
        target = Streamed(num_rows, test)
        learners = {
            "no learner: rows made and reduced": Learner(lambda rows: None, lambda rows: np.full(len(rows), 0.5)),
            "PMD, 1,000 particles": _ours("pmd", target, {"num_particles": PARTICLES}),
            "SVI with the Jaakkola-Jordan bound": _ours("jaakkola_jordan", target, {}),
            "scikit-learn's SGDClassifier, partial_fit": _classifier(),
        }
        rows = {name: _measured(one, split, found, num_rows, options.seed, test) for name, one in learners.items()}
    making = rows["no learner: rows made and reduced"]["cpu_seconds"]
    for row in rows.values():
        own = row["cpu_seconds"] - making
        row["rows_per_cpu_second_beyond_making"] = figures(num_rows / own, 3) if own > 0.02 * making else None
    return {"rows": num_rows, "pixels": 784, "components": K, "batch": BATCH, "held_out": len(test), "learners": rows}


def _images(split: Split, n: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    return jittered(split.features, split.classes, n, seed, BLOCK)


def _measured(one: Learner, split: Split, found: Components, n: int, seed: int, test: np.ndarray) -> dict[str, Any]:
    """A pass over all rows in batches, and what the process holds meanwhile."""
    process, told = psutil.Process(), []
    start, cpu = time.perf_counter(), time.process_time()
    for k, (images, classes) in enumerate(_images(split, n, seed)):
        rows = found.rows(images, classes)
        for first in range(0, len(rows), BATCH):
            one.learn(rows[first : first + BATCH])
        if (k + 1) % max(1, n // BLOCK // TOLD) == 0:
            hits = (one.predict(test) > 0.5) == (test[:, -1] > 0.5)
            told.append({"rows": (k + 1) * BLOCK, "megabytes": round(process.memory_info().rss / 1e6),
                         "accuracy": figures(float(hits.mean()), 4)})  # fmt: skip
    return {
        "seconds": figures(time.perf_counter() - start, 4),
        "cpu_seconds": figures(time.process_time() - cpu, 4),
        "rows_per_second": figures(n / (time.perf_counter() - start), 3),
        "growth_in_megabytes_after_the_first_tenth": told[-1]["megabytes"] - told[0]["megabytes"],
        "on_the_way": told,
    }


def _ours(name: str, target: Streamed, knobs: dict[str, Any]) -> Learner:
    """One of our methods, given its batches by hand."""
    method, rng = find_method(name), np.random.default_rng(0)
    made = method.Knobs.checked({**knobs, "batch_size": BATCH})
    state = [method.init(rng, target, made)]

    def learn(rows: np.ndarray) -> None:
        state[0], _ = method.step(rng, state[0], target, rows, made)

    def predict(rows: np.ndarray) -> np.ndarray:
        draws = method.density(state[0], made, target).sample(np.random.default_rng(0), DRAWS)
        return target.row_mean(draws, rows).mean(axis=0)

    return Learner(learn, predict)


def _classifier() -> Learner:
    made = SGDClassifier(loss="log_loss", random_state=0)
    return Learner(
        lambda rows: made.partial_fit(rows[:, 1:-1], rows[:, -1], classes=(0.0, 1.0)) and None,
        lambda rows: made.predict_proba(rows[:, 1:-1])[:, 1],
    )
