import { expect, test } from 'vitest'
import {
  RegistryAccessError,
  RegistryUnreachableError,
  registryClient,
  SchemaNotFoundError,
  SchemaRefusedError,
} from '../../kafka/registry.ts'
import { manualRuntime } from '../../runtime/manual.ts'

interface Seen {
  readonly url: string
  readonly init: RequestInit
}

/**
 * Creates a fake server and the dependencies of a client that uses it. The server gives the listed answers in order,
 * and then repeats the last one. Time passes only while the client waits.
 */
function scripted(...answers: (() => Response)[]) {
  const seen: Seen[] = []
  const runtime = manualRuntime()
  const sleeps: number[] = []
  return {
    seen,
    sleeps,
    deps: {
      fetch: async (url: string | URL | Request, init?: RequestInit) => {
        seen.push({ url: String(url), init: init ?? {} })
        return answers[Math.min(seen.length, answers.length) - 1]()
      },
      runtime: {
        ...runtime,
        sleep: async (ms: number) => {
          sleeps.push(ms)
          runtime.advance(ms)
        },
      },
    },
  }
}

const answer = (status: number, body: unknown) => () => new Response(JSON.stringify(body), { status })
const refusedConnection = () => {
  throw new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED 127.0.0.1:8081') })
}

test('registering sends the schema and returns its id', async () => {
  const { seen, deps } = scripted(answer(200, { id: 7 }))
  const client = registryClient({ url: 'http://registry:8081/base/' }, deps)
  expect(await client.register('orders/value', '"string"')).toBe(7)
  expect(seen[0].url).toBe('http://registry:8081/base/subjects/orders%2Fvalue/versions')
  expect(seen[0].init.body).toBe('{"schema":"\\"string\\""}')
})

test('after a registration, the client returns the schema without another request, even while the registry is unavailable', async () => {
  const { seen, deps } = scripted(answer(200, { id: 7 }), refusedConnection)
  const client = registryClient({ url: 'http://registry' }, deps)
  expect(await client.schemaById(await client.register('orders-value', '"string"'))).toBe('"string"')
  expect(seen).toHaveLength(1)
})

test('registering an incompatible schema fails at once with the reason', async () => {
  const { seen, deps } = scripted(answer(409, { error_code: 409, message: "field 'b' has no default" }))
  const refused = registryClient({ url: 'http://registry' }, deps).register('orders-value', '"string"')
  await expect(refused).rejects.toThrow(SchemaRefusedError)
  await expect(refused).rejects.toThrow('the schema registry refuses the schema of subject "orders-value": field \'b\' has no default')
  await expect(refused).rejects.toMatchObject({ code: 409 })
  expect(seen).toHaveLength(1)
})

test('the client requests a schema once per id, even for concurrent callers', async () => {
  const { seen, deps } = scripted(answer(200, { schema: '"long"' }))
  const client = registryClient({ url: 'http://registry' }, deps)
  expect(await Promise.all([client.schemaById(3), client.schemaById(3)])).toEqual(['"long"', '"long"'])
  expect(await client.schemaById(3)).toBe('"long"')
  expect(seen).toHaveLength(1)
})

const missing = answer(404, { error_code: 40403, message: 'Schema not found' })

test('a missing schema causes a SchemaNotFoundError, and a later call finds the schema if it exists by then', async () => {
  const { deps } = scripted(missing, missing, answer(200, { schema: '"long"' }))
  const client = registryClient({ url: 'http://registry' }, deps)
  await expect(client.schemaById(3)).rejects.toThrow(SchemaNotFoundError)
  expect(await client.schemaById(3)).toBe('"long"')
})

test('if a registry server does not have a schema yet, the client requests the schema from the next address a second later', async () => {
  const { seen, sleeps, deps } = scripted(missing, answer(200, { schema: '"long"' }))
  const client = registryClient({ url: 'http://one, http://two' }, deps)
  expect(await client.schemaById(3)).toBe('"long"')
  expect(sleeps).toEqual([1_000])
  expect(seen.map(({ url }) => new URL(url).host)).toEqual(['one', 'two'])
})

test('if the first address is down and the second server does not have a schema, the client requests the schema from the third server', async () => {
  const { seen, deps } = scripted(refusedConnection, missing, answer(200, { schema: '"long"' }))
  const client = registryClient({ url: 'http://one, http://two, http://three' }, deps)
  expect(await client.schemaById(3)).toBe('"long"')
  expect(seen.map(({ url }) => new URL(url).host)).toEqual(['one', 'two', 'three'])
})

test('however many schemas are missing, the client waits for them for at most ten seconds a minute', async () => {
  const { sleeps, deps } = scripted(missing)
  const client = registryClient({ url: 'http://registry' }, deps)
  for (let id = 1; id <= 50; id++) await expect(client.schemaById(id)).rejects.toThrow(SchemaNotFoundError)
  expect(sleeps).toHaveLength(10)
  deps.runtime.advance(60_000)
  await expect(client.schemaById(51)).rejects.toThrow(SchemaNotFoundError)
  expect(sleeps).toHaveLength(11)
})

