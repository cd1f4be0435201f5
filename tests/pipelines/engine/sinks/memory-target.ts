import { partitionKey } from '../../../../kafka/transport.ts'
import {
  type BatchLimits,
  type PartitionFacts,
  type SinkBatch,
  type SinkRecord,
  type SinkTarget,
  TargetUnavailableError,
} from '../../../../pipelines/engine/sinks/target.ts'

interface Held {
  next: number
  readonly records: SinkRecord[]
}

/** Creates an in-memory target that stores its offsets, like a real target, and can be made to fail. */
export function memoryTarget({ neededMs, ...limits }: Partial<BatchLimits> & Pick<SinkTarget, 'neededMs'> = {}) {
  const partitions = new Map<string, Held>()
  const control = {
    /** While true, opening a partition and writing fail. */
    down: false,
    /** Number of upcoming writes that are applied but whose responses are lost. */
    loseAnswers: 0,
    /** A promise that every write of records awaits before it is applied. */
    gate: undefined as Promise<void> | undefined,
    failure: undefined as Error | undefined,
    waiting: 0,
    batches: [] as SinkBatch[],
    opened: [] as string[],
    /** The facts that the sink passed when it last opened each partition, keyed by partition. */
    facts: new Map<string, PartitionFacts>(),
    /** For each partition, whether the last write had reached the end that the log had when reading began. */
    caughtUp: new Map<string, boolean>(),
  }

  function refuseWhenDown(): void {
    if (control.failure) throw control.failure
    if (control.down) throw new TargetUnavailableError('the target is down')
  }

  async function write(batch: SinkBatch): Promise<{ outcome: 'applied' | 'offset-mismatch' }> {
    refuseWhenDown()
    if (control.gate && batch.records.length > 0) {
      control.waiting++
      await control.gate
      control.waiting--
    }
    const key = partitionKey(batch.partition.topic, batch.partition.partition)
    const held = partitions.get(key)
    if (held?.next !== batch.expected) return { outcome: held?.next === batch.next ? 'applied' : 'offset-mismatch' }
    partitions.set(key, { next: batch.next, records: [...(held?.records ?? []), ...batch.records] })
    control.batches.push(batch)
    control.caughtUp.set(key, batch.caughtUp)
    if (control.loseAnswers > 0) {
      control.loseAnswers--
      throw new TargetUnavailableError('the answer was lost')
    }
    return { outcome: 'applied' }
  }

  const target: SinkTarget = {
    name: 'memory',
    limits: { maxRecords: 10, maxBytes: 1_000_000, lingerMs: 0, ...limits },
    probeEveryMs: 20,
    commitMetadata: 'memory',
    neededMs,
    async open({ topic, partition }, facts) {
      refuseWhenDown()
      control.facts.set(partitionKey(topic, partition), facts)
      control.opened.push(partitionKey(topic, partition))
      return partitions.get(partitionKey(topic, partition))?.next
    },
    prepare: (batch) => () => write(batch),
  }

  return {
    target,
    control,
    wipe: () => partitions.clear(),
    /** Resets a partition to an older state, like a database that has failed over to a stale replica. */
    goBack(key: string, next: number) {
      const held = partitions.get(key)!
      partitions.set(key, { next, records: held.records.filter((record) => record.offset < next) })
    },
    next: (key: string) => partitions.get(key)?.next,
    values: (key: string) => partitions.get(key)?.records.map((record) => record.value) ?? [],
  }
}
