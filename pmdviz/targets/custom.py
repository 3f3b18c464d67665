"""A person's own model as a target, and the own targets that a server offers in its menus.

A person's own model as a target: plain functions, checked when the target is made.
"""

import hashlib
import os
import pkgutil
import re
import sys
import threading
from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pmdviz.data.tables import as_array, first_nan
from pmdviz.densities.chains import bulk_ess, rhat
from pmdviz.errors import InputError, TargetError, check_function, shown, words_of
from pmdviz.files import Json
from pmdviz.kernels.checks import Array, Rng
from pmdviz.kernels.pool import Cancelled
from pmdviz.knobs import Knobs
from pmdviz.streams import stream
from pmdviz.targets.base import TARGETS, Target
from pmdviz.targets.enumeration import MAX_STATES, Enumeration
from pmdviz.targets.exact import ENOUGH, DrawsReference, GridExact, Reference
from pmdviz.targets.space import Block, Discrete, InBlocks, Reals, Space, checked_blocks, coordinate_blocks

PROBES = 8  # prior draws on which the functions are tried
BOX_DRAWS = 4096  # prior draws that find the box where none is given
BOX_MARGIN = 0.25  # of the draws' range, on each side
MAX_PAIRS = 4_000_000  # of theta and observation in one call of a person's function, which may make an array of them
FEW_VALUES = 16  # of thousands of draws: these are states, not real numbers
PIECES = 10  # of one chain of reference draws
MAX_RHAT, FEWEST_DRAWS = 1.05, 100  # R-hat and bulk ESS that reference draws must have
MAX_EXACT_PAIRS = 250_000_000  # that the exact posterior may cost: seconds, for a function in NumPy


