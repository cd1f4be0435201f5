import { expect, test } from 'vitest'
import { memoryBroker } from '../../../../kafka/memory/broker.ts'
import { memoryTransport } from '../../../../kafka/memory/transport.ts'
import { processedCheck } from '../../../../pipelines/catalog/images/processed-check.ts'
import { productCreated, productUpdated } from '../../../../schemas/catalog/products/topics.ts'

const HOUR = 3_600_000
const LAG = 71 * HOUR
const START = Date.UTC(2026, 0, 1)

function world() {
  const broker = memoryBroker()
  for (const { name } of [productCreated, productUpdated]) broker.createTopic({ name, partitions: 2 })
  const clock = { now: START }
  const transport = memoryTransport(broker)
  const checking = processedCheck({ transport, topology: 'catalog', maxLagMs: LAG, runtime: { now: () => clock.now } })
  const check = () => checking(new AbortController().signal)

  function append(topic: string, partition: number): void {
    broker.append(topic, partition, { timestamp: clock.now, key: Buffer.from('1'), value: Buffer.from('x'), headers: [] })
  }

  const process = (topic: string, partition: number, offset: number) =>
    transport.memberlessGroup('catalog').commit(new Map([[`${topic}-${partition}`, { topic, partition, offset }]]))

  return { broker, clock, check, append, process }
}

test('a check returns the time of the previous check', async () => {
  const { clock, check } = world()
  expect(await check()).toBeUndefined()
  clock.now += HOUR
  expect(await check()).toBe(START)
})

test('a check fails if a product event has been waiting for too long, and the next successful check returns no time, like the first check', async () => {
  const { clock, check, append, process } = world()
  append(productUpdated.name, 1)
  expect(await check()).toBeUndefined()
  clock.now += LAG
  append(productUpdated.name, 1)
  expect(await check()).toBe(START)
  clock.now += 1
  await expect(check()).rejects.toThrow('have waited for catalog since 2026-01-01T00:00:00.000Z')
  await process(productUpdated.name, 1, 1)
  expect(await check()).toBeUndefined()
  expect(await check()).toBe(clock.now)
})

test('transaction markers after the last event do not count as waiting events', async () => {
  const { broker, clock, check, append, process } = world()
  append(productCreated.name, 0)
  await process(productCreated.name, 0, 1)
  broker.log(productCreated.name, 0).appendControl()
  clock.now += 2 * LAG
  expect(await check()).toBeUndefined()
  expect(await check()).toBe(clock.now)
})
