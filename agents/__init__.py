"""What acts: one Faust agent a file, the web client they use, and the command line that starts them."""
