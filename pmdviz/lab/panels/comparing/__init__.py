"""A run beside others: two settings as a race, and the same recipe with other seeds."""