test('the client retries connection errors, 503, 408 and 429 with growing pauses, cycling through the addresses', async () => {
  const { seen, sleeps, deps } = scripted(refusedConnection, answer(503, {}), answer(429, {}), answer(408, {}), answer(200, { id: 1 }))
  const client = registryClient({ url: 'http://one, http://two' }, deps)
  expect(await client.register('s', '"int"')).toBe(1)
  expect(seen.map(({ url }) => new URL(url).host)).toEqual(['one', 'two', 'one', 'two', 'one'])
  expect(sleeps).toEqual([100, 200, 400, 800])
})

test.each([401, 403])(
  'if access is denied (%i), the error says so and contains the reason, and the client does not retry',
  async (status) => {
    const { seen, deps } = scripted(answer(status, { error_code: status, message: 'Token expired' }))
    const client = registryClient({ url: 'http://key:secret@registry' }, deps)
    for (const denied of [client.register('s', '"int"'), client.schemaById(3)]) {
      await expect(denied).rejects.toThrow(RegistryAccessError)
      await expect(denied).rejects.toThrow(`the schema registry at http://registry denies access with status ${status}: Token expired`)
    }
    expect(seen).toHaveLength(2)
  },
)

test('the error after the deadline names the address and the last cause', async () => {
  const { sleeps, deps } = scripted(refusedConnection)
  const failing = registryClient({ url: 'http://registry', deadlineMs: 10_000 }, deps).schemaById(1)
  await expect(failing).rejects.toThrow(RegistryUnreachableError)
  await expect(failing).rejects.toThrow(/http:\/\/registry \(fetch failed: connect ECONNREFUSED 127\.0\.0\.1:8081\)/)
  expect(sleeps.reduce((sum, ms) => sum + ms, 0)).toBeLessThanOrEqual(10_000)
})

test('user and password in the address are sent as basic authentication, not as part of the URL', async () => {
  const { seen, deps } = scripted(answer(200, { id: 1 }))
  await registryClient({ url: 'https://key:s%40cret@registry' }, deps).register('s', '"int"')
  expect(seen[0].url).toBe('https://registry/subjects/s/versions')
  expect(seen[0].init.headers).toMatchObject({ authorization: `Basic ${Buffer.from('key:s@cret').toString('base64')}` })
})

const page = (status: number) => () => new Response('<html><title>Sign in</title></html>', { status })

test.each([
  ['a page', page(200)],
  ['a page with 404', page(404)],
  ['a page with 403', page(403)],
  ['no schema', answer(200, {})],
  ['a schema that is not JSON', answer(200, { schema: '<html>' })],
  ['null', answer(200, null)],
])('the client retries a request after an invalid answer (%s)', async (_what, wrong) => {
  const { seen, deps } = scripted(wrong, wrong, answer(200, { schema: '"long"' }))
  expect(await registryClient({ url: 'http://registry' }, deps).schemaById(3)).toBe('"long"')
  expect(seen).toHaveLength(3)
})

test('a schema of type AVRO or without a type is accepted as Avro', async () => {
  for (const schemaType of ['AVRO', null, undefined]) {
    const { deps } = scripted(answer(200, { schema: '"long"', schemaType }))
    expect(await registryClient({ url: 'http://registry' }, deps).schemaById(3)).toBe('"long"')
  }
})

test('the client retries a registration if the answer contains no id', async () => {
  const { deps } = scripted(page(200), answer(200, { version: 3 }), answer(200, { id: 7 }))
  expect(await registryClient({ url: 'http://registry' }, deps).register('s', '"int"')).toBe(7)
})

test('the error after invalid answers shows the beginning of the last answer, and a later call sends a new request', async () => {
  let isMended = false
  const { deps } = scripted(() => (isMended ? answer(200, { schema: '"long"' })() : page(200)()))
  const client = registryClient({ url: 'http://registry', deadlineMs: 1_000 }, deps)
  const failing = client.schemaById(3)
  await expect(failing).rejects.toThrow(RegistryUnreachableError)
  await expect(failing).rejects.toThrow(
    'no usable answer from the schema registry at http://registry (it answers 200 with <html><title>Sign in</title></html>)',
  )
  isMended = true
  expect(await client.schemaById(3)).toBe('"long"')
})

test('a 404 counts as a missing schema only if it contains the error code of the registry, and a schema of another format counts as missing', async () => {
  const { deps } = scripted(
    answer(404, { message: 'no Route matched' }),
    answer(200, { schemaType: 'PROTOBUF', schema: 'syntax = "proto3";' }),
  )
  const client = registryClient({ url: 'http://registry' }, deps)
  await expect(client.schemaById(3)).rejects.toThrow(RegistryUnreachableError)
  const other = client.schemaById(3)
  await expect(other).rejects.toThrow(SchemaNotFoundError)
  await expect(other).rejects.toThrow('schema 3 of the schema registry is of type PROTOBUF, not AVRO')
})
