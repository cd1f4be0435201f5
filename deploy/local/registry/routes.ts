import { type Context, Hono } from 'hono'
import { browserRefusal } from '../../../runtime/browser-guard.ts'
import { RegistryError, schemaNotFound, subjectNotFound } from './errors.ts'
import type { SchemaInput } from './input.ts'
import type { Registry } from './registry.ts'
import type { KnownSchema } from './state.ts'

const MEDIA_TYPE = 'application/vnd.schemaregistry.v1+json'
const FORBIDDEN = 403
/** Confluent's error code for a request that the caller is not permitted to make. */
const FORBIDDEN_CODE = 40_301
/** Maximum size of a request body. Real schemas are a few kilobytes long. */
const MAX_BODY_BYTES = 1024 * 1024

/**
 * Returns the supported routes of Confluent's REST API:
 * https://docs.confluent.io/platform/current/schema-registry/develop/api.html.
 */
export function registryRoutes(registry: Registry): Hono {
  const app = new Hono()
  const { state } = registry

  app.use(async (c, next) => {
    const [origin, host] = [c.req.header('origin'), c.req.header('host')]
    const refusal = browserRefusal({ origin, host, 'sec-fetch-site': c.req.header('sec-fetch-site') })
    return refusal === undefined ? await next() : failure(c, FORBIDDEN, FORBIDDEN_CODE, refusal)
  })

  const subjectOf = (c: Context) => c.req.param('subject')!

  app.get('/', (c) => json(c, {}))
  app.get('/contexts', (c) => json(c, ['.']))
  app.get('/schemas/types', (c) => json(c, ['AVRO']))

  app.get('/schemas', (c) => {
    const prefix = c.req.query('subjectPrefix') ?? ''
    const chosen = state
      .subjects()
      .filter((subject) => subject.startsWith(prefix))
      .flatMap((subject) => {
        const versions = visible(state.versions(subject), flag(c, 'deleted'))
        return flag(c, 'latestOnly') ? versions.slice(-1) : versions
      })
    return json(c, chosen.map(described))
  })
  app.get('/schemas/ids/:id', (c) => json(c, { schema: byId(c)[0].schema }))
  app.get('/schemas/ids/:id/schema', (c) => text(c, byId(c)[0].schema))
  app.get('/schemas/ids/:id/subjects', (c) => json(c, [...new Set(visible(byId(c), flag(c, 'deleted')).map(({ subject }) => subject))]))
  app.get('/schemas/ids/:id/versions', (c) =>
    json(
      c,
      visible(byId(c), flag(c, 'deleted')).map(({ subject, version }) => ({ subject, version })),
    ),
  )

  app.get('/subjects', (c) => {
    const prefix = c.req.query('subjectPrefix') ?? ''
    const isDeleted = (subject: string) => state.versions(subject).every(({ deleted }) => deleted)
    const chosen = flag(c, 'deletedOnly')
      ? state.subjects().filter(isDeleted)
      : state.subjects().filter((subject) => flag(c, 'deleted') || !isDeleted(subject))
    return json(
      c,
      chosen.filter((subject) => subject.startsWith(prefix)),
    )
  })
  app.get('/subjects/:subject/versions', (c) => {
    const versions = visible(state.versions(subjectOf(c)), flag(c, 'deleted'))
    if (versions.length === 0) throw subjectNotFound(subjectOf(c))
    return json(
      c,
      versions.map(({ version }) => version),
    )
  })
  app.get('/subjects/:subject/versions/:version', (c) => json(c, described(versionOf(c))))
  app.get('/subjects/:subject/versions/:version/schema', (c) => text(c, versionOf(c).schema))
  app.get('/subjects/:subject/versions/:version/referencedby', (c) => {
    versionOf(c)
    return json(c, [])
  })
  app.post('/subjects/:subject/versions', async (c) => json(c, { id: await registry.register(subjectOf(c), await body<SchemaInput>(c)) }))
  app.post('/subjects/:subject', async (c) =>
    json(c, described(registry.lookup(subjectOf(c), await body<SchemaInput>(c), flag(c, 'deleted')))),
  )
  app.delete('/subjects/:subject', async (c) => json(c, await registry.deleteSubject(subjectOf(c), flag(c, 'permanent'))))
  app.delete('/subjects/:subject/versions/:version', async (c) =>
    json(c, await registry.deleteVersion(subjectOf(c), c.req.param('version'), flag(c, 'permanent'))),
  )

  app.post('/compatibility/subjects/:subject/versions', async (c) => compatibility(c, undefined))
  app.post('/compatibility/subjects/:subject/versions/:version', async (c) => compatibility(c, c.req.param('version')))

  for (const path of ['/config', '/config/:subject'] as const) {
    app.get(path, (c) => json(c, { compatibilityLevel: registry.level(c.req.param('subject'), flag(c, 'defaultToGlobal')) }))
    app.put(path, async (c) => {
      const { compatibility } = await body<{ compatibility?: string }>(c)
      return json(c, { compatibility: await registry.setLevel(c.req.param('subject'), compatibility) })
    })
    app.delete(path, async (c) => json(c, { compatibilityLevel: await registry.removeLevel(c.req.param('subject')) }))
  }
  for (const path of ['/mode', '/mode/:subject'] as const) {
    app.get(path, (c) => json(c, { mode: registry.mode(c.req.param('subject'), flag(c, 'defaultToGlobal')) }))
    app.put(path, async (c) => {
      const { mode } = await body<{ mode?: string }>(c)
      return json(c, { mode: await registry.setMode(c.req.param('subject'), mode, flag(c, 'force')) })
    })
  }
  app.delete('/mode/:subject', async (c) => json(c, { mode: await registry.removeMode(subjectOf(c)) }))

  async function compatibility(c: Context, against: string | undefined): Promise<Response> {
    const messages = registry.checkCompatibility(subjectOf(c), await body<SchemaInput>(c), against)
    return json(c, { is_compatible: messages.length === 0, ...(flag(c, 'verbose') ? { messages } : {}) })
  }

  function byId(c: Context): readonly KnownSchema[] {
    const found = state.withId(Number(c.req.param('id')))
    if (found.length === 0) throw schemaNotFound()
    return found
  }

  function versionOf(c: Context): KnownSchema {
    return registry.version(subjectOf(c), c.req.param('version')!, flag(c, 'deleted'))
  }

  app.notFound((c) => failure(c, 404, 404, 'HTTP 404 Not Found'))
  app.onError((error, c) =>
    error instanceof RegistryError
      ? failure(c, error.status, error.code, error.message)
      : failure(c, 500, 500, `Internal error: ${error.message}`),
  )
  return app
}

