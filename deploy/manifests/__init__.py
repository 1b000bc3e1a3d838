"""Writes the manifests that follow from the code, so that they can't differ from it."""
