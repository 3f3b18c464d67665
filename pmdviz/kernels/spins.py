"""Spins and labels: the Ising model, sums over columns of a lattice, and Gibbs sweeps.

The Ising model on a square lattice: log p(s) = b sum over neighbours s_i s_j + sum_i (h + o_i) s_i.

The lattice closes on itself, or is open: then a spin at an edge has no neighbour beyond it. A factor of 1 and an offset
of 0 leave every bit as it is: one loop serves all.
"""

from typing import NamedTuple

import numpy as np

from pmdviz.kernels.checks import Array, plain
from pmdviz.kernels.jit import WarmUps, exp64, fast_jit, jit
from pmdviz.kernels.pool import run_blocks


def ising_relaxed(
    points: Array, size: int, coupling: float, field: float, offsets: Array, closed: bool = True
) -> tuple[Array, Array]:
    """Unnormalised log p of points (m, size^2) as (m,), and its gradient there; a pair of neighbours counts once.

    Points are states of -1 and +1, or lie between them: it is a quadratic form. `offsets` (size^2,) are added to the
    field, spin by spin. On 2 x 2 a pair is joined twice where the lattice closes.
    """
    return _relaxed(plain(points), size, coupling, field, offsets, float(closed))


def ising_sweep(
    state: Array, size: int, coupling: float, field: float, uniforms: Array, offsets: Array, closed: bool = True
) -> Array:
    """A new state (size^2,): each spin in turn from its conditional, P(+1) = 1 / (1 + exp(-2 (b sum + h + o_i)))."""
    state = plain(state).copy()
    _sweep(state, size, coupling, field, plain(uniforms), offsets, float(closed))
    return state


@jit
def _sums(state, size, closed, near):
    """The sum of the neighbours of every spin, into `near`: along the rows, then down and up, edges apart."""
    dim = size * size
    for p in range(1, dim - 1):
        near[p] = state[p - 1] + state[p + 1]
    for first in range(0, dim, size):
        last = first + size - 1
        near[first] = state[first + 1] + closed * state[last]
        near[last] = state[last - 1] + closed * state[first]
    for p in range(dim - size):
        near[p] += state[p + size]
    for p in range(size, dim):
        near[p] += state[p - size]
    for p in range(size):
        near[p] += closed * state[dim - size + p]
        near[dim - size + p] += closed * state[p]


@jit
def _relaxed(points, size, coupling, field, offsets, closed):
    """Values (m,) and gradients (m, d) of the quadratic form."""
    values, gradients = np.empty(points.shape[0]), np.empty(points.shape)
    for i in range(values.size):
        state, near = points[i], gradients[i]
        _sums(state, size, closed, near)
        pairs, total, more = 0.0, 0.0, 0.0
        for p in range(near.size):
            pairs += state[p] * near[p]
            total += state[p]
            more += offsets[p] * state[p]
        values[i] = 0.5 * coupling * pairs + field * total + more  # each pair was met from both sides
        for p in range(near.size):
            near[p] = coupling * near[p] + field + offsets[p]
    return values, gradients


@jit
def _near(state, size, r, c, closed):
    """Sum of the neighbours of the spin in row r and column c."""
    near = state[r * size + (c + 1) % size] * (closed if c == size - 1 else 1.0)
    near += state[r * size + (c - 1) % size] * (closed if c == 0 else 1.0)
    below = state[(r + 1) % size * size + c] * (closed if r == size - 1 else 1.0)
    return near + (below + state[(r - 1) % size * size + c] * (closed if r == 0 else 1.0))


@jit
def _sweep(state, size, coupling, field, uniforms, offsets, closed):
    for r in range(size):
        for c in range(size):
            near = _near(state, size, r, c, closed)
            up = 1.0 / (1.0 + np.exp(-2.0 * (coupling * near + field + offsets[r * size + c])))
            state[r * size + c] = 1.0 if uniforms[r * size + c] < up else -1.0


# Sums over the states of columns of spins -1 and +1, one column after the other (Kramers & Wannier 1941).
#
# A state of a column of n spins is a number below 2^n, whose highest bit is the first spin: 1 is up. Two columns side
# by side are joined by K(y, z) = exp(b sum_r y_r z_r - n |b|), a Kronecker product of n matrices of 2 x 2: it is
# applied spin by spin, in n 2^n operations.

COLUMNS = 32  # at once: 256 kB for ten spins, which a core's own cache holds


class PairSums(NamedTuple):
    """Of the states y and x of two columns."""

    rows: Array  # (2^n,) sum over x
    columns: Array  # (2^n,) sum over y
    products: Array  # (n, n) sum over both of y_r x_s


def column_states(spins: int) -> Array:
    """The spins (2^n, n) of every state of a column."""
    bits = np.arange(2**spins)[:, None] >> np.arange(spins - 1, -1, -1)
    return 2.0 * (bits & 1) - 1.0