class CustomTarget(InBlocks, Target[Knobs]):
    """Your own model as a target, checked when made: `pmdviz.custom_target`.

    Parameters
    ----------
    log_prior : function theta (m, d) -> (m,)
    log_likelihood : function (theta (m, d), batch) -> (m,)
        The plain sum over the rows of the batch (rows of `data`), neither averaged nor scaled.
    sample_prior : function (rng, m) -> (m, d)
    data : array with N >= 1 rows
        It is copied, but for a `np.memmap`, which is read where it is: do not write to it meanwhile. None: the target
        is a density without data; `log_prior` and `sample_prior` are then a q0 to start from, and `log_likelihood` is
        log p - log q0, called with one empty row.
    dim : int
        May be left out where `space` is given.
    name : str
        A word by which recipes refer to the target.
    bounds : pairs (low, high), one a dimension, optional
        Where the posterior's mass lies; found from draws from the prior if left out.
    space : pmdviz.Discrete, optional
        Of a target on finitely many states, given instead of `dim`; left out for real coordinates.
    grad_log_prior, grad_log_likelihood : functions -> (m, d), optional
        For methods that need a gradient.
    gibbs_sweep : function (rng, theta (d,), data) -> theta (d,), optional
        Every coordinate drawn once from its conditional given the others and the data, for `gibbs`.
    blocks : lists of numbers of coordinates, such as [[0, 1], [2]], optional
        Which of them, counted from 0, stay together where the others are taken as independent of them, for `pmfvb`. By
        default each coordinate is a block of its own.
    reference_draws : array (k, n, d) or (n, d), optional
        Draws from the posterior that you trust, of k independent chains or of one: runs are judged by them, also where
        the posterior would be computed on a grid. One chain is cut into 10 pieces, whose means tell their error. Every
        coordinate needs R-hat up to 1.05 and a bulk ESS of 100 (Vehtari et al. 2021).

    Raises
    ------
    InputError
        Wrong arguments; a log prior that is not finite at its own draws; batches that do not add up to the whole;
        reference draws whose chains disagree.
    TargetError
        A function that raises, or gives a wrong shape.
    """

    source = "given by you"
    about = "Your own model."

    def __init__(
        self,
        *,
        log_prior: Callable[[Array], Array],
        log_likelihood: Callable[[Array, Array], Array],
        sample_prior: Callable[[Rng, int], Array],
        data: Array | None,
        dim: int | None = None,
        name: str,
        bounds: Sequence[tuple[float, float]] | None = None,
        space: Space | None = None,
        grad_log_prior: Callable[[Array], Array] | None = None,
        grad_log_likelihood: Callable[[Array, Array], Array] | None = None,
        gibbs_sweep: Callable[[Rng, Array, Array], Array] | None = None,
        blocks: Sequence[Sequence[int]] | None = None,
        reference_draws: Array | None = None,
    ) -> None:
        self.name, self.title = _checked_name(name), name
        needed = {"log_prior": log_prior, "log_likelihood": log_likelihood, "sample_prior": sample_prior}
        gradients = {"grad_log_prior": grad_log_prior, "grad_log_likelihood": grad_log_likelihood}
        self._functions: dict[str, Any] = {**needed, **gradients, "gibbs_sweep": gibbs_sweep}
        for role, function in self._functions.items():
            if role in needed and not callable(function):
                raise InputError(f"{role} must be a function; got {shown(function)}")
            check_function(role, function)
        gradient = grad_log_prior is not None and grad_log_likelihood is not None
        real = space is None or isinstance(space, Reals)
        offered = {"gradient": gradient, "blocks": gradient and real, "conditionals": gibbs_sweep is not None}
        self.declared = frozenset(name for name, given in offered.items() if given)
        if space is None and dim is None:
            raise TypeError("custom_target is missing the argument: 'dim', or space for a target on discrete states")
        self.space = _checked_space(space, dim)
        self.dim, self.parameter_names = self.space.dim, self.space.names
        self.blocks, self._own_blocks = self._blocks(blocks), blocks is not None
        self.judged_by = None if reference_draws is None else _checked_draws(reference_draws, self.dim)
        self.data, self._bounds = None if data is None else as_array(data), bounds
        if self.data is not None:
            self.data.flags.writeable = False
        self._eps = float(np.finfo(float).eps)  # of the coarsest numbers that the functions give
        super().__init__()

    Options = Knobs

    def build(self) -> None:
        """Find the box and the scale, and try the functions on prior draws."""
        draws = self.sample_prior(stream("box"), BOX_DRAWS)
        self._check_space(draws)
        self.scale = np.maximum(draws.std(axis=0), 1e-12)
        self.view_box = _checked_box(self._bounds, self.dim) if self._bounds is not None else _box_of(draws)
        self._check_functions(draws[:PROBES])
        self.fingerprint = self._fingerprint()

    @property
    def key(self) -> tuple:
        """Name, box, data, blocks and three values of log_joint."""
        found, groups = self.fingerprint, tuple(block.coordinates for block in self.blocks)
        judged = "" if self.judged_by is None else _digest(self.judged_by)
        return ("custom", self.name, self.view_box, found["data_hash"], str(found["log_joint"]), groups, judged)

    def _blocks(self, groups: Sequence[Sequence[int]] | None) -> tuple[Block, ...]:
        """Those given, or each coordinate alone. Raises InputError."""
        if groups is None:
            return coordinate_blocks(self.parameter_names)
        if "blocks" not in self.declared:
            raise InputError("blocks are for methods that move real coordinates by a gradient; give grad_log_prior and "
                             "grad_log_likelihood too, and no space of states")  # fmt: skip
        return checked_blocks(groups, self.parameter_names)

    def make_reference(self) -> Reference | None:
        """The person's own draws, else by a grid sum in one and two dimensions, unless the data are too many for it."""
        if self.judged_by is not None:
            return DrawsReference(self.judged_by)
        if isinstance(self.space, Discrete):
            return Enumeration(self.space, self.log_joint) if self.space.num_states <= MAX_STATES else None
        if self.dim > 2 or self.num_data * ENOUGH[self.dim] > MAX_EXACT_PAIRS:
            return None
        return GridExact(self.log_joint_on_support, self.view_box)

    def sample_prior(self, rng: Rng, n: int) -> Array:
        """n draws (n, d) by the person's `sample_prior`. Raises TargetError for a wrong shape or NaN."""
        draws = self._call("sample_prior", (n, self.dim), rng, n)
        if not np.isfinite(draws).all():
            bad = draws[~np.isfinite(draws).all(axis=1)][0]
            raise TargetError(f"sample_prior must give finite values; it gave {bad}")
        return self._points(draws)

    def _gibbs_sweep(self, rng: Rng, theta: Array, data: Array) -> Array:
        return self._points(self._call("gibbs_sweep", theta.shape, rng, theta, data)[None])[0]

    def _log_prior(self, theta: Array) -> Array:
        return self._call("log_prior", theta.shape[:1], theta)

    def _log_likelihood(self, theta: Array, batch: Array) -> Array:
        return self._over_blocks("log_likelihood", theta.shape[:1], theta, batch)

    def _grad_log_prior(self, theta: Array) -> Array:
        return self._call("grad_log_prior", theta.shape, theta)

    def _grad_log_likelihood(self, theta: Array, batch: Array) -> Array:
        return self._over_blocks("grad_log_likelihood", theta.shape, theta, batch)

    def _over_blocks(self, role: str, shape: tuple[int, ...], theta: Array, batch: Array) -> Array:
        """The values of a function as a sum over blocks of the batch: memory does not grow with m times B."""
        rows = max(1, MAX_PAIRS // max(1, len(theta)))
        total = self._call(role, shape, theta, batch[:rows])
        for start in range(rows, len(batch), rows):
            total += self._call(role, shape, theta, batch[start : start + rows])
        return total

    def _call(self, role: str, shape: tuple[int, ...], *arguments: Rng | Array | int) -> Array:
        """The values of a person's function, real numbers of this shape. Raises TargetError for anything else."""
        function = self._functions[role]
        if function is None:
            raise InputError(f"target {self.name!r} was made without {role}")
        try:
            values = np.array(function(*(_shielded(argument) for argument in arguments)))
            if values.dtype.kind == "f":
                self._eps = max(self._eps, float(np.finfo(values.dtype).eps))
            real = None if np.iscomplexobj(values) else values.astype(np.float64, copy=False)
        except Cancelled:  # by one of our kernels that it calls
            raise
        except (Exception, SystemExit) as error:  # its sys.exit ends no lab, and no run without a word
            raised = f"{role} of target {self.name!r} raised {type(error).__name__}"
            raise TargetError(f"{raised}: {words_of(error)}") from error
        if real is None:  # NumPy would drop the imaginary part
            raise TargetError(f"{role} of target {self.name!r} gave complex values; it must give real ones")
        if real.shape == shape[:1] and shape[1:] == (1,):
            real = real[:, None]
        if real.shape != shape:
            raise TargetError(f"{role}{_wanted(shape, arguments)}; it gave {real.shape}")
        return real

    def _check_space(self, draws: Array) -> None:
        """Draws that take few values are states: a method for real coordinates would give points between them."""
        if isinstance(self.space, Discrete):
            return
        values = [np.unique(column) for column in draws.T]
        if all(1 < len(each) <= FEW_VALUES for each in values):
            known = ", ".join(f"{value:g}" for value in values[0])
            cure = f"for such states give space=pmdviz.Discrete([{known}], {self.dim}) instead of dim"
            raise InputError(f"sample_prior gives only the values {known}; {cure}")

    def _check_functions(self, theta: Array) -> None:
        prior = self.log_prior(theta)
        if not np.isfinite(prior).all():
            bad = theta[~np.isfinite(prior)][0]
            raise InputError(f"log_prior must be finite at the prior's draws; it gave {prior.min()} at theta = {bad}")
        whole = self.log_likelihood(theta, self.data_rows)
        wrong = np.isnan(whole) | (whole == np.inf)
        if wrong.any():
            row = first_nan(self.data_rows)
            why = f": data hold NaN in {row}; leave such rows out, or handle them in log_likelihood" if row else ""
            bad, value = theta[wrong][0], whole[wrong][0]
            raise InputError(f"log_likelihood must be a number or -inf; it gave {value} at theta = {bad}{why}")
        self._find_precision(theta, whole)
        self._check_additivity(theta, whole)
        if "gradient" in self.offers:
            self._check_gradient(theta[:1])

    def _find_precision(self, theta: Array, whole: Array) -> None:
        """Functions that do not see a billionth of the prior's sd compute in float32, whatever they give."""
        if not isinstance(self.space, Discrete):
            near = theta + 1e-9 * self.scale
            if np.array_equal(self.log_likelihood(near, self.data_rows), whole):
                self._eps = float(np.finfo(np.float32).eps)
        if "gradient" in self.offers:
            self.grad_log_joint(theta[:1])  # whose numbers count too

    def _check_gradient(self, theta: Array) -> None:
        """One central difference of log_joint in a direction that mixes the coordinates.

        The step is about the cube root of the functions' precision, eps; rounding may shift the difference of values f
        by 8 eps |f|.
        """
        single = self._eps > 1e-10
        step = self._eps ** (1 / 3) if single else 1e-5
        direction = self.scale * np.linspace(1.0, 0.5, self.dim)
        ends = theta + step * np.stack([direction, -direction])
        ends = ends.astype(np.float32).astype(float) if single else ends  # where such functions look
        values, slopes = self.log_joint(ends), self.grad_log_joint(theta)[0]
        slope, given = (float(change / (2 * step)) for change in (values[0] - values[1], slopes @ (ends[0] - ends[1])))
        noise = 8 * self._eps * float(np.abs(values).max()) / step
        if np.isfinite(slope) and abs(slope - given) > 1e-3 * (1 + abs(slope) + abs(given)) + noise:
            slopes_in_words = f"a slope of {given:.6g} where a finite difference gives {slope:.6g}{self._in_words()}"
            words = f"do not fit the densities: at theta = {theta[0]} they give {slopes_in_words}"
            raise InputError(f"grad_log_prior + grad_log_likelihood {words}")

    def _in_words(self) -> str:
        return " (the functions compute in float32: float64 would tell more)" if self._eps > 1e-10 else ""

    def _check_additivity(self, theta: Array, whole: Array) -> None:
        if self.num_data == 1:
            return
        cut = self.num_data // 2
        parts = self.log_likelihood(theta, self.data_rows[:cut]) + self.log_likelihood(theta, self.data_rows[cut:])
        finite, rtol, atol = np.isfinite(whole), max(1e-6, 1e4 * self._eps), max(1e-6, 16 * self._eps) * self.num_data
        if not np.allclose(parts[finite], whole[finite], rtol=rtol, atol=atol):
            words = "log_likelihood(theta, batch) must be the plain sum over the rows of the batch (not a mean)"
            found = f"{parts[finite][0]:.9g}, all of it {whole[finite][0]:.9g}{self._in_words()}"
            cure = "one that is not a sum over rows, such as a time series', takes the data as ONE row: data=x[None]"
            raise InputError(f"{words}: the two halves of the data give {found}; {cure}")

    def _fingerprint(self) -> dict[str, Json]:
        """The values that a recipe stores to tell whether another target is the same."""
        points = self.sample_prior(np.random.default_rng(1), 3)
        blocks = {"blocks": [list(block.coordinates) for block in self.blocks]} if self._own_blocks else {}
        return {
            "name": self.name,
            "dim": self.dim,
            "num_data": self.num_data,
            "box": [list(pair) for pair in self.view_box],
            "data_hash": _digest(self.data_rows),
            "log_joint": [float(v) if np.isfinite(v) else None for v in self.log_joint(points)],
            **blocks,
        }


def _digest(array: Array) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data).hexdigest()[:16]


