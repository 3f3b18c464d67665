"""The same algorithms in other libraries, on the mixture with the same data, sizes and steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pmdviz.bench.contest import Call, Peer, needed
from pmdviz.bench.peers import one_thread_jax
from pmdviz.kernels.mixture import mixture_log_likelihood
from pmdviz.session import Session


class JaxMixture(NamedTuple):
    """The mixture's densities as jax functions of one theta (2,)."""

    jax: Any
    log_prior: Callable[[Any], Any]
    log_likelihood: Callable[[Any, Any], Any]  # of theta and one datum
    data: Any

    def log_joint(self, theta: Any, batch: Any) -> Any:
        """log p(theta) + (N/B) sum over the batch."""
        each = self.jax.vmap(lambda x: self.log_likelihood(theta, x))(batch)
        return self.log_prior(theta) + len(self.data) * each.mean()


def jax_mixture(session: Session) -> JaxMixture:
    """The session's target for jax."""
    jax = one_thread_jax()
    jnp, options, prior_sd = jax.numpy, session.target.options, session.target.prior_sd
    sigma_x, p = options.sigma_x, options.p

    def log_prior(theta: Any) -> Any:
        return -0.5 * (theta**2).sum() / prior_sd**2

    def log_likelihood(theta: Any, x: Any) -> Any:
        first = jnp.log(p) - 0.5 * ((x - theta[0]) / sigma_x) ** 2
        return jnp.logaddexp(first, jnp.log1p(-p) - 0.5 * ((x - theta.sum()) / sigma_x) ** 2)

    return JaxMixture(jax, log_prior, log_likelihood, jnp.asarray(session.target.data))


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


LOOPS = {"step by step": _in_a_loop, "all steps in one scan": _in_a_scan}


def _chains(
    name: str, make: Callable[[Session], tuple[Any, Any, Any]], session: Session, steps: int
) -> tuple[Peer, ...]:
    """A chain of blackjax, driven in both ways. `make` gives jax, the step (state, key) -> state and the start."""

    def made(loop: Callable[..., Call]) -> Call:
        jax, step, start = make(session)
        keys = list(jax.random.split(jax.random.PRNGKey(0), steps))
        return loop(jax, step, start, keys)

    return tuple(Peer(f"blackjax.{name}, {words}", lambda loop=loop: made(loop)) for words, loop in LOOPS.items())


def _sgld(session: Session) -> tuple[Any, Any, Any]:
    blackjax, gradients = needed("blackjax", "blackjax.sgmcmc.gradients")
    model = jax_mixture(session)
    jax, num_data = model.jax, len(model.data)
    estimate = gradients.grad_estimator(model.log_prior, model.log_likelihood, num_data)
    chain, size = blackjax.sgld(estimate), session.knobs.batch_size

    def step(theta: Any, key: Any) -> Any:
        rows = jax.random.randint(key, (size,), 0, num_data)
        return chain.step(key, theta, model.data[rows], 1e-3)

    return jax, step, jax.numpy.array([0.5, -1.0])


def _gradient_chain(name: str, **parameters: Any) -> Callable[[Session], tuple[Any, Any, Any]]:
    """hmc or mala of blackjax on all data."""

    def make(session: Session) -> tuple[Any, Any, Any]:
        (blackjax,) = needed("blackjax")
        model = jax_mixture(session)
        chain = getattr(blackjax, name)(lambda theta: model.log_joint(theta, model.data), **parameters)
        start = chain.init(model.jax.numpy.array([0.5, -1.0]))
        return model.jax, lambda state, key: chain.step(key, state)[0], start

    return make


def _svgd(session: Session, steps: int) -> tuple[Peer, ...]:
    return (
        Peer("blackjax.svgd (exact median)", lambda: _blackjax_svgd(session, steps)),
        Peer("numpyro SteinVI", lambda: _numpyro_svgd(session, steps)),
    )


def _blackjax_svgd(session: Session, steps: int) -> Call:
    blackjax, optax = needed("blackjax", "optax")
    model, m = jax_mixture(session), session.knobs.num_particles
    jax, batch = model.jax, model.data[: session.method.batch_size(session.frame.state, session.knobs, len(model.data))]
    gradient = jax.grad(model.log_joint)
    svgd = blackjax.svgd(gradient, optax.adagrad(0.1))
    start = svgd.init(jax.numpy.asarray(np.random.default_rng(0).standard_normal((m, 2))))
    return _in_a_loop(jax, lambda state, _: svgd.step(state, batch=batch), start, [None] * steps)


def _numpyro_svgd(session: Session, steps: int) -> Call:
    numpyro, einstein, infer, optim = needed(
        "numpyro", "numpyro.contrib.einstein", "numpyro.infer.autoguide", "numpyro.optim"
    )
    model = jax_mixture(session)
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


def _leapfrogs(session: Session) -> int:
    """How many leapfrog steps our hmc does at its defaults."""
    names = [name for name in session.knobs.as_dict() if "leapfrog" in name]
    return int(getattr(session.knobs, names[0])) if names else 10


def _hmc(session: Session, steps: int) -> tuple[Peer, ...]:
    parameters = {"step_size": 0.1, "inverse_mass_matrix": np.ones(2), "num_integration_steps": _leapfrogs(session)}
    return _chains("hmc", _gradient_chain("hmc", **parameters), session, steps)


PEERS: dict[str, Callable[[Session, int], tuple[Peer, ...]]] = {
    "svgd": _svgd,
    "sgld": lambda session, steps: _chains("sgld", _sgld, session, steps),
    "hmc": _hmc,
    "mala": lambda session, steps: _chains("mala", _gradient_chain("mala", step_size=0.01), session, steps),
    "smc_mcmc": _tempering,
}