def through_bonds(values: Array, weights: Array, bond: float) -> Array:
    """K @ (weights[:, None] * values), (2^n, k) and (2^n,) -> (2^n, k)."""
    values, weights = plain(values), plain(weights)
    out = np.empty(values.shape)
    like, unlike = np.exp(bond - abs(bond)), np.exp(-bond - abs(bond))

    def work(start: int, stop: int) -> None:
        _through_bonds(values, weights, like, unlike, start, stop, out)

    run_blocks(work, values.shape[1], COLUMNS, values.size * len(values).bit_length())
    return out


def pair_sums(one: Array, other: Array, of_rows: Array, of_columns: Array) -> PairSums:
    """Sums over P(y, x) = of_rows[y] of_columns[x] one[y, x] other[y, x], all at least 0, not normalised.

    one, other (2^n, 2^n); of_rows, of_columns (2^n,).
    """
    one, other, of_rows, of_columns = (plain(each) for each in (one, other, of_rows, of_columns))
    spins = one.shape[1].bit_length() - 1
    found = np.zeros(len(one)), np.zeros((COLUMNS, one.shape[1])), np.empty((len(one), spins))
    block = -(-len(one) // COLUMNS)

    def work(start: int, stop: int) -> None:
        _pair_sums(one, other, of_rows, of_columns, start, stop, found[0], found[1][start // block], found[2])

    run_blocks(work, len(one), block, 4 * one.size)
    return PairSums(found[0], found[1].sum(axis=0), np.einsum("yr,ys->rs", column_states(spins), found[2]))


def drawn_columns(first: Array, starts: Array, weights: Array, bond: float, uniforms: Array) -> Array:
    """States (n, 1 + k) of columns drawn from left to right, P(y_c | y_{c-1}) proportional to K(y_{c-1}, y_c) w_c(y_c).

    first (n,) are the states of the leftmost columns, and `weights` (k, f, 2^s) has f rows for each of the k others;
    draw i takes number starts[i]; `uniforms` (n, k).
    """
    first, starts = np.ascontiguousarray(first, np.int64), np.ascontiguousarray(starts, np.int64)
    spins = weights.shape[2].bit_length() - 1
    unlike = np.arange(spins + 1)
    bonds = np.exp(bond * (spins - 2 * unlike) - spins * abs(bond))
    out = np.empty((len(first), 1 + len(weights)), np.int64)
    _draw(first, starts, plain(weights), bonds, plain(uniforms), out)
    return out


@jit
def _through_bonds(values, weights, like, unlike, start, stop, out):
    held = np.empty((values.shape[0], stop - start))
    for y in range(held.shape[0]):
        for k in range(held.shape[1]):
            held[y, k] = weights[y] * values[y, start + k]
    half = 1
    while half < held.shape[0]:
        for base in range(0, held.shape[0], 2 * half):
            for y in range(base, base + half):
                for k in range(held.shape[1]):
                    down, up = held[y, k], held[y + half, k]
                    held[y, k] = like * down + unlike * up
                    held[y + half, k] = unlike * down + like * up
        half *= 2
    for y in range(held.shape[0]):
        for k in range(held.shape[1]):
            out[y, start + k] = held[y, k]


@jit
def _pair_sums(one, other, of_rows, of_columns, start, stop, rows, columns, signed):
    """signed[y, s] is the sum over x of P(y, x) x_s: the row is folded at the highest spin first."""
    held = np.empty(one.shape[1])
    for y in range(start, stop):
        for x in range(held.size):
            held[x] = of_rows[y] * of_columns[x] * (one[y, x] * other[y, x])
            columns[x] += held[x]
        half, s = held.size // 2, 0
        while half > 0:
            total = 0.0
            for x in range(half):
                total += held[half + x] - held[x]
                held[x] += held[half + x]
            signed[y, s] = total
            half //= 2
            s += 1
        rows[y] = held[0]


@jit
def _draw(first, starts, weights, bonds, uniforms, out):
    sums, counts = np.empty(weights.shape[2]), np.zeros(weights.shape[2], np.int64)
    for y in range(1, counts.size):
        counts[y] = counts[y >> 1] + (y & 1)
    for i in range(first.size):
        out[i, 0] = first[i]
        for c in range(weights.shape[0]):
            total = 0.0
            for y in range(sums.size):
                total += bonds[counts[out[i, c] ^ y]] * weights[c, starts[i], y]
                sums[y] = total
            found, beyond = 0, sums.size - 1  # the first whose sum is above the place, or the last
            while found < beyond:
                middle = (found + beyond) // 2
                if sums[middle] > uniforms[i, c] * total:
                    beyond = middle
                else:
                    found = middle + 1
            out[i, c + 1] = found


# Many Gibbs chains of a Bernoulli restricted Boltzmann machine at once, all units of -1 and 1.
#
# A sweep draws all hidden units given the visible ones, P(h_k = 1) = 1 / (1 + exp(-2 (c_k + W_k'z))), and then all
# visible ones given those, P(z_i = 1) = 1 / (1 + exp(-2 (b_i + (W h)_i))).


def block_gibbs(states: Array, weights: Array, visible: Array, hidden: Array, uniforms: Array) -> Array:
    """New visible states (k, d) after t sweeps of each chain.

    weights (d, M), visible (d,) and hidden (M,) are W, b and c; uniforms (t, k, M + d).
    """
    states = plain(states).copy()
    _sweeps(states, plain(weights), plain(weights.T), plain(visible), plain(hidden), plain(uniforms))
    return states


@fast_jit
def _draw_layer(given, weights, biases, uniforms, out):
    """out (n,) from the other layer `given` (k,), by weights (k, n)."""
    for j in range(out.size):
        out[j] = biases[j]
    for i in range(given.size):
        for j in range(out.size):
            out[j] += given[i] * weights[i, j]
    for j in range(out.size):
        small = exp64(-2.0 * abs(out[j]))
        larger = 1.0 / (1.0 + small)
        up = larger if out[j] >= 0.0 else small * larger
        out[j] = 1.0 if uniforms[j] < up else -1.0


@jit
def _sweeps(states, weights, turned, visible, hidden, uniforms):
    units = np.empty(hidden.size)
    for t in range(uniforms.shape[0]):
        for k in range(states.shape[0]):
            _draw_layer(states[k], weights, hidden, uniforms[t, k, : units.size], units)
            _draw_layer(units, turned, visible, uniforms[t, k, units.size :], states[k])


# One Gibbs sweep of the two-component mixture, by labels that say which component each observation comes from.
#
# P(z_n = 1 | theta)   = p N(x_n | theta_1, s^2) / (p N(x_n | theta_1, s^2) + (1 - p) N(x_n | theta_1 + theta_2, s^2))
# theta | z            ~ N(L^-1 h, L^-1) with, for a prior N(0, t^2 I) and n_2 data of the second component,
# L = [[1/t^2 + N/s^2, n_2/s^2], [n_2/s^2, 1/t^2 + n_2/s^2]],   h = [sum of all x, sum of the second's] / s^2


def mixture_sweep(
    theta: Array, x: Array, sigma_x: float, p: float, prior_sd: float, uniforms: Array, normals: Array
) -> Array:
    """A new theta (2,) from theta (2,) and data x (N,): labels by `uniforms` (N,), then theta by `normals` (2,).

    sigma_x and prior_sd > 0 in the units of x, p in (0, 1) the weight of the component at theta_1.
    """
    x, precision, log_odds = plain(x), 1.0 / sigma_x, np.log(p) - np.log1p(-p)
    count, total = _add_labels(x, theta[0], theta[0] + theta[1], precision, log_odds, plain(uniforms))
    shares = precision**2 * np.array([x.size, count, x.sum(), total])
    return _draw_theta(shares, 1.0 / prior_sd**2, plain(normals))


@fast_jit
def _add_labels(x, first, second, precision, log_odds, uniforms):
    """How many observations get the second component's label, and their sum."""
    count, total = 0.0, 0.0
    for n in range(x.size):
        u, v = (x[n] - first) * precision, (x[n] - second) * precision
        difference = log_odds - 0.5 * (u * u - v * v)
        small = exp64(-abs(difference))
        larger = 1.0 / (1.0 + small)
        share = larger if difference >= 0.0 else small * larger  # of the first component
        label = 1.0 if uniforms[n] >= share else 0.0
        count += label
        total += label * x[n]
    return count, total


@jit
def _draw_theta(shares, prior_precision, normals):
    """L^-1 h + C^-T normals with L = C C'; shares: N, n_2, sum of x and of the second's x, each over sigma_x^2."""
    c11 = np.sqrt(prior_precision + shares[0])
    c21 = shares[1] / c11
    c22 = np.sqrt(prior_precision + shares[1] - c21 * c21)
    y1 = shares[2] / c11 + normals[0]
    y2 = (shares[3] - c21 * shares[2] / c11) / c22 + normals[1]
    out = np.empty(2)
    out[1] = y2 / c22
    out[0] = (y1 - c21 * out[1]) / c11
    return out


def warm_up_calls() -> WarmUps:
    """Calls that compile every kernel of this file."""
    spins, four = np.ones((1, 4)), np.full(4, 0.5)
    yield "ising", "Ising gradient", ising_relaxed, spins, 2, 0.3, 0.0, four
    yield "ising", "Ising sweep", ising_sweep, four, 2, 0.3, 0.0, four, four
    two, ones, zero = np.ones((2, 2)), np.ones(2), np.zeros(1, np.int64)
    yield "transfer", "transfer matrix", through_bonds, two, ones, 0.3
    yield "transfer", "sums over pairs of columns", pair_sums, two, two, ones, ones
    yield "transfer", "draws of columns", drawn_columns, zero, zero, np.ones((1, 1, 2)), 0.3, np.full((1, 1), 0.5)
    one, two = np.ones((1, 1)), np.ones((1, 1, 2))
    yield "boltzmann", "Gibbs chains of a Boltzmann machine", block_gibbs, one, one, one[0], one[0], two
    axis = np.arange(2.0)
    yield "gibbs", "mixture sweep", mixture_sweep, axis, axis, 1.0, 0.5, 1.0, axis, axis
