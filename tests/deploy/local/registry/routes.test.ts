import { beforeEach, expect, test } from 'vitest'
import { createRegistry } from '../../../../deploy/local/registry/registry.ts'
import { registryRoutes } from '../../../../deploy/local/registry/routes.ts'
import { openStore } from '../../../../deploy/local/registry/store.ts'
import { type MemoryTopic, memoryTopic } from './memory-topic.ts'

let topic: MemoryTopic
let app: ReturnType<typeof registryRoutes>

beforeEach(async () => {
  topic = memoryTopic()
  await restart()
})

/** Restarts the registry on the same log. */
async function restart(): Promise<void> {
  topic = topic.reopened()
  app = registryRoutes(createRegistry(await openStore(topic)))
}

async function call(method: string, path: string, body?: unknown): Promise<{ status: number; body: unknown }> {
  const response = await app.request(path, { method, body: body === undefined ? undefined : JSON.stringify(body) })
  expect(response.headers.get('content-type')).toBe('application/vnd.schemaregistry.v1+json')
  return { status: response.status, body: await response.json() }
}

const ok = (body: unknown) => ({ status: 200, body })
const refused = (code: number) => ({ status: Number(String(code).slice(0, 3)), body: expect.objectContaining({ error_code: code }) })

const field = (name: string, type: unknown = 'int', more: object = {}) => ({ name, type, ...more })
const recordOf = (...fields: unknown[]) => ({ schema: JSON.stringify({ type: 'record', name: 'R', fields }) })
const V1 = recordOf(field('a'))
const V2 = recordOf(field('a'), field('b', 'int', { default: 0 }))
const V3 = recordOf(field('a'), field('b', 'int', { default: 0 }), field('c', 'string', { default: '' }))
const INCOMPATIBLE = recordOf(field('a'), field('b'))

const register = (subject: string, schema: unknown) => call('POST', `/subjects/${subject}/versions`, schema)

test('version numbers increase, equal schemas share an id, and both survive a restart', async () => {
  expect(await register('s', V1)).toEqual(ok({ id: 1 }))
  expect(await register('s', V2)).toEqual(ok({ id: 2 }))
  expect(await register('other', V2)).toEqual(ok({ id: 2 }))
  expect(await register('s', V1)).toEqual(ok({ id: 1 }))
  await restart()
  expect(await call('GET', '/subjects')).toEqual(ok(['other', 's']))
  expect(await call('GET', '/subjects/s/versions')).toEqual(ok([1, 2]))
  expect(await call('GET', '/subjects/s/versions/latest')).toEqual(ok({ subject: 's', version: 2, id: 2, schema: V2.schema }))
  expect(await call('GET', '/subjects/s/versions/-1')).toEqual(ok({ subject: 's', version: 2, id: 2, schema: V2.schema }))
  expect(await call('GET', '/subjects/s/versions/1/schema')).toEqual(ok(JSON.parse(V1.schema)))
  expect(await call('GET', '/schemas/ids/2')).toEqual(ok({ schema: V2.schema }))
  expect(await call('GET', '/schemas/ids/2/schema')).toEqual(ok(JSON.parse(V2.schema)))
  expect(await call('GET', '/schemas/ids/2/subjects')).toEqual(ok(['s', 'other']))
  expect(await call('GET', '/schemas/ids/2/versions')).toEqual(
    ok([
      { subject: 's', version: 2 },
      { subject: 'other', version: 1 },
    ]),
  )
  expect(await register('new', recordOf())).toEqual(ok({ id: 3 }))
  expect(await call('GET', '/schemas?subjectPrefix=s&latestOnly=true')).toEqual(
    ok([{ subject: 's', version: 2, id: 2, schema: V2.schema }]),
  )
})

test('the same schema with different formatting is the same version', async () => {
  await register('s', V1)
  const spaced = { schema: JSON.stringify({ fields: [{ type: { type: 'int' }, name: 'a' }], name: 'R', type: 'record' }, null, 2) }
  expect(await register('s', spaced)).toEqual(ok({ id: 1 }))
  expect(await call('GET', '/subjects/s/versions')).toEqual(ok([1]))
  expect(await call('POST', '/subjects/s', spaced)).toEqual(ok({ subject: 's', version: 1, id: 1, schema: V1.schema }))
})

