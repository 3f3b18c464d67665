"""Models of many machines made into one: how far each way to combine them is from what all data would give."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from pmdviz import experiments
from pmdviz.data.files import holds_images
from pmdviz.errors import InputError, shown
from pmdviz.experiments import Case, Chart, Ellipses, Experiment, Group, Row, Series, Size, grouped, mixtures
from pmdviz.experiments.mixtures import COMBINERS, MODELS, Fit, Machines, Mixture, combined, exact
from pmdviz.experiments.sweep import fitted
from pmdviz.kernels.checks import Array, Rng
from pmdviz.knobs import Choice, Knobs, Whole
from pmdviz.targets.options import TableForm, data_source, rows_of
from pmdviz.targets.rows import CARRIED as CARRIED_IMAGES
from pmdviz.targets.rows import whole_table

# The points that the machines share out, and those held out: drawn from a true model, or rows of a table.

SIMULATED = "simulated"
TRUTH = 20_200  # seed of the true parameters: one truth for every size of model
HELD_OUT = 20_000  # points drawn to judge by
TABLE = TableForm("Columns of numbers; the last of them is left out.", most=100_000, outcome="number")
LEARNT = 0.8  # of a table's rows; the others are held out


class Points(NamedTuple):
    """Rows to learn from in random order (N, d), rows held out, and the parameters that they were drawn from."""

    train: Array
    test: Array
    truth: Mixture | None


# Tables that come with a package; the columns of images share one unit.
CARRIED = {"digits": "handwritten digits", "breast_cancer": "breast cancer", "randhie": "visits to doctors (RAND)"}


def read_points(source: str, model: mixtures.Model, num_data: int, seed: int) -> Points:
    """N points of `model.dim` coordinates. Raises InputError where a table cannot be read."""
    rng = np.random.default_rng([seed, 1])
    if source == SIMULATED:
        truth = model.truth(np.random.default_rng([TRUTH, model.dim, model.components]))
        return Points(model.sample(truth, rng, num_data), model.sample(truth, rng, HELD_OUT), truth)
    scores = principal_scores(source)
    rows = scores[rng.permutation(len(scores)), : model.dim]
    learnt = int(LEARNT * len(rows))
    return Points(rows[: min(num_data, learnt)], rows[learnt : learnt + HELD_OUT], None)


def most_data(source: str) -> int | None:
    """How many rows of a table can be learnt from; None where any number can be drawn. Raises InputError."""
    return None if source == SIMULATED else int(LEARNT * len(principal_scores(source)))


@lru_cache(maxsize=2)
def principal_scores(source: str) -> Array:
    """All principal components of a table without its last column, (N, k), in units of the first one's sd.

    Columns are divided by their sd, but for images, whose pixels have one unit; those that do not vary are left out.
    Each component's largest loading is positive. Raises InputError.
    """
    images = source == "digits" or holds_images(source)
    if source in CARRIED:
        table = (CARRIED_IMAGES[source]() if images else whole_table(source, TABLE, False))[0]
    else:
        table = rows_of(source, TABLE).rows
    columns = table[:, :-1].astype(np.float64)
    columns = columns[:, np.ptp(columns, axis=0) > 0]
    if columns.shape[1] < 2:
        words = f"data {shown(source)} need at least 2 columns that vary, besides the last; got {columns.shape[1]}"
        raise InputError(words, "data")
    columns -= columns.mean(axis=0)
    if not images:
        columns /= columns.std(axis=0)
    values, axes = np.linalg.eigh(columns.T @ columns / len(columns))
    axes = axes[:, ::-1][:, values[::-1] > 1e-9 * values[-1]]
    axes *= np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])])
    return columns @ axes / np.sqrt(values[-1])


FITS, SHUFFLE, DRAWS = 2, 3, 5  # random streams of a seed; the first is of the data
REFERENCES = {"exact": "the KL average itself", "mle": "all data on one machine"}


def make_model(case: Case, components: int | None = None) -> mixtures.Model:
    """The model of a case."""
    return MODELS[case["model"]](case["dim"], components or case["components"], case["latent"])


def most_components(case: Case) -> int:
    """As many as a model of the case may have: where BIC chooses, twice as many as the true one."""
    return 2 * case["components"] if case["count"] == "bic" else case["components"]


class Block:
    """The points, machines and references of a case, all determined by its seed."""

    def __init__(self, case: Case) -> None:
        self.case, self.seed, self.model = case, case["seed"], make_model(case)

    def stream(self, *which: int) -> Rng:
        """Random numbers of one purpose."""
        return np.random.default_rng([self.seed, *which])

    @cached_property
    def points(self) -> Points:
        """Of all machines, and held out."""
        return read_points(self.case["data"], self.model, self.case["num_data"], self.seed)

    @cached_property
    def machines(self) -> Machines:
        """A model fitted on each; faults of a fit are in `local_notes`."""
        shards = np.array_split(self.points.train, self.case["num_shards"])
        each = [(shard, self.stream(FITS, k)) for k, shard in enumerate(shards)]
        if self.case["count"] == "known":
            fits = [self.model.fit(shard, rng=rng) for shard, rng in each]
        else:
            ladder = [make_model(self.case, c) for c in range(1, most_components(self.case) + 1)]
            fits = [mixtures.fit_by_bic(ladder, shard, rng) for shard, rng in each]
        self.local_notes = [fit.note for fit in fits if fit.note]
        return Machines(self.model, [fit.params for fit in fits], self.stream(SHUFFLE))

    @cached_property
    def mle(self) -> Fit:
        """The model fitted to all data, with as many components as most machines'."""
        return self.model.fit(self.points.train, start=self.machines.first)

    @cached_property
    def exact(self) -> Fit:
        """The exact KL average."""
        return exact(self.machines)

    def bootstrap(self, n: int) -> mixtures.Bootstrap:
        """n draws from each machine's model."""
        return mixtures.Bootstrap(self.machines, n, self.stream(DRAWS, n))

    def held_out(self, params: Mixture) -> float:
        """Mean log likelihood of the points held out, nats per point; NaN where the parameters give no density."""
        return float("nan") if params.fault else float(self.model.log_density(self.points.test, params).mean())

    def possible(self, names: Sequence[str]) -> list[str]:
        """The combiners that show something of this model."""
        return [name for name in names if self.model.ambiguous or not COMBINERS[name].ambiguous_only]

    def rows(self, names: Sequence[str]) -> list[Row]:
        """A row of each combiner at each n; one with n = 0 where nothing is drawn."""
        found = []
        for n in (*self.case["draws"], 0):
            bootstrap, drawing = self.bootstrap(n), n > 0
            mine = [name for name in self.possible(names) if bool(COMBINERS[name].parts) == drawing]
            found += [self._row(name, n, *combined(name, self.machines, bootstrap)) for name in mine]
        return found + [self._row(name, 0, getattr(self, name), 0.0, getattr(self, name).note) for name in REFERENCES]

    def _row(self, name: str, n: int, found: Fit | None, seconds: float, note: str) -> Row:
        nan, truth = float("nan"), self.points.truth
        params = found.params if found else None
        local = f"{len(self.local_notes)} machines: {self.local_notes[0]}" if self.local_notes else ""
        return {
            "combiner": name, "num_draws": n, "num_shards": self.case["num_shards"], "dim": self.case["dim"],
            "num_data": len(self.points.train), "components": len(params.shares) if params else 0, "seed": self.seed,
            "error": mixtures.distance(params, self.exact.params) if params else nan,
            "error_mle": mixtures.distance(params, self.mle.params) if params else nan,
            "error_truth": mixtures.distance(params, truth) if params and truth else nan,
            "gap": self.held_out(self.mle.params) - self.held_out(params) if params else nan,
            "seconds": seconds, "note": note or local,
        }  # fmt: skip


