"""Deployment: image, compose file, manifests, dashboards, alerts, and their generators."""
