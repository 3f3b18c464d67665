"""Planted faults in sweeps, theory and benches: identity, table, dying workers, slopes, bounds, the claims."""

PLAN, TABLE, CREW = (
    "pmdviz/experiments/sweep/plan.py",
    "pmdviz/experiments/sweep/table.py",
    "pmdviz/experiments/sweep/workers.py",
)
WORK, FITS, MEASURES = (
    "pmdviz/experiments/sweep/job.py",
    "pmdviz/experiments/sweep/fits.py",
    "pmdviz/experiments/sweep/measures.py",
)
FORMULAS, RECURRENCE, COSTS = (f"pmdviz/experiments/theory/{name}.py" for name in ("formulas", "recurrence", "costs"))
VERDICTS, COLUMNS = "benchmarks/helpers/claims_verdicts.py", "pmdviz/scenes/theory_columns.py"
DIMENSION, VECTORS = "benchmarks/dimension.py", "benchmarks/vectors.py"


def fault(file: str, find: str, replace: str, *tests: str) -> dict:
    """An entry of MUTANTS."""
    return {"file": file, "find": find, "replace": replace, "tests": [f"tests/{test}" for test in tests]}


MUTANTS = [
    fault(PLAN, '"seed": None, "made_with": None}', '"seed": None}', "experiments/sweep/test_plan.py"),
    fault(
        PLAN,
        "**recipe.target_options, **options}} if options",
        "**recipe.target_options}} if options",
        "experiments/sweep/test_plan.py",
    ),
    fault(TABLE, "self.rows.append(row)", "self.rows = [row]", "experiments/sweep/test_table.py"),
    fault(TABLE, "fcntl.LOCK_EX | fcntl.LOCK_NB", "fcntl.LOCK_SH | fcntl.LOCK_NB", "experiments/sweep/test_table.py"),
    fault(CREW, "sorted(started & set(left))", "sorted(set())", "experiments/sweep/test_sweep.py"),
    fault(CREW, "started.add(number)", "started.add(0)", "experiments/sweep/test_sweep.py"),
    fault(WORK, "if job.identity not in found]", "]", "experiments/sweep/test_sweep.py"),
    fault(FITS, "(n - 2)", "(n - 1)", "experiments/sweep/test_fits.py"),
    fault(
        FITS,
        "(centred * log_y).sum() / spread",
        "(centred * log_y).sum() / spread / 2",
        "experiments/sweep/test_fits.py",
    ),
    fault(MEASURES, "u - 0.5, 0.0", "u - 0.4, 0.0", "experiments/sweep/test_measures.py"),
    fault(
        MEASURES,
        "[p.sum(axis=0), p.sum(axis=1)]",
        "[p.sum(axis=1), p.sum(axis=0)]",
        "experiments/sweep/test_measures.py",
    ),
    fault(
        FORMULAS,
        "0.5 * gamma**2 * gradient_bound**2",
        "gamma**2 * gradient_bound**2",
        "experiments/theory/test_formulas.py",
    ),
    fault(
        FORMULAS,
        "-smoothness / (dim + 2 * smoothness)",
        "-smoothness / (dim + smoothness)",
        "experiments/theory/test_formulas.py",
    ),
    fault(FORMULAS, "/ len(m) ** 2 + c2", "/ len(m) + c2", "experiments/theory/test_formulas.py"),
    fault(
        RECURRENCE,
        "g = before - self.log_prior - scaled",
        "g = before - scaled",
        "experiments/theory/test_recurrence.py",
    ),
    fault(
        RECURRENCE,
        "(np.exp(after) * (after - exact))",
        "(np.exp(after) * (exact - after))",
        "experiments/theory/test_recurrence.py",
    ),
    fault(COSTS, "cost.num_data == DATA[0]]", "cost.num_data != DATA[0]]", "experiments/theory/test_costs.py"),
    fault(VERDICTS, "> ERRORS * difference[1] and", "> 0 and", "benchmarks/test_claims.py"),
    fault(VERDICTS, ">= NEARLY_ALL and", ">= 2.0 and", "benchmarks/test_claims.py"),
    fault(
        DIMENSION, "f in (np.median, np.min, np.max)", "f in (np.mean, np.min, np.max)", "benchmarks/test_dimension.py"
    ),
    fault(DIMENSION, "+ shift @ np.linalg.solve(covariance, shift) - d", "- d", "benchmarks/test_dimension.py"),
    fault(DIMENSION, 'sum(bool(one["caveat"])', "sum(True", "benchmarks/test_dimension.py"),
    fault(VECTORS, "(*plain, *wide)}) == 1", "(*plain, *wide)}) >= 1", "benchmarks/test_vectors.py"),
    fault(VERDICTS, "if paper == 1:", "if paper >= 0.9:", "benchmarks/test_claims.py"),
    fault(VERDICTS, "values.reshape(len(values), -1).mean(axis=1)", "values.ravel()", "benchmarks/test_claims.py"),
    fault(COLUMNS, "(right / left) ** slope", "(left / right) ** slope", "views/test_theory.py"),
]
