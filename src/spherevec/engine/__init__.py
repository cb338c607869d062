"""The engine: plain arrays in, unit vectors out. Objectives, negative sampling, schedules and backends."""
