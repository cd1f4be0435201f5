import { type TopicPartition, type TopicSpec, TransportError } from '../transport.ts'
import type { Cluster } from './cluster.ts'
import { ask } from './connections.ts'
import { classify, Disconnected, errorName, fatal, throwIfClosed } from './errors.ts'
import { listOffsets } from './list-offsets.ts'
import type { Context } from './options.ts'
import { ConfigResourceTypes, createTopicsV7, IncrementalAlterConfigOperationTypes, incrementalAlterConfigsV1 } from './protocol.ts'
import { backoff } from './retry.ts'

/** Replication factor that makes the broker use its `default.replication.factor`. */
const BROKER_DEFAULT = -1
const CREATE_TIMEOUT_MS = 15_000
const RETRY_MS = 50

/**
 * Creates missing topics, and waits until the leaders of all partitions of the given topics answer.
 * @throws TransportError when a topic has a different number of partitions or cannot be created
 */
export async function ensureTopics(context: Context, cluster: Cluster, specs: readonly TopicSpec[]): Promise<void> {
  if (specs.length === 0) return
  const names = specs.map(({ name }) => name)
  const deadline = context.runtime.monotonic() + context.options.deliveryTimeoutMs
  const retry = backoff(context, RETRY_MS)
  for (;;) {
    const reason = await tryOnce(cluster, specs, names)
    if (reason === undefined) break
    if (context.runtime.monotonic() > deadline)
      throw new TransportError(reason, `creating topics: still ${reason} at the deadline`, { fatal: false })
    throwIfClosed(context.closing)
    await retry.wait(context.closing)
  }
  for (const { name, partitions } of specs) {
    const count = cluster.partitionCount(name)
    if (count !== partitions) {
      throw new TransportError(
        'PARTITION_COUNT_MISMATCH',
        `topic ${name} has ${count} partitions, but ${partitions} are declared; change the declaration, or recreate the topic (this deletes its records, and keys move to other partitions)`,
        { fatal: true },
      )
    }
  }
  const all = specs.flatMap(({ name, partitions }) =>
    Array.from({ length: partitions }, (_, partition): TopicPartition => ({ topic: name, partition })),
  )
  await listOffsets(context, cluster, all, 'earliest')
}

/**
 * Creates the missing topics.
 * @returns why the call must be retried; undefined when every topic exists
 */
async function tryOnce(cluster: Cluster, specs: readonly TopicSpec[], names: readonly string[]): Promise<string | undefined> {
  try {
    await cluster.refresh(names)
    const missing = specs.filter(({ name }) => cluster.partitionCount(name) === undefined)
    if (missing.length === 0) return undefined
    const validateOnly = false
    const answer = await cluster.askAny((connection) =>
      ask(connection, createTopicsV7.api, missing.map(request), CREATE_TIMEOUT_MS, validateOnly),
    )
    for (const { name, errorCode, errorMessage } of answer.topics) {
      const reason = errorName(errorCode)
      if (reason === 'NONE' || reason === 'TOPIC_ALREADY_EXISTS') continue
      if (classify(reason) === 'fatal' && !isFenced(reason, errorMessage)) throw fatal(reason, `creating topic ${name}`, errorMessage)
      // The broker may be cut off from the controller and unable to create topics, so the next attempt prefers others.
      cluster.distrust()
      return reason
    }
    return 'UNKNOWN_TOPIC_OR_PARTITION'
  } catch (error) {
    if (error instanceof Disconnected) return 'NETWORK_EXCEPTION'
    throw error
  }
}

/**
 * Returns true if the cluster has too few usable brokers only because the controller has not unfenced some of them yet,
 * for example shortly after they started. If no broker is fenced, the error code is the same but the message differs.
 */
function isFenced(reason: string, message: string | null | undefined): boolean {
  return reason === 'INVALID_REPLICATION_FACTOR' && message?.includes('fenced') === true
}

function request({ name, partitions, replicationFactor, config }: TopicSpec) {
  return {
    name,
    numPartitions: partitions,
    replicationFactor: replicationFactor ?? BROKER_DEFAULT,
    assignments: [],
    configs: Object.entries(config ?? {}).map(([key, value]) => ({ name: key, value })),
  }
}

/** Applies the declared configuration to topics that already exist. */
export async function configureTopics(cluster: Cluster, specs: readonly TopicSpec[]): Promise<void> {
  const resources = specs.map(({ name, config }) => ({
    resourceType: ConfigResourceTypes.TOPIC,
    resourceName: name,
    configs: Object.entries(config ?? {}).map(([key, value]) => ({
      name: key,
      value,
      configOperation: IncrementalAlterConfigOperationTypes.SET,
    })),
  }))
  if (resources.length === 0) return
  const validateOnly = false
  const answer = await cluster.askAny((connection) => ask(connection, incrementalAlterConfigsV1.api, resources, validateOnly))
  for (const { resourceName, errorCode, errorMessage } of answer.responses) {
    const reason = errorName(errorCode)
    if (reason !== 'NONE') throw fatal(reason, `configuring topic ${resourceName}`, errorMessage)
  }
}

/** Returns the partition count of each topic. Topics that do not exist are absent from the map. */
export async function partitionCounts(context: Context, cluster: Cluster, topics: readonly string[]): Promise<Map<string, number>> {
  await refreshPatiently(context, cluster, topics)
  return factsOf(topics, cluster.partitionCount)
}

/** Returns the id of each topic. Topics that do not exist are absent from the map. */
export async function topicIds(context: Context, cluster: Cluster, topics: readonly string[]): Promise<Map<string, string>> {
  await refreshPatiently(context, cluster, topics)
  return factsOf(topics, cluster.topicId)
}

async function refreshPatiently(context: Context, cluster: Cluster, topics: readonly string[]): Promise<void> {
  const retry = backoff(context, RETRY_MS)
  const deadline = context.runtime.monotonic() + context.options.deliveryTimeoutMs
  for (;;) {
    try {
      await cluster.refresh(topics)
      return
    } catch (error) {
      if (!(error instanceof Disconnected) || context.runtime.monotonic() > deadline) throw error
      throwIfClosed(context.closing)
      await retry.wait(context.closing)
    }
  }
}

function factsOf<T>(topics: readonly string[], factOf: (topic: string) => T | undefined): Map<string, T> {
  const facts = topics.map((topic): [string, T | undefined] => [topic, factOf(topic)])
  return new Map(facts.filter((fact): fact is [string, T] => fact[1] !== undefined))
}
