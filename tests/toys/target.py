"""A target in one file: the mean of Gaussian data in three dimensions."""

import numpy as np

from pmdviz.targets.base import GaussianPrior, Target
from pmdviz.targets.exact import GaussianExact
from pmdviz.targets.options import DataOptions, data_points


class ToyOptions(DataOptions):
    kind_words = "option of target 'toy_mean':"

    num_data = data_points(60)


class ToyMean(GaussianPrior, Target):
    name = "toy_mean"
    title = "A toy mean"
    about = "Where three-dimensional noise is centred."
    source = "ours"
    Options = ToyOptions

    def build(self) -> None:
        self.dim, self.parameter_names = 3, ("a", "b", "c")
        self.data = 0.5 + np.random.default_rng(self.options.data_seed).standard_normal((self.options.num_data, 3))
        self.prior_frame(0.5, 0.5, 0.5)

    def make_reference(self) -> GaussianExact:
        n = self.num_data
        return GaussianExact(self.data.sum(axis=0) / (n + 1), np.eye(3) / (n + 1))

    def _log_likelihood(self, theta: np.ndarray, batch: np.ndarray) -> np.ndarray:
        squared = ((theta[:, None] - batch) ** 2).sum(axis=(1, 2))
        return -0.5 * squared - 1.5 * len(batch) * np.log(2 * np.pi)

    def _grad_log_likelihood(self, theta: np.ndarray, batch: np.ndarray) -> np.ndarray:
        return batch.sum(axis=0) - len(batch) * theta
