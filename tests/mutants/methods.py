"""Faults in what is computed with the kernels: the methods, densities, metrics, targets and their posteriors."""

from tests.mutants.planting import Fault

FAULTS = [
    # Methods.
    Fault.of("mirror-proposal", "methods.pmd.steps:mirror_step", "state.log_prior + scaled_log_likelihood - state.log_proposal", "state.log_prior + scaled_log_likelihood + state.log_proposal", "methods/test_pmd"),
    Fault.of("pmd-batch-scale", "methods.pmd:PMD.step", "target.num_data / len(batch) * scaled", "scaled", "methods/test_pmd"),
    Fault.of("rejuvenation-proposal", "methods.pmd.rejuvenation:rejuvenate", "density.log_density(particles, single=m >= SINGLE_FROM)", "target.log_prior(particles)", "methods/test_pmd"),
    Fault.of("schedule-kappa", "methods.shared.schedules:decay", "float(t) ** kappa", "float(t)", "methods/test_schedules"),
    Fault.of("importance-last-batch", "methods.smc.one_pass:OnePass.batch_size", "num_data - state.seen", "num_data", "methods/test_importance"),
    Fault.of("smc-shrinkage", "methods.smc.jitter:shrunk", "np.sqrt(np.clip(1.0 - shares, 0.0, None))", "np.clip(1.0 - shares, 0.0, None)", "methods/test_smc"),
    Fault.of("tempered-move", "methods.smc.tempered:moved", "log_prior + state.beta * log_likelihood", "state.beta * log_likelihood", "methods/test_smc_mcmc"),
    Fault.of("svi-step", "methods.vi.gaussian:natural_step", "1 + rho * values", "1 - rho * values", "methods/test_svi"),
    Fault.of("svgd-width", "methods.stein.svgd:squared_width", "m + 1", "m", "methods/test_svgd"),
    Fault.of("npv-entropy", "methods.vi.elbo:entropy_bound", "widths[:, None] ** 2 + widths ** 2", "2 * widths[:, None] ** 2 + 0 * widths", "methods/test_npv"),
    Fault.of("sgld-gradient", "methods.mcmc.sgld:SGLD.move", "0.5 * step_size", "step_size", "methods/test_leaps"),
    Fault.of("hmc-energy", "methods.mcmc.trajectory:acceptance", "0.5 * float((momentum ** 2).sum() - (end_momentum ** 2).sum())", "float((momentum ** 2).sum() - (end_momentum ** 2).sum())", "methods/test_hmc"),
    Fault.of("mala-lengths", "methods.mcmc.mala:MALA.lengths", "np.ones(len(uniforms), np.int64)", "np.full(len(uniforms), 2)", "methods/test_mala"),
    Fault.of("gibbs-variance", "targets.gaussian:Gaussian._gibbs_sweep", "np.sqrt(variance)", "variance", "methods/test_gibbs"),
    Fault.of("chain-burn-in", "methods.mcmc.chain:judged_draws_of", "num_left_out(state.iteration, knobs) + 1", "num_left_out(state.iteration, knobs)", "methods/test_chains"),
    Fault.of("burn-in-share", "methods.mcmc.chain:num_left_out", "knobs.burn_in * iteration", "knobs.burn_in", "methods/test_chains"),
    Fault.of("psgld-root", "methods.mcmc.psgld:PSGLD.move", "knobs.damping + np.sqrt(square)", "knobs.damping + square", "methods/test_psgld"),
    Fault.of("caveat-pareto", "methods.base:Method.caveat", "k > UNTRUSTED", "False", "methods/test_caveats"),
    # Densities.
    Fault.of("density-covariance", "densities.density:KernelDensity.cov", "(centred * self.weights[:, None]).T @ centred + self.cholesky @ self.cholesky.T", "(centred * self.weights[:, None]).T @ centred", "densities/test_density"),
    Fault.of("effective-sample-size", "densities.density:effective_sample_size", "2.0 * log_weights", "log_weights", "densities/test_density"),
    Fault.of("bandwidth-isotropic", "densities.bandwidth:isotropic", "bandwidth * np.eye(particles.shape[1])", "bandwidth ** 2 * np.eye(particles.shape[1])", "densities/test_bandwidth"),
    Fault.of("shaped-shrinkage", "densities.shaped:shaped_density", "np.sqrt(1 - h * h) * (particles[inside] - mean)", "particles[inside] - mean", "densities/test_shapes"),
    # Metrics.
    Fault.of("tv-lost-mass", "metrics.divergences:total_variation", "distance * pic.grid.cell_volume + max(0.0, 1.0 - mass * pic.grid.cell_volume)", "distance * pic.grid.cell_volume - max(0.0, 1.0 - mass * pic.grid.cell_volume)", "metrics/test_divergences"),
    Fault.of("kl-forward-entropy", "metrics.divergences:compare", "cross_entropy + negative_entropy", "cross_entropy - negative_entropy", "metrics/test_divergences"),
    Fault.of("kl-reverse-swapped", "metrics.divergences:_reverse", "q * (np.log(q) - pic.log_p[counts])", "pic.p[counts] * (pic.log_p[counts] - np.log(q))", "metrics/test_divergences"),
    Fault.of("points-forward-kl", "metrics.divergences:by_points", "cross_entropy - entropy", "cross_entropy + entropy", "metrics/test_divergences"),
    Fault.of("points-tv", "metrics.quasi_draws:expectations", "np.minimum(log_ratio, 0.0)", "log_ratio", "metrics/test_narrow_kernels"),
    Fault.of("kl-reverse-outside", "metrics.quasi_draws:reverse_outside", "counts[kept] / edges[kept] * log_ratio", "counts[kept] * log_ratio / 2", "metrics/test_outside"),
    Fault.of("kl-forward-outside", "metrics.divergences:_outside", "_expected(*cells, density)", "(0.0, 0.0)", "metrics/test_outside"),
    Fault.of("due-in-phase", "engine.history:_due_in", "block * PLACE_STEP % TURN * BLOCK // TURN", "0", "engine/test_history"),
    Fault.of("mode-masses", "metrics.modes:Modes.masses_of", "_resolved(density, grid).on_grid(grid)[inside] * grid.cell_volume", "_resolved(density, grid).on_grid(grid)[inside]", "metrics/test_modes"),
    Fault.of("floor-key", "metrics.perfect_draws:floor", "target.key", "target.name", "metrics/test_perfect_draws"),
    Fault.of("rhat-between", "metrics.rhat:_rhat", "between / within + n - 1", "between / within + n", "metrics/test_chains"),
    Fault.of("bulk-ess-monotone", "metrics.bulk_ess:correlation_time", "np.minimum.accumulate(pairs)", "pairs", "metrics/test_chains"),
    Fault.of("pool-rows", "methods.mcmc.chain:Chain.step", "np.split(batch, count)", "[batch[:len(batch) // count]] * count", "methods/test_pools"),
    Fault.of("one-pass", "methods.mcmc.leapfrog:LeapfrogChain._leapt", "0 * found.num_values", "found.num_values", "methods/test_hmc"),
    # Targets.
    Fault.of("joint-batch-scale", "targets.base:Target.log_joint", "self.num_data / len(batch) * self.log_likelihood(theta, batch)", "self.log_likelihood(theta, batch)", "targets/test_targets"),
    Fault.of("gradient-batch-scale", "targets.base:Target.grad_log_joint", "self.num_data / len(batch) * likelihood", "likelihood", "methods/test_sgld"),
    Fault.of("prior-half", "targets.base:GaussianPrior._log_prior", "-0.5 * ((theta / self.prior_sd) ** 2).sum(axis=1)", "-((theta / self.prior_sd) ** 2).sum(axis=1)", "targets/test_targets"),
    Fault.of("gaussian-posterior", "targets.gaussian:Gaussian._posterior", "o.prior_sd ** 2", "o.prior_sd", "targets/test_targets"),
    Fault.of("exact-normaliser", "targets.reference.exact:GridExact.__init__", "mass.sum() * np.prod(self._cells.width)", "mass.sum()", "targets/test_targets"),
    Fault.of("custom-additivity", "targets.custom:CustomTarget._check_functions", "self._check_additivity(theta, whole)", "pass", "targets/test_custom"),
]  # fmt: skip
