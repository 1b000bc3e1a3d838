"""The evaluation: virtual crawls of an archive by each policy, their figures, pictures and report."""
