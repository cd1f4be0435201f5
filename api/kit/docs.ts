import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { OpenAPIHono } from '@hono/zod-openapi'
import { type Answer, cacheableAnswer, JSON_TYPE } from './answer.ts'
import { CERTIFICATE_SCHEME, SECURITY_SCHEME } from './openapi.ts'
import type { ServiceRoutes } from './service-routes.ts'

/** A route that the OpenAPI document does not list. */
export interface DocumentationRoute {
  readonly path: string
  answer(): Promise<Answer>
}

const VERSION = '1.0.0'

const DESCRIPTION = `Backend services on one stream engine.

- Programs send a bearer token. A page sends its user's token once, to \`POST /api/v1/session\`. After that, the browser
  sends a cookie, and the page sends the session's \`csrf_token\` in the header \`X-CSRF-Token\`.
- Any request may have an \`X-Api-Key\`. The key identifies the caller to the rate limits and grants no access. An
  unknown or revoked key gets 401 \`invalid_api_key\`.`

/**
 * Content security policy of the page. The page runs only scripts from this server, so it works offline. "Try it out"
 * may call the public address. Inline styles are allowed, because Swagger UI sets them.
 */
const PAGE_POLICY =
  "default-src 'none'; connect-src *; img-src 'self' data:; script-src 'self'; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'"
/** Cache-Control of the page and its assets, which change only with a release. */
const ASSET_CACHING = 'public, max-age=3600'

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Millrace API</title>
<link rel="stylesheet" href="/docs/swagger-ui.css">
<link rel="icon" href="/docs/favicon-32x32.png">
</head>
<body>
<div id="swagger-ui"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`

const START_SCRIPT = `SwaggerUIBundle({ url: '/openapi.json', dom_id: '#swagger-ui', deepLinking: true, tryItOutEnabled: true, validatorUrl: null })
`

const ASSETS = [
  { name: 'swagger-ui.css', type: 'text/css; charset=utf-8' },
  { name: 'swagger-ui-bundle.js', type: 'text/javascript; charset=utf-8' },
  { name: 'favicon-32x32.png', type: 'image/png' },
]

/** Creates the routes of `/openapi.json` and of the documentation page `/docs`. */
export function documentationRoutes(app: OpenAPIHono, services: readonly ServiceRoutes[], publicUrl: string): DocumentationRoute[] {
  let document: Promise<Answer> | undefined

  async function renderDocument(): Promise<Answer> {
    const body = JSON.stringify(openApiDocument(app, services, publicUrl))
    return cacheableAnswer(body, { 'Content-Type': JSON_TYPE, 'Cache-Control': 'public, max-age=60' })
  }

  return [
    {
      path: '/openapi.json',
      answer() {
        document ??= renderDocument()
        return document
      },
    },
    // A person who opens the base URL in a browser is looking for the documentation.
    { path: '/', answer: async () => ({ status: 302, headers: { Location: '/docs' }, body: null }) },
    { path: '/docs', answer: async () => page(PAGE, 'text/html; charset=utf-8') },
    { path: '/docs/start.js', answer: async () => page(START_SCRIPT, 'text/javascript; charset=utf-8') },
    ...ASSETS.map((asset) => ({ path: `/docs/${asset.name}`, answer: assetReader(asset.name, asset.type) })),
  ]
}

function openApiDocument(app: OpenAPIHono, services: readonly ServiceRoutes[], publicUrl: string) {
  app.openAPIRegistry.registerComponent('securitySchemes', SECURITY_SCHEME, {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: 'A JWT signed with RS256, ES256 or EdDSA. `sub` is the user id, and `scope` is a space-separated list of scopes.',
  })
  app.openAPIRegistry.registerComponent('securitySchemes', CERTIFICATE_SCHEME, {
    type: 'mutualTLS',
    description: 'A client certificate on the TLS port, signed by an authority that the operator trusts.',
  })
  return app.getOpenAPI31Document({
    openapi: '3.1.0',
    info: {
      title: 'Millrace',
      version: VERSION,
      description: DESCRIPTION,
      license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
    },
    servers: [
      { url: '/', description: 'The server that served this document.' },
      { url: publicUrl, description: 'The public address.' },
    ],
    tags: services.map((service) => ({ name: service.name, description: service.description })),
  })
}

function page(body: string, type: string): Answer {
  return cacheableAnswer(body, { 'Content-Type': type, 'Content-Security-Policy': PAGE_POLICY, 'Cache-Control': ASSET_CACHING })
}

function assetReader(name: string, type: string): () => Promise<Answer> {
  let loaded: Promise<Answer> | undefined
  async function readAsset(): Promise<Answer> {
    const folder = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))
    const body = await readFile(join(folder, name))
    return cacheableAnswer(body, { 'Content-Type': type, 'Cache-Control': ASSET_CACHING })
  }
  return function serveAsset() {
    // A failed read is not kept, because the process may only have run out of file descriptors for a moment.
    loaded ??= readAsset().catch((error: unknown) => {
      loaded = undefined
      throw error
    })
    return loaded
  }
}
