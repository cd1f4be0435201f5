import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type ErrorDefinition, errors } from '../../api/kit/errors.ts'
import { apiServices } from '../../api/services.ts'
import { serviceOnFakes } from '../api/on-fakes.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const FOLDER = join(ROOT, 'docs', 'services')
const textOf = (page: string) => readFileSync(join(FOLDER, page), 'utf8')

/** Returns the code at the beginning of each table row in a section. Skips rows that do not begin with code. */
function firstCells(page: string, heading: string): string[] {
  const [, section] = `${textOf(page)}\n## `.split(`\n## ${heading}\n`)
  expect(section, `${page} has a section ${heading}`).toBeDefined()
  const rows = section.slice(0, section.indexOf('\n## ')).matchAll(/^\| `([^`]+)`/gm)
  return [...rows].map((row) => row[1])
}

interface OpenApi {
  readonly paths: Record<string, Record<string, { readonly tags: readonly string[] }>>
}

/** Returns the folder names of the services in a list. */
function listedIn(list: string): string[] {
  const text = readFileSync(join(ROOT, list), 'utf8')
  return [...text.matchAll(/from '\.\/([\w-]+)\/service\.ts'/g)].map((match) => match[1])
}

/** The services with an API. Only these services have endpoints and errors. */
const SERVICES = apiServices.map(({ name }) => ({ page: `${name}.md`, name }))

test('every service of the APIs and the pipelines has a page, and the index lists exactly these pages', () => {
  const pages = readdirSync(FOLDER).filter((file) => file !== 'README.md')
  const indexed = [...textOf('README.md').matchAll(/^\| \[[^\]]+\]\(([\w-]+\.md)\)/gm)].map((match) => match[1])
  const services = new Set([...listedIn('api/services.ts'), ...listedIn('pipelines/services.ts'), ...apiServices.map(({ name }) => name)])
  expect(indexed.sort()).toEqual(pages.sort())
  expect([...services].map((name) => `${name}.md`).sort()).toEqual(pages)
})

test.each(SERVICES)('$page names exactly the endpoints of the OpenAPI document', async ({ page, name }) => {
  const { app, service } = await serviceOnFakes(name)
  const { paths } = (await (await app.request('/openapi.json')).json()) as OpenApi
  const endpoints = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { tags }]) => (tags.includes(service.name) ? [`${method.toUpperCase()} ${path}`] : [])),
  )
  expect(endpoints).not.toEqual([])
  expect(firstCells(page, 'Endpoints').sort()).toEqual(endpoints.sort())
})

/** Formats error definitions as the pages do: as table rows with code and status. */
function rowsOf(definitions: readonly ErrorDefinition[]): string[] {
  return definitions.map(({ code, status }) => `| \`${code}\` | ${status} |`)
}

test.each(SERVICES)('$page lists exactly the error codes of its service', async ({ page, name }) => {
  const { service } = await serviceOnFakes(name)
  expect(firstCells(page, 'Errors').sort()).toEqual(service.errors.map(({ code }) => code).sort())
  expect(rowsOf(service.errors).filter((row) => !textOf(page).includes(row))).toEqual([])
})

test('the index lists the error codes that all services share', () => {
  const shared = Object.values(errors)
  expect(firstCells('README.md', 'Errors').sort()).toEqual(shared.map(({ code }) => code).sort())
  expect(rowsOf(shared).filter((row) => !textOf('README.md').includes(row))).toEqual([])
})
