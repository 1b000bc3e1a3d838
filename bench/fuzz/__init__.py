"""Coverage-guided fuzzing of what reads the web and the logs; it finds what random bytes do not."""
