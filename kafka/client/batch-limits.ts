import { TransportError } from '../transport.ts'
import type { Cluster } from './cluster.ts'
import { ask } from './connections.ts'
import { classify, Disconnected, errorName } from './errors.ts'
import type { Context } from './options.ts'
import { describeConfigsV4 } from './protocol.ts'
import { backoff } from './retry.ts'

/** Resource type of a topic in DescribeConfigs requests. */
const TOPIC = 2 as const
/**
 * Kafka's setting for the largest batch of a topic. If the topic does not set it, DescribeConfigs returns the broker's
 * default.
 */
const MAX_BATCH_SETTING = 'max.message.bytes'
const RETRY_MS = 50

/**
 * Reads the maximum size of a record batch in each topic.
 * @returns the limit of each topic in bytes. A topic is absent if the broker refuses to describe it, for example
 * because the user has no permission, or if the transport is closed before the broker has answered.
 * @throws TransportError when the limit of a topic is still unknown after the delivery timeout
 */
export async function maxBatchBytes(context: Context, cluster: Cluster, topics: readonly string[]): Promise<Map<string, number>> {
  const limits = new Map<string, number>()
  if (topics.length === 0) return limits
  const { log } = context.runtime
  const retry = backoff(context, RETRY_MS)
  const deadline = context.runtime.monotonic() + context.options.deliveryTimeoutMs
  for (;;) {
    let reason = 'NONE'
    try {
      const { results } = await cluster.askAny((connection) => ask(connection, describeConfigsV4.api, topics.map(request)))
      for (const { resourceName, errorCode, configs } of results) {
        const name = errorName(errorCode)
        if (name === 'NONE') for (const { value } of configs) limits.set(resourceName, Number(value))
        else if (classify(name) === 'fatal') log.warn({ topic: resourceName, reason: name }, 'kafka_batch_limit_unknown')
        else reason = name
      }
    } catch (error) {
      if (!(error instanceof Disconnected)) throw error
      reason = 'NETWORK_EXCEPTION'
    }
    if (reason === 'NONE' || context.closing.aborted) return limits
    if (context.runtime.monotonic() > deadline)
      throw new TransportError(reason, `reading the size limits of topics: still ${reason} at the deadline`, { fatal: false })
    await retry.wait(context.closing)
  }
}

function request(resourceName: string) {
  return { resourceType: TOPIC, resourceName, configurationKeys: [MAX_BATCH_SETTING] }
}
