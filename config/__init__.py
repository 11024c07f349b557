"""The process: settings, servers, command line."""

import gc

# Python looks for unreachable objects whenever 700 more have come than gone. While modules are imported almost all of
# them stay: a start would look a thousand times in vain, a tenth of its work.
gc.set_threshold(10_000, 10, 10)
