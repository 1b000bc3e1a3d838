"""Tables of word-piece vectors and sentence encoders as files."""
