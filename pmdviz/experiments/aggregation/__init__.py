"""Models that machines have fitted to their own share of the data, combined into one (Han 2019, model aggregation)."""
