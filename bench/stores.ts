/**
 * `npm run bench:stores`: measures the cost per key of a store, a plain Map and the bare database binding. Prints the
 * medians of several rounds in µs per key, and then the size, the accuracy and the costs of seen-sets.
 */
import { join } from 'node:path'
import { avroValue, type KeyedStore, keyedStore, utf8 } from '../pipelines/engine/index.ts'
import { commandLine, runMain } from '../scripts/command-line/main.ts'
import { openRocksdbBackend } from '../state/stores/rocksdb-backend.ts'
import { loadRocksdbBinding } from '../state/stores/rocksdb-binding.ts'
import type { ChangelogWriter, StateBackend } from '../state/stores/store.ts'
import { inFolder } from './harness/folder.ts'
import { median } from './harness/table.ts'
import { seenSetCosts } from './seen-sets.ts'
import declaration from './stores.command.ts'

const ROUNDS = 5
/** Number of keys that are read and changed between two commits. */
const BATCH = 5000
const PAYMENTS = 14
/** Memory of a cached card in bytes, as the cache estimates it. */
const CARD_BYTES = 360

/** A card of about 150 bytes, as large as the state of a card in job J2 of `npm run bench:engine`. */
interface Card {
  last: number
  times: number[]
  amounts: number[]
}

const format = avroValue<Card>({
  type: 'record',
  name: 'Card',
  fields: [
    { name: 'last', type: 'long' },
    { name: 'times', type: { type: 'array', items: 'long' } },
    { name: 'amounts', type: { type: 'array', items: 'long' } },
  ],
})

const { KEYS: keyCount } = commandLine(declaration)
const keys = Array.from({ length: keyCount }, (_, key) => String(Math.imul(key, 2654435761) >>> 0))
const nothingLogged: ChangelogWriter = { append() {} }

function newCard(seed: number): Card {
  const times = Array.from({ length: PAYMENTS }, (_, at) => 1.5e12 + seed * 1000 + at * 40_000_000)
  return { last: times[PAYMENTS - 1], times, amounts: times.map((_, at) => 1000 + ((seed * 31 + at * 7) % 9000)) }
}

const figures = new Map<string, number[]>()

function measure(name: string, run: () => void, times: number): void {
  const start = performance.now()
  run()
  const microseconds = ((performance.now() - start) * 1000) / times
  figures.set(name, [...(figures.get(name) ?? []), microseconds])
}

function batches(each: (from: number, to: number) => void): void {
  for (let from = 0; from < keyCount; from += BATCH) each(from, Math.min(keyCount, from + BATCH))
}

function benchMap(): void {
  const map = new Map<string, Card>()
  for (let i = 0; i < keyCount; i++) map.set(keys[i], newCard(i))
  measure(
    'plain Map: get and set',
    () => {
      for (let i = 0; i < keyCount; i++) {
        const card = map.get(keys[i]) as Card
        card.last++
        map.set(keys[i], card)
      }
    },
    keyCount,
  )
}

function openStore(backend: StateBackend, cacheBytes: number): KeyedStore<string, Card> {
  const store = keyedStore<string, Card>('cards', { key: utf8, value: format })
  store.open({ column: backend.session('bench').column('cards', 0), codec: format.open(1, { get: () => undefined }), cacheBytes })
  return store
}

/** Measures the steps of a store: prefetch, change, flush and write. Commits after every batch of keys. */
function benchStore(backend: StateBackend, name: string, cacheBytes: number): void {
  const store = openStore(backend, cacheBytes)
  const session = backend.session('bench')
  const spent = { prefetch: 0, change: 0, flush: 0, write: 0 }
  batches((from, to) => {
    const start = performance.now()
    for (let i = from; i < to; i++) store.prefetch(keys[i])
    store.loadPrefetched()
    const loaded = performance.now()
    for (let i = from; i < to; i++) {
      const card = store.get(keys[i]) ?? newCard(i)
      card.last++
      store.put(keys[i], card)
    }
    const changed = performance.now()
    store.flush(nothingLogged)
    const flushed = performance.now()
    session.putPosition('source', to)
    session.write()
    store.committed()
    spent.prefetch += loaded - start
    spent.change += changed - loaded
    spent.flush += flushed - changed
    spent.write += performance.now() - flushed
  })
  for (const [part, ms] of Object.entries(spent)) {
    const figure = `${name}: ${part}`
    figures.set(figure, [...(figures.get(figure) ?? []), (ms * 1000) / keyCount])
  }
}

