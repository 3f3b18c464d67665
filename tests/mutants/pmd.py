"""Planted faults in particle mirror descent: the update, rejuvenation, draws, step sizes, bandwidths."""

PMD, REJUVENATION = "pmdviz/methods/pmd/__init__.py", "pmdviz/methods/pmd/rejuvenation.py"
STATE, MOVES = "pmdviz/methods/pmd/state.py", "pmdviz/methods/pmd/steps.py"
LIMITING, LIMITS = "pmdviz/kernels/limiting.py", "tests/kernels/test_limiting.py"
DRAWS, SCHEDULES, BANDWIDTHS = (
    "pmdviz/methods/shared/draws.py",
    "pmdviz/methods/shared/schedules.py",
    "pmdviz/densities/bandwidth.py",
)
POLICIES, CUSTOM = "tests/methods/test_pmd.py", "tests/targets/test_custom.py"
DRAWN, STEPS, WIDTHS = (
    "tests/methods/test_draws.py",
    "tests/methods/test_schedules.py",
    "tests/densities/test_bandwidth.py",
)


def fault(file: str, find: str, replace: str, *tests: str) -> dict:
    """An entry of MUTANTS."""
    return {"file": file, "find": find, "replace": replace, "tests": list(tests)}


MUTANTS = [
    # The update and when particles are drawn anew.
    fault(MOVES, "(1 - size) * state.log_weights", "(1 + size) * state.log_weights", POLICIES),
    fault(
        MOVES, "+ scaled_log_likelihood - state.log_proposal", "+ scaled_log_likelihood + state.log_proposal", POLICIES
    ),
    fault(MOVES, "pull = state.log_prior + scaled", "pull = scaled", POLICIES),
    fault(PMD, "target.num_data / len(batch) * log_likelihood", "log_likelihood", POLICIES),
    fault(
        PMD, "SCHEDULES[knobs.schedule](state.next_step,", "SCHEDULES[knobs.schedule](state.iteration + 1,", POLICIES
    ),
    fault(STATE, "- self.held - self.warm_iterations + 1", "- self.held - self.warm_iterations", POLICIES),
    fault(MOVES, "state.log_weights + size * log_likelihood", "size * log_likelihood", POLICIES),
    fault(PMD, "if knobs.warm_start else 0", "if False else 0", POLICIES),
    fault(PMD, "warm = -(-target.num_data // WARM_BATCH)", "warm = target.num_data // WARM_BATCH", POLICIES),
    fault(PMD, '"epochs" if state.warming else knobs.batches', "knobs.batches", POLICIES),
    fault("pmdviz/methods/shared/particles.py", "ess < threshold * m", "ess < threshold", POLICIES),
    fault("pmdviz/methods/shared/particles.py", "ess < threshold * m", "ess > threshold * m", POLICIES),
    fault(REJUVENATION, 'knobs.policy == "always" and state.iteration > 0', 'knobs.policy == "always"', POLICIES),
    fault(REJUVENATION, "turned = wanted_particles(state.drawn_at, knobs) != m", "turned = size", POLICIES),
    fault(REJUVENATION, "turned = wanted_particles(state.drawn_at, knobs) != m", "turned = False", POLICIES),
    fault(REJUVENATION, 'knobs.policy != "never" and not m', "not m", POLICIES),
    fault(REJUVENATION, "GROWN = 1.5", "GROWN = 15.0", POLICIES),
    fault(REJUVENATION, "state.next_step <= knobs.until + 1", "state.next_step <= knobs.until", POLICIES),
    fault(REJUVENATION, "_replace(drawn_at=max(t, 1), ", "_replace(", POLICIES),
    fault(REJUVENATION, "(max(t, 1), knobs)", "(abs(t), knobs)", POLICIES),
    fault(
        REJUVENATION, "density.log_density(particles, single=m >= SINGLE_FROM)", "target.log_prior(particles)", POLICIES
    ),
    fault(REJUVENATION, "    m = wanted_particles(t, knobs)\n", "    m = len(state.particles)\n", POLICIES),
    fault(
        REJUVENATION,
        "checked_log_prior(target, particles)",
        "target.log_prior(particles)",
        CUSTOM,
    ),
    fault(
        MOVES,
        "kept = (1 - size) * state.log_weights if size < 1 else 0.0",
        "kept = (1 - size) * state.log_weights",
        POLICIES,
    ),
    fault(PMD, "density_evaluations=len(rows) * len(state.particles)", "density_evaluations=len(rows)", POLICIES),
    # Limited steps.
    fault(PMD, "held=state.held + done.limited,", "held=state.held,", POLICIES),
    fault(PMD, "rest = done.wanted - done.size if state.warming else 0.0", "rest = 0.0", POLICIES),
    fault(
        PMD, "rows = state.warming, state.rest_rows if state.rest else batch", "rows = state.warming, batch", POLICIES
    ),
    fault(PMD, "        if state.rest:\n            return 0\n", "", POLICIES),
    fault(MOVES, "left = state.rest or 1.0", "left = 1.0", POLICIES),
    fault(MOVES, "if share == 0.0 or not", "if not", POLICIES),
    fault(MOVES, "pull - _finite(state.log_weights), gamma, share)", "pull, gamma, share)", POLICIES),
    fault(
        LIMITING, "enough = share * _ess(start, slope, 0.0)", "enough = share * share * _ess(start, slope, 0.0)", LIMITS
    ),
    fault(LIMITING, "    return low\n", "    return 0.9 * low\n", LIMITS),
    fault(LIMITING, "while high - low > CLOSE * high:", "while high - low > CLOSE:", LIMITS),
    fault(LIMITING, "        start, slope = start[counts], slope[counts]\n", "        pass\n", LIMITS),
    fault(SCHEDULES, "eta / (n0 + float(t) ** kappa)", "eta / (n0 + float(t))", STEPS),
    fault(SCHEDULES, "min(1.0, eta", "min(2.0, eta", STEPS),
    fault(SCHEDULES, "(smoothness / (d + 2 * smoothness))", "(smoothness / (d + smoothness))", STEPS),
    fault(SCHEDULES, "delta / (gradient_bound", "gradient_bound / (delta", STEPS),
    fault(SCHEDULES, "min(2.0 / (t + 1)", "min(2.0 / t", STEPS),
    fault(SCHEDULES, "first * float(t) ** exponent", "first * float(t - 1) ** exponent", STEPS),
    fault(SCHEDULES, "first if t <= until", "first if t < until", STEPS),
    # Draws.
    fault("pmdviz/densities/density.py", "noise, self.cholesky)", "noise, self.cholesky.T)", DRAWN),
    fault(
        DRAWS, "parents, noise = parents[chosen], noise[chosen]", "parents, noise = parents[chosen], noise[:n]", DRAWN
    ),
    fault(DRAWS, "density.weights, each * n)", "density.weights, n)[np.arange(each * n) % n]", DRAWN),
    fault("pmdviz/densities/density.py", "np.linalg.inv(self.cholesky)", "self.cholesky", DRAWN),
    fault(DRAWS, "candidates / target.scale", "candidates * target.scale", DRAWN),
    fault(DRAWS, "max(1, min(DRAWS[draws], MAX_NUMBERS // (n * dim)))", "DRAWS[draws]", DRAWN),
    fault(
        DRAWS,
        '"multinomial": lambda rng, weights, n: multinomial',
        '"multinomial": lambda rng, weights, n: stratified',
        DRAWN,
    ),
    # Kernels' widths.
    fault(BANDWIDTHS, "EFFECTIVE_NEIGHBOURS = 25.0", "EFFECTIVE_NEIGHBOURS = 0.0", WIDTHS),
    fault(BANDWIDTHS, "num_neighbours, share, effective)", "num_neighbours)", WIDTHS),
    fault(BANDWIDTHS, "(-1.0 / (d + 2 * smoothness))", "(-1.0 / (d + smoothness))", WIDTHS),
    fault(BANDWIDTHS, "USUAL = 2.0", "USUAL = 1.0", WIDTHS),
    fault(BANDWIDTHS, '"i,ij,ik->jk", weights, centred', '"i,ij,ik->jk", weights**2, centred', WIDTHS),
    fault(BANDWIDTHS, "(particles[chosen], with_itself)", "(particles[chosen])", WIDTHS),
    fault(BANDWIDTHS, "chosen = systematic(weights, MAX_IN_PAIRS, 0.5)", "chosen = chosen[:MAX_IN_PAIRS]", WIDTHS),
    fault(BANDWIDTHS, "weights, scale) / local_scale(particles.shape[1])", "weights, scale)", WIDTHS),
    fault(
        BANDWIDTHS,
        "return bandwidth * np.eye(",
        "return bandwidth**2 * np.eye(",
        WIDTHS,
    ),
]

