"""Speed, as ratios measured side by side in one run: `bin/bench`. Nothing here is a test."""
