import { expect, test } from 'vitest'
import { testDriver } from '../../pipelines/engine/test-driver.ts'
import { faults, type Log, progress, type ShopInput, type ShopOutput } from './expected.ts'
import { type Payment, shop, shopTopics } from './shop.ts'

const topics = shopTopics('shop')

/** What the shop writes for a small input, computed by the test driver. */
function run(): { input: ShopInput; output: ShopOutput } {
  const driver = testDriver(shop('shop'))
  const payments: Payment[] = [
    { id: '1', merchant: 'm', region: 'r', amount: 5, at: 1_000 },
    { id: '2', merchant: 'm', region: 'r', amount: 7, at: 1_500 },
    { id: '3', merchant: 'n', region: 'r', amount: 1, at: 2_500 },
  ]
  const account = 'ann'
  driver.pipe(topics.receipts, account, { id: '2' }, { timestamp: 900 })
  for (const payment of payments) driver.pipe(topics.payments, account, payment, { timestamp: payment.at })
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
  return { input, output }
}

test('what the shop writes is what the offline computation expects', () => {
  const { input, output } = run()
  expect(faults(input, output)).toEqual([])
  expect(progress(input, output).done).toBe(true)
})

const outputs = ['ledger', 'matched', 'reminders', 'windows', 'regions'] as const

test.each(outputs)('a record of %s that is lost is found, and waited for', (name) => {
  const { input, output } = run()
  for (let at = 0; at < output[name][0].length; at++) {
    const less = { ...output, [name]: [output[name][0].toSpliced(at, 1)] }
    expect(faults(input, less)).not.toEqual([])
    expect(progress(input, less).done).toBe(false)
  }
})

test.each(outputs)('a record of %s that was written twice is found', (name) => {
  const { input, output } = run()
  for (let at = 0; at < output[name][0].length; at++) {
    // biome-ignore lint/suspicious/noExplicitAny: the records of one topic or another
    const [log] = output[name] as any[][]
    expect(faults(input, { ...output, [name]: [log.toSpliced(at, 0, log[at])] })).not.toEqual([])
  }
})

test('state that was set back, or that holds an aborted change, is found', () => {
  const { input, output } = run()
  const [ledger] = output.ledger
  const wrong = ledger.with(2, { ...ledger[2], value: { ...ledger[2].value, balance: 8 } })
  expect(faults(input, { ...output, ledger: [wrong] })).toEqual(['ledger of ann, entry 3: 3 8 3 instead of 3 13 3'])
})

test('times that were closed twice, out of order, or with less than before are found', () => {
  const { input, output } = run()
  const judged = (...closed: readonly (readonly [time: number, payments: number])[]) =>
    faults(input, {
      ...output,
      closings: [closed.map(([time, payments]) => ({ key: '0', value: { time, partition: 0, payments } }))],
    })
  expect(judged([100, 0], [200, 2], [300, 3])).toEqual([])
  expect(judged([100, 0], [200, 2], [200, 2])).toEqual(['partition 0 closed 200 after 200'])
  expect(judged([100, 0], [300, 2], [200, 2])).toEqual(['partition 0 closed 200 after 300'])
  expect(judged([100, 2], [200, 1])).toEqual(['partition 0 had 1 payments at 200, but 2 before'])
  expect(judged([100, 4])).toEqual(['times were closed with 4 payments of 3'])
})
