"""Report: lifetimes as one web page that opens offline, live while they run, and as scalars for other viewers."""
