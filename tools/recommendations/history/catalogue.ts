import { setTimeout as sleep } from 'node:timers/promises'
import { type OpenTopicFeed, topicFeedOpener } from '../../../api/kit/topic-feed.ts'
import { kafkaTransport } from '../../../kafka/client/index.ts'
import { registryClient } from '../../../kafka/registry.ts'
import type { KafkaSettings } from '../../../kafka/settings.ts'
import { systemRuntime } from '../../../runtime/system.ts'
import { editorialLists, items, recommendationUsers, userPreferences } from '../../../schemas/recommendations/topics.ts'
import type { Topic } from '../../../schemas/topic.ts'
import type { Catalogue } from '../replay/replay.ts'

const POLL_MS = 100
const TIME_LIMIT_MS = 10 * 60_000
const log = { info() {}, warn() {}, error() {}, debug() {} }

/**
 * Reads items, users, their preferences and editors' lists from their topics.
 * @throws Error when the topics cannot be read within ten minutes
 */
export async function readCatalogue({ brokers, security, schemaRegistryUrl }: KafkaSettings, signal?: AbortSignal): Promise<Catalogue> {
  const transport = kafkaTransport({ ...security, brokers: [...brokers], clientId: 'millrace-training' }, { runtime: systemRuntime() })
  try {
    await transport.connect()
    const registry = registryClient({ url: schemaRegistryUrl })
    const open = topicFeedOpener({ transport, registry, log: log as never, monotonic: () => performance.now() })
    const [known, users, preferences, editorial] = await Promise.all([
      wholeTopic(open, items, signal),
      wholeTopic(open, recommendationUsers, signal),
      wholeTopic(open, userPreferences, signal),
      wholeTopic(open, editorialLists, signal),
    ])
    return { items: known, users, preferences, editorial }
  } finally {
    await transport.close()
  }
}

interface Dated {
  /** Epoch ms. */
  readonly updated_at: number
}

/** Collects values by key. Of several values with the same key, the newest is kept, as in the service. */
export function newestValues<K, V extends Dated>() {
  const values = new Map<K, V>()
  return {
    values,
    /** @param value undefined for a deleted key */
    put(key: K, value: V | undefined): void {
      if (value === undefined) values.delete(key)
      else if (value.updated_at >= (values.get(key)?.updated_at ?? Number.NEGATIVE_INFINITY)) values.set(key, value)
    },
  }
}

async function wholeTopic<K extends bigint | string, V extends Dated>(
  open: OpenTopicFeed,
  topic: Topic<K, V>,
  signal: AbortSignal | undefined,
): Promise<Map<K, V>> {
  const { values, put } = newestValues<K, V>()
  const feed = await open(topic, put, () => values.keys())
  const end = performance.now() + TIME_LIMIT_MS
  try {
    for (;;) {
      signal?.throwIfAborted()
      const missing = await feed.probe.check()
      if (missing === undefined) return values
      if (performance.now() > end) throw new Error(missing)
      await sleep(POLL_MS, undefined, { signal })
    }
  } finally {
    await feed.close()
  }
}
