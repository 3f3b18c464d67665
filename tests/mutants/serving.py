"""Planted faults in how a server is started and limited, and in what the longest step is taken to cost."""

from tests.mutants.views import fault

SERVING, PROCESSES, SERVE_LIMITS = "tests/serve/test_server.py", "tests/serve/test_processes.py", "tests/test_limits.py"
FORECAST = "tests/lab/test_forecast.py"
DOORS, MANY, MESSAGES = "tests/serve/test_doors.py", "tests/serve/test_many.py", "tests/serve/test_messages.py"
HISTORY, ACTS = "tests/engine/test_history.py", "tests/lab/test_acts.py"

MUTANTS = [
    fault("serve/prebuilt.py", "await _make_room(self.application_context)", "pass", SERVING),
    fault(
        "serve/server.py", '1 <= int(found["port"] or 80) <= 65535', '0 <= int(found["port"] or 80) <= 65535', SERVING
    ),
    fault(
        "serve/server.py", "except (OSError, TypeError, UnicodeError) as error:", "except OSError as error:", SERVING
    ),
    fault("serve/processes.py", "early[port] = early[port] + 1 if", "early[port] = early[port] if", PROCESSES),
    fault("serve/processes.py", "< EARLY_S else 0", "< EARLY_S else early[port]", PROCESSES),
    fault("limits.py", "not bound.least <= number <= MOST", "not 1 <= number <= MOST", SERVE_LIMITS),
    fault("limits.py", "    check_limits()\n\n\ndef _parsed", "\n\ndef _parsed", SERVE_LIMITS),
    # What a stranger may do.
    fault("serve/handlers.py", "not in FAMILY or module not in sys.modules", "not in FAMILY", DOORS),
    fault("serve/handlers.py", "in CHOOSES) or ", "in CHOOSES[1:]) or ", DOORS),
    fault("serve/handlers.py", 'return "the token is not of this server"', "pass", DOORS),
    fault("serve/handlers.py", 'if "Origin" not in self.request.headers:', "if False:", DOORS),
    fault("serve/headers.py", "if not embedded:", "if True:", DOORS),
    fault("lab/loop/live.py", "return self._sent - (", "return self.ack.sent - (", DOORS),
    fault("serve/connections.py", '"max_body_size": MAX_BODY,', "", DOORS),
    fault("serve/connections.py", "if error.errno not in SPENT:", "if True:", MANY),
    fault("serve/processes.py", "os.kill(os.getpid(), signal.SIGTERM)", "return", MANY),
    fault("serve/processes.py", "status == UNUSABLE and not worker.listened", "status == UNUSABLE", PROCESSES),
    fault("serve/processes.py", 'sys.executable, "-P", "-m"', 'sys.executable, "-s", "-m"', PROCESSES),
    fault("serve/browser_messages.py", "and not kind_of(part.get", "and kind_of(part.get", MESSAGES),
    fault("serve/browser_messages.py", "if size > SMALL and", "if size > 100 * SMALL and", MESSAGES),
    fault("serve/browser_messages.py", "and waits >= self._waited", "", MESSAGES),
    fault("engine/checkpoints.py", "while self.num_bytes > memory_cap and", "while False and", HISTORY),
    fault("lab/controls/commands.py", "runner.session.shrink(KEPT_BYTES)", "pass", ACTS),
    fault("serve/server.py", "if not webbrowser.open(url):", "if webbrowser.open(url):", SERVING),
    fault("serve/server.py", "            said = now\n", "", SERVING),
    # What a step costs.
    fault(
        "methods/pmd/knobs.py",
        "return Work(kernels=m**2, likelihoods=m *",
        "return Work(kernels=m, likelihoods=m *",
        FORECAST,
    ),
    fault("methods/mcmc/leapfrog.py", "gradients=self.longest * num_data)", "gradients=num_data)", FORECAST),
    fault("methods/vi/gaussian.py", "gradients=2 * self.num_pairs *", "gradients=2 *", FORECAST),
    fault("lab/loop/forecast.py", "if name and least[name] < seconds / 2:", "if name:", FORECAST),
]
