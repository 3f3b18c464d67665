"""Log likelihoods of the targets and their gradients: for many parameters at once, and as models of chains."""
