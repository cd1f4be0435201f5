import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { AT_FIRST_TRY, testStack } from '../../../../stack/index.ts'
import { realBroker } from '../real-broker.ts'

const PROCESS = fileURLToPath(new URL('./delivery-process.ts', import.meta.url))
const PARTITIONS = 2
/** Maximum number of requests in flight. */
const CONNECTIONS = 16
const TIME_LIMIT_MS = 500
/**
 * How long the test waits for deliveries. On a busy machine, a record may fail six times and then wait for a minute.
 */
const SOON = { timeout: 90_000, interval: 20 }
const TIMEOUT_MS = 300_000

/** Starts an HTTP server that fails the first request for some keys. A test can stop and restart it. */
async function receiver() {
  /** Number of successful requests per key. */
  const delivered = new Map<string, number>()
  const requests = new Map<string, number>()
  let port = 0
  let server: Server | undefined
  let slowMs = 0

  function handle(request: IncomingMessage, response: ServerResponse): void {
    const key = String(request.headers['idempotency-key'])
    const attempt = (requests.get(key) ?? 0) + 1
    requests.set(key, attempt)
    request.resume()
    const kind = attempt > 1 ? 'well' : key.split('-')[0]
    switch (kind) {
      case 'fails':
        return void response.writeHead(500).end('no')
      case 'busy':
        return void response.writeHead(429, { 'retry-after': '1' }).end()
      case 'breaks':
        return void request.socket.destroy()
      case 'hangs':
        return
      case 'refused':
        return void response.writeHead(404).end()
      default:
        delivered.set(key, (delivered.get(key) ?? 0) + 1)
        setTimeout(() => response.writeHead(204).end(), slowMs)
    }
  }

  async function start(): Promise<void> {
    server = createServer(handle)
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    port = (server.address() as AddressInfo).port
  }

  function stop(): void {
    server?.closeAllConnections()
    server?.close()
  }

  await start()
  onTestFinished(stop)
  return {
    delivered,
    requests,
    start,
    stop,
    url: () => `http://127.0.0.1:${port}/hook`,
    slowDown: (ms: number) => {
      slowMs = ms
    },
  }
}

function startProcess(args: readonly string[]): ChildProcess {
  const child = spawn(process.execPath, [PROCESS, ...args], { stdio: 'inherit' })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

async function killed(child: ChildProcess): Promise<void> {
  const exit = once(child, 'exit')
  child.kill('SIGKILL')
  await exit
}

test('no record is lost even if the receiver fails, hangs or stops and workers are killed, and only records in flight are delivered twice', {
  ...AT_FIRST_TRY,
  timeout: TIMEOUT_MS,
}, async () => {
  const brokers = await testStack().kafka()
  const kafka = await realBroker(brokers)
  const topic = await kafka.newTopic(PARTITIONS)
  const hook = await receiver()
  const member = randomUUID()
  const start = () => startProcess([brokers, topic, member, hook.url(), String(TIME_LIMIT_MS)])
  const produced: string[] = []

  async function produce(kind: string, count: number): Promise<void> {
    const keys = Array.from({ length: count }, (_, index) => `${kind}-${produced.length + index}`)
    produced.push(...keys)
    await kafka.produce(
      topic,
      keys.map((key, index) => ({ partition: index % PARTITIONS, key, value: {} })),
    )
  }
  const missing = () => produced.filter((key) => !hook.delivered.has(key) && !key.startsWith('refused'))
  const repeats = () => [...hook.delivered.values()].reduce((sum, count) => sum + count - 1, 0)

  // Records that fail in various ways do not delay other records.
  await produce('hangs', 4)
  for (const kind of ['fails', 'busy', 'breaks', 'refused']) await produce(kind, 10)
  await produce('well', 100)
  let worker = start()
  await expect.poll(missing, SOON).toEqual([])
  expect(repeats()).toBe(0)
  for (const kind of ['hangs', 'fails', 'busy', 'breaks']) {
    for (const key of produced.filter((one) => one.startsWith(kind))) expect([key, hook.requests.get(key)]).toEqual([key, 2])
  }

  // Kills the process in the middle of many slow deliveries.
  hook.slowDown(30)
  const before = hook.delivered.size
  await produce('well', 300)
  await expect.poll(() => hook.delivered.size, { ...SOON, interval: 1 }).toBeGreaterThan(before + 60)
  await killed(worker)
  worker = start()
  await expect.poll(missing, SOON).toEqual([])
  // Only records in flight are repeated. A record is in flight until its offset is committed, a few milliseconds
  // after its response arrived.
  expect(repeats()).toBeLessThanOrEqual(3 * CONNECTIONS)

  // While the receiver is down, records wait in the retry topic, where even a later process finds them.
  hook.slowDown(0)
  hook.stop()
  await produce('well', 50)
  const retries = `deliver-${topic}-retries`
  const partitionsOf = async (name: string) => {
    const counts = await kafka.transport.partitionCounts([name])
    return Array.from({ length: counts.get(name) ?? 0 }, (_, partition) => ({ topic: name, partition }))
  }
  const waiting = async () => {
    const ends = await kafka.transport.offsets(await partitionsOf(retries), 'end')
    return [...ends.values()].reduce((sum, end) => sum + end, 0)
  }
  const failed = 34
  await expect.poll(waiting, SOON).toBeGreaterThanOrEqual(failed + 50)
  await killed(worker)
  await hook.start()
  worker = start()
  await expect.poll(missing, SOON).toEqual([])

  // Once all offsets are committed, killing the process does not repeat any delivery.
  const total = () => [...hook.requests.values()].reduce((sum, count) => sum + count, 0)
  const committed = async () => {
    const group = kafka.transport.memberlessGroup(`deliver-${topic}`)
    const partitions = [...(await partitionsOf(topic)), ...(await partitionsOf(retries))]
    const [offsets, ends] = [await group.committed(partitions), await kafka.transport.offsets(partitions, 'end')]
    await group.close()
    return [...ends].every(([key, end]) => offsets.get(key)?.offset === end)
  }
  await expect.poll(committed, SOON).toBe(true)
  const all = total()
  await killed(worker)
  worker = start()
  await produce('well', 1)
  await expect.poll(missing, SOON).toEqual([])
  expect(total()).toBe(all + 1)
})
