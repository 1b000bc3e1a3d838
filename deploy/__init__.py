"""What Scentline runs in: image, compose file, manifests, dashboards, alerts, and what writes them."""
