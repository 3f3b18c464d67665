"""Planted faults in what is drawn and in the live lab: pictures, words, loop, limits, what a stranger may send."""

COLUMNS, PACKING = "tests/scenes/test_columns.py", "tests/scenes/test_packing.py"
STAGE, TRACES, WORDS = "tests/views/test_stage.py", "tests/views/test_traces.py", "tests/scenes/test_words.py"
LIVE, RUNNER, KNOBS = "tests/lab/test_live.py", "tests/lab/test_runner.py", "tests/lab/test_knobs.py"
PAGE_TRACE, RACE_RUNNER = "tests/lab/test_page_trace.py", "tests/lab/test_race_runner.py"
LIMITS, POOL = "tests/lab/test_limits.py", "tests/lab/test_pool.py"
REFUSALS, FUZZ, LOCKED = "tests/serve/test_guards.py", "tests/test_fuzz.py", "tests/lab/test_locked.py"


def fault(file: str, find: str, replace: str, *tests: str) -> dict:
    """An entry of MUTANTS; `file` is within the package."""
    return {"file": f"pmdviz/{file}", "find": find, "replace": replace, "tests": list(tests)}


MUTANTS = [
    # Pictures.
    fault("scenes/contours.py", "flat.max() * 1e-6])[::-1]", "flat.max() * 1e-6])", COLUMNS),
    fault("scenes/contours.py", "np.asarray(masses) * inside[-1]", "np.asarray(masses)", COLUMNS),
    fault("scenes/contours.py", "parts += [points, gap]", "parts += [points]", COLUMNS),
    fault("scenes/columns.py", "return np.sqrt(weights * share)", "return (weights * share)", COLUMNS),
    fault("scenes/columns.py", "INK * num_particles / max(len(weights), 1)", "INK * num_particles", COLUMNS),
    fault("scenes/columns.py", "weights * m > STANDS_OUT", "weights * m >= 1.0 - 1e-9", COLUMNS),
    fault("scenes/columns.py", "missing = missing[_evenly(len(missing))]", "pass", COLUMNS),
    fault("scenes/columns.py", "np.argsort(-weights[missing]", "np.argsort(weights[missing]", COLUMNS),
    fault(
        "scenes/columns.py",
        "weight * (share if step else 1 - share)",
        "weight * (1 - share if step else share)",
        COLUMNS,
    ),
    fault("scenes/columns.py", "return (-top * (0.02", "return (top * (0.02", COLUMNS),
    fault("scenes/columns.py", "kept is None or kept[0] is not key", "True", COLUMNS),
    fault("scenes/packing.py", "end += len(column)", "end += len(column) - 1", PACKING),
    fault("scenes/packing.py", "if id(column) not in at:", "if True:", PACKING),
    fault("views/stage.py", "if self._shown.get(name) is not data:", "if True:", STAGE),
    fault("views/stage.py", "renderer.visible = name in names", "renderer.visible = name not in names", STAGE),
    fault("scenes/trace_columns.py", "np.array([0, length - 1])", "np.array([0, length - 2])", TRACES),
    fault("scenes/trace_columns.py", "(np.inf, np.minimum)", "(-np.inf, np.maximum)", TRACES),
    fault("lab/loop/runner.py", "self.trace.put(frame, session.recipe)", "pass", PAGE_TRACE),
    fault("lab/loop/page_trace.py", "self._cut(frame.iteration)", "pass", PAGE_TRACE),
    fault("lab/loop/page_trace.py", "        self._follow(recipe)\n", "", PAGE_TRACE),
    fault(
        "lab/loop/race_runner.py", "column[k] for k in rows", "column[k] for k in rows if k != rows[-1]", RACE_RUNNER
    ),
    fault("lab/loop/race_runner.py", "max(1, min(racing))", "max(racing)", RACE_RUNNER),
    fault(
        "scenes/race_columns.py",
        "for metric in METRICS], MAX_POINTS",
        "for metric in CLOCKS], MAX_POINTS",
        RACE_RUNNER,
    ),
    fault(
        "scenes/trace_columns.py",
        "return np.clip(values, low, high)",
        "return np.nan_to_num(np.clip(values, low, high))",
        TRACES,
    ),
    fault("scenes/trace_columns.py", "flat = flat[flat > 1e-6]", "flat = flat[flat > -1]", TRACES),
    fault("scenes/trace_columns.py", "return float(budget) * 1.02", "return float(last) * 1.02", TRACES),
    fault("scenes/trace_columns.py", '"forward KL", "kl_reverse"', '"reverse KL", "kl_reverse"', TRACES),
    fault("scenes/words.py", "places = digits - 1 - math.floor", "places = digits - math.floor", WORDS),
    # The loop.
    fault("lab/loop/live.py", "self._under_way() >= IN_FLIGHT", "self._under_way() >= IN_FLIGHT + 1", LIVE),
    fault("lab/loop/live.py", "self.ack.drawn if self.ack.drawn <= self._sent else 0", "self.ack.drawn", LIVE),
    fault("lab/loop/live.py", "not (self._away or self.ack.hidden)", "not self._away", LIVE),
    fault("lab/loop/live.py", "self._away = vain >= AWAY_AFTER", "self._away = False", LIVE),
    fault("lab/loop/live.py", "if len(self._jobs) < MAX_JOBS:", "if True:", LIVE),
    fault("lab/loop/live.py", "values = {**self._jobs.pop().values, **values}", "pass", LIVE),
    fault("lab/loop/live.py", "if result.done and self.playing:", "if False:", LIVE),
    fault(
        "lab/loop/live.py",
        "            self.playing = False\n            await locked(self.screen.failed",
        "            await locked(self.screen.failed",
        LIVE,
    ),
    fault("lab/loop/runner.py", "if not self.wanted.is_set() or", "if", RUNNER),
    fault("lab/loop/runner.py", "if type(now) is kind else", "if kind else", RUNNER),
    fault(
        "lab/loop/runner.py",
        "self.session.seek(max(self.session.frame.iteration - 1, 0))",
        "self.session.seek(0)",
        RUNNER,
    ),
    fault(
        "lab/controls/knobs.py", 'self.message, self.value = "", as_text(value)', "self.value = as_text(value)", KNOBS
    ),
    fault("lab/loop/live.py", "and (watch.seconds > BUSY_S / 2 or waited >= TURN_S)", "", LIVE),
    fault("lab/loop/locked.py", "not is_connected(doc)", "False", LOCKED),
    # Lanes and limits.
    fault("lab/loop/pool.py", "return _quick if seconds <= QUICK_S else _patient", "return _quick", POOL),
    fault("lab/loop/pool.py", "set_priority(priority() + self._niceness)", "pass", POOL),
    fault("lab/loop/pool.py", "helped_when(lambda: _quick.quiet)", "pass", POOL),
    fault("lab/loop/pool.py", "self._used = time.monotonic()", "pass", POOL),
    fault("kernels/pool.py", "_pool(num_threads() - 1, priority())", "_pool(num_threads() - 1, 0)", POOL),
    fault("lab/loop/limits.py", "if most is not None and m > most:", "if most is not None and m > 2 * most:", LIMITS),
    fault("lab/loop/limits.py", "seconds > allowed_ms / 1000:", "seconds > allowed_ms:", LIMITS),
    fault("lab/loop/limits.py", "(budget is None or budget > most)", "budget is not None and budget > most", LIMITS),
    fault("lab/loop/limits.py", "if most is None or 0 < number <= most", "if most is None or number <= most", LIMITS),
    fault("densities/grid.py", "if side <= most) or all_sides[:1]", "if side >= most) or all_sides[:1]", LIMITS),
    fault("serve/guards.py", "error is not None and not _through_ours(error)", "error is not None", REFUSALS),
    fault("serve/guards.py", 'query.replace("?", "%3F")', "query", REFUSALS),
    fault(
        "engine/recipe/parts.py",
        "except (ValueError, TypeError, RecursionError) as error:",
        "except ValueError as error:",
        "tests/engine/test_recipe.py",
    ),
]
