import { memoryRegistry } from '../../../../kafka/memory/registry.ts'
import type { Transport } from '../../../../kafka/transport.ts'
import { createSink, type Sink } from '../../../../pipelines/engine/sinks/sink.ts'
import { sinkGroup } from '../../../../pipelines/engine/sinks/sink-group.ts'
import { viewTarget } from '../../../../pipelines/engine/sinks/view-target.ts'
import { silentLog, systemRuntime } from '../../../../runtime/system.ts'
import { viewStore } from '../../../../state/views/apply.ts'
import { connectSinkRedis } from '../../../../state/views/connect.ts'
import { jsonTopic } from './json-topic.ts'
import { valuesView } from './values-view.ts'

/** Number of partitions of each topic that the sinks read. */
export const VIEW_PARTITIONS = 2

const runtime = systemRuntime()

interface ViewSinksOptions {
  readonly transport: Transport
  /** URL of Redis. */
  readonly redis: string
  readonly groupId: string
  readonly memberId: string
  /** Topics of the sinks. Each topic has a view of the same name. */
  readonly topics: readonly string[]
}

/** Creates view sinks that share one group member, as in a worker process. Does not start them. */
export function viewSinks({ transport, redis, groupId, memberId, topics }: ViewSinksOptions): Sink[] {
  const group = sinkGroup({ groupId, memberId }, { transport, runtime })
  return topics.map((name) => {
    const ofSink = [jsonTopic<string>(name, VIEW_PARTITIONS)]
    const store = viewStore(connectSinkRedis({ url: redis, cluster: false }, silentLog))
    const target = viewTarget({ view: valuesView(name), topics: ofSink }, { store, runtime })
    const deps = { transport, registry: memoryRegistry(), target, seat: group.seat(), runtime }
    return createSink({ name: `view-${name}`, topics: ofSink }, deps)
  })
}
