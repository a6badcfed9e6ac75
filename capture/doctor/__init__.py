"""What is wrong with this installation, and how it is mended. The ids beside those of ``capture.findings``:

    capture.D001  a variable of the environment is missing or refused
    capture.D002  the clocks of this machine, the capture Redis and Postgres differ
    capture.D003  ``agent_hands`` and the ledger differ
    capture.D004  there is no service key
    capture.D005  static files are not collected, or not all
    capture.D006  keys of the capture Redis have no TTL
    capture.D007  the capture Redis has evicted keys
    capture.D008  ALLOWED_HOSTS names no host, or every host
    capture.D009  plain http of a proxy would be redirected for ever
    capture.D010  Postgres does not answer
    capture.D011  Postgres is older than 14

``examine`` looks at all of it; ``refused`` explains settings that do not load, and needs none.
"""
