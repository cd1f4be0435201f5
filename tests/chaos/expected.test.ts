import { expect, test } from 'vitest'
import { partitionFor } from '../../kafka/partitioner.ts'
import { testDriver } from '../../pipelines/engine/testing.ts'
import { faults, type Log, progress, type ShopInput, type ShopOutput, type Timing } from './expected.ts'
import { PARTITIONS, type Payment, shop, shopTopics } from './shop.ts'

const topics = shopTopics('shop')
/** Pause between two payments. It is long enough for the topology to close a time in between. */
const BETWEEN_PAYMENTS_MS = 100

/** Computes the shop's output for a small input with the test driver. */
function run(): { input: ShopInput; output: ShopOutput; timing: Timing } {
  const driver = testDriver(shop('shop'))
  const payments: Payment[] = [
    { id: '1', merchant: 'm', region: 'r', amount: 5, at: 1_000 },
    { id: '2', merchant: 'm', region: 'r', amount: 7, at: 1_500 },
    { id: '3', merchant: 'n', region: 'r', amount: 1, at: 2_500 },
  ]
  const account = 'ann'
  driver.pipe(topics.receipts, account, { id: '2' }, { timestamp: 900 })
  const inLogBy = new Map<string, number>()
  for (const payment of payments) {
    driver.pipe(topics.payments, account, payment, { timestamp: payment.at })
    inLogBy.set(payment.id, driver.now)
    driver.advanceWallClock(BETWEEN_PAYMENTS_MS)
  }
  driver.pipe(topics.receipts, account, { id: '1' }, { timestamp: 2_600 })
  const end = { id: 'end', merchant: '', region: '', amount: 0, at: 100_000, end: true }
  driver.pipe(topics.payments, account, end, { timestamp: end.at })
  const log = <V>(records: readonly { key: string | undefined; value: V | null }[]): Log<V> => [
    records.map(({ key, value }) => ({ key: key as string, value: value as V })),
  ]
  const input = {
    payments: [[...payments, end].map((value) => ({ key: account, value }))],
    receipts: [['2', '1'].map((id) => ({ key: account, value: { id } }))],
  }
  const output = {
    ledger: log(driver.read(topics.ledger)),
    matched: log(driver.read(topics.matched)),
    reminders: log(driver.read(topics.reminders)),
    windows: log(driver.read(topics.windows)),
    regions: log(driver.read(topics.regions)),
    closings: log(driver.read(topics.closings)),
  }
  return { input, output, timing: { inLogBy, doubtful: [], now: driver.now } }
}

test("the shop's output matches the offline computation", () => {
  const { input, output, timing } = run()
  expect(faults(input, output, timing)).toEqual([])
  expect(progress(input, output, timing).done).toBe(true)
})

const outputs = ['ledger', 'matched', 'reminders', 'windows', 'regions'] as const

test.each(outputs)('a lost record of %s is reported, and the output is incomplete without it', (name) => {
  const { input, output, timing } = run()
  for (let at = 0; at < output[name][0].length; at++) {
    const less = { ...output, [name]: [output[name][0].toSpliced(at, 1)] }
    expect(faults(input, less, timing)).not.toEqual([])
    expect(progress(input, less, timing).done).toBe(false)
  }
})

test.each(outputs)('a duplicate record of %s is reported', (name) => {
  const { input, output, timing } = run()
  for (let at = 0; at < output[name][0].length; at++) {
    // biome-ignore lint/suspicious/noExplicitAny: records of any topic
    const [log] = output[name] as any[][]
    expect(faults(input, { ...output, [name]: [log.toSpliced(at, 0, log[at])] }, timing)).not.toEqual([])
  }
})

test('a balance that lacks an earlier payment is reported', () => {
  const { input, output, timing } = run()
  const [ledger] = output.ledger
  const wrong = ledger.with(2, { ...ledger[2], value: { ...ledger[2].value, balance: 8 } })
  expect(faults(input, { ...output, ledger: [wrong] }, timing)).toEqual(['ledger of ann, entry 3: 3 8 3 instead of 3 13 3'])
})

