"""What the reports of many days cost a device together, composed exactly but for a stated slack."""
