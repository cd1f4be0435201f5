import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, expect, test } from 'vitest'
import { corruptionIn, StateCorrupted, StateLocked } from '../../../state/stores/errors.ts'
import { deletedEntry, spacePrefix } from '../../../state/stores/key-spaces.ts'
import { openRocksdbBackend } from '../../../state/stores/rocksdb-backend.ts'
import { loadRocksdbBinding } from '../../../state/stores/rocksdb-binding.ts'
import type { StateBackend, StateColumn } from '../../../state/stores/store.ts'
import { TOPOLOGY, temporaryFolder } from './harness.ts'

const CHILD_TIMEOUT_MS = 60_000
const MIB = 1024 * 1024
/** Maximum file size for the writer process. Its write-ahead log reaches this size with the second batch. */
const FILE_LIMIT_KIB = 300

const folders: string[] = []
const children: ChildProcess[] = []

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

function newFolder(): string {
  const folder = temporaryFolder()
  folders.push(folder)
  return folder
}

function childFile(name: string): string {
  return join(import.meta.dirname, 'children', name)
}

function put(column: StateColumn, key: string, value: string | null): void {
  const keyBytes = Buffer.from(key)
  const valueBytes = value === null ? null : Buffer.from(value)
  column.put(keyBytes, 0, keyBytes.length, valueBytes, 0, valueBytes?.length ?? 0)
}

function rows(column: StateColumn): [string, string][] {
  return [...column.scan({})].map(([key, value]) => [String(key), String(value)])
}

function get(column: StateColumn, key: string): string | undefined {
  const [value] = column.multiGet({ bytes: Buffer.from(key), ends: [Buffer.byteLength(key)] })
  return value && String(value)
}

test('stores and partitions are isolated, even at the boundaries of their key spaces', async () => {
  const folder = newFolder()
  let backend = await openRocksdbBackend({ folder })
  const spaces = ['totals 0', 'totals 1', 'names 0'].map((name) => name.split(' '))
  const column = ([store, partition]: string[]) => backend.session(TOPOLOGY).column(store, Number(partition))
  for (const space of spaces) {
    put(column(space), '', `first of ${space}`)
    put(column(space), '\u{10ffff}', `last of ${space}`)
  }
  backend.session(TOPOLOGY).write()
  for (const reopened of [false, true]) {
    if (reopened) {
      await backend.close()
      backend = await openRocksdbBackend({ folder })
    }
    for (const space of spaces) {
      expect(rows(column(space))).toEqual([
        ['', `first of ${space}`],
        ['\u{10ffff}', `last of ${space}`],
      ])
    }
  }
  await backend.close()
})

test('values of up to 100,000 bytes, under keys of the same length, are read back completely', async () => {
  const backend = await openRocksdbBackend({ folder: newFolder() })
  const column = backend.session(TOPOLOGY).column('totals', 0)
  const lengths = [0, 1, 23, 24, 25, 4091, 4092, 4093, 4095, 4096, 4097, 100_000]
  for (const length of lengths) put(column, 'k'.repeat(length), 'v'.repeat(length))
  backend.session(TOPOLOGY).write()
  for (const length of lengths) expect(get(column, 'k'.repeat(length))?.length).toBe(length)
  await backend.close()
})

test('a scan respects bounds, direction and limit across many fetches', async () => {
  const backend = await openRocksdbBackend({ folder: newFolder() })
  const column = backend.session(TOPOLOGY).column('totals', 0)
  const keys = Array.from({ length: 1000 }, (_, key) => String(key).padStart(4, '0'))
  for (const key of keys) put(column, key, key)
  backend.session(TOPOLOGY).write()
  const scanned = (range: Parameters<StateColumn['scan']>[0]) => [...column.scan(range)].map(([key]) => String(key))
  expect(scanned({})).toEqual(keys)
  expect(scanned({ gte: Buffer.from('0100'), lt: Buffer.from('0900') })).toEqual(keys.slice(100, 900))
  expect(scanned({ lt: Buffer.from('0900'), reverse: true, limit: 300 })).toEqual(keys.slice(600, 900).reverse())
  expect(scanned({ limit: 0 })).toEqual([])
  for (const [key] of column.scan({})) if (String(key) === '0500') break
  await backend.close()
})