test('times that were closed twice, out of order, with fewer payments than before or with more than exist are reported', () => {
  const { merchant, judged } = closings()
  expect(judged([100, 0], [200, 2], [300, 3])).toEqual([])
  expect(judged([100, 0], [200, 3], [200, 3])).toEqual([`partition ${merchant} closed 200 after 200`])
  expect(judged([100, 0], [300, 2], [200, 3])).toEqual([`partition ${merchant} closed 200 after 300`])
  expect(judged([100, 2], [200, 1], [300, 3])).toEqual([`partition ${merchant} had 1 payments at 200, but 2 before`])
  expect(judged([100, 4], [200, 4])).toContain(`partition ${merchant} closed 100 with 4 payments, but only 3 exist`)
})

test('a time that was closed before all payments in the log were counted is reported', () => {
  const { merchant, judged } = closings({
    inLogBy: new Map([
      ['1', 50],
      ['2', 150],
    ]),
  })
  expect(judged([51, 1], [150, 1], [160, 2], [300, 3])).toEqual([])
  expect(judged([51, 0], [300, 3])).toEqual([`partition ${merchant} closed 51 with 0 payments, but the log had 1`])
  expect(judged([160, 1], [300, 3])).toEqual([`partition ${merchant} closed 160 with 1 payments, but the log had 2`])
})

test('a partition whose last closed time lacks payments is reported, and the output is incomplete until a time with all payments is closed', () => {
  const { merchant, judged, done } = closings()
  expect(judged()).toEqual([`partition ${merchant} has closed no time and counted 0 payments, but 3 exist`])
  expect(judged([100, 0], [200, 2])).toEqual([`partition ${merchant} closed its last time with 2 payments, but 3 exist`])
  expect(done([100, 0], [200, 2])).toBe(false)
  expect(done([100, 0], [200, 3])).toBe(true)
})

test('a time that closes with too few payments or is in the future is accepted only if a clock was wrong', () => {
  const inLogBy = new Map([['1', 50]])
  const { merchant, judged, done } = closings({ inLogBy, doubtful: [[100, 200]] })
  expect(judged([100, 0], [200, 0], [300, 3])).toEqual([])
  expect(judged([99, 0], [300, 3])).toEqual([`partition ${merchant} closed 99 with 0 payments, but the log had 1`])
  expect(judged([201, 0], [300, 3])).toEqual([`partition ${merchant} closed 201 with 0 payments, but the log had 1`])
  expect(judged([1_001, 0])).toEqual([])
  expect(done([1_001, 0])).toBe(true)
  expect(closings({ inLogBy }).judged([1_001, 0])).toEqual([
    `partition ${merchant} closed 1001 with 0 payments, but the log had 1`,
    `partition ${merchant} closed its last time with 0 payments, but 3 exist`,
  ])
})

/**
 * Returns functions that judge the closed times of a merchant's partition, which has three payments. The other
 * partitions have no payments. The current time is 1,000.
 */
function closings(timing: Partial<Timing> = {}) {
  const { input, output } = run()
  const all = { inLogBy: new Map<string, number>(), doubtful: [], now: 1_000, ...timing }
  const merchant = partitionFor(Buffer.from('m'), PARTITIONS)
  const toOne = (value: Payment) => (value.end === true ? value : { ...value, merchant: 'm' })
  const payments = [input.payments[0].map(({ key, value }) => ({ key, value: toOne(value) }))]
  const written = (closed: readonly (readonly [time: number, payments: number])[]): ShopOutput => ({
    ...output,
    closings: Array.from({ length: PARTITIONS }, (_, partition) => {
      const list = partition === merchant ? closed : ([[100, 0]] as const)
      return list.map(([time, payments]) => ({ key: String(partition), value: { time, partition, payments } }))
    }),
  })
  const ofTimes = (fault: string) => fault.startsWith('partition ')
  return {
    merchant,
    judged: (...closed: readonly (readonly [time: number, payments: number])[]) =>
      faults({ ...input, payments }, written(closed), all).filter(ofTimes),
    done: (...closed: readonly (readonly [time: number, payments: number])[]) =>
      progress({ ...input, payments }, written(closed), all).done,
  }
}
