"""Planted faults in the engine: knobs, recipes, sessions, targets, methods, metrics."""

POLICIES, REPLAY = "tests/methods/test_pmd.py", "tests/engine/test_replay.py"
SESSIONS, HISTORIES = "tests/engine/test_session.py", "tests/engine/test_history.py"
DISTANCES, FLOORS = "tests/metrics/test_divergences.py", "tests/metrics/test_perfect_draws.py"
TARGETS, CUSTOM = "tests/targets/test_targets.py", "tests/targets/test_custom.py"
KNOBS, RECIPES, CLI = "tests/test_knobs.py", "tests/engine/test_recipe.py", "tests/cli/test_cli.py"


def fault(file: str, find: str, replace: str, *tests: str) -> dict:
    """An entry of MUTANTS."""
    return {"file": file, "find": find, "replace": replace, "tests": list(tests)}


MUTANTS = [
    # What every method checks.
    fault("pmdviz/methods/base.py", "if -np.inf < values.max() < np.inf", "if -np.inf < values.max()", CUSTOM),
    fault("pmdviz/methods/base.py", "if -np.inf < values.max() < np.inf", "if values.max() < np.inf", CUSTOM),
    # Densities.
    fault(
        "pmdviz/densities/density.py",
        "noise, self.cholesky)",
        "noise, self.cholesky.T)",
        "tests/densities/test_density.py",
    ),
    fault(
        "pmdviz/densities/density.py",
        "1.0 / np.exp(2.0 * log_weights)",
        "1.0 / np.exp(log_weights)",
        "tests/densities/test_density.py",
    ),
    fault(
        "pmdviz/densities/density.py",
        "@ centred + self.cholesky @ self.cholesky.T",
        "@ centred",
        "tests/densities/test_density.py",
    ),
    fault(
        "pmdviz/densities/density.py",
        "(2 * np.pi) ** (-d / 2)",
        "(2 * np.pi) ** (-1 / 2)",
        "tests/densities/test_density.py",
    ),
    fault("pmdviz/densities/density.py", "np.maximum(values, smallest**2)", "np.maximum(values, smallest)", DISTANCES),
    # Metrics.
    fault("pmdviz/metrics/divergences.py", "np.minimum(log_ratio, 0.0)", "np.maximum(log_ratio, 0.0)", DISTANCES),
    fault(
        "pmdviz/metrics/divergences.py",
        "-float((weights * log_ratio).sum())",
        "float((weights * log_ratio).sum())",
        DISTANCES,
    ),
    fault("pmdviz/metrics/divergences.py", "cross_entropy - entropy", "cross_entropy + entropy", DISTANCES),
    fault("pmdviz/metrics/divergences.py", "reverse if outside < LEFT_OUT else None", "reverse", DISTANCES),
    fault("pmdviz/metrics/divergences.py", "-float((p * log_q).sum()) * area", "-float(p @ log_q) * area", REPLAY),
    fault("pmdviz/metrics/divergences.py", '"tv": 0.5 * (', '"tv": (', DISTANCES),
    fault("pmdviz/metrics/divergences.py", "0.5 * (distance + outside)", "0.5 * distance", DISTANCES),
    fault(
        "pmdviz/metrics/divergences.py",
        "cross_entropy + negative_entropy",
        "cross_entropy - negative_entropy",
        DISTANCES,
    ),
    fault(
        "pmdviz/metrics/divergences.py",
        "(q * (np.log(q) - pic.log_p[counts]))",
        "(pic.p[counts] * (pic.log_p[counts] - np.log(q)))",
        DISTANCES,
    ),
    fault("pmdviz/metrics/divergences.py", "if faint.any():", "if False:", DISTANCES),
    fault(
        "pmdviz/metrics/divergences.py",
        "view_box if exact is None else _holding(view_box, exact)",
        "view_box",
        DISTANCES,
    ),
    fault(
        "pmdviz/metrics/divergences.py", "shown = density if resolved else", "shown = density if True else", DISTANCES
    ),
    fault(
        "pmdviz/metrics/divergences.py", "narrowest = min(narrowest, exact.narrowest(_extent(box)))", "pass", DISTANCES
    ),
    fault(
        "pmdviz/densities/grid.py",
        "narrowest * side >= CELLS_PER_SD",
        "narrowest * side >= CELLS_PER_SD / 4",
        DISTANCES,
    ),
    fault(
        "pmdviz/densities/grid.py",
        "(np.arange(self.side) + 0.5) / self.side",
        "np.arange(self.side) / self.side",
        DISTANCES,
    ),
    fault("pmdviz/metrics/perfect_draws.py", "/ np.sqrt(NUM_SETS)", "", FLOORS),
    fault("pmdviz/metrics/perfect_draws.py", "np.argmin(means)", "np.argmax(means)", FLOORS),
    fault("pmdviz/metrics/perfect_draws.py", "range(max(place - 1, 0), ", "range(place, ", FLOORS),
    fault(
        "pmdviz/metrics/divergences.py",
        "0.5 * (distance * pic.grid.cell_volume + max(",
        "0.5 * (distance * pic.grid.cell_volume - max(",
        DISTANCES,
    ),
    fault(
        "pmdviz/metrics/perfect_draws.py",
        "key = (target.key, num_particles, rule)",
        "key = (target.name, num_particles, rule)",
        FLOORS,
    ),
    fault("pmdviz/metrics/perfect_draws.py", "log_weights, factor * one)", "log_weights, one)", FLOORS),
    # Targets and their exact posteriors.
    fault("pmdviz/targets/base.py", "self.num_data / len(batch) * self.log_likelihood", "self.log_likelihood", TARGETS),
    fault("pmdviz/targets/base.py", "return -theta / self.prior_sd**2", "return -theta / self.prior_sd", TARGETS),
    fault(
        "pmdviz/targets/base.py", "-0.5 * ((theta / self.prior_sd) ** 2)", "-((theta / self.prior_sd) ** 2)", TARGETS
    ),
    fault(
        "pmdviz/targets/base.py", "np.log(self.prior_sd * np.sqrt(2 * np.pi))", "np.log(np.sqrt(2 * np.pi))", TARGETS
    ),
    fault("pmdviz/targets/base.py", "return self.prior_sd * rng", "return self.prior_sd**2 * rng", TARGETS),
    fault("pmdviz/targets/gaussian.py", "1 / o.prior_sd**2 + len(data)", "1 / o.prior_sd + len(data)", TARGETS),
    fault(
        "pmdviz/targets/gaussian.py",
        "variance * data.sum(axis=0) / o.sigma_x**2",
        "variance * data.sum(axis=0) / o.sigma_x",
        TARGETS,
    ),
    fault("pmdviz/targets/banana.py", "self.prior_sd = o.prior_sd", "self.prior_sd = 1.0", TARGETS),
    fault("pmdviz/targets/banana.py", "np.hypot(self.options.theta1, self.options.theta2)", "0", TARGETS),
    fault("pmdviz/targets/banana.py", "(-reach, reach)), NUM_CELLS)", "(-reach, reach)), 2000)", TARGETS),
    fault("pmdviz/targets/mixture.py", "rng.random(o.num_data) >= o.p", "rng.random(o.num_data) < o.p", TARGETS),
    fault(
        "pmdviz/targets/reference/exact.py",
        "rng.standard_normal((n, len(self.mean))) @ self._cholesky.T",
        "rng.standard_normal((n, len(self.mean)))",
        TARGETS,
    ),
    fault("pmdviz/targets/reference/exact.py", "+ np.log(np.diag(self._cholesky)).sum()", "", TARGETS),
    fault(
        "pmdviz/targets/reference/exact.py",
        "np.log(mass.sum() * np.prod(self._cells.width))",
        "np.log(mass.sum())",
        TARGETS,
    ),
    fault(
        "pmdviz/targets/reference/exact.py", "(rng.random((n, len(self.box))) - 0.5) * self._cells.width", "0", TARGETS
    ),
    fault(
        "pmdviz/targets/reference/cells.py",
        "reach = np.maximum(families, lowest) + spread",
        "reach = families",
        TARGETS,
    ),
    fault("pmdviz/targets/reference/cells.py", "NATS_KEPT = 50.0", "NATS_KEPT = 5.0", TARGETS),
    fault("pmdviz/targets/reference/cells.py", "MAX_SPLITS = 60", "MAX_SPLITS = 1", TARGETS),
    fault("pmdviz/targets/custom.py", "        self._check_additivity(theta, whole)", "        pass", CUSTOM),
    fault("pmdviz/targets/custom.py", "view.flags.writeable = False", "pass", CUSTOM),
    fault("pmdviz/targets/custom.py", "inside = values != -np.inf", "inside = values == values", CUSTOM),
    fault(
        "pmdviz/targets/custom.py",
        "isinstance(data, np.memmap) else np.array(data)",
        "isinstance(data, np.memmap) else np.asarray(data)",
        CUSTOM,
    ),
    fault("pmdviz/targets/custom.py", "if name in TARGETS:", "if False:", CUSTOM),
    # Batches, sessions, histories.
    fault("pmdviz/kernels/jit.py", "fastmath=FAST_FLAGS, forceinline=True", "fastmath=FAST_FLAGS", REPLAY),
    fault("pmdviz/engine/batches.py", "self._epoch_state, self._position)", "self._epoch_state, 0)", REPLAY),
    fault(
        "pmdviz/engine/batches.py",
        "self._rng.bit_generator.state, self._position = mark.rng_state, mark.position",
        "self._position = mark.position",
        REPLAY,
    ),
    fault("pmdviz/engine/batches.py", 'if batches == "replacement":', "if False:", KNOBS),
    fault(
        "pmdviz/engine/batches.py",
        "self._permutation[self._position : self._position + size]",
        "self._permutation[:size]",
        "tests/engine/test_batches.py",
    ),
    fault(
        "pmdviz/engine/session.py",
        "self.frame, self._rng.bit_generator.state = before, random",
        "self.frame = before",
        SESSIONS,
    ),
    fault(
        "pmdviz/engine/session.py",
        "            self._batches.restore(mark)\n            raise",
        "            raise",
        CUSTOM,
    ),
    fault("pmdviz/engine/session.py", "self.recipe, self.frame = before", "self.frame = before[1]", SESSIONS),
    fault(
        "pmdviz/kernels/pool.py",
        "watch.check(block[0] / num_rows)",
        "watch.check(block[1])",
        "tests/kernels/test_pool.py",
    ),
    fault(
        "pmdviz/engine/session.py",
        "self.frame.visited >= self.recipe.budget",
        "self.frame.visited > self.recipe.budget",
        SESSIONS,
    ),
    fault("pmdviz/engine/session.py", "or self.done or redrawn:", "or redrawn:", HISTORIES),
    fault("pmdviz/engine/session.py", "or self.done or redrawn:", "or self.done:", HISTORIES),
    fault("pmdviz/engine/session.py", "            self.history.cut(self.frame.iteration - 1)\n", "", SESSIONS),
    fault("pmdviz/engine/session.py", "        self.history.cut(self.frame.iteration)\n", "", SESSIONS),
    fault(
        "pmdviz/engine/recipe/recipe.py",
        "earlier = self.changes[: bisect_left(self.changes, iteration, key=_iteration)]",
        "earlier = self.changes",
        SESSIONS,
    ),
    fault("pmdviz/engine/checkpoints.py", "if k % 2 and at != last", "if not k % 2 and at != last", HISTORIES),
    fault(
        "pmdviz/engine/session.py",
        "counts = info.visited,",
        "counts = self.recipe.knobs['batch_size'],",
        POLICIES,
    ),
    fault("pmdviz/engine/session.py", "np.random.SeedSequence(recipe.seed)", "np.random.SeedSequence(0)", REPLAY),
    fault("pmdviz/engine/history.py", "return iteration in EARLY or", "return", HISTORIES),
    fault(
        "pmdviz/engine/history.py",
        "self._rows = [*filter(self._stays, self._rows[:-1]), row]",
        "self._rows = self._rows[::2]",
        HISTORIES,
    ),
    fault("pmdviz/engine/frame.py", 'kept = () if redraw else ("densities"', 'kept = ("densities"', SESSIONS),
    # Knobs, recipes, the command line.
    fault("pmdviz/knobs.py", "self.inclusive[0] and value == low", "value == low", KNOBS),
    fault(
        "pmdviz/knobs.py", "value is not None and value.is_integer() else None", "value is not None else None", KNOBS
    ),
    fault(
        "pmdviz/knobs.py",
        "isinstance(raw, str) and re.fullmatch(THOUSANDS, raw.strip())",
        "isinstance(raw, str)",
        KNOBS,
    ),
    fault("pmdviz/knobs.py", "full[name] = spec.default_given(full)", "pass", KNOBS),
    fault("pmdviz/engine/recipe/parts.py", "    differ |= {", "    _ = {", RECIPES, REPLAY),
    fault("pmdviz/engine/recipe/recipe.py", "[: bisect_right(", "[: bisect_left(", RECIPES),
    fault("pmdviz/engine/recipe/recipe.py", '"made_with": None}', '"seed": None}', RECIPES),
    fault("pmdviz/engine/recipe/parts.py", " or not 1 <= given <= version:", ":", RECIPES),
    fault("pmdviz/api.py", "return [*knobs, *(", "return [] and [*knobs, *(", "tests/test_api.py"),
    fault(
        "pmdviz/cli/main.py",
        "        return 2\n    except TargetError",
        "        return 1\n    except TargetError",
        CLI,
    ),
    fault(
        "pmdviz/files.py",
        "return None if isinstance(value, float) and not math.isfinite(value) else value",
        "return value",
        CLI,
    ),
]
