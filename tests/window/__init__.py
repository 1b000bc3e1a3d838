"""Tests of the window, and a browser to look at it with."""
