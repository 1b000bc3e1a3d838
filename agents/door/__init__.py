"""The door: others fetch what the frontier orders, by three calls over HTTP."""
