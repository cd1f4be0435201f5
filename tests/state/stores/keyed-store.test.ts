import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Codec, CodecError, UnknownSchemaError } from '../../../schemas/codec.ts'
import { utf8 } from '../../../schemas/keys.ts'
import { StateCorrupted } from '../../../state/stores/errors.ts'
import { keyedStore } from '../../../state/stores/keyed-store.ts'
import { packedStore } from '../../../state/stores/packed-store.ts'
import { openStore, PARTITION, raw, type TestBackend, TOPOLOGY, testBackends, testChangelog } from './harness.ts'
import { type LifeStep, lifeSteps, modelled, testAgainstModel } from './modelled.ts'

const STORE = 'totals'
/**
 * There are only a few keys, so that operations collide. Some keys are prefixes of others, and two keys sort after all
 * ASCII keys.
 */
const someKeys = ['a', 'aa', 'ab', 'b', 'ba', 'c', 'd', 'é', '\u{10ffff}']
const keyArbitrary = fc.constantFrom(...someKeys)
/** Cache size, so small that entries are evicted and read again. */
const CACHE_BYTES = 900

type Step =
  | { do: 'put'; key: string; value: string }
  | { do: 'delete' | 'get'; key: string }
  | { do: 'prefetch'; keys: string[] }
  | { do: 'records'; source: number; keys: string[]; others: string[] }
  | { do: 'scan'; gte?: string; lt?: string; prefix?: string; limit?: number; reverse: boolean }
  | LifeStep

