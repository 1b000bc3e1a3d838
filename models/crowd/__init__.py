"""What the crowd of users does: the accesses of each user, in order."""