# The knobs of `aggregation`, and the quantities that can be varied.

MIXED = tuple(name for name, model in MODELS.items() if model.mixed)
SETS: dict[str, tuple[str, tuple[str, ...]]] = {
    "all": ("all that apply", tuple(COMBINERS)),
    "kl": ("KL averaging", ("naive", "control", "control_fresh", "weighted", "weighted_printed")),
    "linear": ("means of the parameters", ("linear", "linear_unmatched")),
}


class Varied(NamedTuple):
    """One thing to vary: words, column and axis of it, what a value of it changes, and slopes known by theory."""

    title: str
    column: str
    axis: str
    change: Callable[[Case, int], Case]
    levels: tuple[int, int]
    slopes: Sequence[tuple[str, float]] = ()


VARIED: dict[str, Varied] = {
    "n": Varied(
        "draws from each model n", "num_draws", "draws from each model n",
        lambda case, n: {"draws": [n]}, (30, 1000),
        (("plain draws by theory: slope −1", -1.0), ("control and weighted by theory: slope −2", -2.0)),
    ),
    "K": Varied(
        "machines K", "num_shards", "machines K",
        lambda case, k: {"num_shards": k}, (5, 40),
        (("by theory: slope −1", -1.0),),
    ),
    "K_total": Varied(
        "machines K, with the same draws n K in all", "num_shards", "machines K, n K the same",
        lambda case, k: {"num_shards": k, "draws": [max(2, case["num_shards"] * case["draws"][0] // k)]}, (5, 40),
        (("control and weighted by theory: slope 1", 1.0),),
    ),
    "N": Varied("data points N", "num_data", "data points N", lambda case, n: {"num_data": n}, (10_000, 1_000_000)),
    "dim": Varied("dimension d", "dim", "dimension d", lambda case, d: {"dim": d}, (2, 10)),
    "alpha": Varied(
        "the exponent of n = (N/K)^α, in hundredths", "num_draws", "draws from each model n = (N/K)^α",
        lambda case, a: {"draws": [max(2, round((case["num_data"] / case["num_shards"]) ** (a / 100)))]}, (40, 80),
    ),
}  # fmt: skip


# References for the parameters, and the column of the error against each.
AGAINST = {"exact": "the exact KL average", "mle": "the fit to all data", "truth": "the true parameters"}
AGAINST_COLUMNS = {"exact": "error", "mle": "error_mle", "truth": "error_truth"}


FEWER, DIMS = dict.fromkeys(MIXED, 60_000), {"digits": 10, "breast_cancer": 10, "randhie": 5}  # defaults of N and d
LOW_RANK = tuple(name for name, model in MODELS.items() if model.low_rank)
COUNTED = {"known": "as set here", "bic": "by BIC on each machine"}
LOWEST, HIGHEST = ({name: each.levels[end] for name, each in VARIED.items()} for end in (0, 1))
NO_DRAWS = tuple(name for name, each in VARIED.items() if each.column != "num_draws")  # where n is not varied


class AggregationKnobs(Knobs):
    """The knobs of `aggregation`.

    model: What each machine fits to its own data.
    data: Drawn from known parameters, or a table. The tables of scikit-learn and statsmodels are reduced to their
        leading principal components. Of a table of yours, such as UCI's Covertype, the last column is left out. A
        fifth of a table's rows is held out.
    num_data: Data points on all machines together; of a table at most as many as it has.
    dim: Coordinates of a point; of a table, its principal components.
    components: Components of a mixture; where they are counted on each machine, the true number.
    latent: Directions of probabilistic PCA, fewer than the dimension.
    count: By BIC the machines' models may have different numbers of components, and no mean of their parameters.
    num_shards: Number of machines; each has as many data.
    varied: The setting that varies; everything else stays.
    lowest: The least value of the varied setting.
    highest: The largest value of the varied setting.
    num_levels: Number of values, evenly spaced on a log axis.
    num_draws: A few times as many as the model has parameters.
    repetitions: Data seeds from 0 on.
    combiners: The combiners that are compared.
    against: What the combined parameters are compared with in pictures and slopes; the rows have all three.
    """

    model = Choice("gaussian", {name: model.title for name, model in MODELS.items()}, "Model")
    data = data_source({SIMULATED: "drawn from a true model", **CARRIED}, acts="restart")
    num_data = Whole(1_000_000, (20, 10**12), (1000, 1_000_000), "Data points N", log=True, default_by=("model", FEWER))
    dim = Whole(3, (2, 100), (2, 20), "Dimension d", default_by=("data", DIMS))
    components = Whole(3, (2, 30), (2, 10), "Components", only_if=("model", MIXED))
    latent = Whole(2, (1, 50), (1, 10), "Latent dimension q", only_if=("model", LOW_RANK))
    count = Choice("known", COUNTED, "Number of components", only_if=("model", MIXED))
    num_shards = Whole(10, (2, 1000), (2, 50), "Machines K")
    varied = Choice("n", {name: each.title for name, each in VARIED.items()}, "Varied setting")
    lowest = Whole(30, (2, 10**12), label="From", log=True, default_by=("varied", LOWEST))
    highest = Whole(1000, (2, 10**12), label="To", log=True, default_by=("varied", HIGHEST))
    num_levels = Whole(4, (1, 20), label="Values")
    num_draws = Whole(
        300, (2, 1_000_000), (30, 3000), "Draws from each model n", log=True, only_if=("varied", NO_DRAWS)
    )
    repetitions = Whole(10, (1, 1000), label="Repetitions")
    combiners = Choice("all", {name: words for name, (words, _) in SETS.items()}, "Ways to combine")
    against = Choice("exact", AGAINST, "Error against")

    def check(self) -> None:
        """Raise InputError where values do not fit one another."""
        if self.lowest > self.highest:
            words = f", {self.highest:,}; got {self.lowest:,}"
            raise self.specs()["lowest"].refusal(f"must be at most highest{words}", f"must be at most To{words}")
        if self.against == "truth" and self.data != SIMULATED:
            on_page = f"A table has no true parameters: set Error against to “{AGAINST['exact']}”"
            raise InputError("a table has no true parameters; set against to exact or mle", "against", on_page)

    @property
    def levels(self) -> list[int]:
        """The values of the varied setting, no two alike."""
        found = np.rint(np.geomspace(self.lowest, self.highest, self.num_levels)).astype(np.int64)
        return sorted({int(level) for level in found})


# The pictures of the machines' and the combined models.

SHOWN = 500  # points
SAME = 1e-14  # differences of rounding alone
TITLES = {name: each.title for name, each in COMBINERS.items()} | REFERENCES
GAP_WORDS = "held-out log likelihood below the one of all data on one machine, nats per point"


def _held_out(series: list[Series], axis: str) -> Chart:
    """On a log axis while all KL averages lose likelihood; then those with no loss, to noise, are left out."""
    if any((each.y <= 0).any() for each in series if each.look == "line"):
        return Chart(series, axis, GAP_WORDS, y_log=False, title="Held-out data")
    kept = [each if each.low is None or (each.low > 0).all() else each._replace(low=None, high=None) for each in series]
    return Chart([each for each in kept if (each.y > 0).all()], axis, GAP_WORDS, title="Held-out data")


def _series(rows: Sequence[Row], knobs: AggregationKnobs, column: str) -> list[Series]:
    """One for each combiner; one that does not depend on the varied setting is a dashed line from end to end."""
    found = []
    for name in TITLES:
        mine = [row for row in rows if row["combiner"] == name and np.isfinite(row[column])]
        if all(abs(row[column]) < SAME for row in mine):  # the references, compared with themselves
            continue
        if VARIED[knobs.varied].column == "num_draws" and not mine[0]["num_draws"]:
            drawn = {row["num_draws"] for row in rows} - {0}
            ends, height = np.unique([min(drawn), max(drawn)]).astype(float), np.mean([row[column] for row in mine])
            found.append(Series(TITLES[name], ends, np.full(len(ends), height), look="dashes"))
        else:
            look = "line" if mine[0]["num_draws"] else "dashes"
            found.append(experiments.mean_series(TITLES[name], mine, VARIED[knobs.varied].column, column, look))
    return found


def ellipses(block: Block, n: int) -> list[Ellipses]:
    """The machines' models and what KL averaging and a mean of the parameters make of them, first two coordinates."""
    points, machines, found = block.points.train[:SHOWN, :2], _group("machines", block.machines.params), []
    for title, names in {"KL averaging": ("naive", "weighted"), "Means": ("linear", "linear_unmatched")}.items():
        groups = []
        for name in block.possible(names):
            made, _, _ = combined(name, block.machines, block.bootstrap(n))
            groups += [_group(TITLES[name], [made.params], bold=True)] if made and not made.params.fault else []
        if groups:
            found.append(Ellipses([machines, *groups], points, "coordinate 1", "coordinate 2", title))
    return found


def _group(name: str, models: Sequence[Mixture], bold: bool = False) -> Group:
    """Means (k, 2) and covariances (k, 2, 2) of all components."""
    _, means, covs = map(np.concatenate, zip(*models, strict=True))
    return Group(name, means[:, :2], covs[:, :2, :2], bold)


LETTERS = {"num_draws": "n", "num_shards": "K", "num_data": "N", "dim": "d"}
NEAR_DATA, NEAR_DRAWS, NEAR_MACHINES = 5000, 1000, 5  # at most so many in the pictures of one case


class Aggregation(Experiment[AggregationKnobs]):
    """Each machine sends its model and no data; the models are combined, at growing n, K, N or d.

    title: Many machines, one model
    about: Every machine fits a model to its own data and sends the model alone. Which one model of all comes nearest to
        the fit to all data?
    source: Han 2019, Algorithms 11 and 12, Theorems 19, 20 and 22, Figures 30 to 34
    """

    name = "aggregation"
    judging = ("against",)

    def columns(self, knobs: AggregationKnobs) -> Mapping[str, type]:
        """Squared distances of the parameters, and the loss in held-out log likelihood, nats a point."""
        errors = dict.fromkeys(("error", "error_mle", "error_truth", "gap", "seconds"), float)
        sizes = ("num_draws", "num_shards", "dim", "num_data", "components", "seed")
        return {"combiner": str, **dict.fromkeys(sizes, int), **errors, "note": str}

    def cases(self, knobs: AggregationKnobs) -> list[Case]:
        """A repetition each, with all n. Raises InputError where a machine has too few data for its model."""
        values = knobs.as_dict()
        names = ("model", "data", "num_data", "dim", "components", "latent", "count", "num_shards", "combiners")
        usual = {name: values[name] for name in names} | {"draws": [knobs.num_draws]}
        different: list[dict] = [usual | VARIED[knobs.varied].change(usual, level) for level in knobs.levels]
        if VARIED[knobs.varied].column == "num_draws":  # the machines' models are the same: one case for all n
            different = [usual | {"draws": [n for each in different for n in each["draws"]]}]
        kept: list[Case] = []
        for case in map(_plain, different):
            _check(case)
            kept += [case] if case not in kept else []
        return [{**case, "seed": seed} for case in kept for seed in range(knobs.repetitions)]

    def run(self, case: Case) -> list[Row]:
        """A row of each way to combine the models at each n."""
        with threadpool_limits(1):  # sums of several threads differ in their last bits
            return Block(case).rows(SETS[case["combiners"]][1])

    def summary(self, rows: Sequence[Row], knobs: AggregationKnobs) -> list[Row]:
        """The slope of the error in n where n is varied; else means, with standard errors; and the failures."""
        found, column = [], AGAINST_COLUMNS[knobs.against]
        for name, title in TITLES.items():
            mine = [row for row in rows if row["combiner"] == name]
            if knobs.varied == "n" and name in COMBINERS and COMBINERS[name].parts:
                found += _slope(title, mine, column, COMBINERS[name].rate)
            else:
                found += _means(title, mine, VARIED[knobs.varied].column, column)
            found += _notes(title, mine)
        return found

    def pictures(self, rows: Sequence[Row], knobs: AggregationKnobs) -> list[Chart]:
        """Error of the parameters, and held-out log likelihood, against the varied setting."""
        varied, series = VARIED[knobs.varied], _series(rows, knobs, AGAINST_COLUMNS[knobs.against])
        words = f"squared distance of the parameters from {AGAINST[knobs.against]}"
        found = [
            Chart(series, varied.axis, words, slopes=varied.slopes, title="Parameters"),
            _held_out(_series(rows, knobs, "gap"), varied.axis),
        ]
        return [chart for chart in found if chart.series]

    def examples(self, knobs: AggregationKnobs) -> list[Ellipses]:
        """The models of one repetition, with fewer data and machines where there are many."""
        case = self.cases(knobs)[0]
        machines = min(case["num_shards"], NEAR_MACHINES)
        few = {"num_data": min(case["num_data"], max(NEAR_DATA, machines * _least(case))), "num_shards": machines}
        with threadpool_limits(1):
            return ellipses(Block(case | few), min(max(case["draws"]), NEAR_DRAWS))

    def size(self, case: Case) -> Size:
        """Seconds on one core and megabytes, from what fits of several sizes took."""
        most = most_data(case["data"])
        n, d, c = min(case["num_data"], most or case["num_data"]), case["dim"], most_components(case)
        drawn = case["num_shards"] * sum(case["draws"])
        exact = case["num_shards"] * mixtures.EXACT_POINTS if c > 1 else 0
        step = c * (1.2e-7 + 4e-9 * d * d)  # seconds a point
        slow = 1 if most is None else 5  # EM of a table
        steps = 30 * slow + (40 * c if case["count"] == "bic" else 0)
        fits = steps * n + 60 * slow * exact + 200 * drawn if c > 1 else 4 * n + 6 * drawn
        return Size(0.05 + 4e-8 * n * d + step * fits, 8e-6 * (n * (4 * d + 3 * c) + (exact + drawn) * (3 * d + 4 * c)))


def _plain(case: Case) -> Case:
    """The case without the settings that its model lacks: no two cases are the same computation."""
    model = MODELS[case["model"]]
    alone = {} if model.mixed else {"components": 1, "count": "known"}
    return case | alone | ({} if model.low_rank else {"latent": 1})


def _least(case: Case) -> int:
    """Data that a machine needs: more than its model has parameters."""
    return make_model(case).num_params() + 1


def _check(case: Case) -> None:
    """Raise InputError where a case is impossible."""
    source, dim = case["data"], case["dim"]
    if source != SIMULATED and dim > (most := principal_scores(source).shape[1]):
        words = f"dim must be at most {most} with data {shown(source)}, which have no more columns"
        raise InputError(f"{words} that vary independently besides the last; got {dim}", "dim")
    if MODELS[case["model"]].low_rank and case["latent"] >= case["dim"]:
        words = f"must be below the dimension, {case['dim']}; got {case['latent']}"
        raise AggregationKnobs.specs()["latent"].refusal(words)
    rows = min(case["num_data"], most_data(case["data"]) or case["num_data"])
    if rows < case["num_shards"] * _least(case):
        words = f"num_data must be at least {case['num_shards'] * _least(case):,}: then each of {case['num_shards']}"
        raise InputError(f"{words} machines has more data than its model has parameters; got {rows:,}", "num_data")


def _slope(title: str, rows: Sequence[Row], column: str, rate: float) -> list[Row]:
    """The power of n that the squared error falls with, next to the theory's."""
    try:
        fit = fitted([row["num_draws"] for row in rows], [row[column] for row in rows])
    except InputError:
        return []
    numbers = {"slope": fit.slope, "standard_error": fit.standard_error, "theory": rate, "rows": fit.num_points}
    return [{"what": f"{title}: error against n", **numbers}]


def _means(title: str, rows: Sequence[Row], by: str, column: str) -> list[Row]:
    """Mean error, its standard error, and mean loss, at each value of the varied setting."""
    found = []
    for (level,), mine in sorted(grouped(rows, by).items()):
        errors, gaps = (np.array([row[name] for row in mine if np.isfinite(row[name])]) for name in (column, "gap"))
        if len(errors):
            (error, spread), (gap, _) = map(experiments.mean_with_error, (errors, gaps))
            words = title if by == "num_draws" and not level else f"{title}, {LETTERS[by]} = {level:,}"
            found.append({"what": words, "error": error, "standard_error": spread, "gap": gap})
    return found


def _notes(title: str, rows: Sequence[Row]) -> list[Row]:
    """How many rows have a note, and the first of them."""
    found = [row["note"] for row in rows if row["note"]]
    return [{"what": f"{title}: {len(found)} of {len(rows)} rows", "note": found[0]}] if found else []
