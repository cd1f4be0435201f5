import { OpenAPIHono, z } from '@hono/zod-openapi'
import { describe, expect, test } from 'vitest'
import { type ErrorDefinition, errors } from '../../api/kit/errors.ts'
import { apiServices } from '../../api/services.ts'
import { linksApi } from './links/harness.ts'
import { serviceOnFakes } from './on-fakes.ts'
import { trendsApi } from './trends/harness.ts'

interface OpenApi {
  openapi: string
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, unknown>; securitySchemes: Record<string, unknown> }
}

interface Operation {
  operationId: string
  security?: Record<string, string[]>[]
  responses: Record<string, { description: string; content?: Record<string, { examples?: Record<string, { value: { error: string } }> }> }>
  parameters?: { name: string; in: string; schema: Record<string, unknown> }[]
}

async function documented() {
  const api = await trendsApi()
  const response = await api.app.request('/openapi.json')
  return { ...api, response, document: (await response.json()) as OpenApi }
}

/** Formats the error catalogue as a Markdown table, aligned as the formatter aligns it. */
function errorTable(definitions: readonly ErrorDefinition[]): string {
  // Services may share a code. The table has one row per code, with its meaning in each service.
  const byCode = Map.groupBy(definitions, ({ code }) => code)
  const rows = [...byCode].map(([code, [{ status, retryable }, ...others]]) => {
    for (const other of others) expect(other, `${code} means the same status everywhere`).toMatchObject({ status, retryable })
    const meanings = [...new Set(byCode.get(code)!.map(({ when }) => when))]
    // If one meaning is the beginning of another, only the longer one is needed.
    const distinct = meanings.filter((one) => !meanings.some((other) => other !== one && other.startsWith(one)))
    return [`\`${code}\``, String(status), retryable ? 'yes' : 'no', distinct.join(', or: ')]
  })
  rows.sort(([one], [other]) => (one < other ? -1 : 1))
  const header = ['error', 'status', 'retry', 'when']
  const widths = header.map((_, column) => Math.max(...[header, ...rows].map((row) => row[column].length)))
  const line = (cells: readonly string[]) => `| ${cells.map((cell, column) => cell.padEnd(widths[column])).join(' | ')} |`
  const rule = line(widths.map((width) => '-'.repeat(width)))
  return `# Error catalogue

Every error has the body \`{"error", "message", "request_id"}\`. Some errors add fields; \`invalid_request\`, for example,
adds \`details\`, a list of \`{"path", "message"}\`. \`error\` is for programs and never changes its meaning; \`message\` is for
people. Where "retry" is "yes", the same request may succeed later. This file is written by
\`npx vitest run --project unit tests/api/documentation.test.ts --update\`.

${[line(header), rule, ...rows.map(line)].join('\n')}
`
}

test('the error catalogue in api/ERRORS.md matches the code', async () => {
  const opened = await Promise.all(apiServices.map(({ name }) => serviceOnFakes(name)))
  const definitions = [...Object.values(errors), ...opened.flatMap(({ service }) => service.errors)]
  await expect(errorTable(definitions)).toMatchFileSnapshot('../../api/ERRORS.md')
})

/** Returns all parts of a schema, such as the fields of an object, including the schema itself. */
function partsOf(schema: z.ZodType): z.ZodType[] {
  const inner =
    schema instanceof z.ZodObject
      ? Object.values(schema.shape)
      : schema instanceof z.ZodArray
        ? [schema.element]
        : schema instanceof z.ZodUnion
          ? schema.options
          : schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault
            ? [schema.unwrap()]
            : []
  return [schema, ...inner.flatMap((part) => partsOf(part as z.ZodType))]
}

function isNullable(schema: z.ZodType): boolean {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) return isNullable(schema.unwrap() as z.ZodType)
  return schema instanceof z.ZodNullable
}

/** Returns what the document says about a schema, as JSON. */
function describedAs(schema: z.ZodType): string {
  const app = new OpenAPIHono()
  app.openAPIRegistry.register('Part', schema)
  return JSON.stringify(app.getOpenAPI31Document({ openapi: '3.1.0', info: { title: '', version: '' } }).components?.schemas)
}

