"""Take a series to another base: rebase, port, forecast, and the memory of retired patches."""
