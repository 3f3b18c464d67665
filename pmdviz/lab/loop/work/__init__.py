"""Work beside the live loop, in the background: the exact samples, exports, experiments, other seeds, tests of fit."""
