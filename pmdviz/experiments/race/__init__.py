"""Races: several methods on one target and one budget, in lock step or run by run over many seeds."""

from pmdviz.experiments.race.recipe import Entrant, RaceRecipe, entrants
from pmdviz.experiments.race.runs import Race, RaceResult, race

__all__ = ["Entrant", "Race", "RaceRecipe", "RaceResult", "entrants", "race"]
