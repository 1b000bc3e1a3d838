"""Orderings compared on a web that is known, as in Cho, Garcia-Molina and Page 1998."""
