"""The same algorithms in other libraries, with the same data, sizes and steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks.helpers.contest import Peer
from benchmarks.helpers.peers import one_thread_jax
from benchmarks.measuring import Call, needed
from pmdviz.engine.session import Session
from pmdviz.kernels.mixture import mixture_log_likelihood

TIME_STEP = 0.1  # of hmc and mala on both sides, in prior sds


class JaxModel(NamedTuple):
    """A target's densities as jax functions of one theta (2,)."""

    jax: Any
    log_prior: Callable[[Any], Any]
    log_likelihood: Callable[[Any, Any], Any]  # of theta and one datum
    data: Any

    def log_joint(self, theta: Any, batch: Any) -> Any:
        """log p(theta) + (N/B) sum over the batch."""
        each = self.jax.vmap(lambda x: self.log_likelihood(theta, x))(batch)
        return self.log_prior(theta) + len(self.data) * each.mean()


def jax_model(session: Session) -> JaxModel:
    """The session's target for jax."""
    jax = one_thread_jax()
    prior_sd, likelihood = session.target.prior_sd, LIKELIHOODS[session.target.name]

    def log_prior(theta: Any) -> Any:
        return -0.5 * (theta**2).sum() / prior_sd**2

    def log_likelihood(theta: Any, x: Any) -> Any:
        return likelihood(jax.numpy, session.target.options, theta, x)

    return JaxModel(jax, log_prior, log_likelihood, jax.numpy.asarray(session.target.data))


def _of_mixture(jnp: Any, options: Any, theta: Any, x: Any) -> Any:
    first = jnp.log(options.p) - 0.5 * ((x - theta[0]) / options.sigma_x) ** 2
    return jnp.logaddexp(first, jnp.log1p(-options.p) - 0.5 * ((x - theta.sum()) / options.sigma_x) ** 2)


def _of_banana(jnp: Any, options: Any, theta: Any, x: Any) -> Any:
    return -0.5 * ((x - theta[0] - options.bend * theta[1] ** 2) / options.sigma_x) ** 2


LIKELIHOODS = {"mixture": _of_mixture, "banana": _of_banana}


def _in_a_loop(jax: Any, step: Callable[[Any, Any], Any], start: Any, keys: Any) -> Call:
    """One compiled call a step, as a program does that looks at every step."""
    compiled = jax.jit(step)

    def run() -> Any:
        state = start
        for key in keys:
            state = compiled(state, key)
        return jax.block_until_ready(state)

    return run


def _in_a_scan(jax: Any, step: Callable[[Any, Any], Any], start: Any, keys: Any) -> Call:
    """All steps in one compiled call, which keeps every position."""

    def kept(state: Any, key: Any) -> Any:
        after = step(state, key)
        return after, getattr(after, "position", after)

    compiled = jax.jit(lambda state, keys: jax.lax.scan(kept, state, keys))
    stacked = jax.numpy.stack(keys)
    return lambda: jax.block_until_ready(compiled(start, stacked))


def _chain(
    name: str, make: Callable[[Session], tuple[Any, Any, Any]], session: Session, steps: int, at_once: bool
) -> tuple[Peer, ...]:
    """A chain of blackjax, `at_once` or step by step. `make` gives jax, the step (state, key) -> state, the start."""
    words, loop = ("all steps in one scan", _in_a_scan) if at_once else ("step by step", _in_a_loop)

    def made() -> Call:
        jax, step, start = make(session)
        keys = list(jax.random.split(jax.random.PRNGKey(0), steps))
        return loop(jax, step, start, keys)

    return (Peer(f"blackjax.{name}, {words}", made),)


def _sgld(session: Session) -> tuple[Any, Any, Any]:
    blackjax, gradients = needed("blackjax", "blackjax.sgmcmc.gradients")
    model = jax_model(session)
    jax, num_data = model.jax, len(model.data)
    estimate = gradients.grad_estimator(model.log_prior, model.log_likelihood, num_data)
    chain, size = blackjax.sgld(estimate), session.knobs.batch_size

    def step(theta: Any, key: Any) -> Any:
        rows = jax.random.randint(key, (size,), 0, num_data)
        return chain.step(key, theta, model.data[rows], 1e-3)

    return jax, step, jax.numpy.array([0.5, -1.0])


def _mala(session: Session) -> tuple[Any, Any, Any]:
    """With our time step e: its step size is e^2 / 2."""
    (blackjax,) = needed("blackjax")
    model = jax_model(session)
    chain = blackjax.mala(lambda theta: model.log_joint(theta, model.data), step_size=TIME_STEP**2 / 2)
    start = chain.init(model.jax.numpy.array([0.5, -1.0]))
    return model.jax, lambda state, key: chain.step(key, state)[0], start