test('a scan returns all rows even if single rows exceed the size of a fetch', async () => {
  const backend = await openRocksdbBackend({ folder: newFolder() })
  const column = backend.session(TOPOLOGY).column('totals', 0)
  const keys = Array.from({ length: 30 }, (_, key) => String(key).padStart(2, '0'))
  for (const key of keys) put(column, key, key.repeat(100_000))
  backend.session(TOPOLOGY).write()
  for (const reverse of [false, true]) {
    const rows = [...column.scan({ reverse })].map(([key, value]) => [String(key), value.length])
    expect(rows).toEqual((reverse ? keys.toReversed() : keys).map((key) => [key, 200_000]))
  }
  await backend.close()
})

test('each session has a separate batch', async () => {
  const backend = await openRocksdbBackend({ folder: newFolder() })
  const [one, two] = ['one', 'two'].map((topology) => backend.session(topology))
  put(one.column('totals', 0), 'a', '1')
  one.putPosition('source', 1)
  put(two.column('totals', 0), 'a', '2')
  two.putPosition('source', 2)
  two.write()
  expect([get(one.column('totals', 0), 'a'), one.position('source')]).toEqual([undefined, undefined])
  expect([get(two.column('totals', 0), 'a'), two.position('source')]).toEqual(['2', 2])
  one.dropBatch()
  one.write()
  expect([get(one.column('totals', 0), 'a'), one.position('source')]).toEqual([undefined, undefined])
  await backend.close()
})

test('later puts, writes and drops of a session do not change a batch that was taken from it', async () => {
  const backend = await openRocksdbBackend({ folder: newFolder() })
  const session = backend.session(TOPOLOGY)
  const column = session.column('totals', 0)
  const found = () => [get(column, 'a'), get(column, 'b'), get(column, 'c'), session.position('source') ?? null]
  put(column, 'a', '1')
  const first = session.takeBatch()
  first.putPosition('source', 1)
  put(column, 'b', '2')
  session.write()
  expect(found()).toEqual([undefined, '2', undefined, null])
  put(column, 'c', '3')
  session.dropBatch()
  first.write()
  expect(found()).toEqual(['1', '2', undefined, 1])
  put(column, 'a', '4')
  session.putPosition('source', 2)
  const second = session.takeBatch()
  put(column, 'c', '5')
  second.drop()
  session.write()
  expect(found()).toEqual(['1', '2', '5', 1])
  await backend.close()
})

test('a batch that is dropped after its write does not share memory with later batches', async () => {
  const backend = await openRocksdbBackend({ folder: newFolder() })
  const session = backend.session(TOPOLOGY)
  const column = session.column('totals', 0)
  const first = session.takeBatch()
  // A commit ends its batch like this if a later step of the same commit fails.
  first.write()
  first.drop()
  put(column, 'first', '1')
  session.takeBatch().write()
  put(column, 'committed', '1')
  const committed = session.takeBatch()
  put(column, 'uncommitted', '1')
  first.drop()
  committed.write()
  expect(rows(column)).toEqual([
    ['committed', '1'],
    ['first', '1'],
  ])
  session.write()
  expect(get(column, 'uncommitted')).toBe('1')
  await backend.close()
})

test('positions are exact up to 2^53 - 1 and persist', async () => {
  const folder = newFolder()
  let backend = await openRocksdbBackend({ folder })
  const offsets = [0, 1, 2 ** 32, 2 ** 53 - 1]
  for (const offset of offsets) backend.session(TOPOLOGY).putPosition(`changelog ${offset}`, offset)
  backend.session(TOPOLOGY).write()
  backend.session(TOPOLOGY).putPosition('changelog 1', null)
  backend.session(TOPOLOGY).write()
  await backend.close()
  backend = await openRocksdbBackend({ folder })
  expect(offsets.map((offset) => backend.session(TOPOLOGY).position(`changelog ${offset}`))).toEqual([0, undefined, 2 ** 32, 2 ** 53 - 1])
  await backend.close()
})