test("records have Confluent's format", async () => {
  await register('s', V1)
  await call('PUT', '/config', { compatibility: 'full' })
  await call('PUT', '/config/s', { compatibility: 'NONE' })
  await call('PUT', '/mode/s', { mode: 'READONLY' })
  await call('PUT', '/mode/s', { mode: 'READWRITE' })
  await call('DELETE', '/subjects/s/versions/1')
  await call('DELETE', '/subjects/s/versions/1?permanent=true')
  expect(topic.log).toEqual([
    {
      key: '{"keytype":"SCHEMA","subject":"s","version":1,"magic":1}',
      value: JSON.stringify({ subject: 's', version: 1, id: 1, schema: V1.schema, deleted: false }),
    },
    { key: '{"keytype":"CONFIG","subject":null,"magic":0}', value: '{"compatibilityLevel":"FULL"}' },
    { key: '{"keytype":"CONFIG","subject":"s","magic":0}', value: '{"compatibilityLevel":"NONE"}' },
    { key: '{"keytype":"MODE","subject":"s","magic":0}', value: '{"mode":"READONLY"}' },
    { key: '{"keytype":"MODE","subject":"s","magic":0}', value: '{"mode":"READWRITE"}' },
    {
      key: '{"keytype":"SCHEMA","subject":"s","version":1,"magic":1}',
      value: JSON.stringify({ subject: 's', version: 1, id: 1, schema: V1.schema, deleted: true }),
    },
    { key: '{"keytype":"NOOP","magic":0}', value: '{"highestId":1}' },
    { key: '{"keytype":"SCHEMA","subject":"s","version":1,"magic":1}', value: null },
  ])
})

test('the registry reads the log of another registry, including non-canonical text, NOOP records and unknown keys', async () => {
  topic.log.push(
    { key: '{"keytype":"NOOP","magic":0}', value: null },
    { key: '{"keytype":"CONTEXT","tenant":"default","magic":0}', value: '{}' },
    {
      key: '{"keytype":"SCHEMA","subject":"s","version":3,"magic":1}',
      value: '{"subject":"s","version":3,"id":7,"schema":"{ \\"type\\": \\"string\\" }","deleted":false}',
    },
  )
  await restart()
  expect(await call('GET', '/schemas/ids/7')).toEqual(ok({ schema: '{ "type": "string" }' }))
  expect(await register('s', { schema: '"string"' })).toEqual(ok({ id: 7 }))
  expect(await register('s', { schema: '"bytes"' })).toEqual(ok({ id: 8 }))
  expect(await call('GET', '/subjects/s/versions')).toEqual(ok([3, 4]))
})

test('each kind of missing resource has its own error code, and so has an invalid version number', async () => {
  await register('s', V1)
  expect(await call('GET', '/subjects/none/versions')).toEqual(refused(40401))
  expect(await call('GET', '/subjects/none/versions/1')).toEqual(refused(40401))
  expect(await call('POST', '/subjects/none', V1)).toEqual(refused(40401))
  expect(await call('DELETE', '/subjects/none')).toEqual(refused(40401))
  expect(await call('GET', '/subjects/s/versions/2')).toEqual(refused(40402))
  expect(await call('GET', '/subjects/s/versions/zero')).toEqual(refused(42202))
  expect(await call('GET', '/subjects/s/versions/0')).toEqual(refused(42202))
  expect(await call('POST', '/subjects/s', V2)).toEqual(refused(40403))
  expect(await call('GET', '/schemas/ids/99')).toEqual(refused(40403))
  expect(await call('GET', '/schemas/ids/none')).toEqual(refused(40403))
  expect(await call('GET', '/config/s')).toEqual(refused(40408))
  expect(await call('GET', '/mode/s')).toEqual(refused(40409))
  expect(await call('GET', '/nowhere')).toEqual({ status: 404, body: { error_code: 404, message: 'HTTP 404 Not Found' } })
})

