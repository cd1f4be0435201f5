import type { Transport } from '../../../../kafka/transport.ts'
import { type SinkSeat, sinkGroup } from '../../../../pipelines/engine/sinks/sink-group.ts'
import { systemRuntime } from '../../../../runtime/system.ts'

/** The place of a sink that is the only one in its group here. */
export function loneSeat(transport: Transport, sink: string, memberId: string): SinkSeat {
  return sinkGroup({ groupId: groupOf(sink), memberId }, { transport, runtime: systemRuntime() }).seat()
}

/** The group in which processes with a lone sink share its partitions. */
export function groupOf(sink: string): string {
  return `members-of-${sink}`
}