test('clearing a key space deletes its rows and positions at once, and they are still absent after a restart', async () => {
  const folder = newFolder()
  let backend = await openRocksdbBackend({ folder })
  let session = backend.session(TOPOLOGY)
  const column = session.column('totals', 0)
  put(column, 'a', 'old')
  put(session.column('totals', 1), 'a', 'other')
  session.putPosition('totals 0', 7)
  session.putPosition('totals 1', 8)
  session.write()
  session.clear('totals', 0, ['totals 0'])
  expect(rows(column)).toEqual([])
  expect([session.position('totals 0'), session.position('totals 1')]).toEqual([undefined, 8])
  put(column, 'b', 'new')
  session.write()
  for (const reopened of [false, true]) {
    if (reopened) {
      await backend.close()
      backend = await openRocksdbBackend({ folder })
      session = backend.session(TOPOLOGY)
    }
    expect(rows(session.column('totals', 0))).toEqual([['b', 'new']])
    expect(rows(session.column('totals', 1))).toEqual([['a', 'other']])
    expect([session.position('totals 0'), session.position('totals 1')]).toEqual([undefined, 8])
  }
  await backend.close()
})

test('a clear that was interrupted is completed at the next open', async () => {
  const folder = newFolder()
  await (await openRocksdbBackend({ folder })).close()
  const abandoned = 7
  const left = Buffer.concat([spacePrefix(abandoned), Buffer.from('left')])
  await withRawDatabase(folder, (binding, database) => {
    const batch = binding.batch_init()
    binding.batch_put(batch, ...deletedEntry(abandoned), undefined)
    binding.batch_put(batch, left, Buffer.from('rows'), undefined)
    binding.batch_write(database, batch, undefined)
  })
  const backend = await openRocksdbBackend({ folder })
  put(backend.session(TOPOLOGY).column('totals', 0), 'a', '1')
  backend.session(TOPOLOGY).write()
  await backend.close()
  await withRawDatabase(folder, (binding, database) => {
    expect(binding.db_get_many_sync(database, [left, deletedEntry(abandoned)[0]], undefined)).toEqual([undefined, undefined])
    // The new store must not reuse the number of the abandoned key space.
    expect(binding.db_get_many_sync(database, [Buffer.concat([spacePrefix(abandoned + 1), Buffer.from('a')])], undefined)[0]).toBeDefined()
  })
})

test('a folder that is already open cannot be opened again by the same process or by another', async () => {
  const folder = newFolder()
  const backend = await openRocksdbBackend({ folder })
  await expect(openRocksdbBackend({ folder })).rejects.toThrow(StateLocked)
  const child = spawnSync(process.execPath, [childFile('write-batches.ts'), folder], { encoding: 'utf8' })
  expect(child.stderr).toContain('StateLocked')
  expect(child.stderr).toContain('in use by another process')
  await backend.close()
  await (await openRocksdbBackend({ folder })).close()
})

/** Fills the database until table files exist, and closes it. */
async function writtenFolder(): Promise<string> {
  const folder = newFolder()
  const backend = await openRocksdbBackend({ folder, memoryBudgetBytes: 4 * MIB })
  const session = backend.session(TOPOLOGY)
  const column = session.column('totals', 0)
  for (let key = 0; key < 3000; key++) {
    put(column, `key ${key}`, `${key} ${'v'.repeat(1000)}`)
    if (key % 100 === 99) session.write()
  }
  await backend.close()
  await (await openRocksdbBackend({ folder })).close()
  return folder
}

function fileOf(folder: string, pattern: RegExp): string {
  const name = readdirSync(folder).find((file) => pattern.test(file))
  if (name === undefined) throw new Error(`no ${pattern} among ${readdirSync(folder)}`)
  return join(folder, name)
}

function damage(file: string): void {
  const bytes = readFileSync(file)
  for (let at = bytes.length >> 2; at < bytes.length; at += 50) bytes[at] ^= 0xff
  writeFileSync(file, bytes)
}

async function readAll(folder: string): Promise<void> {
  const backend = await openRocksdbBackend({ folder })
  try {
    rows(backend.session(TOPOLOGY).column('totals', 0))
  } finally {
    await backend.close()
  }
}

