import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { connectTables } from '../../../api/kit/clickhouse.ts'
import { errors } from '../../../api/kit/errors.ts'
import { readRows } from '../../../state/tables/reader.ts'

/** More queries than the client has connections. */
const QUERIES = 50
const TIMEOUT_MS = 200

/** Starts a server that answers no query until `recover` is called. */
async function hangingServer() {
  let received = 0
  let isHanging = true
  const server = createServer((_request, response) => {
    received++
    if (!isHanging) response.end('[1]\n')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received: () => received,
    recover() {
      isHanging = false
    },
  }
}

test('queries that get no connection within their time limit are abandoned, so that they do not delay later queries', async () => {
  const server = await hangingServer()
  const { reader, close } = connectTables({ url: server.url, database: 'default', username: 'default', password: '' }, TIMEOUT_MS)
  onTestFinished(close)
  const found = await Promise.allSettled(Array.from({ length: QUERIES }, () => readRows(reader, 'SELECT 1', {})))
  for (const { reason } of found as PromiseRejectedResult[]) expect(reason).toMatchObject({ definition: errors.unavailable })
  expect(server.received()).toBeLessThan(QUERIES)
  server.recover()
  expect(await readRows(reader, 'SELECT 1', {})).toEqual([[1]])
})
