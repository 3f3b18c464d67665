"""Work beside the live loop, in the background: the independent draws, exports, experiments, other seeds, tests of fit."""
