import { createServer } from 'node:http'
import { type AddressInfo, Socket } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { erasureJob } from '../../pipelines/erasure-job.ts'
import type { SinkContext } from '../../pipelines/sinks.ts'
import { manualRuntime } from '../../runtime/manual.ts'

/** How long ClickHouse may take to delete rows from a large table. */
const SLOW_MS = 10 * 60_000
const EVERY_MS = 60_000

async function answeringServer(): Promise<string> {
  const server = createServer((_request, response) => void response.end())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('the job gives ClickHouse more than ten minutes to rewrite a large table', async () => {
  const waits = vi.spyOn(Socket.prototype, 'setTimeout')
  onTestFinished(() => waits.mockRestore())
  const runtime = manualRuntime()
  const clickhouse = { url: await answeringServer(), database: 'default', username: 'default', password: '' }
  const config = { redisUrl: 'redis://127.0.0.1:1', redisCluster: false, clickhouse, eraseWithinMs: EVERY_MS, slot: 0 }
  const { promise: erased, resolve } = Promise.withResolvers<void>()
  const job = erasureJob(
    {
      name: 'test-erasure',
      rewrites: 0,
      isUnknownAtStart: false,
      open: (client) => async () => {
        await client.command({ query: 'ALTER TABLE events DELETE WHERE 1' })
        resolve()
        return false
      },
    },
    { config, runtime } as unknown as SinkContext,
  )
  await job.start()
  runtime.advance(EVERY_MS)
  await erased
  await job.stop()
  expect(Math.max(...waits.mock.calls.map(([ms]) => ms))).toBeGreaterThan(SLOW_MS)
})
