"""A posterior from parts: every machine has a shard of the data, and their subposteriors are made into one."""
