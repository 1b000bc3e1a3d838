"""Operations on a crawl, running or at rest: audit, inspect, steer, forget, copy, reuse."""