test('invalid schemas, levels and modes are refused with different error codes, and unsupported schemas also with a reason', async () => {
  expect(await register('s', { schema: '{"type":"record"}' })).toEqual(refused(42201))
  expect(await register('s', { schema: '' })).toEqual(refused(42201))
  expect(await register('s', {})).toEqual(refused(42201))
  expect(await register('s', { schema: '{}', schemaType: 'PROTOBUF' })).toEqual({
    status: 422,
    body: { error_code: 42201, message: 'Schema type PROTOBUF is not supported here; only AVRO is' },
  })
  expect(await register('s', { ...V1, references: [{ name: 'a', subject: 'b', version: 1 }] })).toEqual({
    status: 422,
    body: { error_code: 42201, message: expect.stringContaining('references are not supported') },
  })
  expect(await register('s', { ...V1, references: [], schemaType: 'AVRO' })).toEqual(ok({ id: 1 }))
  expect(await call('PUT', '/config', { compatibility: 'SIDEWARD' })).toEqual(refused(42203))
  expect(await call('PUT', '/mode', { mode: 'ASLEEP' })).toEqual(refused(42204))
  const response = await app.request('/subjects/s/versions', { method: 'POST', body: '{' })
  expect(response.status).toBe(400)
  expect(await register('s', [])).toEqual(refused(42201))
})

test('BACKWARD is the default level, and an incompatible schema is refused with the reasons', async () => {
  await register('s', V1)
  expect(await register('s', INCOMPATIBLE)).toEqual({
    status: 409,
    body: {
      error_code: 409,
      message: expect.stringMatching(
        /incompatible with an earlier schema for subject "s".*field 'b' of record R is not in the writer's schema and has no default/,
      ),
    },
  })
  expect(await call('GET', '/subjects/s/versions')).toEqual(ok([1]))
})

const OPTIONAL = { default: 0 }
const WITH_A = recordOf(field('a'))
const WITH_AB = recordOf(field('a'), field('b'))
const WITH_AB_OPTIONAL = recordOf(field('a'), field('b', 'int', OPTIONAL))
const WITH_B_OPTIONAL = recordOf(field('b', 'int', OPTIONAL))
const A_OPTIONAL = recordOf(field('a', 'int', OPTIONAL))
const NOTHING = recordOf()

test.each([
  // Each row: compatibility level, earlier versions, next version, and whether it is accepted.
  ['NONE', [WITH_A], { schema: '"string"' }, true],
  ['BACKWARD', [WITH_A], NOTHING, true],
  ['BACKWARD', [WITH_A], WITH_AB, false],
  ['BACKWARD', [WITH_A], WITH_AB_OPTIONAL, true],
  // BACKWARD compares only with the last version. The new schema cannot read version 1, which has no field `b`.
  ['BACKWARD', [WITH_A, WITH_AB_OPTIONAL], WITH_AB, true],
  ['BACKWARD_TRANSITIVE', [WITH_A, WITH_AB_OPTIONAL], WITH_AB, false],
  ['BACKWARD_TRANSITIVE', [WITH_A, WITH_AB_OPTIONAL], WITH_B_OPTIONAL, true],
  ['FORWARD', [WITH_A], WITH_AB, true],
  ['FORWARD', [WITH_A], NOTHING, false],
  ['FORWARD', [A_OPTIONAL], NOTHING, true],
  ['FORWARD', [WITH_A, A_OPTIONAL], NOTHING, true],
  ['FORWARD_TRANSITIVE', [WITH_A, A_OPTIONAL], NOTHING, false],
  ['FULL', [WITH_A], WITH_AB, false],
  ['FULL', [WITH_A], NOTHING, false],
  ['FULL', [WITH_A], WITH_AB_OPTIONAL, true],
  ['FULL', [WITH_A, A_OPTIONAL], NOTHING, true],
  ['FULL_TRANSITIVE', [WITH_A, A_OPTIONAL], NOTHING, false],
  ['FULL_TRANSITIVE', [WITH_A, WITH_AB_OPTIONAL], A_OPTIONAL, true],
])('with level %s after %j, the schema %j is accepted: %s', async (level, history, next, accepted) => {
  for (const schema of history) expect((await register('s', schema)).status).toBe(200)
  await call('PUT', '/config/s', { compatibility: level })
  const check = await call('POST', '/compatibility/subjects/s/versions', next)
  expect(check.body).toEqual({ is_compatible: accepted })
  expect((await register('s', next)).status).toBe(accepted ? 200 : 409)
})

