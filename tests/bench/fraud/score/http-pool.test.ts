import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { httpPool, type PoolAnswer } from '../../../../bench/fraud/score/http-pool.ts'

test('closing the pool makes all requests without a response fail, and opens no further connection', async () => {
  let connections = 0
  const server = createServer((socket) => {
    connections++
    socket.on('error', () => undefined).resume()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const outcomes: string[] = []
  const pool = httpPool(new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`), 1, {})
  const settle = (answer: PoolAnswer | Error) => void outcomes.push((answer as Error).message)
  onTestFinished(pool.close)
  for (const body of ['{}', '{}', '{}']) pool.post(body, settle)
  await expect.poll(() => connections).toBe(1)
  pool.close()
  await expect.poll(() => outcomes.toSorted()).toEqual(['the connection broke', 'the pool was closed', 'the pool was closed'])
  expect(connections).toBe(1)
})
