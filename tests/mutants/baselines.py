"""Planted faults in the baselines that hold weighted particles or the parameters of a density."""

ONE_PASS, IMPORTANCE = "pmdviz/methods/smc/one_pass.py", "tests/methods/test_importance.py"
SMC, ONE_PASS_SMC = "pmdviz/methods/smc/jitter.py", "tests/methods/test_smc.py"
TEMPERED, TEMPERING = "pmdviz/methods/smc/tempered.py", "tests/methods/test_smc_mcmc.py"
SVI, VARIATIONAL = "pmdviz/methods/vi/gaussian.py", "tests/methods/test_svi.py"
SVGD, STEIN = "pmdviz/methods/stein/svgd.py", "tests/methods/test_svgd.py"
FORCE, FORCES = "pmdviz/kernels/svgd.py", "tests/kernels/test_svgd.py"
STEPPING = "pmdviz/methods/shared/optimisers.py"
NPV, ELBO, MIXTURES = "pmdviz/methods/vi/mixture.py", "pmdviz/methods/vi/elbo.py", "tests/methods/test_npv.py"


def fault(file: str, find: str, replace: str, *tests: str) -> dict:
    """An entry of MUTANTS."""
    return {"file": file, "find": find, "replace": replace, "tests": list(tests)}


MUTANTS = [
    fault(ONE_PASS, "state.log_weights + log_likelihood", "log_likelihood", IMPORTANCE),
    fault(ONE_PASS, "num_data - state.seen)", "num_data)", IMPORTANCE),
    fault(ONE_PASS, "state.seen >= target.num_data", "state.seen > 2 * target.num_data", IMPORTANCE),
    fault(SMC, "np.sqrt(np.clip(1.0 - shares, 0.0, None))", "np.clip(1.0 - shares, 0.0, None)", ONE_PASS_SMC),
    fault(SMC, "np.linalg.solve(factor, cholesky)", "np.linalg.solve(factor, cholesky.T)", ONE_PASS_SMC),
    fault(SMC, "if knobs.shrinkage else", "if not knobs.shrinkage else", ONE_PASS_SMC),
    fault(SMC, "knobs.jitter, target.scale", "knobs.bandwidth, target.scale", ONE_PASS_SMC),
    fault(
        TEMPERED,
        "state.log_weights + (beta - state.beta) * state.log_likelihood\n",
        "state.log_weights + beta * state.log_likelihood\n",
        TEMPERING,
    ),
    fault(TEMPERED, "old = state.log_prior + state.beta", "old = state.log_prior + 1.0", TEMPERING),
    fault(
        TEMPERED,
        "log_u < log_prior + state.beta * log_likelihood - old",
        "log_u < state.beta * log_likelihood - old",
        TEMPERING,
    ),
    fault(
        TEMPERED,
        "log_likelihood=state.log_likelihood[parents]",
        "log_likelihood=state.log_likelihood[: len(parents)]",
        TEMPERING,
    ),
    fault(TEMPERED, "knobs.move_scale * 2.38 / np.sqrt(d)", "knobs.move_scale * 2.38", TEMPERING),
    fault(SVI, "state.cholesky, gradients) + noise", "state.cholesky, gradients)", VARIATIONAL),
    fault(SVI, "factors = 1 + rho * values +", "factors = 1 - rho * values +", VARIATIONAL),
    fault(SVI, "0.5 * np.minimum(rho * values, 0.0) ** 2", "0.0", VARIATIONAL),
    fault(SVI, "np.exp(np.diag(change[:, 1:]))", "np.exp(-np.diag(change[:, 1:]))", VARIATIONAL),
    fault(SVI, "curvature = np.diag(np.diag(curvature))", "curvature = curvature", VARIATIONAL),
    fault(FORCE, "scores - 2.0 / h * centred", "scores + 2.0 / h * centred", FORCES),
    fault(FORCE, "np.sqrt(np.log2(np.e) / h)", "np.sqrt(0.5 * np.log2(np.e) / h)", FORCES),
    fault(FORCE, "out[i, k] += _product", "out[i, k] = _product", FORCES),
    fault(FORCE, "rounds * GOLDEN % 1.0 * ((m - 1) // 2)", "rounds * GOLDEN % 1.0", FORCES),
    fault(SVGD, "squared / np.log(m + 1)", "squared / np.log(m)", STEIN),
    fault(SVGD, "rho * target.scale * direction", "-rho * target.scale * direction", STEIN),
    fault(SVGD, "0.5 * log_det / d", "log_det / d", STEIN),
    fault(STEPPING, "first / (1 - FIRST**t)", "first", STEIN),
    fault(STEPPING, "second = second + gradient**2", "second = gradient**2", STEIN),
    fault(ELBO, "widths[:, None] ** 2 + widths**2", "2 * widths[:, None] ** 2 + 0 * widths", MIXTURES),
    fault(ELBO, "both = shares + shares.T", "both = 2 * shares", MIXTURES),
    fault(ELBO, "/ (2 * DIFFERENCE)", "/ DIFFERENCE", MIXTURES),
    fault(ELBO, "self.beta * gradient - (1 - self.beta)", "self.beta * gradient + (1 - self.beta)", MIXTURES),
    fault(ELBO, "widths**2 * traces + K * widths * in_s", "widths**2 * traces + K * in_s", MIXTURES),
    fault(NPV, "old + rho * (new - old)", "old + 0 * rho * (new - old)", MIXTURES),
    fault(NPV, "if knobs.annealing else 1.0", "if knobs.annealing else 0.0", MIXTURES),
    fault(NPV, "np.exp(np.clip(log_widths", "np.exp(2 * np.clip(log_widths", MIXTURES),
]