test('a schema can be checked against one version or according to the compatibility level, and the answer contains the reasons on request', async () => {
  await register('s', V1)
  await register('s', V2)
  expect(await call('POST', '/compatibility/subjects/s/versions/latest?verbose=true', V3)).toEqual(
    ok({ is_compatible: true, messages: [] }),
  )
  expect(await call('POST', '/compatibility/subjects/s/versions/1?verbose=true', INCOMPATIBLE)).toEqual(
    ok({ is_compatible: false, messages: [expect.stringContaining('READER_FIELD_MISSING_DEFAULT_VALUE')] }),
  )
  expect(await call('POST', '/compatibility/subjects/s/versions/2', INCOMPATIBLE)).toEqual(ok({ is_compatible: true }))
  expect(await call('POST', '/compatibility/subjects/none/versions', V1)).toEqual(ok({ is_compatible: true }))
  expect(await call('POST', '/compatibility/subjects/none/versions/latest', V1)).toEqual(refused(40401))
  expect(await call('POST', '/compatibility/subjects/s/versions/9', V1)).toEqual(refused(40402))
})

test('the compatibility level can be set globally and per subject, and each setting can be removed again', async () => {
  expect(await call('GET', '/config')).toEqual(ok({ compatibilityLevel: 'BACKWARD' }))
  expect(await call('PUT', '/config', { compatibility: 'FULL' })).toEqual(ok({ compatibility: 'FULL' }))
  expect(await call('GET', '/config/s?defaultToGlobal=true')).toEqual(ok({ compatibilityLevel: 'FULL' }))
  await call('PUT', '/config/s', { compatibility: 'NONE' })
  await restart()
  expect(await call('GET', '/config/s')).toEqual(ok({ compatibilityLevel: 'NONE' }))
  expect(await call('DELETE', '/config/s')).toEqual(ok({ compatibilityLevel: 'NONE' }))
  expect(await call('GET', '/config/s')).toEqual(refused(40408))
  expect(await call('DELETE', '/config')).toEqual(ok({ compatibilityLevel: 'FULL' }))
  expect(await call('GET', '/config')).toEqual(ok({ compatibilityLevel: 'BACKWARD' }))
})

test('a soft deletion hides versions but keeps their ids readable, and registering a schema again creates a new version', async () => {
  await register('s', V1)
  await register('s', V2)
  await call('PUT', '/config/s', { compatibility: 'NONE' })
  expect(await call('DELETE', '/subjects/s?permanent=true')).toEqual(refused(40405))
  expect(await call('DELETE', '/subjects/s')).toEqual(ok([1, 2]))
  await restart()
  expect(await call('GET', '/subjects')).toEqual(ok([]))
  expect(await call('GET', '/subjects?deleted=true')).toEqual(ok(['s']))
  expect(await call('GET', '/subjects?deletedOnly=true')).toEqual(ok(['s']))
  expect(await call('GET', '/subjects/s/versions')).toEqual(refused(40401))
  expect(await call('GET', '/subjects/s/versions?deleted=true')).toEqual(ok([1, 2]))
  expect(await call('GET', '/schemas/ids/1')).toEqual(ok({ schema: V1.schema }))
  expect(await call('GET', '/schemas/ids/1/versions')).toEqual(ok([]))
  expect(await call('GET', '/config/s')).toEqual(refused(40408))
  expect(await call('POST', '/subjects/s?deleted=true', V1)).toEqual(ok({ subject: 's', version: 1, id: 1, schema: V1.schema }))
  expect(await call('DELETE', '/subjects/s')).toEqual(refused(40404))
  expect(await register('s', V1)).toEqual(ok({ id: 1 }))
  expect(await call('GET', '/subjects/s/versions')).toEqual(ok([3]))
})