Argument = Rng | Array | int


def _shielded(argument: Argument) -> Argument:
    """An array as one that the person's function cannot write into; anything else as it is."""
    if not isinstance(argument, Array):
        return argument
    view = argument.view()
    view.flags.writeable = False
    return view


def _wanted(shape: tuple[int, ...], arguments: Sequence[Argument]) -> str:
    """The shape that a function of these arguments must give, in words that follow its name."""
    arrays = [each for each in arguments if isinstance(each, Array)]  # theta, and a batch or data
    if not arrays:
        return f"(rng, {shape[0]}) must give shape {shape}"
    if arrays[0].shape == shape:
        return f" must give shape {shape} like theta"
    rows = f" and {len(arrays[1]):,} rows" if len(arrays) > 1 else ""
    return f" must give shape {shape} for theta of shape {arrays[0].shape}{rows}"


def _checked_name(name: str) -> str:
    if not isinstance(name, str) or not name.isidentifier() or len(name) > 40:
        raise InputError(f"name must be a word of at most 40 letters, digits and underscores; got {shown(name)}")
    if name in TARGETS:
        raise InputError(f"name {name!r} is the name of a built-in target; choose another")
    return name


def _checked_space(space: Space | None, dim: int | None) -> Space:
    if space is None:
        if isinstance(dim, bool) or not isinstance(dim, (int, np.integer)) or not 1 <= dim <= 1000:
            raise InputError(f"dim must be a whole number from 1 to 1,000; got {shown(dim)}")
        return Reals([f"θ{'₁₂₃₄₅₆₇₈₉'[k]}" if k < 9 else f"θ[{k + 1}]" for k in range(int(dim))])
    if not isinstance(space, Space):
        raise InputError(f"space must be a pmdviz.Discrete or left out; got {shown(space)}")
    if dim is not None and dim != space.dim:
        raise InputError(f"dim must be the {space.dim} coordinates of space, or left out; got {shown(dim)}")
    return space


