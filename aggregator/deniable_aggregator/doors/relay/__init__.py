"""A relay: takes sealed uploads, holds them until a close, and forwards them in no order."""
