"""Candidates ordered by the importance of their pages (Cho, Garcia-Molina and Page 1998)."""
