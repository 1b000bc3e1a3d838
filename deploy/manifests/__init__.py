"""Generates the manifests from the code, so that they can't differ from it."""
