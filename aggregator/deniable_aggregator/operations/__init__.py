"""What runs beside requests: counting the inbox, maintenance, the clock."""
