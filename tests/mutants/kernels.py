"""Faults in the compiled kernels, one each: signs, factors, lost terms, ends of loops."""

from tests.mutants.planting import Fault

FAULTS = [
    Fault.of("exp-low-half", "kernels.exponential:exp64", "x - k * LN2_HI - k * LN2_LO", "x - k * LN2_HI + k * LN2_LO", "kernels/test_exponential"),
    Fault.of("blocks-end", "kernels.pool:run_blocks", "range(0, num_rows, rows_per_block)", "range(0, num_rows - 1, rows_per_block)", "kernels/test_pool"),
    Fault.of("checks-infinite", "kernels.checks:finite", "not np.isfinite(array).all()", "np.isnan(array).any()", "kernels/test_kde", "kernels/test_warmup"),
    Fault.of("kde-log-determinant", "kernels.kde:log_normaliser", "0.5 * len(cholesky) * np.log(2 * np.pi) + np.log(np.diagonal(cholesky)).sum()", "0.5 * len(cholesky) * np.log(2 * np.pi)", "kernels/test_kde"),
    Fault.of("pairs-tile-end", "kernels.pairs:add_rows", "min(first + tile, base.size)", "min(first + tile, base.size - 1)", "kernels/test_kde"),
    Fault.of("grid-slant", "kernels.grid:_fill_rows", "log_peak - (v * v + t * t) - t * lean", "log_peak - (v * v + t * t) + t * lean", "kernels/test_grid"),
    Fault.of("systematic-offset", "kernels.resampling:systematic", "np.arange(n) + float(u)", "np.arange(n) + 1.0 - float(u)", "kernels/test_resampling"),
    Fault.of("thinning-pick", "kernels.thinning:_thinned", "u[start // size] * size", "u[start // size] * (size - 1)", "kernels/test_thinning"),
    Fault.of("neighbourhoods-scale", "kernels.neighbourhoods:pooled_local_covariance", "particles / scale", "particles * scale", "kernels/test_neighbourhoods"),
    Fault.of("median-left-out", "kernels.distances:median_distance", "len(squared) + leave_out", "len(squared)", "kernels/test_distances"),
    Fault.of("gibbs-odds", "kernels.gibbs:mixture_sweep", "np.log(p) - np.log1p(-p)", "np.log1p(-p) - np.log(p)", "kernels/test_gibbs"),
    Fault.of("mixture-gradient-log2", "kernels.likelihoods.mixture:_put_gradient", "pull_second * precision * 2.0 * LN2", "pull_second * precision * 2.0", "kernels/test_mixture"),
    Fault.of("gaussian-half", "kernels.likelihoods.gaussian:_log_likelihood", "0.5 * precision", "precision", "kernels/test_gaussian"),
    Fault.of("banana-chain-rule", "kernels.likelihoods.banana:_gradient", "pull * 2.0", "pull", "kernels/test_banana"),
    Fault.of("bimodal-square", "kernels.likelihoods.bimodal:_log_likelihood", "theta[i, 0] ** 2", "theta[i, 0]", "kernels/test_bimodal"),
    Fault.of("model-prior", "kernels.models:normal_prior", "precision * total", "total", "kernels/test_chains"),
    Fault.of("warmup-types", "kernels.warmup:_other_calls", "kde_on_line(two[:, :1], log_weights, np.eye(1), axis)", "kde_on_line(two[:, :1], log_weights, np.eye(1), axis + np.nan)", "kernels/test_warmup"),
    Fault.of("stein-repulsion", "kernels.svgd:stein_force", "scores - 2.0 / h * centred", "scores + 2.0 / h * centred", "kernels/test_svgd"),
    Fault.of("langevin-schedule", "kernels.chains:_langevin", "first + t", "first", "kernels/test_chains"),
    Fault.of("hamiltonian-acceptance", "kernels.chains:_hamiltonian", "uniforms[t] < chances[t]", "uniforms[t] > chances[t]", "kernels/test_chains"),
    Fault.of("limit-share", "kernels.limiting:_largest_step", "share * _ess(start, slope, 0.0)", "share * share * _ess(start, slope, 0.0)", "kernels/test_limiting"),
    Fault.of("leave-one-out-self", "kernels.leave_one_out:_sums", "base[own[i]] = LOG_ZERO_SINGLE", "base[own[i]] = kept", "kernels/test_leave_one_out"),
    Fault.of("clusters-ridge", "kernels.clusters:_shape", "factor[i, i] += RIDGE", "factor[i, :i] = 0.0", "kernels/test_clusters"),
    Fault.of("tiles-end", "kernels.triangular:add_products", "range(whole, num)", "range(whole, num - 1)", "kernels/test_triangular"),
    Fault.of("forward-weights", "kernels.triangular:_take_off_four", "a0 * p + a1 * q + a2 * u + a3 * v", "a0 * p + a1 * q + a2 * u + a2 * v", "kernels/test_triangular"),
    Fault.of("cholesky-rest", "kernels.triangular:cholesky", "matrix[r, q] -= dot(matrix[r], matrix[q], s)", "matrix[r, q] += dot(matrix[r], matrix[q], s)", "kernels/test_triangular"),
    Fault.of("fitc-residual", "kernels.sparse_gp:_tilt", "variance -= a[r] ** 2", "variance += a[r] ** 2", "kernels/test_sparse_gp"),
]  # fmt: skip
