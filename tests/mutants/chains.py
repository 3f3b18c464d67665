"""Planted faults in the chains: their steps, what of them is judged, and the targets' conditionals."""

CHAINS, JUDGED = "pmdviz/methods/mcmc/chain.py", "tests/methods/test_chains.py"
SGLD, LANGEVIN = "pmdviz/methods/mcmc/sgld.py", "tests/methods/test_sgld.py"
GIBBS, SWEEPS = "pmdviz/methods/mcmc/gibbs.py", "tests/methods/test_gibbs.py"
LEAPFROG, HMC, TRAJECTORIES = (
    "pmdviz/methods/mcmc/leapfrog.py",
    "pmdviz/methods/mcmc/hmc.py",
    "tests/methods/test_hmc.py",
)
PATHS = "pmdviz/methods/mcmc/trajectory.py"
MALA, PROPOSALS = "pmdviz/methods/mcmc/mala.py", "tests/methods/test_mala.py"
COMPILED, KERNELS = "pmdviz/kernels/chains.py", "tests/kernels/test_chains.py"
SESSION, LEAPS = "pmdviz/engine/session.py", "tests/methods/test_leaps.py"
CONTRACT = "tests/methods/test_contract.py::test_init_and_step_keep_the_contract"


def fault(file: str, find: str, replace: str, *tests: str) -> dict:
    """An entry of MUTANTS."""
    return {"file": file, "find": find, "replace": replace, "tests": list(tests)}