def _checked_draws(draws: ArrayLike, dim: int) -> Array:
    """Draws (k, n, d) of chains; of one chain its pieces."""
    try:
        chains = np.array(draws, dtype=float)
    except (TypeError, ValueError):
        chains = np.empty(0)
    if chains.ndim == 2:
        length = len(chains) // PIECES
        chains = chains[: PIECES * length].reshape(PIECES, length, chains.shape[1])
    if chains.ndim != 3 or chains.shape[2] != dim or len(chains) < 2 or chains.shape[1] < 2:
        words = f"(k, n, {dim}) of k >= 2 chains, or ({2 * PIECES} or more, {dim}) of one"
        raise InputError(f"reference_draws must be an array of shape {words}; got {shown(draws)}")
    if not np.isfinite(chains).all():
        raise InputError("reference_draws must be finite; a value is NaN or infinite")
    _check_agreement(chains)
    chains.flags.writeable = False
    return chains


def _check_agreement(chains: Array) -> None:
    """Raise InputError where chains (k, n, d) disagree or are worth few draws; a constant coordinate is not judged."""
    for j, coordinate in enumerate(np.moveaxis(chains, 2, 0), 1):
        found, ess = rhat(coordinate), bulk_ess(coordinate)
        if found is not None and found > MAX_RHAT:
            said = f"R-hat at most {MAX_RHAT}, that is, chains that agree; coordinate {j} has {found:.3g}"
            raise InputError(f"reference_draws must have {said}. Leave out the burn-in, or run the chains for longer")
        if ess is not None and ess < FEWEST_DRAWS:
            said = f"a bulk ESS of at least {FEWEST_DRAWS}; coordinate {j} has {ess:.3g} from {coordinate.size:,} draws"
            raise InputError(f"reference_draws must have {said}. Run the chains for longer")


