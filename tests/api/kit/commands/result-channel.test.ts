import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { redisResultChannel } from '../../../../api/kit/commands/result-channel.ts'

const CHANNEL = 'api-1'
const INFO = 'redis_version:7.0.0'
const SOON = { timeout: 20_000, interval: 5 }

/**
 * Starts a server that answers like Redis, and refuses the first subscription or ignores the first connection.
 * @param onPing called for each PING
 */
async function faultyRedis(fault: 'refuses' | 'ignores', onPing: () => void = () => undefined): Promise<string> {
  let subscriptions = fault === 'refuses' ? 0 : 1
  let connections = 0
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    if (++connections === 1 && fault === 'ignores') return
    socket.on('data', (data) => {
      for (const [, command] of data.toString().matchAll(/\*\d+\r\n\$\d+\r\n(\w+)\r\n/g)) {
        if (command.toLowerCase() === 'ping') onPing()
        if (command.toLowerCase() === 'info') socket.write(`$${INFO.length}\r\n${INFO}\r\n`)
        else if (command.toLowerCase() !== 'subscribe') socket.write('+OK\r\n')
        else if (++subscriptions === 1) socket.write('-LOADING Redis is loading the dataset in memory\r\n')
        else socket.write(`*3\r\n$9\r\nsubscribe\r\n$${CHANNEL.length}\r\n${CHANNEL}\r\n:1\r\n`)
      }
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return `redis://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test.each([
  ['a refused subscription is retried on the same connection', 'refuses'],
  ['a connection on which Redis never answers is replaced', 'ignores'],
] as const)('%s', async (_title, fault) => {
  const channel = redisResultChannel({ url: await faultyRedis(fault), cluster: false, name: CHANNEL, log: pino({ level: 'silent' }) })
  onTestFinished(() => channel.close())
  await expect.poll(() => channel.isOpen, SOON).toBe(true)
})

test('many checks that are requested at the same time send one PING to Redis', async () => {
  let pings = 0
  const url = await faultyRedis('refuses', () => pings++)
  const channel = redisResultChannel({ url, cluster: false, name: CHANNEL, log: pino({ level: 'silent' }) })
  onTestFinished(() => channel.close())
  await expect.poll(() => channel.isOpen, SOON).toBe(true)
  for (let asked = 0; asked < 100; asked++) channel.check()
  await expect.poll(() => pings, SOON).toBe(1)
  // After the answer, a later check sends another PING.
  await expect
    .poll(() => {
      channel.check()
      return pings
    }, SOON)
    .toBe(2)
})
