"""Planted faults in the chains: their steps, what of them is judged, and the targets' conditionals."""

CHAINS, JUDGED = "pmdviz/methods/chains.py", "tests/methods/test_chains.py"
SGLD, LANGEVIN = "pmdviz/methods/sgld.py", "tests/methods/test_sgld.py"
GIBBS, SWEEPS = "pmdviz/methods/gibbs.py", "tests/methods/test_gibbs.py"
LEAPFROG, HMC, TRAJECTORIES = "pmdviz/methods/leapfrog.py", "pmdviz/methods/hmc.py", "tests/methods/test_hmc.py"
MALA, PROPOSALS = "pmdviz/methods/mala.py", "tests/methods/test_mala.py"
CONTRACT = "tests/methods/test_contract.py::test_init_and_step_keep_the_contract"


def fault(file: str, find: str, replace: str, *tests: str) -> dict:
    """An entry of MUTANTS."""
    return {"file": file, "find": find, "replace": replace, "tests": list(tests)}


MUTANTS = [
    # What of a chain is kept and judged.
    fault(CHAINS, "draws[knobs.burn_in + 1 ::", "draws[knobs.burn_in ::", JUDGED),
    fault(CHAINS, "kept if len(kept) else draws", "kept if len(kept) else draws[1:]", JUDGED),
    fault(CHAINS, "if len(newer) == BLOCK:", "if len(newer) > BLOCK:", JUDGED),
    fault(CHAINS, "newer[:0].copy()", "newer[1:].copy()", JUDGED),
    fault(CHAINS, "KDE_SHARE = 0.1", "KDE_SHARE = 0.05", JUDGED),
    fault(CHAINS, "centred, centred) / (n - 1)", "centred, centred) / n", JUDGED),
    fault(CHAINS, "if num_distinct(draws) < d + 2:", "if n < d + 2:", JUDGED),
    fault(CHAINS, "np.zeros(1), np.diag(scale))", "np.zeros(1), np.diag(scale**2))", JUDGED),
    fault(CHAINS, "state.iteration <= knobs.burn_in", "state.iteration < knobs.burn_in", JUDGED),
    fault("pmdviz/frame.py", "_read_only(self._usual.particles)", "_read_only(self.density.particles)", JUDGED),
    # SGLD.
    fault(SGLD, "theta + 0.5 * step_size * gradient", "theta + step_size * gradient", LANGEVIN),
    fault(SGLD, "noise = np.sqrt(step_size)", "noise = np.sqrt(2 * step_size)", LANGEVIN),
    fault(SGLD, "langevin_step(state.iteration + 1, knobs)", "langevin_step(state.iteration, knobs)", LANGEVIN),
    fault(SGLD, "** -knobs.g", "** knobs.g", LANGEVIN),
    fault("pmdviz/targets/base.py", "self.num_data / len(batch) * likelihood", "likelihood", LANGEVIN),
    fault(SGLD, "gradient_evaluations=len(batch)", "gradient_evaluations=1", CONTRACT),
    # Gibbs.
    fault(GIBBS, "visited=len(batch)", "visited=1", CONTRACT),
    fault(GIBBS, 'return "" if target.has_conditionals else', 'return "" if True else', SWEEPS),
    fault("pmdviz/targets/gaussian.py", "mean + np.sqrt(variance) * rng", "mean + variance * rng", SWEEPS),
    fault(
        "pmdviz/targets/gaussian.py",
        "self._posterior(data)\n        return mean +",
        "self._posterior(self.data)\n        return mean +",
        SWEEPS,
    ),
    fault(
        "pmdviz/targets/mixture.py", "self.options.p, self.prior_sd, uniforms", "0.5, self.prior_sd, uniforms", SWEEPS
    ),
    # The leapfrog, HMC and MALA.
    fault(LEAPFROG, "+ 0.5 * float((momentum**2).sum()", "+ float((momentum**2).sum()", TRAJECTORIES),
    fault(LEAPFROG, "np.exp(min(0.0, gained))", "1.0", TRAJECTORIES),
    fault(
        LEAPFROG, "theta = theta + time_step * unit * momentum", "theta = theta + time_step * momentum", TRAJECTORIES
    ),
    fault(LEAPFROG, "accepted = bool(uniform < chance)", "accepted = bool(uniform > chance)", PROPOSALS),
    fault(LEAPFROG, "end.theta if accepted else position(state)", "end.theta", PROPOSALS),
    fault(LEAPFROG, "log_joint=log_joint, gradient=gradient, accepted", "log_joint=log_joint, accepted", PROPOSALS),
    fault(LEAPFROG, "self.wanted_acceptance - chance", "chance - self.wanted_acceptance", TRAJECTORIES),
    fault(LEAPFROG, "np.sqrt(t) / GAMMA * shortfall", "t / GAMMA * shortfall", TRAJECTORIES),
    fault(LEAPFROG, "else tuning.averaged", "else tuning.log_step", TRAJECTORIES),
    fault(LEAPFROG, "return -np.inf, 0\n", "pass\n", TRAJECTORIES),
    fault(LEAPFROG, "return Proposal(theta, momentum, gradient, k, True)", "pass", TRAJECTORIES),
    fault(LEAPFROG, "visited=(values + gradients) * len(batch)", "visited=gradients * len(batch)", CONTRACT),
    fault(HMC, "rng.integers(1, knobs.leapfrog_steps + 1)", "rng.integers(1, knobs.leapfrog_steps + 2)", TRAJECTORIES),
    fault(HMC, "rng.integers(1, knobs.leapfrog_steps + 1)", "knobs.leapfrog_steps", TRAJECTORIES),
    fault(MALA, "return 1\n", "return 2\n", PROPOSALS),
    fault(MALA, "wanted_acceptance = 0.574", "wanted_acceptance = 0.25", TRAJECTORIES),
]
