"""The hyperparameters of a Gaussian process classifier: their posterior can be evaluated, but has no gradient here."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np

from pmdviz.kernels.likelihoods.gp_classification import gp_class_chances, gp_log_marginal
from pmdviz.knobs import A_FILE, Flag, Knobs, Real, Whole
from pmdviz.targets.base import GaussianPrior, Target
from pmdviz.targets.options import data_source, prior_sd
from pmdviz.targets.reference.chains import metropolis_chains
from pmdviz.targets.reference.exact import DrawsReference, GridExact, Reference
from pmdviz.targets.rows.classes import CANCER, read_columns
from pmdviz.targets.space import numbered
from pmdviz.targets.table_form import ANY, TableForm
from pmdviz.targets.without_data.base import target_seed

REACH = 7  # prior sds that a grid holds
ENOUGH = 4000  # cells of it
TABLE = TableForm(
    "Columns of features, then one with the class; each feature must vary.",
    most=ANY,
    outcome="class",
    dim_beyond=0,
    rows_option="num_rows",
    inputs_option="columns",
    reduces=True,
    picks="class_above",
)


class GPClassificationOptions(Knobs):
    """Options of `gp_classification`."""

    kind_words = "option of target 'gp_classification':"

    data = data_source(
        {CANCER: "breast tissue samples"},
        "The rows to be classified: nine measurements of tissue samples, malignant or benign, that scikit-learn "
        "carries; or a file: a table with the class in its last column, or in its first.",
    )
    class_above = Real(
        0.5,
        bounds=(-1e6, 1e6),
        softbounds=(-1, 10),
        label="Class 1 above",
        acts="restart",
        only_if=("data", A_FILE),
        doc="Rows of a file whose label is larger are of class 1, the others of class 0: 0.5 where labels are 0 and 1.",
    )
    columns = Whole(
        2,
        bounds=(1, 30),
        softbounds=(1, 9),
        label="Features k",
        acts="restart",
        doc="How many features are used, the first ones; each has a length scale of its own. Nine at most of the "
        "tissue samples.",
    )
    num_rows = Whole(
        60,
        bounds=(4, 300),
        softbounds=(20, 150),
        label="Rows",
        acts="restart",
        doc="How many rows are drawn; the time for one evaluation of the density grows with their third power.",
    )
    free_scale = Flag(
        True,
        label="Unknown scale",
        acts="restart",
        doc="Whether the sd s of the latent function is unknown too, as the last coordinate, or 1 as in the thesis.",
    )
    prior_sd = prior_sd(bounds=(0.05, 3), default=1.5)
    target_seed = target_seed(0, "the choice of rows")


class GPClassification(GaussianPrior, Target):
    """theta = (log l_1, ..., log l_k, log s) ~ N(0, prior_sd^2 I) given classes y of rows with k features each.

    P(y = 1 | f) = 1 / (1 + e^-f), f a Gaussian process with kernel s^2 exp(-1/2 sum_k (z_k - z'_k)^2 / l_k^2). f is
    integrated out by Laplace's approximation, and its log q(y | theta) *is* the likelihood of this target: so it is a
    fixed function, where the thesis has a random estimate with that mean (its equation 0.91, a pseudo-marginal), which
    would have to be redrawn and carried along in every method.

    The rows do not contribute a factor each, so no batch stands for them all: the target counts as one without data,
    whose q0 is the prior. Z = integral of prior times q(y | theta) = q(y).
    """

    name = "gp_classification" if find_spec("sklearn") else ""
    title = "Gaussian process classifier"
    about = (
        "How far a classifier's latent function reaches along each feature: the function itself is integrated out, "
        "and no gradient is known."
    )
    source = "Han's thesis, section on Gaussian process classification; Rasmussen, Williams 2006, section 3.4"
    Options = GPClassificationOptions
    kernel_groups = ("gp_classification",)
    declared = frozenset()
    table = TABLE

    def build(self) -> None:
        """Draw the rows from `default_rng(target_seed)` alone."""
        o = self.options
        self.data, self.prior_sd, self.dim = None, o.prior_sd, o.columns + o.free_scale
        self.features, self.classes, self.feature_names = read_columns(
            o.data, TABLE, o.columns, o.num_rows, o.class_above, o.target_seed
        )
        self.parameter_names = numbered("log ℓ", o.columns) + ("log s",) * o.free_scale
        self.prior_frame(0.0)

    def make_exact(self) -> GridExact | None:
        """By a grid sum in one and two dimensions."""
        box = ((-REACH * self.prior_sd, REACH * self.prior_sd),) * self.dim
        return GridExact(self.log_joint, box, ENOUGH) if self.dim <= 2 else None

    def make_reference(self) -> Reference:
        """The exact posterior, or draws of long Metropolis chains."""
        return self.make_exact() or DrawsReference(metropolis_chains(self))

    def chances(self, theta: np.ndarray, points: np.ndarray) -> np.ndarray:
        """P(class 1) at features (p, k) in units of the rows' sds, by Laplace's approximation: (m, d) -> (m, p)."""
        return gp_class_chances(self._hyperparameters(theta), self.features, self.classes, points)

    def _log_likelihood(self, theta: np.ndarray, batch: np.ndarray) -> np.ndarray:
        """log q(y | theta), for every row of the batch."""
        return len(batch) * gp_log_marginal(self._hyperparameters(theta), self.features, self.classes)

    def _hyperparameters(self, theta: np.ndarray) -> np.ndarray:
        """Theta with log s (m, k + 1), which is 0 where it is known."""
        return theta if self.options.free_scale else np.column_stack([theta, np.zeros(len(theta))])