test.each<[string, (folder: string) => void]>([
  ['a damaged manifest', (folder) => damage(fileOf(folder, /^MANIFEST/))],
  ['an empty CURRENT file', (folder) => truncateSync(fileOf(folder, /^CURRENT$/))],
  ['a damaged table file', (folder) => damage(fileOf(folder, /\.sst$/))],
  ['a missing table file', (folder) => rmSync(fileOf(folder, /\.sst$/))],
  ['a truncated table file', (folder) => truncateSync(fileOf(folder, /\.sst$/), 100)],
  ['a missing manifest', (folder) => rmSync(fileOf(folder, /^MANIFEST/))],
  ['a CURRENT file with other content', (folder) => copyFileSync(fileOf(folder, /\.sst$/), fileOf(folder, /^CURRENT$/))],
])('a damaged or missing file is reported as corruption: %s', async (_what, harm) => {
  const folder = await writtenFolder()
  harm(folder)
  await expect(readAll(folder)).rejects.toThrow(StateCorrupted)
})

test('the rewrite of a damaged database reports corruption', async () => {
  const folder = await writtenFolder()
  const backend = await openRocksdbBackend({ folder })
  // If the file were damaged before, the database could not be opened.
  damage(fileOf(folder, /\.sst$/))
  await expect(backend.scrub()).rejects.toThrow(expect.toSatisfy((error) => corruptionIn(error) !== undefined))
  await backend.close()
})

test.each([
  ['format 99', 0x66],
  ['no format', 0x73],
])('state in another format is refused with an error that names the format: %s', async (named, kind) => {
  const folder = newFolder()
  await withRawDatabase(folder, (binding, database) => {
    const batch = binding.batch_init()
    binding.batch_put(batch, Buffer.from([0, 0, 0, 0, kind]), Buffer.from([0, 0, 0, 99]), undefined)
    binding.batch_write(database, batch, undefined)
  })
  await expect(openRocksdbBackend({ folder })).rejects.toThrow(`has ${named}, but this version reads format`)
})

test('a truncated write-ahead log loses only whole batches from its end', async () => {
  const folder = newFolder()
  const backend = await openRocksdbBackend({ folder })
  const session = backend.session(TOPOLOGY)
  const column = session.column('totals', 0)
  for (let batch = 1; batch <= 100; batch++) {
    put(column, 'a', `${batch} ${'x'.repeat(500)}`)
    put(column, 'b', `${batch} ${'x'.repeat(500)}`)
    session.putPosition('source', batch)
    session.write()
  }
  const log = fileOf(folder, /\.log$/)
  const torn = readFileSync(log).subarray(0, 60_000)
  await backend.close()
  for (const file of readdirSync(folder)) if (file.endsWith('.sst')) throw new Error('the log must contain everything for this test')
  writeFileSync(log, torn)
  const reopened = await openRocksdbBackend({ folder })
  const position = reopened.session(TOPOLOGY).position('source')
  expect(position).toBeGreaterThan(10)
  expect(position).toBeLessThan(100)
  const values = ['a', 'b'].map((key) => get(reopened.session(TOPOLOGY).column('totals', 0), key)?.split(' ')[0])
  expect(values).toEqual([String(position), String(position)])
  await reopened.close()
})

/**
 * Starts the writer process and returns it with the lines that it prints. `limitKib` is the file size in KiB at which
 * writes fail, as on a full disk.
 */
