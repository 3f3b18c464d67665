"""The evidence: log Z = log of the integral of exp(log_joint), with data log p(X), as a method estimates it."""

from __future__ import annotations

from pmdviz.methods import Method
from pmdviz.metrics.base import Measurable, Metric
from pmdviz.metrics.plane import DASHED, DOTTED
from pmdviz.targets import Target


def _log_z(frame: Measurable) -> float | None:
    return frame.method.log_z(frame.state, frame.knobs, frame.target)


def _exact(frame: Measurable) -> float | None:
    return frame.reference.log_z


def _above(frame: Measurable) -> float | None:
    return frame.method.log_z_above(frame.state, frame.knobs, frame.target)


def _error(frame: Measurable) -> float | None:
    """log Z-hat - log Z."""
    found = _log_z(frame)
    return None if found is None else found - frame.reference.log_z


def _estimates(target: Target, method: Method) -> bool:
    return method.estimates_log_z


def _bounded(target: Target, method: Method) -> bool:
    return method.bounds_log_z and target.exact is not None


def _known(target: Target, method: Method) -> bool:
    """Whether there is an estimate and the truth."""
    reference = target.reference() if method.estimates_log_z else None
    return reference is not None and reference.log_z is not None


Metric(
    name="log_z",
    title="log Z",
    unit="nats",
    about="estimate of log Z, with data log p(X): of the data seen, or at the temperature reached, so far",
    measure=_log_z,
    applies=_estimates,
    ranks=False,
    order=32,
    log=False,
    axis="log_z",
    axis_title="log Z",
    colour="particles",
)
Metric(
    name="log_z_above",
    title="log Z from above",
    unit="nats",
    about="log Z by the way back from independent draws: at its end an upper bound in the mean",
    measure=_above,
    applies=_bounded,
    ranks=False,
    order=33,
    log=False,
    axis="log_z",
    colour="approximate",
    dash=DOTTED,
)
Metric(
    name="log_z_exact",
    title="exact log Z",
    unit="nats",
    about="log Z of the reference, which estimates should come to at the end",
    measure=_exact,
    applies=_known,
    ranks=False,
    order=34,
    log=False,
    axis="log_z",
    dash=DASHED,
)
Metric(
    name="log_z_error",
    title="error of log Z",
    unit="nats",
    about="estimate of log Z minus that of the reference; it says something once all data or temperatures are done",
    measure=_error,
    applies=_known,
    ranks=False,
    order=35,
    log=False,
    axis="log_z_error",
    colour="particles",
)
