import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { answerProxy } from '../../../bench/limits/answer-proxy.ts'
import { LOOPBACK } from '../../../deploy/local/ports.ts'

const SOON = { timeout: 30_000, interval: 5 }

test('a response does not overtake an earlier response that is still delayed', async () => {
  const servers: Socket[] = []
  const redis = createServer((socket) => void servers.push(socket.setNoDelay(true)))
  redis.listen(0, LOOPBACK)
  await once(redis, 'listening')
  const held: (() => void)[] = []
  const proxy = await answerProxy(`redis://${LOOPBACK}:${(redis.address() as AddressInfo).port}`, (pass) => void held.push(pass))
  onTestFinished(() => {
    proxy.close()
    redis.close()
  })
  const client = connect(Number(new URL(proxy.url).port), LOOPBACK)
  let received = ''
  client.on('data', (data) => {
    received += data
  })
  await expect.poll(() => servers.length, SOON).toBe(1)
  for (const [index, answer] of ['first', 'second', 'third'].entries()) {
    servers[0].write(`${answer} `)
    await expect.poll(() => held.length, SOON).toBe(index + 1)
  }
  held[2]()
  held[1]()
  expect(received).toBe('')
  held[0]()
  await expect.poll(() => received, SOON).toBe('first second third ')
})