test('a permanent deletion removes the versions, and also the id unless another subject uses the id', async () => {
  await register('s', V1)
  await register('s', V2)
  await register('other', V2)
  await call('DELETE', '/subjects/s')
  expect(await call('DELETE', '/subjects/s?permanent=true')).toEqual(ok([1, 2]))
  await restart()
  expect(await call('GET', '/subjects?deleted=true')).toEqual(ok(['other']))
  expect(await call('GET', '/schemas/ids/1')).toEqual(refused(40403))
  expect(await call('GET', '/schemas/ids/2')).toEqual(ok({ schema: V2.schema }))
  expect(await register('s', V1)).toEqual(ok({ id: 3 }))
  expect(await call('GET', '/subjects/s/versions')).toEqual(ok([1]))
})

test.each([
  ['subject', '/subjects/s', '/subjects/s?permanent=true'],
  ['version', '/subjects/s/versions/1', '/subjects/s/versions/1?permanent=true'],
])(
  'a schema id is never assigned again after a permanent deletion of its %s, even if compaction removes its records',
  async (_what, soft, permanent) => {
    await register('s', V1)
    await call('DELETE', soft)
    await call('DELETE', permanent)
    topic.compact()
    expect(topic.log.filter(({ key }) => key.includes('SCHEMA'))).toEqual([])
    await restart()
    expect(await register('s', V2)).toEqual(ok({ id: 2 }))
  },
)

test('a single version can be deleted permanently only after a soft deletion', async () => {
  await register('s', V1)
  await register('s', V2)
  expect(await call('DELETE', '/subjects/s/versions/2?permanent=true')).toEqual(refused(40407))
  expect(await call('DELETE', '/subjects/s/versions/latest')).toEqual(ok(2))
  expect(await call('DELETE', '/subjects/s/versions/2')).toEqual(refused(40406))
  expect(await call('GET', '/subjects/s/versions/latest')).toEqual(ok(expect.objectContaining({ version: 1 })))
  expect(await call('GET', '/subjects/s/versions/2')).toEqual(refused(40402))
  expect(await call('GET', '/subjects/s/versions/2?deleted=true')).toEqual(ok(expect.objectContaining({ version: 2 })))
  expect(await call('DELETE', '/subjects/s/versions/2?permanent=true')).toEqual(ok(2))
  expect(await call('GET', '/subjects/s/versions?deleted=true')).toEqual(ok([1]))
})

test('read-only mode refuses changes, and import mode accepts ids that the client chooses', async () => {
  expect(await call('GET', '/mode')).toEqual(ok({ mode: 'READWRITE' }))
  expect(await register('s', { ...V1, id: 5 })).toEqual(refused(42205))
  await register('s', V1)
  expect(await call('PUT', '/mode/s', { mode: 'READONLY' })).toEqual(ok({ mode: 'READONLY' }))
  expect(await register('s', V2)).toEqual(refused(42205))
  expect(await call('DELETE', '/subjects/s')).toEqual(refused(42205))
  expect(await register('other', V2)).toEqual(ok({ id: 2 }))
  expect(await call('DELETE', '/mode/s')).toEqual(ok({ mode: 'READONLY' }))
  expect(await call('PUT', '/mode', { mode: 'IMPORT' })).toEqual(refused(42205))
  expect(await call('PUT', '/mode/moved', { mode: 'IMPORT' })).toEqual(ok({ mode: 'IMPORT' }))
  expect(await register('moved', { ...V3, id: 100, version: 9 })).toEqual(ok({ id: 100 }))
  expect(await register('moved', { ...V1, id: 100, version: 10 })).toEqual(refused(42205))
  expect(await call('GET', '/subjects/moved/versions/9')).toEqual(ok(expect.objectContaining({ id: 100 })))
  expect(await register('after', recordOf(field('z')))).toEqual(ok({ id: 101 }))
})

test('an import whose id and version are null, 0 or -1, the defaults of other clients, gets the next id and version', async () => {
  expect(await register('s', V1)).toEqual(ok({ id: 1 }))
  expect(await call('PUT', '/mode?force=true', { mode: 'IMPORT' })).toEqual(ok({ mode: 'IMPORT' }))
  expect(await register('moved', { ...V2, id: -1, version: -1 })).toEqual(ok({ id: 2 }))
  expect(await register('moved', { ...V3, id: null, version: 0 })).toEqual(ok({ id: 3 }))
  expect(await call('GET', '/subjects/moved/versions')).toEqual(ok([1, 2]))
})

