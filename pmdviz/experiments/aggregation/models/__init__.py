"""The models that machines can fit: mixtures of one or several Gaussians, a file each."""

from __future__ import annotations

from pmdviz.experiments.aggregation.models.base import Model
from pmdviz.experiments.aggregation.models.gaussian import Gaussian
from pmdviz.experiments.aggregation.models.gmm import GMM
from pmdviz.experiments.aggregation.models.mixture_ppca import MixturePPCA
from pmdviz.experiments.aggregation.models.ppca import PPCA

MODELS: dict[str, type[Model]] = {model.name: model for model in (Gaussian, PPCA, MixturePPCA, GMM)}

__all__ = ["MODELS", "Model"]
