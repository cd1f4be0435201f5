import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { fraudApi } from './harness.ts'

const PAGE = readFileSync(new URL('../../../docs/services/fraud.md', import.meta.url), 'utf8')
/** A row of the table of endpoints: the endpoint, and the credentials that it accepts. */
const ROW = /^\| `([A-Z]+ \/[^`]+)` \| ([^|]+) \|/gm
const SCOPE = /`(internal|fraud:\w+)`/g
const CERTIFICATE = 'a client certificate'
/** The cell of an endpoint that needs no credentials. */
const OPEN = '–'

interface OpenApi {
  readonly paths: Record<string, Record<string, { readonly security: Readonly<Record<string, readonly string[]>>[] }>>
}

/** Returns the credentials that the page names for each endpoint. The page says that `admin` permits everything. */
function documented(): [endpoint: string, credentials: string[]][] {
  return [...PAGE.matchAll(ROW)].map(([, endpoint, cell]) => {
    const scopes = [...cell.matchAll(SCOPE)].map(([, scope]) => scope)
    const more = cell === OPEN ? [] : ['admin', ...(cell.includes(CERTIFICATE) ? [CERTIFICATE] : [])]
    return [endpoint, [...scopes, ...more].sort()]
  })
}

test('each endpoint accepts exactly the documented scopes, and only scoring accepts a certificate', async () => {
  const { app } = await fraudApi()
  const { paths } = (await (await app.request('/openapi.json')).json()) as OpenApi
  const accepted = documented().map(([endpoint]) => {
    const [method, path] = endpoint.split(' ')
    const { security } = paths[path][method.toLowerCase()]
    return [endpoint, security.flatMap(({ bearer, mutualTLS }) => bearer ?? (mutualTLS === undefined ? [] : [CERTIFICATE])).sort()]
  })
  expect(accepted).toEqual(documented())
  const certified = documented().filter(([, credentials]) => credentials.includes(CERTIFICATE))
  expect(certified.map(([endpoint]) => endpoint)).toEqual(['POST /api/v1/transactions/score'])
})