def _checked_box(bounds: Sequence[tuple[float, float]], dim: int) -> tuple[tuple[float, float], ...]:
    try:
        box = tuple((float(low), float(high)) for low, high in bounds)
    except (TypeError, ValueError):
        box = ()
    if len(box) != dim or not all(np.isfinite(pair).all() and pair[0] < pair[1] for pair in box):
        raise InputError(f"bounds must be {dim} pair(s) (low, high) with low < high; got {shown(bounds)}")
    return box


def _box_of(draws: Array) -> tuple[tuple[float, float], ...]:
    low, high = draws.min(axis=0), draws.max(axis=0)
    margin = BOX_MARGIN * (high - low) + 1e-9
    return tuple((float(a), float(b)) for a, b in zip(low - margin, high + margin, strict=True))


# A person's own targets by name: those registered in this process, and those that a server offers.
#
# `pmdviz serve --target MODULE:OBJECT` names them in the environment. Every process of the server and every worker
# imports the modules when it first needs one.

VARIABLE = "PMDVIZ_TARGETS"  # environment variable: MODULE:OBJECT, several with spaces between them
PLACE = re.compile(r"(?P<module>[^\W\d]\w*(\.[^\W\d]\w*)*):(?P<object>[^\W\d]\w*(\.[^\W\d]\w*)*)")
_lock = threading.RLock()
_loading = False  # a module that is imported may need targets itself
_loaded: tuple[str, dict[str, CustomTarget]] = ("", {})
_registered: dict[str, CustomTarget] = {}