/** Measures a get and a put of keys whose values are in memory and have already changed since the last commit. */
function benchHot(backend: StateBackend): void {
  const store = openStore(backend, 4 * keyCount * CARD_BYTES)
  for (let i = 0; i < keyCount; i++) store.put(keys[i], newCard(i))
  measure(
    'store, key in memory and dirty: get and put',
    () => {
      for (let i = 0; i < keyCount; i++) {
        const card = store.get(keys[i]) as Card
        card.last++
        store.put(keys[i], card)
      }
    },
    keyCount,
  )
  backend.session('bench').dropBatch()
}

async function benchBinding(folder: string): Promise<void> {
  const binding = loadRocksdbBinding()
  const database = binding.db_init(folder)
  const megabyte = 1024 * 1024
  await new Promise<void>((resolve, reject) =>
    binding.db_open(
      database,
      {
        createIfMissing: true,
        parallelism: 2,
        compaction: 'level',
        compression: false,
        memtableMemoryBudget: 64 * megabyte,
        cacheSize: 96 * megabyte,
        cacheIndexAndFilterBlocks: true,
        optimize: 'point-lookup',
        walCompression: false,
      },
      (error) => (error ? reject(error) : resolve()),
    ),
  )
  const value = Buffer.alloc(150, 1)
  const bytes = keys.map((key) => Buffer.from(key))
  const batch = binding.batch_init()
  measure(
    'bare binding: batch put',
    () => {
      batches((from, to) => {
        for (let i = from; i < to; i++) binding.batch_put(batch, bytes[i], value, undefined)
        binding.batch_write(database, batch, undefined)
        binding.batch_clear(batch)
      })
    },
    keyCount,
  )
  measure(
    'bare binding: multi-get of present keys',
    () => {
      batches((from, to) => binding.db_get_many_sync(database, bytes.slice(from, to), undefined))
    },
    keyCount,
  )
  measure(
    'bare binding: multi-get of present keys, in sorted order',
    () => {
      batches((from, to) => binding.db_get_many_sync(database, bytes.slice(from, to).sort(Buffer.compare), undefined))
    },
    keyCount,
  )
  await new Promise<void>((resolve) => binding.db_close(database, () => resolve()))
}

async function main(): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) {
    benchMap()
    await inFolder(async (folder) => {
      const backend = await openRocksdbBackend({ folder: join(folder, 'store') })
      benchStore(backend, 'store, new keys', 2 * BATCH * CARD_BYTES)
      benchStore(backend, 'store, keys on disk', 2 * BATCH * CARD_BYTES)
      benchStore(backend, 'store, first reads with a cache for all keys', 4 * keyCount * CARD_BYTES)
      benchHot(backend)
      await backend.close()
      await benchBinding(join(folder, 'bare'))
    })
  }

  process.stdout.write(`${keyCount} keys, commit every ${BATCH}, ${ROUNDS} rounds, µs per key (median)\n`)
  for (const [name, values] of figures) process.stdout.write(`${median(values).toFixed(3).padStart(9)}  ${name}\n`)

  process.stdout.write(
    '\nseen-set: items, written per added item, size of the set, false positives, CPU per added item, CPU per lookup in a copy\n',
  )
  await inFolder(async (folder) => {
    const backend = await openRocksdbBackend({ folder: join(folder, 'seen') })
    for (const cost of seenSetCosts(backend)) {
      const { items, writtenBytes, setBytes, falsePositives, addMicroseconds, readMicroseconds } = cost
      const share = `${(100 * falsePositives).toFixed(2)} %`
      const sizes = [items, `${writtenBytes.toFixed(0)} bytes`, `${setBytes} bytes`]
      process.stdout.write(`${[...sizes, share, `${addMicroseconds.toFixed(1)} µs`, `${readMicroseconds.toFixed(1)} µs`].join('  ')}\n`)
    }
    await backend.close()
  })
}

await runMain(main)
