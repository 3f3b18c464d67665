"""`panel serve pmdviz/app.py --plugins pmdviz.panel_plugin`: the guarded handlers of `pmdviz serve` from the start."""

from pmdviz import handlers, refusals

ROUTES: list = []  # what Panel asks a plugin for; ours has no addresses of its own

handlers.install()
refusals.install()