def register_target(target: CustomTarget) -> CustomTarget:
    """Make a target of yours known by its name in this process: to runs, recipes, links and the menus of the Lab.

    A target that has the same name and was registered earlier is replaced; the result is the target.

    Raises
    ------
    InputError
        Anything but a `custom_target`, and the name of a target that the server offers.

    Examples
    --------
    >>> pmdviz.register_target(mine)
    >>> pmdviz.run(target="dose", budget=400)
    """
    if not isinstance(target, CustomTarget):
        raise InputError(f"register_target takes a target made with pmdviz.custom_target, not {shown(target)}")
    if offered().get(target.name) is not _registered.get(target.name):
        raise InputError(f"the server offers another target with the name {target.name!r}; choose another name")
    _registered[target.name] = target
    return target


def offer(places: Sequence[str]) -> None:
    """Offer these targets in this process and those begun by it. Raises InputError for an invalid place."""
    for place in places:
        if not PLACE.fullmatch(place):
            raise InputError(f"--target must be MODULE:OBJECT, such as my_models:heights; got {shown(place)}")
    if places:
        os.environ[VARIABLE] = " ".join(places)
    offered()


def offered() -> Mapping[str, CustomTarget]:
    """The targets that are registered here or named by the environment, by their names. Raises InputError."""
    named = os.environ.get(VARIABLE, "")
    if named != _loaded[0]:
        _load(named)
    return ChainMap(_registered, _loaded[1]) if _loaded[1] else _registered


def _load(named: str) -> None:
    global _loaded, _loading
    with _lock:
        if named != _loaded[0] and not _loading:
            _loading = True
            try:
                _loaded = named, _all_of(named.split())
            finally:
                _loading = False


def choice_of(target: Target) -> str | Target:
    """The entry of a target in a menu: its name, or the target itself where no menu has it."""
    return target.name if target.name in TARGETS or offered().get(target.name) is target else target


def titles() -> dict[str, str]:
    """Title -> name of all targets that a menu has: the built-in ones, then those that are offered."""
    built_in = {each.title: name for name, each in TARGETS.items()}
    return built_in | {each.title: name for name, each in offered().items()}


def names() -> dict[str, str]:
    """Name -> title of those that are offered."""
    return {name: each.title for name, each in offered().items()}


def _all_of(places: Sequence[str]) -> dict[str, CustomTarget]:
    found: dict[str, CustomTarget] = {}
    for place in places:
        made = _made(place)
        if made.name in found:
            raise InputError(f"--target: two targets have the name {made.name!r}; give one of them another")
        found[made.name] = made
    return found


def _made(place: str) -> CustomTarget:
    """The target at a place, or what the function there gives."""
    if (here := os.getcwd()) not in sys.path:
        sys.path.append(here)  # last: nothing in the current folder takes the place of a library's
    try:
        found = pkgutil.resolve_name(place)
        found = found if isinstance(found, CustomTarget) or not callable(found) else found()
    except (Exception, SystemExit) as error:  # whatever a person's module does as it is imported
        raise InputError(f"--target {place} cannot be loaded: {type(error).__name__}: {words_of(error)}") from error
    if not isinstance(found, CustomTarget):
        words = f"--target {place} must be made with pmdviz.custom_target, or be a function that gives one"
        raise InputError(f"{words}; it is {shown(found)}")
    return found
