import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import type { SinkContext } from '../../../pipelines/sinks.ts'
import { snippetErasure } from '../../../pipelines/snippets/erasure.ts'
import { manualRuntime } from '../../../runtime/manual.ts'

const EVERY_MS = 60_000
const PURGER = 'kafka_offset'

test('deleted snippets are purged even if the table of earlier versions cannot be dropped', async () => {
  const { promise: purging, resolve } = Promise.withResolvers<string>()
  const server = createServer(async (request, response) => {
    let query = ''
    for await (const chunk of request) query += chunk
    if (query.includes('system.tables')) return response.end('{"name":"snippets"}\n')
    if (query.includes('DROP')) return response.writeHead(403).end('Code: 497. DB::Exception: Not enough privileges. (ACCESS_DENIED)')
    if (query.includes(PURGER)) resolve(query)
    response.end()
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const clickhouse = { url, database: 'default', username: 'default', password: '' }
  const config = { redisUrl: 'redis://127.0.0.1:1', redisCluster: false, clickhouse, eraseWithinMs: EVERY_MS, slot: 0 }
  const runtime = manualRuntime()
  const job = snippetErasure({ config, runtime } as unknown as SinkContext)
  await job.start()
  onTestFinished(() => job.stop())
  runtime.advance(EVERY_MS)
  expect(await purging).toContain('SELECT')
})
