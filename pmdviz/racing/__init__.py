"""Races: several methods on one target and one budget, in lock step or run by run over many seeds."""

from pmdviz.racing.entrants import Entrant, entrants
from pmdviz.racing.lockstep import Race
from pmdviz.racing.modes import Modes, modes
from pmdviz.racing.recipe import RaceRecipe
from pmdviz.racing.result import RaceResult
from pmdviz.racing.runs import race

__all__ = ["Entrant", "Modes", "Race", "RaceRecipe", "RaceResult", "entrants", "modes", "race"]
