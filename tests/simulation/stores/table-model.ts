import type { OffsetRow, TableStore } from '../../../state/tables/store.ts'
import type { Actor, Scheduler } from '../scheduler.ts'
import { StoreServer } from './store-server.ts'

export interface StoredRow extends OffsetRow {
  readonly topic: string
  readonly partition: number
}

/** A model of a ClickHouse server with one table. */
export interface TableModel {
  readonly server: StoreServer
  /** Returns the interface through which one process uses the model. */
  storeOf(client: Actor): TableStore
  /** Returns all rows. A row may occur twice if an insert was carried out late. */
  rows(): readonly StoredRow[]
}

export function tableModel(scheduler: Scheduler): TableModel {
  const server = new StoreServer('clickhouse', scheduler)
  const rows: StoredRow[] = []
  const tokens = new Set<string>()
  const ids = new Map<string, string>()
  let salted = 0

  function position(topic: string, partition: number): number | undefined {
    const offsets = rows.filter((row) => row.topic === topic && row.partition === partition).map(({ offset }) => offset)
    return offsets.length === 0 ? undefined : Math.max(...offsets) + 1
  }

  function storeOf(client: Actor): TableStore {
    /**
     * Suffixes of deduplication tokens, by topic and partition. `forgetInserts` sets a new suffix, so that a later
     * insert of the same offsets does not count as a repetition.
     */
    const salts = new Map<string, string>()
    return {
      prepare: () => server.request(client, 'prepares the table', () => 'the only life'),
      position: (topic, partition) =>
        server.request(client, `returns the position of ${topic}-${partition}`, () => position(topic, partition)),
      insert({ topic, partition, rows: fresh }) {
        const salt = salts.get(`${topic}-${partition}`) ?? ''
        const token = `${topic}-${partition}-${fresh[0].offset}-${fresh[fresh.length - 1].offset}-${fresh.length}${salt}`
        return server.request(client, `inserts ${token}`, () => {
          if (tokens.has(token)) return
          tokens.add(token)
          for (const row of fresh) rows.push({ ...row, topic, partition })
        })
      },
      forgetInserts: (topic, partition) => void salts.set(`${topic}-${partition}`, `-${++salted}`),
      insertBinary: () => Promise.reject(new Error('the model has only tables of JSON rows')),
      topicId: (topic, partition) =>
        server.request(client, `returns the id of ${topic}-${partition}`, () => ids.get(`${topic}-${partition}`)),
      noteTopicId: (topic, partition, id) =>
        server.request(client, `notes the id of ${topic}-${partition}`, () => void ids.set(`${topic}-${partition}`, id)),
      noteCaughtUp: (topic, partition) => server.request(client, `notes that ${topic}-${partition} is caught up`, () => {}),
    }
  }

  return { server, storeOf, rows: () => rows }
}
