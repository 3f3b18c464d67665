"""Pictures: Bokeh figures that are built once and then only change their data."""

from pmdviz.scenes.stage.posterior import stage_columns
from pmdviz.views.stage import DataView, StageView
from pmdviz.views.traces import TracesView

__all__ = ["DataView", "StageView", "TracesView", "stage_columns"]