describe('/openapi.json', () => {
  test('services do not give the same name to different schemas', async () => {
    const byName = new Map<string, Set<string>>()
    for (const { name } of apiServices) {
      const { app } = await serviceOnFakes(name)
      const { components } = (await (await app.request('/openapi.json')).json()) as OpenApi
      for (const [schema, content] of Object.entries(components.schemas))
        byName.set(schema, (byName.get(schema) ?? new Set()).add(JSON.stringify(content)))
    }
    expect([...byName].filter(([, contents]) => contents.size > 1).map(([schema]) => schema)).toEqual([])
  })

  test.each(apiServices.map(({ name }) => name))('declares each nullable field of %s as nullable', async (name) => {
    const { service } = await serviceOnFakes(name)
    const schemas = service.routes.flatMap(({ definition: { body, answers } }) => [
      ...(body === undefined ? [] : [body]),
      ...Object.values(answers).flatMap(({ schema }) => schema ?? []),
    ])
    const fields = schemas.flatMap(partsOf).flatMap((schema) => (schema instanceof z.ZodObject ? Object.entries(schema.shape) : []))
    const nullable = fields.filter(([, schema]) => isNullable(schema as z.ZodType))
    const described = new Set(nullable.map(([field, schema]) => `${field}: ${describedAs(schema as z.ZodType)}`))
    expect([...described].filter((field) => !field.includes('"null"'))).toEqual([])
  })

  test('documents the operations of trends with all of their statuses', async () => {
    const { document } = await documented()
    const statuses = Object.fromEntries(
      Object.entries(document.paths).flatMap(([path, methods]) =>
        Object.entries(methods).map(([method, operation]) => [`${method} ${path}`, Object.keys(operation.responses).map(Number).join(' ')]),
      ),
    )
    expect(document.openapi).toBe('3.1.0')
    expect(statuses).toMatchObject({
      'get /v1/trends': '200 304 400 401 403 404 405 408 431 500 503',
      'get /v1/trends/available': '200 304 400 401 403 405 408 431 500 503',
      'get /v1/trends/stream': '200 400 401 403 404 405 408 431 500 503',
      'get /v1/trends/closest': '200 304 400 401 403 405 408 431 500 503',
      'get /v1/trends/{woeid}/past': '200 304 400 401 403 404 405 408 422 431 500 503',
      'get /v1/trends/{term}/history': '200 304 400 401 403 404 405 408 422 431 500 503',
      'post /v1/internal/trends/refresh': '204 400 401 403 404 405 408 413 415 431 500 503',
      'get /v1/me/interests': '200 400 401 403 405 408 431 500 503',
      'put /v1/me/interests': '200 202 400 401 403 405 408 413 415 431 500 503',
      'get /readyz': '200 400 405 408 431 500 503',
    })
  })

  test('documents Idempotency-Key on a route that accepts it', async () => {
    const { app } = await linksApi()
    const { paths } = (await (await app.request('/openapi.json')).json()) as OpenApi
    const { parameters, responses } = paths['/api/v1/urls'].post
    expect(parameters?.find(({ name }) => name === 'Idempotency-Key')).toMatchObject({ in: 'header', schema: { type: 'string' } })
    expect(responses[409].description).toContain('`idempotency_conflict`')
    expect(responses[409].description).toContain('`alias_taken`')
  })

  test('documents the responses of the short domains', async () => {
    const { app } = await linksApi()
    const { paths } = (await (await app.request('/openapi.json')).json()) as OpenApi
    const { get } = paths['/{short_code}']
    expect(Object.keys(get.responses).map(Number)).toEqual([301, 302, 404, 405, 408, 431, 500, 503])
    expect(get).toMatchObject({ servers: [{ url: 'http://sho.rt' }, { url: 'https://go.example' }], security: [] })
  })

  test('lists the codes of each status, with an example of each code', async () => {
    const { document } = await documented()
    const { responses } = document.paths['/v1/trends'].get
    expect(responses[503].description).toContain('`trends_stale`')
    expect(Object.keys(responses[503].content!['application/json'].examples!)).toEqual(['trends_stale', 'not_ready', 'unavailable'])
    expect(responses[404].content!['application/json'].examples!.unknown_location.value.error).toBe('unknown_location')
  })

  test('describes parameters and required permissions', async () => {
    const { document } = await documented()
    const { parameters, security } = document.paths['/v1/trends'].get
    const limit = parameters!.find((parameter) => parameter.name === 'limit')!
    expect(limit).toMatchObject({ in: 'query', schema: { type: 'integer', minimum: 1, maximum: 30, default: 30 } })
    expect(security).toEqual([{}, { bearer: [] }])
    expect(document.paths['/v1/internal/trends/refresh'].post.security).toEqual([{ bearer: ['internal'] }])
    expect(document.components.securitySchemes.bearer).toMatchObject({ type: 'http', scheme: 'bearer' })
    const ids = Object.values(document.paths).flatMap((methods) => Object.values(methods).map((operation) => operation.operationId))
    expect(new Set(ids).size).toBe(ids.length)
  })

  test('can be revalidated with its ETag', async () => {
    const { app, response } = await documented()
    const etag = response.headers.get('etag')!
    expect((await app.request('/openapi.json', { headers: { 'if-none-match': etag } })).status).toBe(304)
  })
})

describe('/docs', () => {
  test('the root redirects to /docs', async () => {
    const { app } = await trendsApi()
    const root = await app.request('/')
    expect([root.status, root.headers.get('location')]).toEqual([302, '/docs'])
  })

  test('the page loads all its files from this server', async () => {
    const { app } = await trendsApi()
    const page = await app.request('/docs')
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(page.headers.get('content-security-policy')).toContain("script-src 'self'")
    const html = await page.text()
    const loaded = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1])
    expect(loaded.length).toBe(4)
    for (const address of loaded) {
      expect(address).toMatch(/^\/docs\//)
      const asset = await app.request(address)
      expect([address, asset.status, asset.headers.get('x-content-type-options')]).toEqual([address, 200, 'nosniff'])
      expect((await asset.arrayBuffer()).byteLength).toBeGreaterThan(50)
    }
  })
})
