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

/** The requests that the client sends, by API key, in the versions that it uses. */
const HANDLERS: ReadonlyMap<number, Handle> = new Map<number, Handle>([
  [0, produce],
  [1, fetch],
  [2, listOffsets],
  [3, metadata],
  [8, commitOffsets],
  [9, fetchOffsets],
  [10, findCoordinator],
  [18, (request, _, cluster) => apiVersions(request, cluster, [...HANDLERS.keys()])],
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

export const handleRequest: Handle = (request, broker, cluster) => {
  const handler = HANDLERS.get(request.apiKey)
  if (handler === undefined) throw new Error(`the simulated brokers do not answer requests with API key ${request.apiKey}`)
  handler(request, broker, cluster)
}
