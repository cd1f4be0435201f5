import type { SchemaRegistry } from '../../../kafka/registry-interface.ts'
import type { Transport } from '../../../kafka/transport.ts'
import {
  createSink,
  type Runner,
  type SinkTarget,
  sinkGroup,
  sinkRunner,
  type Topic,
  tableTarget,
  viewTarget,
} from '../../../pipelines/engine/index.ts'
import type { Table } from '../../../state/tables/table.ts'
import { type View, viewTag } from '../../../state/views/view.ts'
import type { Cluster } from '../cluster/cluster.ts'
import type { SimulatedProcess } from '../process.ts'
import { committedRecords } from '../read-log.ts'
import type { Scheduler } from '../scheduler.ts'
import type { StoreServer } from './store-server.ts'
import { tableModel } from './table-model.ts'
import { viewModel } from './view-model.ts'

const VIEW = 'last'

/** What a simulated process passes to its sinks. */
export interface SinkPlace {
  readonly process: SimulatedProcess
  readonly transport: Transport
  readonly registry: SchemaRegistry
  /** Returns the slot's membership in a group. The member id stays the same when the slot's process is replaced. */
  memberOf(groupId: string): Omit<Parameters<typeof sinkGroup>[0], 'groupId'>
}

/** Sinks of a topology, with the models of Redis and ClickHouse into which they write. */
export interface SimulatedSinks {
  readonly servers: readonly StoreServer[]
  /** Opens the sinks of one process. */
  open(place: SinkPlace): readonly Runner[]
  /** Simulates a Redis that loses all its data. */
  empty(): void
  /** Compares the models with the log. Returns descriptions of missing, wrong and unexpected entries. */
  deviations(cluster: Cluster): string[]
}

const lastValues: View<string, string> = {
  name: VIEW,
  operationsFor: (partition, key, value) =>
    value === null
      ? [{ op: 'del', key: `${viewTag(VIEW, partition)}:${key}` }]
      : [{ op: 'set', key: `${viewTag(VIEW, partition)}:${key}`, value }],
}

const entries: Table<string, string> = {
  name: 'entries',
  columns: ['text String'],
  orderBy: 'text',
  partitionBy: 'text',
  rowsOf: (_key, text) => (text === null ? [] : [{ text }]),
  // Splits each batch into several inserts, so that the process may die between two of them.
  partitionOf: (_key, text) => text.length,
}

/**
 * Creates the sinks of the counter: a view with the last total of each key, and a table with all entries of the ledger.
 */
export function counterSinks(scheduler: Scheduler, totals: Topic<string, string>, ledger: Topic<string, string>): SimulatedSinks {
  const view = viewModel(scheduler)
  const table = tableModel(scheduler)

  function open({ process, transport, registry, memberOf }: SinkPlace): Runner[] {
    const { actor, runtime } = process

    function runner(name: string, topic: Topic<string, string>, newTarget: () => Promise<SinkTarget>): Runner {
      const groupId = `sinks-${name}`
      const seat = sinkGroup({ groupId, ...memberOf(groupId) }, { transport, runtime }).seat()
      const topics = [topic]
      async function create() {
        return createSink({ name, topics }, { transport, registry, target: await newTarget(), seat, runtime })
      }
      return sinkRunner({ name, create, close: async () => {} }, runtime)
    }

    return [
      runner('last-totals', totals, async () =>
        viewTarget({ view: lastValues, topics: [totals] }, { store: view.storeOf(actor), runtime }),
      ),
      runner('ledger-entries', ledger, () => tableTarget({ table: entries, limits: { lingerMs: 100 } }, table.storeOf(actor))),
    ]
  }

  function viewDeviations(cluster: Cluster): string[] {
    const wanted = new Map<string, string>()
    committedRecords(cluster, totals.name).forEach((records, partition) => {
      for (const { key, value } of records) wanted.set(`${viewTag(VIEW, partition)}:${key}`, value)
    })
    const wrong = [...wanted].filter(([key, value]) => view.get(key) !== value)
    const surplus = view.size - wanted.size
    return [
      ...wrong.map(([key, value]) => `the view has ${view.get(key)} at ${key} instead of ${value}`),
      ...(surplus > 0 ? [`the view has ${surplus} surplus keys`] : []),
    ]
  }

  function tableDeviations(cluster: Cluster): string[] {
    const wanted = new Map<string, string>()
    committedRecords(cluster, ledger.name).forEach((records, partition) => {
      for (const { offset, value } of records) wanted.set(`${partition}:${offset}`, value)
    })
    const stored = new Map(table.rows().map(({ partition, offset, row }) => [`${partition}:${offset}`, row.text]))
    return [
      ...[...wanted]
        .filter(([at, text]) => stored.get(at) !== text)
        .map(([at, text]) => `the table has ${stored.get(at)} at ${at}, not ${text}`),
      ...[...stored.keys()].filter((at) => !wanted.has(at)).map((at) => `the table has a row at ${at}, where the log has none`),
    ]
  }

  return {
    servers: [view.server, table.server],
    open,
    empty: view.empty,
    deviations: (cluster) => [...viewDeviations(cluster), ...tableDeviations(cluster)],
  }
}
