"""The learner: counts of every feature, and what of them is worth telling."""
