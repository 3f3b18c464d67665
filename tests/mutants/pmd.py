"""Planted faults in particle mirror descent: the update, rejuvenation, draws, step sizes, bandwidths."""

PMD, REJUVENATION = "pmdviz/methods/pmd/__init__.py", "pmdviz/methods/pmd/rejuvenation.py"
DRAWS, SCHEDULES, BANDWIDTHS = "pmdviz/draws.py", "pmdviz/schedules.py", "pmdviz/bandwidths.py"
POLICIES, CONTRACT, CUSTOM = (
    "tests/methods/test_pmd.py",
    "tests/methods/test_contract.py",
    "tests/targets/test_custom.py",
)
DRAWN, STEPS, WIDTHS = "tests/test_draws.py", "tests/test_schedules.py", "tests/test_bandwidths.py"


def fault(file: str, find: str, replace: str, *tests: str) -> dict:
    """An entry of MUTANTS."""
    return {"file": file, "find": find, "replace": replace, "tests": list(tests)}


MUTANTS = [
    # The update and when particles are drawn anew.
    fault(PMD, "(1 - gamma) * state.log_weights", "(1 + gamma) * state.log_weights", POLICIES),
    fault(
        PMD, "+ scaled_log_likelihood - state.log_proposal", "+ scaled_log_likelihood + state.log_proposal", POLICIES
    ),
    fault(PMD, "pull = state.log_prior + scaled", "pull = scaled", POLICIES),
    fault(PMD, "target.num_data / len(batch) * log_likelihood", "log_likelihood", POLICIES),
    fault(PMD, "state.iteration - state.warm_iterations + 1, knobs", "state.iteration + 1, knobs", POLICIES),
    fault(
        PMD,
        "state.iteration - state.warm_iterations + 1, knobs",
        "state.iteration - state.warm_iterations, knobs",
        POLICIES,
    ),
    fault(PMD, "state.log_weights + log_likelihood", "log_likelihood", POLICIES),
    fault(PMD, "if knobs.warm_start else 0", "if False else 0", POLICIES),
    fault(PMD, "warm = -(-target.num_data // WARM_BATCH)", "warm = target.num_data // WARM_BATCH", POLICIES),
    fault(PMD, '"epochs" if state.iteration < state.warm_iterations else knobs.batches', "knobs.batches", POLICIES),
    fault("pmdviz/methods/particles.py", "ess < threshold * m", "ess < threshold", POLICIES),
    fault("pmdviz/methods/particles.py", "ess < threshold * m", "ess > threshold * m", POLICIES),
    fault(REJUVENATION, 'knobs.policy == "always" and state.iteration > 0', 'knobs.policy == "always"', POLICIES),
    fault(REJUVENATION, "if knobs.num_particles != m:", "if False:", POLICIES),
    fault(REJUVENATION, "density.log_density(particles), checked", "target.log_prior(particles), checked", POLICIES),
    fault(REJUVENATION, "    m = knobs.num_particles\n", "    m = len(state.particles)\n", POLICIES),
    fault(
        REJUVENATION,
        "(particles), checked_log_prior(target, particles)",
        "(particles), target.log_prior(particles)",
        CUSTOM,
    ),
    fault(
        PMD,
        "kept = (1 - gamma) * state.log_weights if gamma < 1 else 0.0",
        "kept = (1 - gamma) * state.log_weights",
        POLICIES,
    ),
    fault(PMD, "density_evaluations=len(batch) * len(state.particles)", "density_evaluations=len(batch)", CONTRACT),
    fault(SCHEDULES, "eta / (n0 + float(t) ** kappa)", "eta / (n0 + float(t))", STEPS),
    fault(SCHEDULES, "min(1.0, eta", "min(2.0, eta", STEPS),
    # Draws.
    fault(DRAWS, "noise, density.cholesky)", "noise, density.cholesky.T)", DRAWN),
    fault(
        DRAWS, "parents, noise = parents[chosen], noise[chosen]", "parents, noise = parents[chosen], noise[:n]", DRAWN
    ),
    fault(DRAWS, "density.weights, each * n)]", "density.weights, n)][np.arange(each * n) % n]", DRAWN),
    fault(DRAWS, "np.linalg.inv(density.cholesky)", "density.cholesky", DRAWN),
    fault(DRAWS, "candidates / target.scale", "candidates * target.scale", DRAWN),
    fault(DRAWS, "max(1, min(DRAWS[draws], MOST_NUMBERS // (n * dim)))", "DRAWS[draws]", DRAWN),
    fault(
        DRAWS,
        '"multinomial": lambda rng, weights, n: multinomial',
        '"multinomial": lambda rng, weights, n: stratified',
        DRAWN,
    ),
    # Kernels' widths.
    fault(BANDWIDTHS, "EFFECTIVE_NEIGHBOURS = 25.0", "EFFECTIVE_NEIGHBOURS = 0.0", WIDTHS),
    fault(BANDWIDTHS, "num_neighbours, share, effective)", "num_neighbours)", WIDTHS),
    fault(
        BANDWIDTHS,
        "bandwidth * m ** (-1.0 / (d + 4))",
        "bandwidth * m ** (-1.0 / (d + 2))",
        WIDTHS,
    ),
    fault(BANDWIDTHS, "weights, scale) / local_scale(d)", "weights, scale)", WIDTHS),
    fault(
        BANDWIDTHS,
        "return bandwidth * np.eye(",
        "return bandwidth**2 * np.eye(",
        WIDTHS,
    ),
]
