"""`panel serve pmdviz/app.py --plugins pmdviz.panel_plugin`: guarded handlers from the start."""

from pmdviz.serve import guards, handlers

ROUTES: list = []  # what Panel asks a plugin for; ours has no addresses of its own

handlers.install()
guards.install()
