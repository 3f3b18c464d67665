"""The cells of the page on notebooks, run by a kernel without a browser, as JupyterLab, VS Code and Colab run them."""

import base64
import io
import re
from pathlib import Path

import pytest
from PIL import Image

from tests.support.tables import looped

pytestmark = pytest.mark.nightly

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "in-a-notebook.md"
WIDGET = "application/vnd.jupyter.widget-view+json"
VSCODE = "import panel as pn\npn.extension(comms='vscode', inline=True)"
COLAB = """
import sys, types
asked = []
output = types.ModuleType("google.colab.output")
output.enable_custom_widget_manager = lambda: asked.append(True)
output._widgets = types.SimpleNamespace(_installed_url="its own")
sys.modules["google.colab.output"] = output
import panel as pn
pn.config.comms = "colab"
"""


@pytest.fixture(scope="module")
def outputs() -> dict[str, list]:
    """What the cells of the page give, and the first of them again in other surroundings."""
    import nbformat
    from nbclient import NotebookClient

    cells = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.S)
    rest = {"vscode": VSCODE, "in vscode": cells[0], "colab": COLAB, "in colab": cells[0], "asked": "print(asked)"}
    sources = {**{str(k): cell for k, cell in enumerate(cells)}, **rest, "row": "pn.Row(lab)[0].object"}
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources.values()])
    NotebookClient(notebook, timeout=120).execute()
    return {name: cell.outputs for name, cell in zip(sources, notebook.cells, strict=True)}


@looped("cell", ["0", "in vscode", "in colab"])
def test_the_first_cell_shows_a_widget_and_a_picture(outputs, cell):
    live, still = (output["data"] for output in outputs[cell] if output["output_type"] == "display_data")
    assert len(live[WIDGET]["model_id"]) == 32
    assert Image.open(io.BytesIO(base64.b64decode(still["image/png"]))).size == (960, 540)
    assert still["text/plain"].startswith("iteration 0,")


def test_colab_is_asked_for_its_widget_manager(outputs):
    assert outputs["asked"][0]["text"] == "[True]\n"
    assert outputs["in colab"][0]["metadata"][WIDGET]["colab"]["custom_widget_manager"]["url"] == "its own"


def test_the_other_cells_give_what_they_say(outputs):
    assert outputs["1"][0]["data"]["text/plain"].startswith("(array(")
    assert WIDGET in outputs["2"][0]["data"] and WIDGET in outputs["3"][0]["data"]


def test_panel_says_what_to_take_where_it_cannot_hold_a_lab(outputs):
    assert "lab.widget" in outputs["row"][0]["data"]["text/plain"]
