"""Pictures of states that are not real: lattices, tables of values, signs of weights, and the axis behind them."""