MUTANTS = [
    # What of a chain is kept and judged.
    fault(CHAINS, "draws[knobs.burn_in + 1 ::", "draws[knobs.burn_in ::", JUDGED),
    fault(CHAINS, "kept if len(kept) else draws", "kept if len(kept) else draws[1:]", JUDGED),
    fault(CHAINS, "len(newer) // BLOCK * BLOCK", "(len(newer) - 1) // BLOCK * BLOCK", JUDGED),
    fault(CHAINS, "newer[full:].copy()", "newer[:0].copy()", JUDGED),
    fault(CHAINS, "iteration=state.iteration + len(thetas)", "iteration=state.iteration + 1", JUDGED),
    fault(CHAINS, "KDE_SHARE = 0.1", "KDE_SHARE = 0.05", JUDGED),
    fault(CHAINS, "centred, centred) / (n - 1)", "centred, centred) / n", JUDGED),
    fault(CHAINS, "if num_distinct(draws) < d + 2:", "if n < d + 2:", JUDGED),
    fault(CHAINS, "np.zeros(1), np.diag(scale))", "np.zeros(1), np.diag(scale**2))", JUDGED),
    fault(CHAINS, "state.iteration <= knobs.burn_in", "state.iteration < knobs.burn_in", JUDGED),
    fault(
        "pmdviz/engine/frame.py",
        "_read_only(self._primary_density.particles)",
        "_read_only(self.density.particles)",
        JUDGED,
    ),
    # SGLD.
    fault(SGLD, "position(state) + 0.5 * step_size * gradient", "position(state) + step_size * gradient", LEAPS),
    fault(SGLD, "0.5 * step_size * gradient + np.sqrt(step_size) * noise", "0.5 * step_size * gradient + noise", LEAPS),
    fault(
        SGLD,
        "noise = langevin_step(state.iteration + 1, knobs)",
        "noise = langevin_step(state.iteration, knobs)",
        LANGEVIN,
    ),
    fault(SGLD, "** -knobs.g", "** knobs.g", LANGEVIN),
    fault("pmdviz/targets/base.py", "self.num_data / len(batch) * likelihood", "likelihood", LANGEVIN),
    fault(SGLD, "gradient_evaluations=batch", "gradient_evaluations=1", CONTRACT),
    fault(SGLD, "schedule = state.iteration + 1", "schedule = state.iteration", LANGEVIN),
    fault(SGLD, "made, made * size, 0, made * size", "made, made, 0, made * size", LEAPS),
    fault(SGLD, "rng.standard_normal((made, target.dim))", "rng.standard_normal((count, target.dim))", LEAPS),
    fault(SGLD, "min(-(-rows // size), LEAP_ROWS", "min(1 + rows // size, LEAP_ROWS", LEAPS),
    fault(SGLD, "noise[made - 1])", "noise[0])", LEAPS),
    # Sessions that take many steps at once.
    fault(SESSION, "self._batches.draw(block.steps * size, kind)", "pass", LEAPS),
    fault(SESSION, "return due if turned is None else min(due, turned)", "return due", LEAPS),
    fault(SESSION, "visited=before.visited + block.visited", "visited=before.visited + block.info.visited", LEAPS),
    fault("pmdviz/engine/history.py", "(iteration // every + 1) * every", "(iteration // every + 2) * every", LEAPS),
    # Compiled steps.
    fault(COMPILED, "a * (b + (first + t)) ** -g", "a * (b + first) ** -g", KERNELS),
    fault(COMPILED, "theta = draws[t]\n", "pass\n", KERNELS),
    fault(COMPILED, "            return t\n        theta", "            pass\n        theta", KERNELS),
    fault(COMPILED, "theta[k] += time_step * unit[k] * momentum[k]", "theta[k] += time_step * momentum[k]", KERNELS),
    fault(COMPILED, "energy -= 0.5 * momentum[k] ** 2", "energy -= momentum[k] ** 2", KERNELS),
    fault(COMPILED, "uniforms[t] < chances[t]", "uniforms[t] > chances[t]", KERNELS),
    fault(COMPILED, "value[0] = found", "value[0] += 0.0", KERNELS),
    fault(COMPILED, "theta[k], gradient[k] = end[k], slope[k]", "theta[k] = end[k]", KERNELS),
    fault(COMPILED, "if asked >= most:", "if asked > most:", KERNELS),
    fault(COMPILED, "0.5 * erfc(-normals", "0.5 * erfc(normals", KERNELS),
    fault("pmdviz/kernels/mixture.py", "model.num_data / x.size * out[k]", "out[k]", KERNELS),
    fault("pmdviz/kernels/mixture.py", "model.num_data / x.size * sums", "sums", KERNELS),
    fault("pmdviz/kernels/banana.py", "pull * 2.0 * model.bend * theta[1]", "pull * model.bend * theta[1]", KERNELS),
    fault("pmdviz/kernels/bimodal.py", "scatter_about(x, theta[0] * theta[0])", "scatter_about(x, theta[0])", KERNELS),
    fault("pmdviz/kernels/gaussian.py", "residual - model.prior_precision * theta[k]", "residual", KERNELS),
    fault("pmdviz/kernels/models.py", "- precision * total)", "- total)", KERNELS),
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
    fault(PATHS, "+ 0.5 * float((momentum**2).sum()", "+ float((momentum**2).sum()", TRAJECTORIES),
    fault(PATHS, "np.exp(min(0.0, gained))", "1.0", TRAJECTORIES),
    fault(PATHS, "theta = theta + time_step * unit * momentum", "theta = theta + time_step * momentum", TRAJECTORIES),
    fault(PATHS, "accepted = bool(uniform < chance)", "accepted = bool(uniform > chance)", LEAPS),
    fault(PATHS, "log_joint_at(target, end.theta, data)", "log_joint_at(target, theta, data)", LEAPS),
    fault(LEAPFROG, "log_joint=found.log_joint, gradient=gradient,", "log_joint=found.log_joint,", PROPOSALS),
    fault(LEAPFROG, "self.wanted_acceptance - float(", "-self.wanted_acceptance + float(", TRAJECTORIES),
    fault(LEAPFROG, "np.sqrt(t) / GAMMA * shortfall", "t / GAMMA * shortfall", TRAJECTORIES),
    fault(LEAPFROG, "else tuning.averaged", "else tuning.log_step", TRAJECTORIES),
    fault(PATHS, "return -np.inf, 0\n", "pass\n", TRAJECTORIES),
    fault(PATHS, "return Proposal(theta, momentum, gradient, k, True)", "pass", TRAJECTORIES),
    fault(LEAPFROG, "visited=int(values[-1] + gradients[-1])", "visited=int(gradients[-1])", CONTRACT),
    fault(LEAPFROG, "int((values + gradients).sum())", "int((values + gradients)[-1])", LEAPS),
    fault(LEAPFROG, "self._drawn(rng, found.made, target.dim, knobs)", "pass", LEAPS),
    fault(LEAPFROG, "uniforms_of(normals[:, -1])", "uniforms_of(normals[:, 0])", PROPOSALS),
    fault(
        LEAPFROG,
        "if state.gradient is None or is_tuned(state, knobs) or not",
        "if state.gradient is None or not",
        LEAPS,
    ),
    fault(HMC, "np.minimum(1 + (uniforms", "np.minimum(2 + (uniforms", TRAJECTORIES),
    fault(HMC, "uniforms * knobs.leapfrog_steps)", "0 * uniforms + knobs.leapfrog_steps)", TRAJECTORIES),
    fault(MALA, "np.ones(len(uniforms), np.int64)", "np.full(len(uniforms), 2)", PROPOSALS),
    fault(MALA, "wanted_acceptance = 0.574", "wanted_acceptance = 0.25", TRAJECTORIES),
]
