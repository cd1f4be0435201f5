import { expect, test } from 'vitest'
import { dependences, namesOf, productionFiles, servicesOf } from './independence.ts'

const files = productionFiles()
const services = await Promise.all(servicesOf(files.keys()).map((service) => namesOf(service, files.keys())))

test('the search finds the services and the names of their topics, views, tables and settings', () => {
  expect(services.map(({ service }) => service)).toEqual(expect.arrayContaining(['limits', 'links', 'snippets', 'trends']))
  const own = new Map(services.map((names) => [names.service, names.own]))
  expect(own.get('trends')).toEqual(expect.arrayContaining(['tweets', 'trend-output', 'trend_volumes', 'trend_snapshots']))
  expect(own.get('links')).toEqual(expect.arrayContaining(['link-commands', 'clicks', 'link-stats', 'SHORT_PORT', 'VISITOR_SECRET']))
  expect(own.get('snippets')).toEqual(expect.arrayContaining(['snippet-texts', 'snippets']))
  expect(own.get('limits')).toEqual(expect.arrayContaining(['limit-rules', 'limit_audit']))
  expect(files.size).toBeGreaterThan(300)
})

test("no production module depends on a service, except modules in the services' own folders and the lists of services", () => {
  expect(dependences(files, services)).toEqual([])
})

test.each([
  ['api/start.ts', "import { linksHandlers } from './links/handlers.ts'", 'links', 'api/links/handlers.ts'],
  ['api/kit/app.ts', "const late = await import('../snippets/open.ts')", 'snippets', 'api/snippets/open.ts'],
  ['deploy/local/provision.ts', "import { trends } from '../../pipelines/trends/topology.ts'", 'trends', 'pipelines/trends/topology.ts'],
  [
    'state/tables/store.ts',
    "import { trendVolumesTable } from './trends/trend-volumes.ts'",
    'trends',
    'state/tables/trends/trend-volumes.ts',
  ],
  ['tools/demo/main.ts', "import { trendsDemo } from './trends/play.ts'", 'trends', 'tools/demo/trends/play.ts'],
  ['deploy/local/processes.ts', 'const env = { SHORT_PORT: 8090 }', 'links', 'SHORT_PORT'],
  ['kafka/client/topics.ts', '// As for trend-output.', 'trends', 'trend-output'],
  ['deploy/local/summary.ts', "const topic = 'tweets'", 'trends', 'tweets'],
  ['state/blobs/sweep.ts', '/** What no snippet refers to. */', 'snippets', 'snippets'],
])('%s depends on a service if it contains %s', (file, line, service, what) => {
  const planted = new Map(files).set(file, `${files.get(file)}\n${line}\n`)
  expect(dependences(planted, services)).toContainEqual({ file, service, what })
})
