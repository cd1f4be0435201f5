import { randomUUID } from 'node:crypto'
import { onTestFinished } from 'vitest'
import { type MemoryBroker, memoryBroker } from '../../../kafka/memory/broker.ts'
import { type MemoryRegistry, memoryRegistry } from '../../../kafka/memory/registry.ts'
import { memoryTransport } from '../../../kafka/memory/transport.ts'
import { partitionFor } from '../../../kafka/partitioner.ts'
import type { Topology } from '../../../pipelines/engine/topology/topology.ts'
import { createWorker, type Worker } from '../../../pipelines/engine/worker/worker.ts'
import type { MemberIdentity, WorkerConfig, WorkerDeps } from '../../../pipelines/engine/worker/worker-config.ts'
import { systemRuntime } from '../../../runtime/system.ts'
import { byteWriter } from '../../../schemas/codec.ts'
import type { Topic } from '../../../schemas/topic.ts'
import { memoryBackend } from '../../../state/stores/memory-backend.ts'
import type { StateBackend } from '../../../state/stores/store.ts'

/** A poll ends when its condition holds, so a long limit costs nothing. Shorter limits would fail on a busy machine. */
const DEADLINE_MS = 60_000
const POLL_MS = 5

/**
 * Polls until `condition` holds.
 * @throws Error after the deadline
 */
export async function until(condition: () => boolean | Promise<boolean>, what: string, deadlineMs = DEADLINE_MS): Promise<void> {
  const end = Date.now() + deadlineMs
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`not within ${deadlineMs} ms: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}

export function newIdentity(): MemberIdentity {
  const memberId = randomUUID()
  return { memberId, transactionalId: `millrace-${memberId}` }
}

export interface Bench {
  readonly broker: MemoryBroker
  readonly registry: MemoryRegistry
  /** Starts a worker. It is stopped when the test ends. */
  worker(topology: Topology, options?: Partial<WorkerDeps> & Partial<WorkerConfig>): Promise<Worker>
  send<K, V>(topic: Topic<K, V>, key: K, value: V, timestamp?: number): void
  /** Returns the last committed value of every key. */
  latest<K, V>(topic: Topic<K, V>): Map<K, V | null>
  all<K, V>(topic: Topic<K, V>): { key: K; value: V | null; partition: number; timestamp: number }[]
}

/** Creates an in-memory broker with functions that start workers on it, send records and read its topics. */
export function bench(): Bench {
  const broker = memoryBroker()
  const registry = memoryRegistry()

  async function worker(topology: Topology, options: Partial<WorkerDeps> & Partial<WorkerConfig> = {}): Promise<Worker> {
    const backend: StateBackend = options.backend ?? memoryBackend()
    const created = createWorker(
      {
        topology,
        guarantee: options.guarantee,
        commitIntervalMs: options.commitIntervalMs,
        cacheBytes: options.cacheBytes,
        stopGraceMs: options.stopGraceMs,
        keepStateMs: options.keepStateMs,
        keepPlaceOnStop: options.keepPlaceOnStop,
        warmUpMaxMs: options.warmUpMaxMs,
        warmUpLeastRecords: options.warmUpLeastRecords,
      },
      {
        transport: options.transport ?? memoryTransport(broker),
        registry: options.registry ?? registry,
        backend,
        identity: options.identity ?? newIdentity(),
        runtime: options.runtime ?? systemRuntime(),
        address: options.address,
        fault: options.fault,
      },
    )
    onTestFinished(() => created.stop())
    await created.start()
    return created
  }

  function encode<T>(codec: { encode(value: T, out: ReturnType<typeof byteWriter>): void }, value: T): Buffer {
    const out = byteWriter()
    codec.encode(value, out)
    return Buffer.from(out.buffer.subarray(0, out.length))
  }

  const schemas = { get: () => undefined }

  function all<K, V>(topic: Topic<K, V>) {
    if (broker.partitionCount(topic.name) === undefined) return []
    const codec = topic.value.open(0, schemas)
    return broker.records(topic.name).flatMap(({ key, value, partition, timestamp }) => {
      if (key === null) return []
      return [{ key: topic.key.decode(key, 0, key.length), value: value && codec.decode(value, 0, value.length), partition, timestamp }]
    })
  }

  return {
    broker,
    registry,
    worker,
    send(topic, key, value, timestamp = broker.runtime.now()) {
      broker.createTopic({ name: topic.name, partitions: topic.partitions })
      const keyBytes = encode(topic.key, key)
      const partition = partitionFor(keyBytes, topic.partitions)
      broker.append(topic.name, partition, { timestamp, key: keyBytes, value: encode(topic.value.open(0, schemas), value), headers: [] })
    },
    all,
    latest(topic) {
      return new Map(all(topic).map(({ key, value }) => [key, value]))
    },
  }
}
