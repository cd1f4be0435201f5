import fc from 'fast-check'
import { expect, test } from 'vitest'
import { avroValue } from '../../../schemas/avro/value.ts'
import { UnknownSchemaError } from '../../../schemas/codec.ts'
import { utf8 } from '../../../schemas/keys.ts'
import type { AvroSchema, ValueFormat } from '../../../schemas/topic.ts'
import { keyHash, PackedRows } from '../../../state/stores/packed-rows.ts'
import { packedStore } from '../../../state/stores/packed-store.ts'
import { openStore, raw, TOPOLOGY, testBackends, testChangelog } from './harness.ts'

const bytes = fc.uint8Array({ maxLength: 40 }).map((array) => Buffer.from(array))
/** Prefixes that all keys of a test have in common. */
const prefixes = fc.constantFrom('', '0000')

function commonLength(one: string, other: string): number {
  let length = 0
  while (length < one.length && one[length] === other[length]) length++
  return length
}

const span = (buffer: Buffer) => [buffer, 0, buffer.length] as const

/** Returns one of only three hashes, so that most keys share their hash with other keys. */
const hashOf = (key: Buffer) => key.length % 3

test('a table of packed rows behaves like a map, even if keys share their hashes', () => {
  const step = fc.record({ key: bytes, value: fc.option(bytes) })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 700, size: 'max' }), prefixes, (drawn, prefix) => {
      const steps = drawn.map(({ key, value }) => ({ key: Buffer.concat([Buffer.from(prefix), key]), value }))
      const rows = new PackedRows()
      const model = new Map<string, Buffer | null>()
      for (let round = 0; round < 2; round++) {
        for (const { key, value } of steps) {
          let row = rows.find(...span(key), hashOf(key))
          expect(row >= 0).toBe(model.has(key.toString('latin1')))
          if (row < 0) row = rows.add(...span(key), hashOf(key))
          if (value === null) rows.removeValue(row)
          else rows.setValue(row, ...span(value))
          model.set(key.toString('latin1'), value)
        }
        expect(rows.count).toBe(model.size)
        for (const [name, value] of model) {
          const key = Buffer.from(name, 'latin1')
          const row = rows.find(...span(key), hashOf(key))
          expect(rows.buffer.subarray(rows.keyStart(row), rows.keyEnd(row))).toEqual(key)
          expect(rows.hasValue(row)).toBe(value !== null)
          if (value !== null) expect(rows.buffer.subarray(rows.valueStart(row), rows.valueEnd(row))).toEqual(value)
        }
        const order = [...rows.roughlySorted()]
        expect([...order].sort((a, b) => a - b)).toEqual([...model.keys()].map((_, row) => row))
        const keys = order.map((row) => rows.buffer.toString('latin1', rows.keyStart(row), rows.keyEnd(row)))
        const common = keys.length === 0 ? 0 : keys.reduce((length, key) => commonLength(key.slice(0, length), keys[0]), keys[0].length)
        const starts = keys.map((key) => key.slice(common, common + 4).padEnd(4, '\0'))
        expect(starts).toEqual([...starts].sort())
        rows.clear()
        model.clear()
      }
    }),
    { numRuns: 30 },
  )
})

test('a value may be replaced by bytes from the same table', () => {
  const rows = new PackedRows()
  const row = rows.add(...span(Buffer.from('a')), 0)
  rows.setValue(row, ...span(Buffer.from('0123456789')))
  for (let i = 0; i < 2_000; i++) rows.setValue(row, rows.buffer, rows.valueStart(row), rows.valueEnd(row))
  expect(rows.buffer.toString('latin1', rows.valueStart(row), rows.valueEnd(row))).toBe('0123456789')
})

test('rows can be written, found and prefetched as bytes, and a row that changes several times is written once per commit', async () => {
  const { backend, session } = await testBackends[0]()
  const open = () => openStore(packedStore('terms', { key: utf8, value: raw(utf8) }), backend, 1_000)
  const key = Buffer.from('x café')
  const at = [key, 2, key.length, keyHash(key, 2, key.length)] as const
  const value = Buffer.from('..value..')
  const store = open()
  expect(store.find(...at)).toBeUndefined()
  for (let end = 3; end <= 7; end++) store.write(...at, { buffer: value, start: 2, end })
  expect(store.get('café')).toBe('value')
  expect(store.dirtyKeys).toBe(1)
  expect(store.dirtyBytes).toBe('café'.length + 1 + 'value'.length)
  const changelog = testChangelog()
  store.flush(changelog)
  expect(changelog.appended).toBe(1)
  session.write()
  store.committed()
  const next = open()
  next.prefetchBytes(...at)
  next.prefetchBytes(...at)
  next.prefetch('nobody')
  next.loadPrefetched()
  const { buffer, start, end } = next.find(...at)!
  expect(buffer.toString('utf8', start, end)).toBe('value')
  expect(next.get('nobody')).toBeUndefined()
})

test('rows that a small cache has evicted are read again', async () => {
  const { backend, session } = await testBackends[0]()
  const store = openStore(packedStore('terms', { key: utf8, value: raw(utf8) }), backend, 2_000)
  for (let i = 0; i < 200; i++) {
    store.put(`term ${i}`, `value ${i}`)
    if (i % 10 !== 9) continue
    store.flush(undefined)
    session.write()
    store.committed()
  }
  for (let i = 0; i < 200; i++) expect(store.get(`term ${i}`)).toBe(`value ${i}`)
})

test('loading rows fails if a schema is not loaded yet, and can be repeated once the schema is loaded', async () => {
  const { backend, session } = await testBackends[0]()
  const schema = { type: 'record', name: 'Total', fields: [{ name: 'sum', type: 'int' }] }
  const added = { ...schema, fields: [...schema.fields, { name: 'added', type: 'int', default: 7 }] }
  const loaded = new Map<number, AvroSchema>()
  const open = (value: ValueFormat<{ sum: number }>, schemaId: number) => {
    const store = packedStore('terms', { key: utf8, value })
    const codec = value.open(schemaId, { get: (id) => loaded.get(id) })
    store.open({ column: backend.session(TOPOLOGY).column(store.name, 0), codec, cacheBytes: 1_000 })
    return store
  }
  const before = open(avroValue(schema), 1)
  before.put('a', { sum: 5 })
  before.flush(undefined)
  session.write()
  before.committed()
  const after = open(avroValue(added), 2)
  after.prefetch('a')
  after.prefetch('nobody')
  expect(() => after.loadPrefetched()).toThrow(UnknownSchemaError)
  loaded.set(1, schema)
  after.loadPrefetched()
  expect([after.get('a'), after.get('nobody')]).toEqual([{ sum: 5, added: 7 }, undefined])
})
