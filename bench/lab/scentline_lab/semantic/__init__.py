"""Tables of word meanings, made of a sentence encoder."""
