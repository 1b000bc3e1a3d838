"""Clients of Scentline's door: other crawlers fetch what its learned frontier orders."""
