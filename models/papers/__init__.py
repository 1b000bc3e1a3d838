"""The papers whose rules act on sites: Wang (2007), Baeza-Yates and Castillo (2004), Liu et al. (2011)."""
