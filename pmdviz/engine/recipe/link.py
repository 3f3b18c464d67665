"""A recipe as a short text for links: canonical, versioned, with no module named and no code in it.

The format's number, a dot, and the base64url of the deflated JSON. Every knob and option is in it, so that a link stays
what it was when a default changes; those that have the default of today cost next to nothing, as the compressor knows
them beforehand.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pmdviz.engine.recipe.formats import FORMAT
from pmdviz.engine.recipe.parts import json_value, mapping
from pmdviz.errors import InputError, shown
from pmdviz.targets.offered import choice_of

if TYPE_CHECKING:
    from pmdviz.data.tables import Table
    from pmdviz.engine.recipe.recipe import Recipe

MOST_DATA = 2_000  # bytes of a person's own table in a link
LARGEST = 1_000_000  # bytes of JSON that a link may unfold to, and characters that it may have itself
SHORT = {
    **{"target": "t", "target_options": "o", "method": "m", "knobs": "k", "seed": "s", "budget": "b"},
    **{"budget_unit": "u", "changes": "c", "data": "d"},
}

# What links of a format have in common, for the compressor. It belongs to the format and never changes.
FIRST = (
    b'"burn_in":50,"thinning":1"leapfrog_steps":10,"tune":true,"time_step":0.1"num_particles":1500,"batch_size":10'
    b',"bandwidth_rule":"local","bandwidth":0.75,"smoothness":2.0"a":0.06,"b":100.0,"g":0.55,"batches":"epochs""es'
    b's_threshold":0.5,"jitter_rule":"local","jitter":0.85,"shrinkage":true"ladder":"adaptive","num_temperatures":'
    b'10,"power":3.0,"num_moves":3,"move_shape":"local","move_scale":0.6"shape":"full","optimiser":"natural","num_'
    b'pairs":16,"eta":5.0,"n0":20.0,"kappa":1.0{"t":"banana","o":{"num_data":100,"sigma_x":2.0,"bend":1.0,"prior_s'
    b'd":1.0,"theta1":0.5,"theta2":0.8,"data_seed":0}}{"t":"bimodal1d","o":{"num_data":100,"sigma_x":3.0,"theta":1'
    b'.2,"data_seed":0}}{"t":"gaussian","o":{"dim":2,"num_data":20,"sigma_x":2.0,"prior_sd":1.0,"theta":0.7,"data_'
    b'seed":0}}"b":null,"c":[[10,{"bandwidth":0.1,"num_particles":500}],[{"t":"mixture","o":{"num_data":1000,"sigm'
    b'a_x":2.5,"p":0.5,"theta1":1.0,"theta2":-2.0,"data_seed":0},"m":"pmd","k":{"num_particles":1500,"schedule":"d'
    b'ecay","eta":2.0,"n0":20.0,"kappa":1.0,"step_size":0.1,"delta":1.0,"gradient_bound":1.0,"policy":"ess","until'
    b'":20,"ess_threshold":0.5,"draws":"balanced","resampler":"systematic","growth":"fixed","growth_exponent":1.0,'
    b'"most_particles":6000,"smoothness":2.0,"warm_start":false,"batch_size":100,"batches":"epochs","bandwidth_rul'
    b'e":"local","bandwidth":0.75},"s":0,"b":20000,"c":[]}'
)

SHAPED = b'"bandwidth_rule":"shaped","bandwidth":1.0'
SECOND = SHAPED + FIRST.replace(b'"policy":"ess"', b'"step_limit":0.5,"policy":"ess"')
THIRD = SECOND.replace(b'"thinning":1', b'"thinning":1,"num_chains":1').replace(
    b'"burn_in":50,', b'"memory":0.99,"damping":1e-05"one_pass":false,"burn_in":0.2,'
)
DICTIONARIES = {1: FIRST, 2: SECOND, 3: THIRD}


def pack(recipe: Recipe) -> str:
    """The text that stands for `recipe`; equal recipes give equal texts. Raises InputError for a custom target.

    One that a server offers is told by its name and fingerprint.
    """
    if recipe.custom is not None and choice_of(recipe.custom) is recipe.custom:
        raise InputError(f"a link cannot hold your own target {recipe.target!r}; share the recipe as a file")
    plain = without_large_data(recipe.to_dict())
    short = {SHORT[name]: plain[name] for name in SHORT if name in plain}
    text = json.dumps(short, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
    if len(text) > LARGEST:
        raise InputError(f"a link holds at most {LARGEST:,} bytes of recipe; this one has {len(text):,}: share a file")
    return f"{FORMAT}.{fold(text)}"


def without_large_data(plain: dict[str, Any]) -> dict[str, Any]:
    """The plain values without tables that are too large for a link: their names and digits stay."""
    fits = _fit(plain.get("data", {}).values())
    return {name: value for name, value in plain.items() if name != "data" or fits}


def fits_link(tables: Iterable[Table]) -> bool:
    """Whether a link carries these tables."""
    return _fit(table.text for table in tables)


def _fit(texts: Iterable[str]) -> bool:
    return sum(len(text.encode()) for text in texts) <= MOST_DATA


def unpack(text: str) -> dict[str, Any]:
    """The plain values of `pack`'s text, for `Recipe.from_dict`. Raises InputError with one sentence for others."""
    version, unfolded = unfold(text)
    plain = mapping("the recipe of a link", json_value(unfolded))
    long = {short: name for name, short in SHORT.items()}
    if unknown := [key for key in plain if key not in long]:
        raise InputError(f"this link says something that this pmdviz does not know: {shown(unknown[0])}")
    return {"pmdviz_recipe": version} | {long[key]: value for key, value in plain.items()}


def fold(text: bytes) -> str:
    """JSON as it stands behind the dot of a link of today's format."""
    squeezer = zlib.compressobj(9, zlib.DEFLATED, -15, 9, zlib.Z_DEFAULT_STRATEGY, DICTIONARIES[FORMAT])
    squeezed = squeezer.compress(text) + squeezer.flush()
    return base64.urlsafe_b64encode(squeezed).decode().rstrip("=")


def unfold(text: str) -> tuple[int, bytes]:
    """Format and JSON of a link of any format. Raises InputError with one sentence for what is none."""
    if not isinstance(text, str):
        raise InputError(f"a link is a text, as Recipe.to_link gives it; given: {shown(text)}")
    if len(text) > LARGEST:
        raise InputError(f"a link has at most {LARGEST:,} characters; this one has {len(text):,}")
    number, dot, body = text.partition(".")
    if not dot or not number.isascii() or not number.isdecimal():
        raise InputError("this link is not complete or is not a link of pmdviz; open it again from where it came")
    version = int(number[:9])
    if version not in DICTIONARIES:
        words = f"this pmdviz reads links of format {FORMAT} and before; this one has format {shown(number, 12)}"
        raise InputError(words)
    return version, _unfolded(body, DICTIONARIES[version])


def _unfolded(body: str, dictionary: bytes) -> bytes:
    broken = InputError("the link was cut short or changed on the way; open it again from where you got it")
    try:
        squeezed = base64.b64decode(body + "=" * (-len(body) % 4), altchars=b"-_", validate=True)
        unfolder = zlib.decompressobj(-15, dictionary)
        text = unfolder.decompress(squeezed, LARGEST)
    except (binascii.Error, ValueError, zlib.error) as error:
        raise broken from error
    if not unfolder.eof or unfolder.unused_data:
        raise broken
    return text
