"""The app: `panel serve pmdviz/app.py`."""

from pmdviz.pages import serve_lab

serve_lab()
