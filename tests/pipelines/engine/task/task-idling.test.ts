import { expect, test } from 'vitest'
import { type IdlingSource, taskIdling } from '../../../../pipelines/engine/task/task-idling.ts'
import { testDriver } from '../../../../pipelines/engine/testing/test-driver.ts'
import { billing, LONG_NOTE } from '../billing.ts'
import { bench, until } from '../harness.ts'

const NOW = 1_000_000

const filled: IdlingSource = { queuedRecords: 3, position: 0, readableEnd: 3, fetchedAt: NOW }
const read: IdlingSource = { queuedRecords: 0, position: 7, readableEnd: 7, fetchedAt: NOW }
const behind: IdlingSource = { queuedRecords: 0, position: 6, readableEnd: 7, fetchedAt: NOW }
const unknown: IdlingSource = { queuedRecords: 0, position: 0, readableEnd: 0, fetchedAt: undefined }

test('a task waits for a source if the broker has more records of that source, or if it is unknown whether the broker has any', () => {
  expect(taskIdling([filled, behind], 0).until(NOW)).toBe(Infinity)
  expect(taskIdling([filled, unknown], 0).until(NOW)).toBe(Infinity)
  expect(taskIdling([filled, read], 0).until(NOW)).toBeLessThan(NOW)
  expect(taskIdling([filled, filled], 0).until(NOW)).toBeLessThan(NOW)
})

test('with a limit of -1, a task never waits, and a task with a single source never waits either', () => {
  expect(taskIdling([filled, behind], -1).until(NOW)).toBeLessThan(NOW)
  expect(taskIdling([unknown], 100).until(NOW)).toBeLessThan(NOW)
})

test('with a positive limit, a task waits even at the end of a source, and the wait starts again after each record', () => {
  const source = { ...read }
  const idling = taskIdling([filled, source], 100)
  expect(idling.until(NOW)).toBe(NOW + 100)
  expect(idling.until(NOW + 60)).toBe(NOW + 100)
  source.queuedRecords = 1
  expect(idling.until(NOW + 70)).toBeLessThan(NOW)
  source.queuedRecords = 0
  expect(idling.until(NOW + 80)).toBe(NOW + 180)
  // Simulates a clock that is set back.
  expect(idling.until(NOW - 5_000)).toBe(NOW - 4_900)
})

test('with a backlog, each order gets the price at the time of the order, although the orders fill the task before the prices arrive', async () => {
  const { worker, send, all } = bench()
  const { flow, orders, prices, bills } = billing()
  const count = 200
  for (let i = 0; i < count; i++) send(orders, 'apple', `${i} ${LONG_NOTE}`, NOW + 2 * i + 1)
  for (let i = 0; i < count; i++) send(prices, 'apple', i, NOW + 2 * i)
  await worker(flow)
  await until(() => all(bills).length === count, 'every order has a bill')
  expect(all(bills).map(({ value }) => value)).toEqual(Array.from({ length: count }, (_, i) => i))
})

test('with a limit of -1, a worker processes the orders at once, without the prices', async () => {
  const { worker, send, all } = bench()
  const { flow, orders, prices, bills } = billing(-1)
  for (let i = 0; i < 200; i++) send(orders, 'apple', `${i} ${LONG_NOTE}`, NOW + 2 * i + 1)
  for (let i = 0; i < 200; i++) send(prices, 'apple', i, NOW + 2 * i)
  await worker(flow)
  await until(() => all(bills).length === 200, 'every order has a bill')
  expect(all(bills)[0].value).toBe(-1)
})

test('a worker with a positive limit processes records once the limit has passed, even if the other source stays silent', async () => {
  const { worker, send, all } = bench()
  const { flow, orders, bills } = billing(50)
  await worker(flow)
  send(orders, 'apple', 'first')
  await until(() => all(bills).length > 0, 'the order has a bill')
  expect(all(bills).map(({ value }) => value)).toEqual([-1])
})

test('with a positive limit, the test driver waits until the clock has passed the limit', () => {
  const { flow, orders, prices, bills } = billing(1_000)
  const driver = testDriver(flow)
  driver.pipe(orders, 'apple', 'first', { timestamp: NOW + 5 })
  expect(driver.read(bills)).toEqual([])
  driver.pipe(prices, 'apple', 3, { timestamp: NOW })
  driver.advanceWallClock(1_000)
  expect(driver.read(bills).map(({ value }) => value)).toEqual([3])
})
