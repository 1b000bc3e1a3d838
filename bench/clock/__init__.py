"""What crawlers find by the clock: hosts that are asked once a second and answer as late as the web does."""
