"""Planted faults in what the course stands on: the h^2 term that notebook 03 measures, questions, the copied files."""

NOTEBOOK = "tests/notebooks/test_course.py::test_a_notebook_runs_from_top_to_bottom"
BANDWIDTH = f"{NOTEBOOK}[03-bandwidth-against-step-size]"
QUESTIONS, COPIES = "tests/lessons/test_questions.py", "tests/cli/test_notebooks.py"

MUTANTS = [
    {  # new particles without the kernel's noise
        "file": "pmdviz/densities/density.py",
        "find": 'return self.particles[parents] + np.einsum("ij,kj->ik", noise, self.cholesky)',
        "replace": "return self.particles[parents]",
        "tests": BANDWIDTH,
    },
    {  # the variance of q without the kernel's
        "file": "pmdviz/densities/density.py",
        "find": "(centred * self.weights[:, None]).T @ centred + self.cholesky @ self.cholesky.T",
        "replace": "(centred * self.weights[:, None]).T @ centred",
        "tests": BANDWIDTH,
    },
    {
        "file": "pmdviz/lessons/questions.py",
        "find": "if not self.stored:",
        "replace": "if False:",
        "tests": QUESTIONS,
    },
    {
        "file": "pmdviz/lessons/questions.py",
        "find": "if self._open:",
        "replace": "if False:",
        "tests": QUESTIONS,
    },
    {
        "file": "pmdviz/cli/notebooks.py",
        "find": "if there and not options.force:",
        "replace": "if False:",
        "tests": COPIES,
    },
    {
        "file": "pmdviz/cli/notebooks.py",
        "find": "if not options.folder:",
        "replace": "if False:",
        "tests": COPIES,
    },
]
