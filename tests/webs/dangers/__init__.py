"""The part of the synthetic web that a crawler has to fear: each danger on a host of its own, on loopback."""
