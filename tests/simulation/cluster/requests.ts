import type { Handle } from './cluster.ts'
import { epochEnds, fetch, listOffsets, produce } from './data-requests.ts'
import { commitOffsets, describeGroups, fetchOffsets, heartbeat } from './group-requests.ts'
import { apiVersions, createTopics, describeConfigs, findCoordinator, metadata } from './metadata-requests.ts'
import {
  addOffsets,
  addPartitions,
  commitOffsetsInTransaction,
  describeTransactions,
  endTransaction,
  initProducerId,
  listTransactions,
} from './transaction-requests.ts'

/** The client requires brokers to support this request, but no simulated process changes topic configurations. */
const INCREMENTAL_ALTER_CONFIGS = 44

/** Handlers for the requests that the client sends, by API key. They support the versions that the client uses. */
const HANDLERS: ReadonlyMap<number, Handle> = new Map<number, Handle>([
  [0, produce],
  [1, fetch],
  [2, listOffsets],
  [3, metadata],
  [8, commitOffsets],
  [9, fetchOffsets],
  [10, findCoordinator],
  [18, (request, _, cluster) => apiVersions(request, cluster, [...HANDLERS.keys(), INCREMENTAL_ALTER_CONFIGS])],
  [19, createTopics],
  [22, initProducerId],
  [23, epochEnds],
  [24, addPartitions],
  [25, addOffsets],
  [26, endTransaction],
  [28, commitOffsetsInTransaction],
  [32, describeConfigs],
  [65, describeTransactions],
  [66, listTransactions],
  [68, heartbeat],
  [69, describeGroups],
])

/** Requests that need the log of a coordinator or of the controller. */
const NEEDS_OTHER_BROKERS: ReadonlySet<number> = new Set([8, 9, 19, 22, 24, 25, 26, 28, 68, 69])

export const handleRequest: Handle = (request, broker, cluster) => {
  const handler = HANDLERS.get(request.apiKey)
  if (handler === undefined) throw new Error(`the simulated brokers do not answer requests with API key ${request.apiKey}`)
  const handle = () => handler(request, broker, cluster)
  if (NEEDS_OTHER_BROKERS.has(request.apiKey) && cluster.isCutOff(broker)) cluster.whenInformed(broker, handle)
  else handle()
}
