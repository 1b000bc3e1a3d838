"""Statistics, learning and parsing: plain Python on numbers, strings and structs.

Nothing here reads a clock, a stream, a file or the network: time and randomness are passed in.
"""