test.each([
  ['an id that is not a number', { id: 'abc' }],
  ['an id in quotes', { id: '7' }],
  ['a fraction as the id', { id: 1.5 }],
  ['an id that does not fit into a record', { id: 2 ** 31 }],
  ['a version that is not a number', { version: 'latest' }],
  ['a version that is too high', { version: 2 ** 31 }],
])('an import with %s is refused, and later schemas get ids as usual', async (_what, numbers) => {
  expect(await call('PUT', '/mode/moved', { mode: 'IMPORT' })).toEqual(ok({ mode: 'IMPORT' }))
  expect(await register('moved', { ...V1, ...numbers })).toEqual(refused(400))
  expect(await register('after', V2)).toEqual(ok({ id: 1 }))
})

test.each(['READONLY', 'IMPORT'])(
  'in mode %s, a worker that starts again gets the id of its registered schema and no new version',
  async (mode) => {
    await register('s', V1)
    await call('PUT', '/mode/s?force=true', { mode })
    expect(await register('s', V1)).toEqual(ok({ id: 1 }))
    expect(await register('s', { ...V1, id: 1 })).toEqual(ok({ id: 1 }))
    expect(await call('GET', '/subjects/s/versions')).toEqual(ok([1]))
  },
)

test('an import without a usable id or version gets new ones, and an id or version that is not a 32-bit integer is refused', async () => {
  await call('PUT', '/mode', { mode: 'IMPORT' })
  expect(await register('s', { ...V1, id: -1, version: 0 })).toEqual(ok({ id: 1 }))
  expect(await register('s', { ...V2, id: null, version: -1 })).toEqual(ok({ id: 2 }))
  for (const wrong of [{ id: 'seven' }, { id: 1.5 }, { id: 2 ** 31 }, { version: 'two' }, { version: 2.5 }])
    expect(await register('s', { ...V3, ...wrong })).toEqual(refused(400))
  expect(await register('s', V3)).toEqual(ok({ id: 3 }))
  expect(await call('GET', '/subjects/s/versions')).toEqual(ok([1, 2, 3]))
})

test('properties that are null count as absent, because clients in other languages send null for absent properties', async () => {
  const absent = { schemaType: null, references: null, id: null, version: null }
  expect(await register('s', { ...V1, ...absent })).toEqual(ok({ id: 1 }))
  expect(await call('POST', '/subjects/s', { ...V1, ...absent })).toEqual(ok(expect.objectContaining({ version: 1 })))
})

test('two schemas that are registered concurrently get different ids, and two registrations of the same schema get the same id', async () => {
  const answers = await Promise.all([register('a', V1), register('b', V2), register('c', V1), register('a', V1)])
  expect(answers.map(({ body }) => (body as { id: number }).id)).toEqual([1, 2, 1, 1])
})

test('a failed write changes nothing, and if its outcome is unknown, the next change first reads the log to find out', async () => {
  topic.failNext('before')
  expect(await register('s', V1)).toEqual(refused(50001))
  expect(await call('GET', '/subjects')).toEqual(ok([]))
  topic.failNext('after')
  expect(await register('s', V1)).toEqual(refused(50001))
  expect(await register('s', V2)).toEqual(ok({ id: 2 }))
  expect(await call('GET', '/subjects/s/versions')).toEqual(ok([1, 2]))
})

test('subjects may contain slashes and spaces', async () => {
  const subject = encodeURIComponent('team/topic value')
  await register(subject, V1)
  expect(await call('GET', '/subjects')).toEqual(ok(['team/topic value']))
  expect(await call('GET', `/subjects/${subject}/versions`)).toEqual(ok([1]))
})

test.each([[{ origin: 'https://evil.example' }], [{ 'sec-fetch-site': 'cross-site' }], [{ host: 'rebound.example' }]])(
  'a request from another web page (%j) is refused and registers nothing',
  async (headers) => {
    const init = { method: 'POST', body: JSON.stringify(V1), headers: headers as Record<string, string> }
    expect((await app.request('/subjects/s/versions', init)).status).toBe(403)
    expect(await call('GET', '/subjects')).toEqual(ok([]))
  },
)