function startWriter(folder: string, limitKib?: number): { child: ChildProcess; lines: AsyncIterator<string> } {
  const command = `${limitKib === undefined ? '' : `ulimit -f ${limitKib}; `}exec "$0" "$@"`
  const child = spawn('bash', ['-c', command, process.execPath, childFile('write-batches.ts'), folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(child)
  return { child, lines: createInterface({ input: child.stdout as NodeJS.ReadableStream })[Symbol.asyncIterator]() }
}

async function batchesIn(folder: string): Promise<{ position: number | undefined; batches: Set<string>; keys: number }> {
  const backend = await openRocksdbBackend({ folder })
  const session = backend.session(TOPOLOGY)
  const found = rows(session.column('totals', 3))
  const result = {
    position: session.position('source'),
    batches: new Set(found.map(([, value]) => value.split(' ')[0])),
    keys: found.length,
  }
  await backend.close()
  return result
}

test(
  'after kill -9 at any moment, state and position belong to the same batch, which is no older than the last reported batch',
  async () => {
    const folder = newFolder()
    let reported = 0
    for (let round = 1; round <= 8; round++) {
      const { child, lines } = startWriter(folder)
      const target = reported + 3 * round * round
      while (reported < target) reported = Number((await lines.next()).value)
      child.kill('SIGKILL')
      await once(child, 'exit')
      for (let line = await lines.next(); !line.done; line = await lines.next()) reported = Number(line.value)
      const { position, batches, keys } = await batchesIn(folder)
      expect(position).toBeGreaterThanOrEqual(reported)
      expect([...batches]).toEqual([String(position)])
      expect(keys).toBe(100)
    }
  },
  CHILD_TIMEOUT_MS,
)

test(
  'a write that fails on a full disk causes an error, and earlier writes are kept',
  async () => {
    const folder = newFolder()
    const { child, lines } = startWriter(folder, FILE_LIMIT_KIB)
    let reported = 0
    let failure: string | undefined
    for (let line = await lines.next(); !line.done; line = await lines.next()) {
      if (line.value.startsWith('failed')) failure = line.value
      else reported = Number(line.value)
    }
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    expect(failure).toBe(`failed StateUnavailable ${reported + 1}`)
    expect(reported).toBeGreaterThan(0)
    const { position, batches } = await batchesIn(folder)
    expect(position).toBe(reported)
    expect([...batches]).toEqual([String(reported)])
  },
  CHILD_TIMEOUT_MS,
)

// If other processes starve the compactions, the allocator holds up to 10 % more memory, so one run in a few hundred
// exceeds the budget. A real fault would make every run exceed it.
test('memory stays within the budget with 40 stores of 8 partitions', { retry: 2, timeout: CHILD_TIMEOUT_MS }, async () => {
  const budget = 64 * MIB
  const rowCount = 1_000_000
  const child = spawnSync(process.execPath, [childFile('fill-stores.ts'), newFolder(), String(budget), String(rowCount)], {
    encoding: 'utf8',
  })
  expect(child.stderr).toBe('')
  expect(Number(child.stdout)).toBeGreaterThan(MIB)
  expect(Number(child.stdout)).toBeLessThan(budget)
})

test('after a backlog or a restore, 20 topologies do not each keep the memory of their largest batch', {
  timeout: CHILD_TIMEOUT_MS,
}, () => {
  const budget = 64 * MIB
  const child = spawnSync(process.execPath, [childFile('fill-sessions.ts'), newFolder(), String(budget)], { encoding: 'utf8' })
  expect(child.stderr).toBe('')
  expect(Number(child.stdout)).toBeGreaterThan(MIB)
  expect(Number(child.stdout)).toBeLessThan(3 * budget)
})

test('stats report bytes on disk and in memory', async () => {
  const folder = await writtenFolder()
  const backend: StateBackend = await openRocksdbBackend({ folder })
  rows(backend.session(TOPOLOGY).column('totals', 0))
  expect(backend.stats().diskBytes).toBeGreaterThan(10_000)
  expect(backend.stats().memoryBytes).toBeGreaterThan(1000)
  await backend.close()
})

async function withRawDatabase(
  folder: string,
  use: (binding: ReturnType<typeof loadRocksdbBinding>, database: ReturnType<ReturnType<typeof loadRocksdbBinding>['db_init']>) => void,
): Promise<void> {
  const binding = loadRocksdbBinding()
  const database = binding.db_init(folder)
  const options = {
    createIfMissing: true,
    parallelism: 1,
    compaction: 'level',
    compression: false,
    memtableMemoryBudget: MIB,
    cacheSize: MIB,
    cacheIndexAndFilterBlocks: true,
    optimize: 'point-lookup',
    walCompression: false,
  } as const
  await new Promise<void>((resolve, reject) => binding.db_open(database, options, (error) => (error ? reject(error) : resolve())))
  try {
    use(binding, database)
  } finally {
    await new Promise<void>((resolve, reject) => binding.db_close(database, (error) => (error ? reject(error) : resolve())))
  }
}
