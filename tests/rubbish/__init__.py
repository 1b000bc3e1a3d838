"""What nobody asked for: bombs, damage, broken machines. Each ends in a clear error or a counted refusal."""
