"""Yardsticks: a crawler in memory and a recount of the statistics, to hold the streaming pipeline against."""
