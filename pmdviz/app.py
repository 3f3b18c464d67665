"""The app: `panel serve pmdviz/app.py`."""

from pmdviz.serve.pages import serve_lab

serve_lab()
