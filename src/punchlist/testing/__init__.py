"""For tests of what is built on Punchlist: a clock to set, a store that fails when told to, and the store contract.

`punchlist.testing.contract.StoreContract`,
`punchlist.testing.task_contract.TaskContract`, `punchlist.testing.flow_contract.FlowContract`,
`punchlist.testing.waiting_contract.WaitingContract` and `punchlist.testing.work_contract.WorkContract` hold the tests
that every store has to pass.
"""

from punchlist.testing.clock import FakeClock
from punchlist.testing.faulty import Fault, FaultyStore

__all__ = ["FakeClock", "Fault", "FaultyStore"]
