import { spaceName } from './key-spaces.ts'
import { lowerBound } from './lower-bound.ts'
import { sessionsOf } from './sessions.ts'
import type { ByteRange, StateBackend, StateBatch, StateColumn, StateSession } from './store.ts'

interface MemoryColumn extends Omit<StateColumn, 'put' | 'scrub'> {
  apply(key: string, value: Buffer | null): void
  clear(): void
  bytes(): number
}

/**
 * The written data. To simulate a killed process, open a second backend on the same disk. It finds everything that the
 * first backend has written, but not the content of its open batches.
 */
export interface MemoryDisk {
  readonly columns: Map<string, MemoryColumn>
  readonly positions: Map<string, Map<string, number>>
}

export function memoryDisk(): MemoryDisk {
  return { columns: new Map(), positions: new Map() }
}

/**
 * Creates state in memory, for the test driver. It behaves like RocksDB, but its only storage is the given
 * `MemoryDisk`.
 */
export function memoryBackend({ columns, positions }: MemoryDisk = memoryDisk()): StateBackend {
  return {
    ...sessionsOf((topology) => {
      const shared = positions.get(topology) ?? new Map<string, number>()
      positions.set(topology, shared)
      return memorySession(columns, shared, topology)
    }),
    stats() {
      let memoryBytes = 0
      for (const column of columns.values()) memoryBytes += column.bytes()
      return { diskBytes: 0, memoryBytes }
    },
    scrub: async () => false,
    async close() {},
  }
}

function memorySession(columns: Map<string, MemoryColumn>, positions: Map<string, number>, topology: string): StateSession {
  let open = memoryBatch(positions)

  return {
    batchBytes: Infinity,

    column(store, partition) {
      const name = spaceName(topology, store, partition)
      const column = columns.get(name) ?? memoryColumn()
      columns.set(name, column)
      return {
        scrub() {},
        multiGet: column.multiGet,
        scan: column.scan,
        put(key, keyStart, keyEnd, value, valueStart, valueEnd) {
          const text = Buffer.from(key.subarray(keyStart, keyEnd)).toString('latin1')
          const copy = value && Buffer.from(value.subarray(valueStart, valueEnd))
          open.add(() => column.apply(text, copy))
        },
      }
    },
    takeBatch() {
      const taken = open
      open = memoryBatch(positions)
      return taken
    },
    write: () => open.write(),
    dropBatch: () => open.drop(),
    isOverloaded: () => false,
    nearsStall: () => false,
    putPosition: (name, offset) => open.putPosition(name, offset),
    position(name) {
      return positions.get(name)
    },
    clear(store, partition, cleared = []) {
      columns.get(spaceName(topology, store, partition))?.clear()
      for (const name of cleared) positions.delete(name)
    },
  }
}

function memoryBatch(positions: Map<string, number>): StateBatch & { add(change: () => void): void } {
  let changes: (() => void)[] = []
  return {
    add: (change) => void changes.push(change),
    putPosition(name, offset) {
      changes.push(() => {
        if (offset === null) positions.delete(name)
        else positions.set(name, offset)
      })
    },
    write() {
      for (const change of changes) change()
      changes = []
    },
    drop() {
      changes = []
    },
  }
}

/** Creates a column in memory. Its keys are latin1 strings, because these compare in the same order as their bytes. */
function memoryColumn(): MemoryColumn {
  const values = new Map<string, Buffer>()
  /** Sorted keys. Deletions and insertions are applied when the next scan begins. */
  let sortedKeys: string[] = []
  let added: string[] = []
  let deleted = 0

  function apply(key: string, value: Buffer | null): void {
    if (value === null) {
      if (values.delete(key)) deleted++
      return
    }
    if (!values.has(key)) added.push(key)
    values.set(key, value)
  }

  function keysInOrder(): readonly string[] {
    if (deleted > 0) {
      // A key that was deleted and added again is in both lists, but must not appear twice.
      const before = new Set(added)
      sortedKeys = sortedKeys.filter((key) => values.has(key) && !before.has(key))
      added = [...before].filter((key) => values.has(key))
      deleted = 0
    }
    if (added.length > 0) {
      // The old keys and the added keys are each in order, so sorting the joined list takes only one merge.
      sortedKeys = sortedKeys.concat(added.sort()).sort()
      added = []
    }
    return sortedKeys
  }

  function* scan({ gte, lt, limit = Infinity, reverse = false }: ByteRange): Generator<readonly [Buffer, Buffer]> {
    const inOrder = keysInOrder()
    const from = gte ? lowerBound(inOrder, isBefore(gte)) : 0
    const to = lt ? lowerBound(inOrder, isBefore(lt)) : inOrder.length
    const keys = inOrder.slice(from, Math.max(from, to))
    if (reverse) keys.reverse()
    const rows = keys.slice(0, limit).map((key) => values.get(key) as Buffer)
    for (let i = 0; i < rows.length; i++) yield [Buffer.from(keys[i], 'latin1'), rows[i]] as const
  }

  return {
    multiGet({ bytes, starts, ends }) {
      const startOf = (key: number) => starts?.[key] ?? (key === 0 ? 0 : ends[key - 1])
      return ends.map((end, key) => values.get(bytes.toString('latin1', startOf(key), end)))
    },
    scan,
    apply,
    clear() {
      values.clear()
      sortedKeys = []
      added = []
      deleted = 0
    },
    bytes() {
      let total = 0
      for (const [key, value] of values) total += key.length + value.length
      return total
    },
  }
}

function isBefore(bound: Buffer): (key: string) => boolean {
  const text = bound.toString('latin1')
  return (key) => key < text
}