SHAPES, SHAPED = "pmdviz/densities/shapes.py", "pmdviz/densities/shaped.py"
LEFT_OUT, CLUSTERS = "pmdviz/kernels/leave_one_out.py", "pmdviz/kernels/clusters.py"
SHAPE_TESTS, LEFT_TESTS = "tests/densities/test_shapes.py", "tests/kernels/test_leave_one_out.py"

FORMATS, READ = "pmdviz/engine/recipe/formats.py", "tests/engine/test_formats.py"

MUTANTS += [
    # Caveats.
    fault(PMD, "            if ess < state.fewest:\n", "            if False:\n", "tests/methods/test_caveats.py"),
    fault(
        "pmdviz/methods/shared/particles.py",
        "max(d + 2, d * (d + 3) / (4 * SHAPE_COST))",
        "d + 2",
        "tests/methods/test_caveats_shape.py",
    ),
    fault(
        "pmdviz/methods/smc/one_pass.py",
        "if reason and ess < state.fewest:",
        "if False:",
        "tests/methods/test_caveats_shape.py",
    ),
    fault(PMD, "(state.in_a_row + 1) * done.limited", "state.in_a_row + done.limited", "tests/methods/test_caveats.py"),
    fault("pmdviz/methods/base.py", ">= d + 2 > ess", ">= d + 2 > 1 > ess", "tests/methods/test_caveats.py"),
    fault("pmdviz/methods/base.py", "if k > UNTRUSTED:", "if False:", "tests/methods/test_caveats.py"),
    fault("pmdviz/densities/pareto.py", "(n / 4 + 0.5) - 1", "(n / 2 + 0.5) - 1", "tests/densities/test_pareto.py"),
    fault(
        "pmdviz/densities/pareto.py",
        "len(tail) * k + PRIOR_COUNT * PRIOR_SHAPE",
        "len(tail) * k",
        "tests/densities/test_pareto.py",
    ),
    # Formats.
    fault(FORMATS, "KNOBS.get(version, {})", "{}", READ),
    fault(FORMATS, "KNOBS.get(version, {}).items()", "KNOBS[1].items()", READ),
    fault("pmdviz/engine/recipe/link.py", '{"pmdviz_recipe": version} | ', "", READ),
    fault("pmdviz/experiments/race/recipe.py", "earlier_knobs(one.knobs, one.method, version)", "one.knobs", READ),
    # The shaped kernel.
    fault(SHAPED, "np.sqrt(1 - h * h) * (particles[inside] - mean)", "(particles[inside] - mean)", SHAPE_TESTS),
    fault(SHAPED, "h * np.linalg.cholesky(cov", "h * h * np.linalg.cholesky(cov", SHAPE_TESTS),
    fault(SHAPED, "min(shape.width * factor, WIDEST)", "min(shape.width, WIDEST)", SHAPE_TESTS),
    fault(SHAPED, "points, of = self.centres[parents]", "points, of = self.particles[parents]", SHAPE_TESTS),
    fault(SHAPES, "value - price(k, z.shape[1], shared) / ess", "value", SHAPE_TESTS),
    fault(SHAPES, "(1 if shared else k) * d", "k * d", SHAPE_TESTS),
    fault(SHAPES, "own - shared > WORTH_SHARING * ess", "False", SHAPE_TESTS),
    fault(SHAPES, " * shares).sum()", ").mean()", SHAPE_TESTS),
    fault(SHAPES, "* ess * each)", "* ess)", SHAPE_TESTS),
    fault("pmdviz/methods/pmd/rejuvenation.py", ", each=each, ", ", ", SHAPE_TESTS),
    fault(SHAPED, "if shape.shared:", "if False:", SHAPE_TESTS),
    fault(SHAPES, "(learned**2).sum() * ess *", "(learned**2).sum() * (learned > 0).sum() *", SHAPE_TESTS),
    fault(SHAPES, "or not shared and w.sum() ** 2 < MIN_ESS * (d + 1) * (w * w).sum()", "", SHAPE_TESTS),
    fault(SHAPES, "MIN_ESS * (d + 1)", "(d + 2)", SHAPE_TESTS),
    fault(LEFT_OUT, "            base[own[i]] = LOG_ZERO_SINGLE\n", "            base[own[i]] = kept\n", LEFT_TESTS),
    fault(LEFT_OUT, "np.sqrt(1 - h * h)", "1.0", LEFT_TESTS),
    fault(
        CLUSTERS,
        "    return np.unique(labels, return_inverse=True)[1]",
        "    return labels",
        "tests/kernels/test_clusters.py",
    ),
    fault(
        CLUSTERS, "        factor[i, i] += RIDGE\n", "        factor[i, :i] = 0.0\n", "tests/kernels/test_clusters.py"
    ),
]
