"""Tests, by the room of what they test."""
