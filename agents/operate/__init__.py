"""What people do with a crawl, running or at rest: audit, inspect, steer, forget, copy, reuse."""
