import { partitionFor } from '../../kafka/partitioner.ts'
import { keyedStore, rawValue, type Topic, type Topology, topology, utf8 } from '../../pipelines/engine/index.ts'
import type { Guarantee } from '../../pipelines/engine/worker/worker-config.ts'
import { BROKEN, type CounterLogs, deviations, groupOf, KEYS, missing } from './counter-verdict.ts'
import { committedRecords } from './read-log.ts'
import type { Scheduler } from './scheduler.ts'
import { counterSinks } from './stores/counter-sinks.ts'
import type { Subject } from './subject.ts'

const NAME = 'counter'
/** Share of records for which the processor fails after it has changed its state and emitted records. */
const SHARE_BROKEN = 0.02
const SHARE_NOTES = 0.15
/** Key in the unlogged store for the count of all records of the partition. */
const ALL = 'all'

function textTopic(name: string, partitions: number): Topic<string, string> {
  return { name, key: utf8, value: rawValue(utf8), partitions }
}

function textStore(name: string, logged = true) {
  return keyedStore<string, string>(name, { key: utf8, value: rawValue(utf8), logged })
}

export interface CounterOptions {
  readonly partitions: number
  readonly standby: 0 | 1
  readonly guarantee: Guarantee
  /** Bytes of padding in each entry of the ledger. */
  readonly padding: number
  /** Scheduler for the models of Redis and ClickHouse. If given, sinks copy the output into these models. */
  readonly storesOf?: Scheduler | undefined
}

type Topics = ReturnType<typeof topicsFor>

function topicsFor(partitions: number) {
  return {
    input: textTopic(`${NAME}-input`, partitions),
    ledger: textTopic(`${NAME}-ledger`, partitions),
    totals: textTopic(`${NAME}-totals`, 2),
    notes: textTopic(`${NAME}-notes`, 1),
    passed: textTopic(`${NAME}-passed`, 1),
  }
}

/**
 * Counts records per key in two stores, one with a changelog and one without. After a repartition, it also counts them
 * per group of keys. The records called notes are only copied, so their topic may get more partitions.
 */
function counting({ input, ledger, totals, notes, passed }: Topics, { standby, padding }: CounterOptions): Topology {
  return topology(
    NAME,
    (t) => {
      const byGroup = t.repartition<string, string>('by-group', { key: utf8, value: rawValue(utf8), partitions: 2 })
      const [counts, sums, seen] = [textStore('counts'), textStore('sums'), textStore('seen', false)]

      const pad = padding === 0 ? '' : ` ${'x'.repeat(padding)}`

      function raise(store: typeof counts, key: string): number {
        const next = Number(store.get(key) ?? 0) + 1
        store.put(key, String(next))
        return next
      }

      t.source(input, { onError: { process: 'dead-letter' } }).process(
        'count',
        { reads: (_, key) => counts.prefetch(key), stores: [counts, seen], emits: [ledger, byGroup] },
        function count(id, ctx) {
          ctx.emit(ledger, ctx.key, `${raise(counts, ctx.key)} ${id} ${raise(seen, ctx.key)} ${raise(seen, ALL)}${pad}`)
          ctx.emit(byGroup, groupOf(ctx.key), id)
          if (id.startsWith(BROKEN)) throw new Error('a broken record')
        },
      )
      t.source(byGroup).process(
        'sum',
        { reads: (_, group) => sums.prefetch(group), stores: [sums], emits: [totals] },
        function sum(id, ctx) {
          ctx.emit(totals, ctx.key, `${raise(sums, ctx.key)} ${id}`)
        },
      )
      t.source(notes).process('pass', { emits: [passed] }, function pass(id, ctx) {
        ctx.emit(passed, ctx.key, id)
      })
    },
    { standby },
  )
}

export function counter(options: CounterOptions): Subject {
  const { partitions, guarantee, storesOf } = options
  const topics = topicsFor(partitions)
  const { input, ledger, totals, notes, passed } = topics
  const sinks = storesOf === undefined ? undefined : counterSinks(storesOf, totals, ledger)

  function read(cluster: Parameters<Subject['isComplete']>[0]): CounterLogs {
    return {
      guarantee,
      input: committedRecords(cluster, input.name).flat(),
      ledger: committedRecords(cluster, ledger.name),
      totals: committedRecords(cluster, totals.name).flat(),
      letters: committedRecords(cluster, `${NAME}-dead-letters`).flat(),
      notes: committedRecords(cluster, notes.name).flat(),
      passed: committedRecords(cluster, passed.name).flat(),
    }
  }

  return {
    topology: counting(topics, options),
    inputs: [input, notes],
    growing: notes.name,
    sinks,
    input(number, random, timestamp, partitionsOf) {
      const key = `k${Math.floor(random() * KEYS)}`
      const value = `${random() < SHARE_BROKEN ? BROKEN : ''}${number}`
      if (random() < SHARE_NOTES) {
        const partition = Math.floor(random() * partitionsOf(notes.name))
        return [{ topic: notes.name, partition, key, value: String(number), timestamp }]
      }
      return [{ topic: input.name, partition: partitionFor(Buffer.from(key), partitions), key, value, timestamp }]
    },
    end: () => [],
    isComplete: (cluster) => !missing(read(cluster)) && (sinks?.deviations(cluster) ?? []).length === 0,
    deviations: (cluster, sent, times) => [...deviations(read(cluster), sent, times), ...(sinks?.deviations(cluster) ?? [])],
  }
}
