"""Tests of what Scentline runs in: manifests, image, dashboards, alerts."""
