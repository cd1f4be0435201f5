import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { Codec } from '../../../schemas/codec.ts'
import type { ValueFormat } from '../../../schemas/topic.ts'
import { memoryBackend } from '../../../state/stores/memory-backend.ts'
import { openRocksdbBackend } from '../../../state/stores/rocksdb-backend.ts'
import type { ChangelogWriter, EngineStore, RecordSlot, StateBackend, StateColumn, StateSession } from '../../../state/stores/store.ts'
import { contentOf } from '../../stack/content-of.ts'

export const TOPOLOGY = 'orders'
export const PARTITION = 3

const MEMORY_RUNS = 300
/**
 * Number of runs of each property on RocksDB. There are fewer than in memory, because each run opens a database several
 * times, and this takes milliseconds.
 */
const ROCKSDB_RUNS = 60
export const PROPERTY_TIMEOUT_MS = 60_000

export function propertyRuns(backend: TestBackend): number {
  return backend.name === 'memory' ? MEMORY_RUNS : ROCKSDB_RUNS
}

/** A backend that can survive a simulated end of the process: RocksDB is reopened, and the memory backend is kept. */
export interface TestBackend {
  readonly name: string
  backend: StateBackend
  /** The session of TOPOLOGY. */
  readonly session: StateSession
  reopen(): Promise<void>
  remove(): Promise<void>
}

export const testBackends: readonly (() => Promise<TestBackend>)[] = [
  async function memory() {
    const backend = memoryBackend()
    return { name: 'memory', backend, session: backend.session(TOPOLOGY), async reopen() {}, async remove() {} }
  },
  async function rocksdb() {
    const folder = temporaryFolder()
    const opened = {
      name: 'rocksdb',
      backend: await openRocksdbBackend({ folder }),
      get session() {
        return opened.backend.session(TOPOLOGY)
      },
      async reopen() {
        await opened.backend.close()
        opened.backend = await openRocksdbBackend({ folder })
      },
      async remove() {
        await opened.backend.close()
        rmSync(folder, { recursive: true })
      },
    }
    return opened
  },
]

export function temporaryFolder(): string {
  return mkdtempSync(join(tmpdir(), 'millrace-state-'))
}

/** Returns a new folder that is removed when the test has finished. */
export function newFolder(): string {
  const folder = temporaryFolder()
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

export function put(column: StateColumn, key: string, value: string | null): void {
  const [keyBytes, valueBytes] = [Buffer.from(key), value === null ? null : Buffer.from(value)]
  column.put(keyBytes, 0, keyBytes.length, valueBytes, 0, valueBytes?.length ?? 0)
}

/** Returns true if any file in the folder contains the text. Files may be deleted meanwhile. */
export function isOnDisk(folder: string, text: string): boolean {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return files.some((entry) => contentOf(join(entry.parentPath, entry.name)).includes(text))
}

/** Creates a value format without a schema. */
export function raw<T>(codec: Codec<T>): ValueFormat<T> {
  return { schema: undefined, open: () => codec }
}

/** Opens a store as the engine does. */
export function openStore<S extends EngineStore>(
  store: S,
  backend: StateBackend,
  cacheBytes = 250_000,
  partition = PARTITION,
  record?: RecordSlot,
): S {
  const codec = store.values.open(0, { get: () => undefined })
  store.open({ column: backend.session(TOPOLOGY).column(store.name, partition), codec, cacheBytes, record })
  return store
}

/** The contents of a compacted changelog topic. `commit` makes appended records durable, and `abort` drops them. */
export interface TestChangelog extends ChangelogWriter {
  readonly rows: Map<string, string>
  readonly appended: number
  commit(): void
  abort(): void
}

export function testChangelog(): TestChangelog {
  const rows = new Map<string, string>()
  let open: [string, string | null][] = []
  return {
    rows,
    get appended() {
      return open.length
    },
    append(key, keyStart, keyEnd, value, valueStart, valueEnd) {
      open.push([latin1(key, keyStart, keyEnd), value && latin1(value, valueStart, valueEnd)])
    },
    commit() {
      for (const [key, value] of open) {
        if (value === null) rows.delete(key)
        else rows.set(key, value)
      }
      open = []
    },
    abort() {
      open = []
    },
  }
}

/** Returns all rows in a store's key space, in the form that they have in the changelog. */
export function storedRows(backend: StateBackend, store: string, partition = PARTITION): Map<string, string> {
  const rows = new Map<string, string>()
  for (const [key, value] of backend.session(TOPOLOGY).column(store, partition).scan({})) {
    rows.set(latin1(key, 0, key.length), latin1(value, 0, value.length))
  }
  return rows
}

function latin1(bytes: Uint8Array, start: number, end: number): string {
  return Buffer.from(bytes.subarray(start, end)).toString('latin1')
}
