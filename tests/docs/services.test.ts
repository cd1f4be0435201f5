import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isDecimalUserId } from '../../api/kit/auth/authorize.ts'
import { type ErrorDefinition, errors } from '../../api/kit/errors.ts'
import { bind } from '../../api/kit/route.ts'
import type { ServiceRoutes } from '../../api/kit/service-routes.ts'
import { limitsErrors } from '../../api/limits/errors.ts'
import * as limitsRoutes from '../../api/limits/routes.ts'
import { testApp } from '../api/kit/harness.ts'
import { linksApi } from '../api/links/harness.ts'
import { snippetsApi } from '../api/snippets/harness.ts'
import { trendsApi } from '../api/trends/harness.ts'

const FOLDER = join(import.meta.dirname, '..', '..', 'docs', 'services')
const textOf = (page: string) => readFileSync(join(FOLDER, page), 'utf8')

/** Returns the first cell of each table row in a section, without backticks and header. */
function firstCells(page: string, heading: string): string[] {
  const [, section] = `${textOf(page)}\n## `.split(`\n## ${heading}\n`)
  expect(section, `${page} has a section ${heading}`).toBeDefined()
  const rows = section.slice(0, section.indexOf('\n## ')).matchAll(/^\| `([^`]+)`/gm)
  return [...rows].map((row) => row[1])
}

/** Builds the limits API for its OpenAPI document only, so its handlers never run. */
async function limitsApi() {
  const routes = Object.values(limitsRoutes).map((definition) =>
    bind(definition as typeof limitsRoutes.listRulesRoute, () => {
      throw new Error('not called')
    }),
  )
  const fields = { name: 'rate limits', description: '', isUserId: isDecimalUserId, probes: [] }
  const service: ServiceRoutes = { ...fields, routes, errors: Object.values(limitsErrors) }
  return { ...(await testApp({ services: [service] })), service }
}

interface OpenApi {
  readonly paths: Record<string, Record<string, { readonly tags: readonly string[] }>>
}

/** For each page, the tag of the service's operations and a function that opens an API with the service. */
const SERVICES = [
  { page: 'trends.md', tag: 'trends', open: trendsApi },
  { page: 'links.md', tag: 'links', open: linksApi },
  { page: 'snippets.md', tag: 'snippets', open: snippetsApi },
  { page: 'limits.md', tag: 'rate limits', open: limitsApi },
]

test('the index lists every page, and the tests below check each', () => {
  const pages = readdirSync(FOLDER).filter((file) => file !== 'README.md')
  const listed = [...textOf('README.md').matchAll(/^\| \[[^\]]+\]\(([\w-]+\.md)\)/gm)].map((match) => match[1])
  expect(listed.sort()).toEqual(pages.sort())
  expect(SERVICES.map(({ page }) => page).sort()).toEqual(pages)
})

test.each(SERVICES)('$page names exactly the endpoints of the OpenAPI document', async ({ page, tag, open }) => {
  const { app } = await open()
  const { paths } = (await (await app.request('/openapi.json')).json()) as OpenApi
  const endpoints = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { tags }]) => (tags.includes(tag) ? [`${method.toUpperCase()} ${path}`] : [])),
  )
  expect(endpoints).not.toEqual([])
  expect(firstCells(page, 'Endpoints').sort()).toEqual(endpoints.sort())
})

/** Formats error definitions as table rows like those of the pages: code and status. */
function rowsOf(definitions: readonly ErrorDefinition[]): string[] {
  return definitions.map(({ code, status }) => `| \`${code}\` | ${status} |`)
}

test.each(SERVICES)('$page lists exactly the error codes of its service', async ({ page, open }) => {
  const { service } = await open()
  expect(firstCells(page, 'Errors').sort()).toEqual(service.errors.map(({ code }) => code).sort())
  expect(rowsOf(service.errors).filter((row) => !textOf(page).includes(row))).toEqual([])
})

test('the index lists the codes that all services share', () => {
  const shared = Object.values(errors)
  expect(firstCells('README.md', 'Errors').sort()).toEqual(shared.map(({ code }) => code).sort())
  expect(rowsOf(shared).filter((row) => !textOf('README.md').includes(row))).toEqual([])
})
