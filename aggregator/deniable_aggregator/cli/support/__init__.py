"""What commands share: the HTTP client and options."""
