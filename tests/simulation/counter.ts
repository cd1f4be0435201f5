import { partitionFor } from '../../kafka/partitioner.ts'
import { keyedStore, rawValue, type Topic, topology, utf8 } from '../../pipelines/engine/index.ts'
import type { Cluster } from './cluster/cluster.ts'
import { committedRecords } from './read-log.ts'
import type { Scheduler } from './scheduler.ts'
import { counterSinks } from './stores/counter-sinks.ts'
import type { Subject } from './subject.ts'

const NAME = 'counter'
const KEYS = 6
const GROUPS = 3
/** Share of records on which the processor fails after it has changed state and emitted. */
const SHARE_BROKEN = 0.02
const BROKEN = 'broken'
const MAX_SHOWN = 5

function textTopic(name: string, partitions: number): Topic<string, string> {
  return { name, key: utf8, value: rawValue(utf8), partitions }
}

export interface CounterOptions {
  readonly partitions: number
  readonly standby: 0 | 1
  /** Given if sinks copy the output into stores. */
  readonly storesOf?: Scheduler | undefined
}

/** Counts records per key, and, after a repartition, per group of keys. */
export function counter({ partitions, standby, storesOf }: CounterOptions): Subject {
  const input = textTopic(`${NAME}-input`, partitions)
  const ledger = textTopic(`${NAME}-ledger`, partitions)
  const totals = textTopic(`${NAME}-totals`, 2)
  const counting = topology(
    NAME,
    (t) => {
      const byGroup = t.repartition<string, string>('by-group', { key: utf8, value: rawValue(utf8), partitions: 2 })
      const counts = keyedStore<string, string>('counts', { key: utf8, value: rawValue(utf8) })
      const sums = keyedStore<string, string>('sums', { key: utf8, value: rawValue(utf8) })
      t.source(input, { onError: { process: 'dead-letter' } }).process(
        'count',
        { reads: (_, key) => counts.prefetch(key), stores: [counts], emits: [ledger, byGroup] },
        function count(id, ctx) {
          const next = Number(counts.get(ctx.key) ?? 0) + 1
          counts.put(ctx.key, String(next))
          ctx.emit(ledger, ctx.key, `${next} ${id}`)
          ctx.emit(byGroup, groupOf(ctx.key), id)
          if (id.startsWith(BROKEN)) throw new Error('a broken record')
        },
      )
      t.source(byGroup).process(
        'sum',
        { reads: (_, group) => sums.prefetch(group), stores: [sums], emits: [totals] },
        function sum(id, ctx) {
          const next = Number(sums.get(ctx.key) ?? 0) + 1
          sums.put(ctx.key, String(next))
          ctx.emit(totals, ctx.key, `${next} ${id}`)
        },
      )
    },
    { standby },
  )

  const sinks = storesOf === undefined ? undefined : counterSinks(storesOf, totals, ledger)

  function read(cluster: Cluster, { name }: Topic<string, string>) {
    return committedRecords(cluster, name).flat()
  }

  return {
    topology: counting,
    inputs: [input],
    sinks,
    allowsWrongClocks: true,
    input(number, random, timestamp) {
      const key = `k${Math.floor(random() * KEYS)}`
      const value = `${random() < SHARE_BROKEN ? BROKEN : ''}${number}`
      return [{ topic: input.name, partition: partitionFor(Buffer.from(key), partitions), key, value, timestamp }]
    },
    end: () => [],
    isComplete(cluster) {
      const all = read(cluster, input)
      const wanted = all.filter(isGood).length
      const letters = committedRecords(cluster, `${NAME}-dead-letters`).flat().length
      if (read(cluster, ledger).length < wanted || read(cluster, totals).length < wanted) return false
      return letters >= all.length - wanted && (sinks?.deviations(cluster) ?? []).length === 0
    },
    deviations(cluster, sent) {
      const all = read(cluster, input)
      const given = all.filter(isGood)
      const ids = all.map(({ value }) => Number(value.replace(BROKEN, ''))).sort((a, b) => a - b)
      const broken = all.flatMap((record) => (isGood(record) ? [] : [record.value])).sort()
      const letters = committedRecords(cluster, `${NAME}-dead-letters`)
        .flat()
        .map(({ value }) => value)
        .sort()
      const inOrder = Map.groupBy(given, ({ key }) => key)
      const groups = Map.groupBy(given, ({ key }) => groupOf(key))
      return [
        ...(ids.join() === Array.from({ length: sent }, (_, id) => id).join() ? [] : [`the input holds the records ${ids.join()}`]),
        ...(letters.join() === broken.join() ? [] : [`the dead letters are ${letters.join()} instead of ${broken.join()}`]),
        ...compare('ledger', read(cluster, ledger), inOrder, (list) => list.join()),
        ...compare('totals', read(cluster, totals), groups, (list) => [...list].sort().join()),
        ...(sinks?.deviations(cluster) ?? []),
      ].slice(0, MAX_SHOWN)
    },
  }
}

function isGood({ value }: { readonly value: string }): boolean {
  return !value.startsWith(BROKEN)
}

function groupOf(key: string): string {
  return `g${Number(key.slice(1)) % GROUPS}`
}

type Keyed = readonly { readonly key: string; readonly value: string }[]

/** Checks that each key's numbers count from 1, and that its ids are those of the input. */
function compare(what: string, output: Keyed, wanted: Map<string, Keyed>, show: (ids: string[]) => string): string[] {
  const found = Map.groupBy(output, ({ key }) => key)
  return [...new Set([...wanted.keys(), ...found.keys()])].flatMap((key) => {
    const entries = (found.get(key) ?? []).map(({ value }) => value.split(' '))
    const faults: string[] = []
    if (entries.some(([count], i) => Number(count) !== i + 1)) faults.push(`${what} of ${key} counts ${entries.map(([n]) => n).join()}`)
    const is = show(entries.map(([, id]) => id))
    const must = show((wanted.get(key) ?? []).map(({ value }) => value))
    if (is !== must) faults.push(`${what} of ${key} has ${is} instead of ${must}`)
    return faults
  })
}
