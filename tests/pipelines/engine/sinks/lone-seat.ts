import type { Transport } from '../../../../kafka/transport.ts'
import { type SinkSeat, sinkGroup } from '../../../../pipelines/engine/sinks/sink-group.ts'
import { systemRuntime } from '../../../../runtime/system.ts'

/** The seat of a sink that is alone in its group. */
export function loneSeat(transport: Transport, sink: string, memberId: string): SinkSeat {
  return sinkGroup({ groupId: groupOf(sink), memberId }, { transport, runtime: systemRuntime() }).seat()
}

/** The group in which processes with a single sink share its partitions. */
export function groupOf(sink: string): string {
  return `members-of-${sink}`
}
