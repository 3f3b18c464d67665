"""Planted faults in what comes from outside: where files go, what is refused before it passes for something else."""

WRITING, TABLE = "tests/test_files.py", "tests/experiments/sweep/test_table.py"
RECIPES, CLI, CUSTOM = "tests/engine/test_recipe.py", "tests/cli/test_cli.py", "tests/targets/test_custom.py"


def fault(file: str, find: str, replace: str, *tests: str) -> dict:
    """An entry of MUTANTS; `file` is within the package."""
    return {"file": f"pmdviz/{file}", "find": find, "replace": replace, "tests": list(tests)}


MUTANTS = [
    fault("files.py", "if os.path.islink(path) else path", "if False else path", WRITING),
    fault("files.py", "        if _is_stream(path):\n            return path\n", "", WRITING),
    fault("files.py", "_into_stream(path) if _is_stream(path) else", "", WRITING),
    fault("experiments/sweep/table.py", "if None in row:", "if False:", TABLE),
    fault("experiments/sweep/table.py", "columns.count(name) > 1", "False", TABLE),
    fault("engine/recipe/parts.py", "        if key in found:", "        if False:", RECIPES),
    fault("cli/recipe.py", "        if name in found:", "        if False:", CLI),
    fault("targets/custom.py", "(Exception, SystemExit)", "Exception", CUSTOM),
    fault("targets/custom.py", "None if np.iscomplexobj(values) else ", "", CUSTOM),
]
