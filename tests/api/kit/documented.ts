import type { OpenAPIHono } from '@hono/zod-openapi'
import { expect } from 'vitest'

interface Documented {
  readonly paths: Record<string, Record<string, { readonly responses: Record<string, Response> } | undefined>>
}

interface Response {
  readonly content?: Record<string, { readonly examples?: Record<string, unknown> }>
}

const JSON_TYPE = 'application/json'

/** Makes `app.request` fail if a response contains an error that the OpenAPI document does not list for its route. */
export function checkDocumentation(app: OpenAPIHono): void {
  const { request } = app
  let document: Documented | undefined

  function documentedCodes(method: string, path: string, status: number): string[] | undefined {
    document ??= JSON.parse(JSON.stringify(app.getOpenAPI31Document({ openapi: '3.1.0', info: { title: '', version: '' } }))) as Documented
    const templates = Object.keys(document.paths).filter((template) => patternOf(template).test(path))
    // A literal path takes precedence over a path with parameters.
    const [nearest] = templates.sort((one, other) => one.split('{').length - other.split('{').length)
    const operation = nearest === undefined ? undefined : document.paths[nearest][method.toLowerCase()]
    return operation && Object.keys(operation.responses[status]?.content?.[JSON_TYPE]?.examples ?? {})
  }

  app.request = async (input, init, ...rest) => {
    const response = await request(input, init, ...rest)
    const isError = response.status >= 400 && response.headers.get('content-type')?.startsWith(JSON_TYPE) === true
    const method = init?.method ?? (input instanceof Request ? input.method : 'GET')
    if (!isError || method === 'HEAD') return response
    const { error } = (await response.clone().json()) as { error: string }
    const { pathname } = new URL(input instanceof Request ? input.url : String(input), 'http://localhost')
    const codes = documentedCodes(method, pathname, response.status)
    if (codes !== undefined) expect(codes, `${method} ${pathname} documents ${response.status}`).toContain(error)
    return response
  }
}

function patternOf(template: string): RegExp {
  return new RegExp(`^${template.replaceAll(/\{[^}]+\}/g, '[^/]*')}$`)
}
