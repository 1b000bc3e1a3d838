"""The learned policy: shrunk evidence of many kinds, combined by an online Bayesian logistic regression."""
