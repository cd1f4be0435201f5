import { mkdirSync, readdirSync, rmdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { utf8 } from '../../../schemas/keys.ts'
import { StateLocked } from '../../../state/stores/errors.ts'
import { keyedStore } from '../../../state/stores/keyed-store.ts'
import { openRocksdbBackend } from '../../../state/stores/rocksdb-backend.ts'
import type { StateBackend, StateColumn } from '../../../state/stores/store.ts'
import { isOnDisk, newFolder, openStore, put, raw, TOPOLOGY } from './harness.ts'

const SECRET = 'a secret that must vanish'
/** Number of rows. There are so many rows that copying them takes several slices. */
const ROWS = 60_000

const all = (column: StateColumn) => new Map([...column.scan({})].map(([key, value]) => [String(key), String(value)]))

const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

function session(backend: StateBackend) {
  const own = backend.session(TOPOLOGY)
  return { own, column: own.column('totals', 0) }
}

test('a rewritten database contains all values except replaced and deleted ones', async () => {
  const folder = newFolder()
  let backend = await openRocksdbBackend({ folder })
  const { own, column } = session(backend)
  put(column, 'replaced', SECRET)
  put(column, 'deleted', SECRET)
  put(column, 'kept', '1')
  own.putPosition('source', 7)
  own.write()
  put(own.column('cleared', 0), 'a', SECRET)
  own.write()
  own.clear('cleared', 0)
  put(column, 'replaced', '2')
  put(column, 'deleted', null)
  own.write()
  expect(isOnDisk(folder, SECRET)).toBe(true)
  for (const generation of [1, 2]) {
    column.scrub()
    expect(await backend.scrub()).toBe(true)
    expect(await backend.scrub()).toBe(false)
    expect(isOnDisk(folder, SECRET)).toBe(false)
    expect(readdirSync(folder).sort()).toEqual(['generation', `generation-${generation}`])
  }
  const content = new Map([
    ['kept', '1'],
    ['replaced', '2'],
  ])
  expect(all(column)).toEqual(content)
  put(column, 'later', '3')
  own.write()
  await backend.close()
  backend = await openRocksdbBackend({ folder })
  const reopened = session(backend)
  expect(all(reopened.column)).toEqual(content.set('later', '3'))
  expect(reopened.own.position('source')).toBe(7)
  await backend.close()
})

test('changes that are made while the database is rewritten are in the new database', async () => {
  const folder = newFolder()
  let backend = await openRocksdbBackend({ folder })
  const { own, column } = session(backend)
  const expected = new Map<string, string>()
  function set(key: string, value: string | null): void {
    put(column, key, value)
    if (value === null) expected.delete(key)
    else expected.set(key, value)
  }
  for (let row = 0; row < ROWS; row++) set(`row ${row}`, 'old')
  put(own.column('cleared', 0), 'a', 'gone')
  own.write()
  let isDone = false
  const rewriting = backend.scrub().finally(() => {
    isDone = true
  })
  let changes = 0
  while (!isDone) {
    // Changes one row near each end, so that some rows change before they are copied and others afterwards.
    for (const row of [changes, ROWS - 1 - changes]) set(`row ${row}`, changes % 3 === 0 ? null : `new ${changes}`)
    const taken = own.takeBatch()
    taken.putPosition('source', ++changes)
    taken.write()
    if (changes === 5) own.clear('cleared', 0)
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(await rewriting).toBe(true)
  expect(changes).toBeGreaterThan(5)
  for (const time of ['before', 'after'] as const) {
    const { own: now, column: shown } = session(backend)
    expect(all(shown), time).toEqual(expected)
    expect(all(now.column('cleared', 0)).size).toBe(0)
    expect(now.position('source')).toBe(changes)
    await backend.close()
    backend = await openRocksdbBackend({ folder })
  }
  await backend.close()
})

test('a rewrite whose pointer file cannot be written is repeated by the next scrub', async () => {
  const folder = newFolder()
  const backend = await openRocksdbBackend({ folder })
  const { own, column } = session(backend)
  put(column, 'row', '1')
  own.write()
  const obstacle = join(folder, 'generation.draft')
  mkdirSync(obstacle)
  await expect(backend.scrub()).rejects.toThrow('rewriting the state')
  // The database in use is still the one that the next start opens, so it must still be locked.
  await expect(openRocksdbBackend({ folder })).rejects.toThrow(StateLocked)
  rmdirSync(obstacle)
  put(column, 'row', '2')
  own.write()
  expect(await backend.scrub()).toBe(true)
  expect(readdirSync(folder).sort()).toEqual(['generation', 'generation-1'])
  await backend.close()
  const again = await openRocksdbBackend({ folder })
  expect(all(session(again).column)).toEqual(new Map([['row', '2']]))
  await again.close()
})

test('a database whose rewrite failed because the pointer file could not be written keeps later changes when it is opened again', async () => {
  const folder = newFolder()
  const backend = await openRocksdbBackend({ folder })
  const { own, column } = session(backend)
  put(column, 'row', '1')
  own.write()
  mkdirSync(join(folder, 'generation.draft'))
  for (let time = 0; time < 2; time++) await expect(backend.scrub()).rejects.toThrow('rewriting the state')
  put(column, 'later', '2')
  own.write()
  await backend.close()
  const again = await openRocksdbBackend({ folder })
  expect(Object.fromEntries(all(session(again).column))).toEqual({ row: '1', later: '2' })
  await again.close()
})

test('a database that is closed during a rewrite remains unchanged', async () => {
  const folder = newFolder()
  const backend = await openRocksdbBackend({ folder })
  const { own, column } = session(backend)
  for (let row = 0; row < ROWS; row++) put(column, `row ${row}`, 'x')
  own.write()
  const rewriting = backend.scrub()
  const failed = expect(rewriting).rejects.toThrow(
    `rewriting the state in ${folder}: the database is being closed, or too many rows changed`,
  )
  await backend.close()
  await failed
  const again = await openRocksdbBackend({ folder })
  expect(all(session(again).column).size).toBe(ROWS)
  expect(readdirSync(folder).filter((name) => name.startsWith('generation'))).toEqual([])
  await again.close()
})

test('an erasable store requests a rewrite when it deletes a value, and a call of roll adds one record to the changelog', async () => {
  const folder = newFolder()
  const backend = await openRocksdbBackend({ folder })
  await backend.scrub()
  const store = openStore(keyedStore<string, string>('erasable', { key: utf8, value: raw(utf8), erasable: true }), backend)
  const appended: [key: string, value: string | null][] = []
  function commit(): void {
    store.flush({
      append(key, keyStart, keyEnd, value, valueStart, valueEnd) {
        const text = (bytes: Uint8Array, start: number, end: number) => Buffer.from(bytes.subarray(start, end)).toString()
        appended.push([text(key, keyStart, keyEnd), value && text(value, valueStart, valueEnd)])
      },
    })
    backend.session(TOPOLOGY).write()
    store.committed()
  }
  store.put('a', SECRET)
  commit()
  expect(await backend.scrub()).toBe(false)
  store.delete('a')
  commit()
  expect(await backend.scrub()).toBe(true)
  expect(isOnDisk(folder, SECRET)).toBe(false)
  store.roll()
  expect(store.dirtyKeys).toBe(1)
  commit()
  expect(store.dirtyKeys).toBe(0)
  expect(appended).toEqual([
    ['a', SECRET],
    ['a', null],
    ['\0roll', null],
  ])
  await backend.close()
})

test('an erasable store requests a rewrite after the commit that contains the deletion, and not after the previous commit', async () => {
  const folder = newFolder()
  const backend = await openRocksdbBackend({ folder })
  await backend.scrub()
  const { own } = session(backend)
  const store = openStore(keyedStore<string, string>('erasable', { key: utf8, value: raw(utf8), erasable: true }), backend)
  store.put('a', SECRET)
  store.flush(undefined)
  const first = own.takeBatch()
  store.delete('a')
  first.write()
  store.committed()
  expect(await backend.scrub()).toBe(false)
  store.flush(undefined)
  own.write()
  store.committed()
  expect(await backend.scrub()).toBe(true)
  expect(isOnDisk(folder, SECRET)).toBe(false)
  await backend.close()
})

test('a scan that began before a rewrite returns all rows from before the rewrite, and the rewrite ends only after the scan', async () => {
  const folder = newFolder()
  const backend = await openRocksdbBackend({ folder })
  const { own, column } = session(backend)
  for (let row = 0; row < ROWS; row++) put(column, `row ${row}`, 'x')
  own.write()
  const scan = column.scan({})[Symbol.iterator]()
  const abandoned = column.scan({})[Symbol.iterator]()
  scan.next()
  abandoned.next()
  let isDone = false
  const rewriting = backend.scrub().finally(() => {
    isDone = true
  })
  let scanned = 1
  // The rewrite ends only after the scans, so the test waits only until the pointer file has been written.
  while (readdirSync(folder).every((name) => name !== 'generation')) await nextTurn()
  put(column, 'later', 'x')
  own.write()
  while (scan.next().done !== true) scanned++
  expect(scanned).toBe(ROWS)
  await nextTurn()
  expect(isDone).toBe(false)
  abandoned.return?.()
  expect(await rewriting).toBe(true)
  expect(all(column).size).toBe(ROWS + 1)
  await backend.close()
})

test('a scan that is never finished does not keep a database from being closed', async () => {
  const folder = newFolder()
  const backend = await openRocksdbBackend({ folder })
  const { own, column } = session(backend)
  put(column, 'a', '1')
  put(column, 'b', '2')
  own.write()
  column.scan({})[Symbol.iterator]().next()
  const rewriting = backend.scrub()
  while (readdirSync(folder).every((name) => name !== 'generation')) await nextTurn()
  await backend.close()
  expect(await rewriting).toBe(true)
})
