"""The meaning of words, from a table of word-piece vectors that a sentence encoder was distilled into."""
