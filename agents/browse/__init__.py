"""Browsing: what users visited together, from the accesses of their pages."""