const stepArbitrary: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('put' as const), key: keyArbitrary, value: fc.string({ maxLength: 3 }) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('delete' as const, 'get' as const), key: keyArbitrary }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('prefetch' as const), keys: fc.array(keyArbitrary, { maxLength: 8, size: 'max' }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('records' as const),
      source: fc.integer({ min: 0, max: 1 }),
      keys: fc.array(keyArbitrary, { maxLength: 8, size: 'max' }),
      others: fc.array(keyArbitrary, { minLength: 8, maxLength: 8 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record(
      {
        do: fc.constant('scan' as const),
        gte: keyArbitrary,
        lt: keyArbitrary,
        prefix: fc.constantFrom('', 'a', 'b', '\u{10ffff}'),
        limit: fc.integer({ min: 0, max: 4 }),
        reverse: fc.boolean(),
      },
      { requiredKeys: ['do', 'reverse'] },
    ),
  },
  { weight: 3, arbitrary: lifeSteps },
)

function bytewise(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}

function expectedScan(model: ReadonlyMap<string, string>, step: Step & { do: 'scan' }): [string, string][] {
  const { gte, lt, prefix = '', limit = Infinity, reverse } = step
  const rows = [...model]
    .filter(
      ([key]) => key.startsWith(prefix) && (gte === undefined || bytewise(key, gte) >= 0) && (lt === undefined || bytewise(key, lt) < 0),
    )
    .sort(([a], [b]) => bytewise(a, b) * (reverse ? -1 : 1))
  return rows.slice(0, limit)
}

type Kind = 'keyed' | 'sparse' | 'packed' | 'packed, uncached'

function storeOf(kind: Kind) {
  const options = { key: utf8, value: raw(utf8) }
  if (kind === 'packed') return packedStore(STORE, options)
  return kind === 'packed, uncached'
    ? packedStore(STORE, { ...options, cacheBytes: 0 })
    : keyedStore(STORE, { ...options, sparse: kind === 'sparse' })
}

/**
 * Runs the steps on a store and on two maps. One map has the current contents, and the other has the committed
 * contents.
 */
async function runAgainstModel(kind: Kind, opened: TestBackend, steps: readonly Step[]): Promise<void> {
  const record = { source: 0, slot: -1 }
  const open = () => openStore(storeOf(kind), opened.backend, CACHE_BYTES, PARTITION, record)
  const both = modelled(opened, open, new Map<string, string>(), (model) => new Map(model))

  for (const step of steps) {
    switch (step.do) {
      case 'put':
        both.store.put(step.key, step.value)
        both.current.set(step.key, step.value)
        break
      case 'delete':
        both.store.delete(step.key)
        both.current.delete(step.key)
        break
      case 'get':
        expect(both.store.get(step.key)).toBe(both.current.get(step.key))
        break
      case 'prefetch':
        for (const key of step.keys) both.store.prefetch(key)
        both.store.loadPrefetched()
        for (const key of step.keys) expect(both.store.get(key)).toBe(both.current.get(key))
        break
      case 'records':
        record.source = step.source
        both.store.prefetchFor(step.source)
        step.keys.forEach((key, slot) => {
          record.slot = slot
          both.store.prefetch(key)
          if (slot % 2 === 1) both.store.prefetch(step.others[slot])
        })
        both.store.loadPrefetched()
        // Records may also use keys that they did not prefetch, and may use a key more than once.
        step.keys.forEach((key, slot) => {
          record.slot = slot
          for (const each of [key, step.others[slot], key]) {
            expect(both.store.get(each)).toBe(both.current.get(each))
            both.store.put(each, `${slot}`)
            both.current.set(each, `${slot}`)
          }
        })
        break
      case 'scan':
        expect([...both.store.scan({ ...step, prefix: step.prefix === undefined ? undefined : Buffer.from(step.prefix) })]).toEqual(
          expectedScan(both.current, step),
        )
        break
      default:
        await both.live(step)
    }
  }
  await both.live({ do: 'abort' })
  expect([...both.store.scan()]).toEqual(expectedScan(both.committed, { do: 'scan', reverse: false }))
  for (const key of someKeys) expect(both.store.get(key)).toBe(both.committed.get(key))
}

for (const kind of ['keyed', 'sparse', 'packed', 'packed, uncached'] as const) {
  testAgainstModel(`a ${kind} store behaves like a map with transactions`, STORE, stepArbitrary, (opened, steps) =>
    runAgainstModel(kind, opened, steps),
  )
}

test('a sparse store looks up no absent keys in the database, and after many removals, fewer than 1 % of the removed keys', async () => {
  const { backend, session } = await testBackends[0]()
  const column = backend.session(TOPOLOGY).column(STORE, 0)
  let read = 0
  const multiGet: typeof column.multiGet = (keys) => {
    read += keys.ends.length
    return column.multiGet(keys)
  }
  function open() {
    const store = keyedStore(STORE, { key: utf8, value: raw(utf8), sparse: true })
    store.open({ column: { ...column, multiGet }, codec: utf8, cacheBytes: CACHE_BYTES })
    return store
  }
  function commit(store: ReturnType<typeof open>) {
    store.flush(undefined)
    session.write()
    store.committed()
  }
  const before = open()
  before.put('a', 'x')
  commit(before)
  const store = open()
  for (let i = 0; i < 100; i++) store.prefetch(`absent ${i}`)
  store.loadPrefetched()
  expect([store.get('absent 1'), read]).toEqual([undefined, 0])
  expect([store.get('a'), read]).toEqual(['x', 1])
  const removed = Array.from({ length: 2_000 }, (_, i) => `removed ${i}`)
  for (const key of removed) store.put(key, 'x')
  commit(store)
  for (const key of removed) store.delete(key)
  commit(store)
  read = 0
  for (const key of removed) expect(store.get(key)).toBeUndefined()
  expect([store.get('a'), read < removed.length / 100]).toEqual(['x', true])
})

test('a key that changes a hundred times is written once per commit', async () => {
  const backend = (await testBackends[0]()).backend
  const store = openStore(keyedStore(STORE, { key: utf8, value: raw(utf8) }), backend)
  const changelog = testChangelog()
  for (let i = 0; i < 100; i++) store.put('a', String(i))
  expect(store.dirtyKeys).toBe(1)
  store.flush(changelog)
  expect(changelog.appended).toBe(1)
})

test('the size of changed rows is estimated from the rows of the last flush', async () => {
  const backend = (await testBackends[0]()).backend
  const store = openStore(keyedStore(STORE, { key: utf8, value: raw(utf8) }), backend)
  for (const key of ['a', 'b', 'c']) store.put(key, 'x'.repeat(9_999))
  store.flush(testChangelog())
  store.committed()
  expect(store.dirtyBytes).toBe(0)
  store.put('a', 'x')
  store.put('d', 'x')
  expect(store.dirtyBytes).toBe(20_000)
})

test('consecutive scans encode each change only once, and later scans show the changes made after earlier scans', async () => {
  const backend = (await testBackends[0]()).backend
  let encoded = 0
  const key: Codec<string> = {
    decode: utf8.decode,
    encode(value, out) {
      encoded++
      utf8.encode(value, out)
    },
  }
  const store = openStore(keyedStore(STORE, { key, value: raw(utf8) }), backend)
  for (let i = 0; i < 100; i++) store.put(`${i % 10}:${i}`, 'x')
  const keysOf = (prefix: string) => [...store.scan({ prefix: Buffer.from(prefix) })].map(([name]) => name)
  encoded = 0
  for (let i = 0; i < 10; i++) expect(keysOf(`${i}:`)).toHaveLength(10)
  expect(encoded).toBe(100)
  store.put('3:new', 'y')
  store.delete('3:13')
  expect(keysOf('3:')).toHaveLength(10)
  expect(keysOf('3:')).toContain('3:new')
  store.flush(undefined)
  expect(keysOf('3:')).toHaveLength(10)
  store.discard()
  expect(keysOf('3:')).toEqual([])
})

test('a scan that omits new keys shows the changes of all other keys, and encodes no changes', async () => {
  const { backend, session } = await testBackends[0]()
  let encoded = 0
  const key: Codec<string> = {
    decode: utf8.decode,
    encode(value, out) {
      encoded++
      utf8.encode(value, out)
    },
  }
  const store = openStore(keyedStore(STORE, { key, value: raw(utf8) }), backend)
  for (const name of ['a', 'b', 'c']) store.put(name, 'old')
  store.flush(undefined)
  session.write()
  store.committed()
  store.put('a', 'changed')
  store.delete('b')
  for (let i = 0; i < 100; i++) store.put(`new ${i}`, 'x')
  encoded = 0
  const shown = Object.fromEntries(store.scan({ omitsNew: true }))
  expect(encoded).toBe(0)
  expect(shown).toMatchObject({ a: 'changed', c: 'old' })
  expect(shown).not.toHaveProperty('b')
})

/**
 * Cache sizes, and whether the scan omits new keys. With the tiny cache, the store evicts the committed rows before the
 * scan continues.
 */
const CACHES = [
  { cache: 'large', cacheBytes: 250_000, keys: 'all', omitsNew: false },
  { cache: 'tiny', cacheBytes: 1, keys: 'all', omitsNew: false },
  { cache: 'large', cacheBytes: 250_000, keys: 'no new', omitsNew: true },
  { cache: 'tiny', cacheBytes: 1, keys: 'no new', omitsNew: true },
] as const
for (const kind of ['keyed', 'packed'] as const) {
  for (const open of testBackends) {
    test.each(CACHES)(
      `a scan of a ${kind} store on ${open.name} shows the changes that are committed while it runs: $cache cache, $keys keys`,
      async (c) => {
        const opened = await open()
        const options = { key: utf8, value: raw(utf8) }
        const store = openStore(kind === 'keyed' ? keyedStore(STORE, options) : packedStore(STORE, options), opened.backend, c.cacheBytes)
        function commit(): void {
          opened.session.write()
          store.committed()
        }
        for (const key of ['a', 'b', 'c', 'e']) store.put(key, 'old')
        store.flush(undefined)
        commit()
        for (const key of ['b', 'd']) store.put(key, 'new')
        store.delete('c')
        store.flush(undefined)
        const rows: [string, string][] = []
        for (const row of store.scan({ omitsNew: c.omitsNew })) {
          rows.push(row)
          if (row[0] !== 'a') continue
          // The commit completes between two turns of a time handler that is scanning the store.
          commit()
          for (let i = 0; i < 20; i++) store.get(`other ${i}`)
        }
        expect(rows).toEqual([['a', 'old'], ['b', 'new'], ...(c.omitsNew ? [] : [['d', 'new']]), ['e', 'old']])
        await opened.remove()
      },
    )
  }
}

test('deleting a key that was never stored writes no tombstone', async () => {
  const backend = (await testBackends[0]()).backend
  const store = openStore(keyedStore(STORE, { key: utf8, value: raw(utf8) }), backend)
  const changelog = testChangelog()
  store.get('a')
  store.put('a', 'x')
  store.delete('a')
  store.flush(changelog)
  expect(changelog.appended).toBe(0)
})

test.each(['keyed', 'sparse', 'packed'] as const)(
  'a %s store loses no change of an evicted key that is prefetched while it is the last used key, and that a record changes without having prefetched it',
  async (kind) => {
    const steps: Step[] = [
      { do: 'put', key: 'd', value: '' },
      { do: 'get', key: 'c' },
      { do: 'delete', key: 'ba' },
      { do: 'put', key: 'ab', value: '' },
      { do: 'records', source: 0, keys: ['a', 'é', 'b', 'c'], others: ['c', 'a', 'a', 'a', 'a', 'a', 'a', 'a'] },
    ]
    await runAgainstModel(kind, await testBackends[0](), steps)
  },
)

test('a change to a key that the cache has evicted is not lost', async () => {
  const backend = (await testBackends[0]()).backend
  const store = openStore(keyedStore(STORE, { key: utf8, value: raw(utf8) }), backend, 2 * 210)
  store.get('a')
  for (let i = 0; i < 10; i++) store.prefetch(`other ${i}`)
  store.loadPrefetched()
  store.put('a', 'x')
  for (let i = 0; i < 10; i++) store.get(`another ${i}`)
  expect(store.get('a')).toBe('x')
})

test('keys that are objects are equal if their encoded bytes are equal', async () => {
  const backend = (await testBackends[0]()).backend
  const key: Codec<Buffer> = {
    encode: (value, out) => utf8.encode(value.toString(), out),
    decode: (buffer, start, end) => Buffer.from(buffer.subarray(start, end)),
  }
  const store = openStore(keyedStore(STORE, { key, value: raw(utf8) }), backend)
  store.put(Buffer.from('a'), 'x')
  expect(store.get(Buffer.from('a'))).toBe('x')
  expect(store.get(Buffer.from('b'))).toBeUndefined()
})

/** Creates a codec that decodes only while `works` is true. */
function fallibleCodec(error: Error): Codec<string> & { works: boolean } {
  const codec = {
    works: true,
    encode: utf8.encode,
    decode(buffer: Buffer, start: number, end: number) {
      if (!codec.works) throw error
      return utf8.decode(buffer, start, end)
    },
  }
  return codec
}

test('a multi-get that fails because of an unknown schema can be repeated once the schema is loaded', async () => {
  const { backend, session } = await testBackends[0]()
  const codec = fallibleCodec(new UnknownSchemaError(7))
  const store = openStore(keyedStore(STORE, { key: utf8, value: raw(codec) }), backend)
  store.put('a', 'x')
  store.flush(undefined)
  session.write()
  store.committed()
  store.discard()
  codec.works = false
  store.prefetch('b')
  store.prefetch('a')
  expect(() => store.loadPrefetched()).toThrow(UnknownSchemaError)
  codec.works = true
  store.loadPrefetched()
  expect([store.get('a'), store.get('b')]).toEqual(['x', undefined])
})

test('a stored value that cannot be decoded is reported as corruption', async () => {
  const { backend, session } = await testBackends[0]()
  const codec = fallibleCodec(new CodecError('the bytes end inside the value'))
  const store = openStore(keyedStore(STORE, { key: utf8, value: raw(codec) }), backend)
  store.put('a', 'x')
  store.flush(undefined)
  session.write()
  store.discard()
  codec.works = false
  expect(() => store.get('a')).toThrow(StateCorrupted)
  expect(() => [...store.scan()]).toThrow(StateCorrupted)
})

test('a second flush is refused before the first one is committed or aborted', async () => {
  const { backend } = await testBackends[0]()
  const store = openStore(keyedStore(STORE, { key: utf8, value: raw(utf8) }), backend)
  store.put('a', 'x')
  store.flush(undefined)
  expect(() => store.flush(undefined)).toThrow(/flushed again/)
})

test.each(['keyed', 'packed'] as const)(
  'a %s store remembers changes only from a call of trackChanges until the next flush',
  async (kind) => {
    const { backend } = await testBackends[0]()
    const store = openStore(storeOf(kind), backend)
    const checkedRows = () => {
      const checked = testChangelog()
      store.checkChanges?.(checked)
      return checked.appended
    }
    store.put('a', 'x')
    store.trackChanges?.()
    for (const key of ['a', 'b', 'b']) store.put(key, 'y')
    expect(checkedRows()).toBe(2)
    store.put('c', 'y')
    store.flush(undefined)
    store.committed()
    store.put('d', 'y')
    expect(checkedRows()).toBe(0)
  },
)
