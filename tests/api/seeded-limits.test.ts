import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { LimitedCaller } from '../../api/kit/limited-caller.ts'
import type { BoundRoute } from '../../api/kit/route.ts'
import { limitedPaths } from '../../api/limits/core/limited-paths.ts'
import { compileRules } from '../../api/limits/core/matching.ts'
import { ruleJson } from '../../api/limits/model.ts'
import { apiServices } from '../../api/services.ts'
import { seededLimits } from '../../schemas/catalogue.ts'
import { serviceOnFakes } from './on-fakes.ts'

/** Routes that need no scope and have no seeded limit, each with the reason. */
const CHEAP: Readonly<Record<string, string>> = {
  'GET /v1/trends': 'its responses come from a cache',
  'GET /v1/trends/available': 'it returns a constant response or compares 551 short names',
  'GET /v1/trends/closest': 'it compares 500 positions, which takes microseconds',
  'GET /v1/trends/stream': 'the number of its readers is bounded, and their lists come from the cache of `GET /v1/trends`',
  'GET /trends/files/{file}': 'it serves one file from memory',
  'GET /match': 'it serves one file from memory',
  'GET /match/{file}': 'it serves one file from memory',
  'GET /v1/me/interests': 'it reads Redis once',
  'GET /api/v1/pastes/{paste_id}':
    'it reads one snippet; concurrent large transfers are bounded, and only a snippet with limited reads costs a command',
  'GET /api/v1/pastes/{paste_id}/raw': 'it costs as much as the route without `/raw`',
  'GET /fraud': 'it serves one file from memory',
  'GET /fraud/{file}': 'it serves one file from memory',
  'GET /api/v1/categories': 'all categories are in memory',
  'GET /api/v1/categories/{category_id}': 'all categories are in memory',
  'GET /api/v1/products/{product_id}': 'it makes a few concurrent reads, and its answer is kept for a second',
  'GET /api/v1/images/{content_hash}/{file}': 'it serves one file, which caches keep forever',
  'GET /shop/files/{file}': 'it serves one file from memory',
  'GET /api/v1/me/preferences': 'it reads Redis once',
  'GET /recommendations/explain': 'without the scope `internal`, it only redirects or refuses',
  'GET /recommendations/sign-in': 'it serves one constant page',
  'GET /recommendations/files/{file}': 'it serves one file from memory',
}
const ADDRESS: LimitedCaller = { clientId: 'ip:192.0.2.1', tier: 'free', ip: '192.0.2.1' }
const USER: LimitedCaller = { clientId: 'user:42', tier: 'free', userId: '42', ip: '192.0.2.1' }

type Definition = BoundRoute['definition']

async function definitions(): Promise<Definition[]> {
  const opened = await Promise.all(apiServices.map(({ name }) => serviceOnFakes(name)))
  return opened.flatMap(({ service }) => service.routes.map(({ definition }) => definition))
}

test('every costly route that needs no scope has a seeded limit, for callers with and without a token', async () => {
  const table = compileRules(seededLimits)
  const paths = limitedPaths(apiServices.flatMap((service) => service.limitedPaths))
  const unlimited = (await definitions())
    .filter(({ auth }) => auth.kind !== 'scope')
    .filter(({ method, path, auth, countsAs = path }) => {
      const callers = auth.kind === 'user' ? [USER] : [USER, ADDRESS]
      return !paths.covers(countsAs) || callers.some((caller) => table.match(method.toUpperCase(), countsAs, caller).length === 0)
    })
    .map(({ method, path }) => `${method.toUpperCase()} ${path}`)
  expect(unlimited.sort()).toEqual(Object.keys(CHEAP).sort())
})

test('every seeded rule can apply to some request', async () => {
  const paths = limitedPaths(apiServices.flatMap((service) => service.limitedPaths))
  for (const { method, path, countsAs } of await definitions()) paths.addRoute({ method: method.toUpperCase(), path, countsAs })
  const useless = seededLimits.filter((rule) => ruleJson(rule, paths).warnings.length > 0)
  expect(useless.map(({ rule_id }) => rule_id)).toEqual([])
})

test('a daily rule also limits how often a user sets a block, because each change stores records for two days', () => {
  const found = compileRules(seededLimits).match('PUT', '/v1/blocks/{user_id}', USER)
  expect(found.map(({ rule }) => rule.rule_id).sort()).toEqual(['matches-block', 'matches-block-daily'])
})

test('a route keeps its seeded limit when an administrator limits it together with other routes', () => {
  const strict = { ...seededLimits[0], rule_id: 'all', endpoint_pattern: '/api/v1/*', key: ['client' as const], limit_count: 5 }
  const found = compileRules([...seededLimits, strict]).match('GET', '/api/v1/urls/{short_code}/stats', USER)
  expect(found.map(({ rule }) => rule.rule_id).sort()).toEqual(['all', 'links-stats'])
})

test("no service's limits cover a path that another service leaves unlimited, because limited reads are not cached", async () => {
  const services = await Promise.all(
    apiServices.map(async ({ name, limitedPaths: declared }) => {
      const { service } = await serviceOnFakes(name)
      return { name, limits: limitedPaths(declared), paths: service.routes.map(({ definition }) => definition.path) }
    }),
  )
  const strays = services.flatMap(({ limits: own, paths }) => {
    const unlimited = paths.filter((path) => !own.covers(path))
    return unlimited.flatMap((path) => services.filter(({ limits }) => limits.covers(path)).map(({ name }) => `${name}: ${path}`))
  })
  expect(strays).toEqual([])
})

test("the match feed's limits cover all of its operations", async () => {
  const { service } = await serviceOnFakes('matches')
  const paths = limitedPaths(apiServices.find(({ name }) => name === 'matches')!.limitedPaths)
  const operations = service.routes.map(({ definition }) => definition.path).filter((path) => path.startsWith('/v1/'))
  expect(operations.length).toBeGreaterThan(10)
  expect(operations.filter((path) => !paths.covers(path))).toEqual([])
})

test('the documentation lists every seeded rule', () => {
  const text = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'services', 'limits.md'), 'utf8')
  const [, section] = text.split('### Seeded rules')
  const rows = [
    ...section.slice(0, section.indexOf('\n## ')).matchAll(/^\| `([^`]+)` \| `([^`]+)` \| ([^|]+) \| ([\d,]+) per (minute|day)/gm),
  ]
  const documented = rows.map(([, id, pattern, key, count, window]) => {
    return [id, pattern, key.trim(), Number(count.replaceAll(',', '')), window === 'day' ? 86_400 : 60]
  })
  const seeded = seededLimits.map(({ rule_id, endpoint_pattern, key, limit_count, window_seconds }) => [
    rule_id,
    endpoint_pattern,
    key.join(', '),
    limit_count,
    window_seconds,
  ])
  expect(documented.sort()).toEqual(seeded.sort())
})
