"""The demo: two crawls of one synthetic web, side by side, and the picture of what learning was worth."""
