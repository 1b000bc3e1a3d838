"""What the frontier decides with: queues of candidates, fair shares, the window in flight, host clocks."""
