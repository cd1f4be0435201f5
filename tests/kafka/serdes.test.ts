import { expect, test } from 'vitest'
import { memoryRegistry } from '../../kafka/memory/registry.ts'
import { openSerdes } from '../../kafka/serdes.ts'
import { manualRuntime } from '../../runtime/manual.ts'
import { avroValue } from '../../schemas/avro/value.ts'
import { byteWriter, type Codec } from '../../schemas/codec.ts'
import { utf8 } from '../../schemas/keys.ts'
import { rawValue } from '../../schemas/raw.ts'
import type { AvroSchema } from '../../schemas/topic.ts'

function record(...fields: object[]): AvroSchema {
  return { type: 'record', name: 'Point', fields }
}
const x = { name: 'x', type: 'int' }
const y = { name: 'y', type: 'int', default: 0 }

const points = { name: 'points', value: avroValue<{ x: number }>(record(x)) }
const wider = { name: 'points', value: avroValue<{ x: number; y: number }>(record(x, y)) }
const notes = { name: 'notes', value: rawValue(utf8) }

function bytesOf<V>(codec: Codec<V>, value: V): Buffer {
  const out = byteWriter()
  codec.encode(value, out)
  return out.buffer.subarray(0, out.length)
}

test('values carry the schema id from the registry', async () => {
  const registry = memoryRegistry()
  await registry.register('something-else', '"int"')
  const serdes = await openSerdes(registry, [points, notes])
  const bytes = bytesOf(serdes.codecFor(points), { x: 3 })
  expect([...bytes]).toEqual([0, 0, 0, 0, 2, 6])
  expect(JSON.parse(await registry.schemaById(2))).toEqual(record(x))
})

test('raw values need no registry', async () => {
  const registry = memoryRegistry()
  registry.unreachable = true
  const serdes = await openSerdes(registry, [notes])
  expect(bytesOf(serdes.codecFor(notes), 'hi').toString()).toBe('hi')
})

test('using a topic that was not passed to openSerdes throws', async () => {
  const serdes = await openSerdes(memoryRegistry(), [notes])
  expect(() => serdes.codecFor(points)).toThrow('topic points was not passed to openSerdes')
})

test('if the registry rejects a schema, the error names the topic, the subject and the reason', async () => {
  const registry = memoryRegistry()
  await openSerdes(registry, [points])
  const changed = { name: 'points', value: avroValue(record(x, { name: 'z', type: 'string' })) }
  await expect(openSerdes(registry, [changed])).rejects.toThrow(
    /topic points .* points-value: \.z: the writer does not have the field, and the field has no default/,
  )
})

test("another writer's schema is loaded once for all concurrent callers", async () => {
  const registry = memoryRegistry()
  const older = await openSerdes(registry, [points])
  const newer = await openSerdes(registry, [wider])
  const bytes = bytesOf(older.codecFor(points), { x: 3 })
  const codec = newer.codecFor(wider)
  expect(() => codec.decode(bytes, 0, bytes.length)).toThrow('schema 1 is not loaded')
  expect(await Promise.all([newer.schemas.load(1), newer.schemas.load(1)])).toEqual(['loaded', 'loaded'])
  expect(codec.decode(bytes, 0, bytes.length)).toEqual({ x: 3, y: 0 })
  expect(await newer.schemas.load(1)).toBe('loaded')
  expect(registry.requests).toBe(1)
})

test('the schema of another writer is accepted even if it has a default beyond 2^53', async () => {
  const registry = memoryRegistry()
  const serdes = await openSerdes(registry, [points])
  const until = '{ "name": "until", "type": "long", "default": 9223372036854775807 }'
  const id = await registry.register('others', `{ "type": "record", "name": "Point", "fields": [${JSON.stringify(x)}, ${until}] }`)
  const bytes = Buffer.from([0, 0, 0, 0, id, 6, 2])
  expect(await serdes.schemas.load(id)).toBe('loaded')
  expect(serdes.codecFor(points).decode(bytes, 0, bytes.length)).toEqual({ x: 3 })
})

test('a schema that is nested too deeply to be parsed counts as missing, so that values with this schema do not stop their readers', async () => {
  const deep = `{"type": "int", "note": ${'['.repeat(20_000)}${']'.repeat(20_000)}}`
  const { schemas } = await openSerdes({ ...memoryRegistry(), schemaById: async () => deep }, [])
  expect(await schemas.load(1)).toBe('not-found')
  expect(schemas.get(1)).toBeUndefined()
})

test('an unknown schema id is requested again only after a pause', async () => {
  const registry = memoryRegistry()
  const runtime = manualRuntime()
  const { schemas } = await openSerdes(registry, [], { runtime })
  expect(await schemas.load(1)).toBe('not-found')
  await registry.register('late', '"int"')
  expect(await schemas.load(1)).toBe('not-found')
  expect(registry.requests).toBe(1)
  runtime.advance(60_000)
  expect(await schemas.load(1)).toBe('loaded')
  expect(schemas.get(1)).toBe('int')
})

test('if the registry is unreachable, loading a schema fails, and the next call requests the schema again at once', async () => {
  const registry = memoryRegistry()
  await registry.register('points-value', '"int"')
  const { schemas } = await openSerdes(registry, [])
  registry.unreachable = true
  await expect(schemas.load(1)).rejects.toThrow('cannot be reached')
  registry.unreachable = false
  expect(await schemas.load(1)).toBe('loaded')
})
