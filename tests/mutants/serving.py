"""Planted faults in how a server is started and limited, and in what the longest step is taken to cost."""

from tests.mutants.views import fault

SERVING, PROCESSES, SERVE_LIMITS = "tests/test_serving.py", "tests/test_processes.py", "tests/test_serve_limits.py"
FORECAST = "tests/lab/test_forecast.py"

MUTANTS = [
    fault("spare.py", "await _make_room(self.application_context)", "pass", SERVING),
    fault("serving.py", '1 <= int(found["port"] or 80) <= 65535', '0 <= int(found["port"] or 80) <= 65535', SERVING),
    fault("serving.py", "except (OSError, TypeError, UnicodeError) as error:", "except OSError as error:", SERVING),
    fault("processes.py", "early[port] = early[port] + 1 if", "early[port] = early[port] if", PROCESSES),
    fault("processes.py", "< EARLY_S else 0", "< EARLY_S else early[port]", PROCESSES),
    fault("serve_limits.py", "not bound.least <= number <= MOST", "not 1 <= number <= MOST", SERVE_LIMITS),
    fault("serve_limits.py", "    check_limits()\n\n\ndef _parsed", "\n\ndef _parsed", SERVE_LIMITS),
    fault("serving.py", "if not webbrowser.open(url):", "if webbrowser.open(url):", SERVING),
    fault("serving.py", "            said = now\n", "", SERVING),
    # What a step costs.
    fault(
        "methods/pmd/knobs.py",
        "return Work(kernels=m**2, likelihoods=m *",
        "return Work(kernels=m, likelihoods=m *",
        FORECAST,
    ),
    fault("methods/leapfrog.py", "gradients=self.longest * num_data)", "gradients=num_data)", FORECAST),
    fault("methods/svi.py", "gradients=2 * self.num_pairs *", "gradients=2 *", FORECAST),
    fault("lab/forecast.py", "if name and least[name] < seconds / 2:", "if name:", FORECAST),
]
