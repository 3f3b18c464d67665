"""`panel serve pmdviz/app.py --plugins pmdviz.panel_plugin`: guarded handlers from the start.

With `--num-procs` each process also has the scripts of the page from the start, whichever of them sent the page.
"""

import panel_material_ui  # noqa: F401, whose import offers its scripts

from pmdviz.serve import handlers

ROUTES: list = []  # what Panel asks a plugin for; ours has no addresses of its own

handlers.install()
