"""What is kept on the device: the ledger, the spool and the lock of their directory."""
