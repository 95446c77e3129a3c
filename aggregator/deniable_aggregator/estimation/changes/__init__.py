"""What differs between two periods: shares, means, quantiles and the shape."""