function described({ subject, version, id, schema }: KnownSchema) {
  return { subject, version, id, schema }
}

function visible(versions: readonly KnownSchema[], withDeleted: boolean): readonly KnownSchema[] {
  return withDeleted ? versions : versions.filter(({ deleted }) => !deleted)
}

function flag(c: Context, name: string): boolean {
  return c.req.query(name) === 'true'
}

/**
 * Parses the request body as a JSON object. Ignores the content type, because clients often send none or a wrong one.
 */
async function body<T>(c: Context): Promise<T> {
  const content = await c.req.text()
  if (Buffer.byteLength(content) > MAX_BODY_BYTES)
    throw new RegistryError('invalidRequest', `The body is longer than ${MAX_BODY_BYTES} bytes`)
  let value: unknown
  try {
    value = JSON.parse(content)
  } catch {
    throw new RegistryError('invalidRequest', 'The body is not JSON')
  }
  if (value === null || typeof value !== 'object') throw new RegistryError('invalidRequest', 'The body is not a JSON object')
  return value as T
}

function json(c: Context, value: unknown): Response {
  return text(c, JSON.stringify(value))
}

function text(c: Context, content: string): Response {
  return c.body(content, 200, { 'content-type': MEDIA_TYPE })
}

function failure(c: Context, status: number, code: number, message: string): Response {
  return c.body(JSON.stringify({ error_code: code, message }), status as 400, { 'content-type': MEDIA_TYPE })
}
