import { expect, test } from 'vitest'
import { sharedReads } from '../../../api/kit/shared-reads.ts'

/** Creates shared reads on a fake Redis that records the keys of each command. */
function store(values: Readonly<Record<string, string>>, hashes: Readonly<Record<string, Record<string, string>>> = {}) {
  const asked: (readonly string[])[] = []
  const faults = { next: undefined as Error | undefined }
  async function answered<T>(keys: readonly string[], found: (key: string) => T): Promise<T[]> {
    asked.push(keys)
    if (faults.next !== undefined) throw faults.next
    return keys.map(found)
  }
  const reads = sharedReads({
    readValues: (keys) => answered(keys, (key) => values[key] ?? null),
    readBuffers: (keys) => answered(keys, (key) => (values[key] === undefined ? null : Buffer.from(values[key]))),
    readHashes: (keys) => answered(keys, (key) => hashes[key] ?? {}),
  })
  return { reads, asked, faults }
}

test('reads in the same turn of the event loop share one command per hash tag, and each caller gets its value', async () => {
  const { reads, asked } = store({ '{v:0}:a': 'one', '{v:0}:b': 'two', '{v:1}:c': 'three' })
  const keys = ['{v:0}:a', '{v:1}:c', '{v:0}:b', '{v:0}:missing', '{v:0}:a']
  expect(await Promise.all(keys.map((key) => reads.get(key)))).toEqual(['one', 'three', 'two', null, 'one'])
  expect(asked).toEqual([['{v:0}:a', '{v:0}:b', '{v:0}:missing'], ['{v:1}:c']])
  expect(await reads.get('{v:1}:c')).toBe('three')
  expect(asked).toHaveLength(3)
})

test('a failed command fails all reads that share it, but no later reads', async () => {
  const { reads, faults } = store({ '{v:0}:a': 'one' })
  faults.next = new Error('unavailable')
  const results = await Promise.allSettled([reads.get('{v:0}:a'), reads.get('{v:0}:b')])
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  faults.next = undefined
  expect(await reads.get('{v:0}:a')).toBe('one')
})

test('the reads of one turn are split into commands of at most 200 keys, so that no command blocks Redis for long', async () => {
  const { reads, asked } = store({ '{v:0}:499': 'last' })
  const values = await Promise.all(Array.from({ length: 500 }, (_, index) => reads.get(`{v:0}:${index}`)))
  expect(asked.map(({ length }) => length)).toEqual([200, 200, 100])
  expect(values[499]).toBe('last')
})

test('reads of hashes in the same turn share a command, which is sent before the command that reads strings', async () => {
  const { reads, asked } = store({ '{v:0}:flag': '1' }, { '{v:0}:h': { a: '1' }, '{v:0}:i': { b: '2' } })
  const found = await Promise.all([reads.hgetall('{v:0}:h'), reads.get('{v:0}:flag'), reads.hgetall('{v:0}:i'), reads.hgetall('{v:0}:j')])
  expect(found).toEqual([{ a: '1' }, '1', { b: '2' }, {}])
  expect(asked).toEqual([['{v:0}:h', '{v:0}:i', '{v:0}:j'], ['{v:0}:flag']])
})

test('a hash is read before a flag that is requested after it, even in a turn with many reads', async () => {
  const { reads, asked } = store({})
  await Promise.all(Array.from({ length: 250 }, (_, index) => [reads.hgetall(`{v:0}:h${index}`), reads.get(`{v:0}:f${index}`)]).flat())
  const order = asked.flat()
  for (let index = 0; index < 250; index++) expect(order.indexOf(`{v:0}:h${index}`)).toBeLessThan(order.indexOf(`{v:0}:f${index}`))
})

test('bytes are read before the strings of the same turn, and a key is read again in the next turn', async () => {
  const { reads, asked } = store({ '{v:0}:a': 'one' })
  const found = await Promise.all([
    reads.get('{v:0}:flag'),
    reads.getBuffer('{v:0}:a'),
    reads.getBuffer('{v:0}:b'),
    reads.getBuffer('{v:0}:a'),
  ])
  expect(found).toEqual([null, Buffer.from('one'), null, Buffer.from('one')])
  expect(asked).toEqual([['{v:0}:a', '{v:0}:b'], ['{v:0}:flag']])
  await reads.getBuffer('{v:0}:a')
  expect(asked).toHaveLength(3)
})
