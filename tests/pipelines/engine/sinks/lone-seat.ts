import type { Transport } from '../../../../kafka/transport.ts'
import { type SinkSeat, sinkGroup } from '../../../../pipelines/engine/sinks/sink-group.ts'
import { systemRuntime } from '../../../../runtime/system.ts'

/** Returns a seat for the only sink of its group. */
export function loneSeat(transport: Transport, sink: string, memberId: string): SinkSeat {
  return sinkGroup({ groupId: groupOf(sink), memberId }, { transport, runtime: systemRuntime() }).seat()
}

/** Returns the id of the group in which processes share the partitions of a single sink. */
export function groupOf(sink: string): string {
  return `members-of-${sink}`
}
