"""Work beside the live loop, in the background: independent draws, exports, experiments, other seeds, tests of fit."""