def _hmc(session: Session) -> tuple[Any, Any, Any]:
    """With 1 to as many leapfrog steps as ours, redrawn each time."""
    (blackjax,) = needed("blackjax")
    model, most = jax_model(session), session.knobs.leapfrog_steps
    jax = model.jax
    chain = blackjax.dynamic_hmc(
        lambda theta: model.log_joint(theta, model.data),
        step_size=TIME_STEP,
        inverse_mass_matrix=np.ones(2),
        integration_steps_fn=lambda key: jax.random.randint(key, (), 1, most + 1),
    )
    start = chain.init(jax.numpy.array([0.5, -1.0]), jax.random.PRNGKey(1))
    return jax, lambda state, key: chain.step(key, state)[0], start


def _svgd(session: Session, steps: int) -> tuple[Peer, ...]:
    return (
        Peer("blackjax.svgd (exact median)", lambda: _blackjax_svgd(session, steps)),
        Peer("numpyro SteinVI", lambda: _numpyro_svgd(session, steps)),
    )


def _blackjax_svgd(session: Session, steps: int) -> Call:
    blackjax, optax = needed("blackjax", "optax")
    model, m = jax_model(session), session.knobs.num_particles
    jax, batch = model.jax, model.data[: session.method.batch_size(session.frame.state, session.knobs, len(model.data))]
    gradient = jax.grad(model.log_joint)
    svgd = blackjax.svgd(gradient, optax.adagrad(0.1))
    start = svgd.init(jax.numpy.asarray(np.random.default_rng(0).standard_normal((m, 2))))
    return _in_a_loop(jax, lambda state, _: svgd.step(state, batch=batch), start, [None] * steps)


def _numpyro_svgd(session: Session, steps: int) -> Call:
    numpyro, einstein, infer, optim = needed(
        "numpyro", "numpyro.contrib.einstein", "numpyro.infer.autoguide", "numpyro.optim"
    )
    model = jax_model(session)
    jax, m = model.jax, session.knobs.num_particles
    batch = model.data[: session.method.batch_size(session.frame.state, session.knobs, len(model.data))]

    def program() -> None:
        normal = numpyro.distributions.Normal(jax.numpy.zeros(2), session.target.prior_sd)
        theta = numpyro.sample("theta", normal.to_event(1))
        each = jax.vmap(lambda x: model.log_likelihood(theta, x))(batch)
        numpyro.factor("data", len(model.data) * each.mean())

    guide = infer.AutoDelta(program)
    stein = einstein.SteinVI(program, guide, optim.Adagrad(0.1), einstein.RBFKernel(), num_stein_particles=m)
    start = stein.init(jax.random.PRNGKey(0))
    return _in_a_loop(jax, lambda state, _: stein.update(state)[0], start, [None] * steps)


def _tempering(session: Session, steps: int) -> tuple[Peer, ...]:
    return (
        Peer("particles, likelihood in NumPy", lambda: _particles(session, _numpy_likelihood)),
        Peer("particles, with our compiled likelihood", lambda: _particles(session, _our_likelihood)),
    )


def _numpy_likelihood(theta: np.ndarray, x: np.ndarray, sigma_x: float, p: float) -> np.ndarray:
    first = np.log(p) - 0.5 * ((x - theta[:, :1]) / sigma_x) ** 2
    second = np.log1p(-p) - 0.5 * ((x - theta.sum(axis=1)[:, None]) / sigma_x) ** 2
    return np.logaddexp(first, second).sum(axis=1)


def _our_likelihood(theta: np.ndarray, x: np.ndarray, sigma_x: float, p: float) -> np.ndarray:
    return mixture_log_likelihood(theta, x, sigma_x, p)


def _particles(session: Session, likelihood: Callable[..., np.ndarray]) -> Call:
    """Adaptive tempering with as many particles and moves, multinomial chains, no waste-free trick."""
    particles, samplers, laws = needed("particles", "particles.smc_samplers", "particles.distributions")
    target, knobs = session.target, session.knobs
    prior = laws.StructDist({"a": laws.Normal(scale=target.prior_sd), "b": laws.Normal(scale=target.prior_sd)})

    class Model(samplers.StaticModel):
        """The mixture."""

        def loglik(self, theta: Any, t: int | None = None) -> np.ndarray:
            both = np.stack([theta["a"], theta["b"]], axis=1)
            return likelihood(both, target.data, target.options.sigma_x, target.options.p)

    model = Model(data=target.data, prior=prior)

    def run() -> Any:
        law = samplers.AdaptiveTempering(model=model, wastefree=False, len_chain=1 + knobs.num_moves, ESSrmin=0.5)
        smc = particles.SMC(fk=law, N=knobs.num_particles)
        smc.run()
        return smc

    return run


CHAINS = {"sgld": ("sgld", _sgld), "hmc": ("dynamic_hmc", _hmc), "mala": ("mala", _mala)}


def chain_peers(method: str, session: Session, steps: int, at_once: bool) -> tuple[Peer, ...]:
    """The same chain in blackjax."""
    return _chain(*CHAINS[method], session, steps, at_once)


PEERS: dict[str, Callable[[Session, int], tuple[Peer, ...]]] = {
    "svgd": _svgd,
    **{name: lambda session, steps, name=name: chain_peers(name, session, steps, False) for name in CHAINS},
    "smc_mcmc": _tempering,
}
