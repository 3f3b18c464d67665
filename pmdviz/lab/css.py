"""Layout and colours of the lab: a square stage beside the traces, on a phone one above the other."""

LAB = """
:host { display: grid !important; width: 100%; box-sizing: border-box; padding: 8px 16px 4px; gap: 4px 16px;
  grid-template-columns: minmax(350px, min(56%, calc(100vh - 276px))) minmax(300px, 1fr);
  grid-template-areas: "stage traces" "layers options" "status status" "transport transport"; align-content: start;
  grid-auto-rows: max-content; height: auto !important; }
.pmdviz-stage, .pmdviz-traces { position: relative !important; width: 100% !important; }
.pmdviz-stage { grid-area: stage; align-self: start; aspect-ratio: 1; height: auto !important; transition: opacity 0.15s; }
.pmdviz-traces { grid-area: traces; height: 100% !important; min-height: 280px; }
.pmdviz-layers { grid-area: layers; }
.pmdviz-options { grid-area: options; }
.pmdviz-statusbar { grid-area: status; }
.pmdviz-trouble { grid-area: stage; align-self: center; z-index: 5; }
.pmdviz-transport { grid-area: transport; }
.pmdviz-lab, .pmdviz-layers, .pmdviz-options, .pmdviz-statusbar { min-width: 0 !important; }
.pmdviz-dim { opacity: 0.35; }
@media (max-width: 900px) {
  :host { min-width: 0 !important; max-width: 100vw; grid-template-columns: minmax(0, 1fr); padding: 4px 4px 130px; gap: 4px;
    grid-template-areas: "stage" "status" "layers" "traces" "options"; }
  .pmdviz-stage { width: clamp(350px, 100vw - 8px, 70vh) !important; height: clamp(350px, 100vw - 8px, 70vh) !important;
    min-width: 0 !important; justify-self: center; }
  .pmdviz-traces { height: 320px !important; }
  .pmdviz-transport { position: fixed !important; left: 0; right: 0; bottom: 0; z-index: 1000; padding: 6px 6px 8px;
    box-sizing: border-box; border-top: 1px solid #8884; background: var(--panel-background-color, #fff); width: 100% !important; }
}
"""
TRANSPORT = """
:host { display: grid !important; grid-template-columns: repeat(6, minmax(64px, 120px)) minmax(120px, 170px); gap: 6px; align-items: end; }
@media (max-width: 900px) { :host { grid-template-columns: repeat(5, minmax(0, 1fr)); } .pmdviz-continue { grid-column: 1 / 3; }
  .pmdviz-speed { grid-column: 3 / 6; width: 100% !important; } }
"""
STATUS = """
:host { font: 14px/1.4 Roboto, system-ui, -apple-system, "Segoe UI", sans-serif; font-variant-numeric: tabular-nums;
  color: var(--panel-on-background-color, #1a1a1a); }
.grid { display: grid; grid-template-columns: 1fr auto; column-gap: 16px; }
.bar { grid-column: 1 / 3; height: 6px; border-radius: 3px; background: #8884; overflow: hidden; margin-bottom: 4px; }
.fill { height: 100%; background: var(--panel-primary-color, #0072B5); }
.pmdviz-status { font-weight: 600; }
.passes { text-align: right; }
.step, .more { grid-column: 1 / 3; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; min-height: 20px; }
.more { color: var(--pmdviz-accent, #A34700); }
@media (max-width: 900px) { .grid { grid-template-columns: 1fr; padding: 0 6px; } .bar, .step, .more { grid-column: 1; }
  .passes { text-align: left; } .step, .more { white-space: normal; min-height: 40px; } .pmdviz-status { min-height: 40px; } }
"""
