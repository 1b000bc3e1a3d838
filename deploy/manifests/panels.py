"""Grafana's dashboards (JSON model, schema 39) from the short form of deploy/grafana/*.yaml.

A panel has a ``title``, its Prometheus ``queries`` by their legend, and, where they differ from the defaults,
the ``unit`` of the results, the ``kind`` of panel, its ``width`` and ``height`` on the grid, the largest value
(``most``), a ``description``, and whether the results are ``stacked``. In a query, ``#`` is the chosen
namespace, ``$span`` the range of a rate.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

#: Grafana's grid is 24 columns wide.
COLUMNS = 24
WIDTH = 8
HEIGHT = 8

_SOURCE = {"type": "prometheus", "uid": "${source}"}
#: Without namespaces, "All" is chosen, which matches every value and a missing one.
_MEANINGS = {"#": 'namespace=~"$namespace"', "$span": "[$__rate_interval]"}
_KEYS = {"title", "queries", "unit", "kind", "width", "height", "most", "description", "stacked"}

Panel = Mapping[str, Any]


def dashboard(form: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON model of a dashboard; raises `ValueError` where a panel has an unknown key."""
    panels = list(_laid_out(form["rows"]))
    return {
        "uid": form["uid"],
        "title": form["title"],
        "tags": ["scentline"],
        "schemaVersion": 39,
        "timezone": "browser",
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {"list": _variables()},
        "panels": [{"id": number} | panel for number, panel in enumerate(panels, 1)],
    }


def _laid_out(rows: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the rows' heads and their panels, from left to right and from top to bottom."""
    top = 0
    for row in rows:
        yield {"type": "row", "title": row["title"], "gridPos": _place(0, top, COLUMNS, 1), "panels": []}
        top += 1
        left = tallest = 0
        for panel in row["panels"]:
            width, height = panel.get("width", WIDTH), panel.get("height", HEIGHT)
            if left + width > COLUMNS:
                top, left, tallest = top + tallest, 0, 0
            yield _panel(panel) | {"gridPos": _place(left, top, width, height)}
            left, tallest = left + width, max(tallest, height)
        top += tallest


def _place(left: int, top: int, width: int, height: int) -> dict[str, int]:
    return {"x": left, "y": top, "w": width, "h": height}


def _panel(panel: Panel) -> dict[str, Any]:
    if unknown := panel.keys() - _KEYS:
        raise ValueError(f"panel {panel['title']}: no such key: {', '.join(sorted(unknown))}")
    kind = panel.get("kind", "timeseries")
    defaults: dict[str, Any] = {"unit": panel.get("unit", "short"), "min": 0}
    if "most" in panel:
        defaults["max"] = panel["most"]
    if kind == "timeseries":
        stacked = panel.get("stacked", False)
        defaults["custom"] = {
            "lineWidth": 2,
            "showPoints": "never",
            "fillOpacity": 20 if stacked else 0,
            "stacking": {"mode": "normal" if stacked else "none"},
        }
        options: dict[str, Any] = {"tooltip": {"mode": "multi"}, "legend": {"placement": "bottom"}}
    else:
        options = {"reduceOptions": {"calcs": ["lastNotNull"]}}
    return {
        "type": kind,
        "title": panel["title"],
        "description": panel.get("description", ""),
        "datasource": _SOURCE,
        "targets": [
            {"refId": chr(ord("A") + number), "expr": _query(query), "legendFormat": legend}
            for number, (legend, query) in enumerate(panel["queries"].items())
        ],
        "fieldConfig": {"defaults": defaults, "overrides": []},
        "options": options,
    }


def _query(short: str) -> str:
    for sign, meaning in _MEANINGS.items():
        short = short.replace(sign, meaning)
    return short


def _variables() -> list[dict[str, Any]]:
    namespace = {
        "name": "namespace",
        "label": "Namespace",
        "type": "query",
        "datasource": _SOURCE,
        "query": "label_values(scentline_build_info, namespace)",
        "refresh": 2,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": "All", "value": "$__all"},
    }
    return [
        {"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus"},
        namespace,
    ]
