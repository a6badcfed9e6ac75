"""The platform's side of the example: tables, the hands played at them, and the ledger it charges."""
