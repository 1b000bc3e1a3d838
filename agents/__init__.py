"""What acts: a folder for each role with its Faust agent, what runs them, and the command line."""
