import { createServer } from 'node:http'
import { type AddressInfo, Socket } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { connectHistory, QUERY_SECONDS } from '../../../tools/recommendations/history/connect.ts'
import { exportHistory } from '../../../tools/recommendations/history/export.ts'

/** Starts a server that answers every query with an empty result. */
async function emptyServer(): Promise<string> {
  const server = createServer((_request, response) => void response.end())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('the training program waits for the first row as long as ClickHouse may take to sort all rows', async () => {
  const waits = vi.spyOn(Socket.prototype, 'setTimeout')
  onTestFinished(() => waits.mockRestore())
  const client = connectHistory({ url: await emptyServer() })
  onTestFinished(() => client.close())
  expect((await exportHistory(client, { before: 0, isKnown: () => true })).count).toBe(0)
  expect(Math.max(...waits.mock.calls.map(([ms]) => ms))).toBeGreaterThan(QUERY_SECONDS * 1_000)
})
