"""Mean-field variational Bayes by particles: q is a product over blocks of parameters."""
