import { partitionFor } from '../../kafka/partitioner.ts'
import { integer } from '../../tools/random/random.ts'
import { faults, type Log, progress, type ShopInput, type ShopOutput, type Timing } from '../chaos/expected.ts'
import { PARTITIONS, type Payment, shop, shopTopics } from '../chaos/shop.ts'
import type { Cluster } from './cluster/cluster.ts'
import { committedRecords } from './read-log.ts'
import type { InputRecord, InputTimes, Subject } from './subject.ts'

const NAME = 'shop'
const ACCOUNTS = 8
const MERCHANTS = 4
const REGIONS = 3
const MOST_AMOUNT = 99
const SHARE_BROKEN = 0.02
const HOUR_MS = 3_600_000

/** The shop of the chaos tests, with joins, timers, windows and time markers. */
export function shopSubject(standby: 0 | 1): Subject {
  const topics = shopTopics(NAME)

  function record(topic: string, account: string, timestamp: number, value: object): InputRecord {
    return { topic, timestamp, partition: partitionFor(Buffer.from(account), PARTITIONS), key: account, value: JSON.stringify(value) }
  }

  function input(number: number, random: () => number, at: number): InputRecord[] {
    const account = `account-${integer(random, ACCOUNTS)}`
    const id = String(number)
    const payment: Payment = {
      id,
      merchant: `m${integer(random, MERCHANTS)}`,
      region: `r${integer(random, REGIONS)}`,
      amount: 1 + integer(random, MOST_AMOUNT),
      at,
      broken: random() < SHARE_BROKEN,
    }
    const paid = record(topics.payments.name, account, at, payment)
    const received = record(topics.receipts.name, account, at, { id })
    const order = random()
    if (order < 0.4) return [received, paid]
    return order < 0.8 ? [paid, received] : [paid]
  }

  function end(now: number): InputRecord[] {
    const payment: Payment = { id: 'end', merchant: '', region: '', amount: 0, at: now + HOUR_MS, end: true }
    const { name: topic } = topics.payments
    const value = JSON.stringify(payment)
    return Array.from({ length: PARTITIONS }, (_, partition) => ({
      topic,
      partition,
      key: `end-${partition}`,
      value,
      timestamp: payment.at,
    }))
  }

  function read<V>(cluster: Cluster, { name }: { readonly name: string }): Log<V> {
    return committedRecords(cluster, name).map((records) => records.map(({ key, value }) => ({ key, value: JSON.parse(value) as V })))
  }

  const given = (cluster: Cluster): ShopInput => ({ payments: read(cluster, topics.payments), receipts: read(cluster, topics.receipts) })

  const written = (cluster: Cluster): ShopOutput => ({
    ledger: read(cluster, topics.ledger),
    matched: read(cluster, topics.matched),
    reminders: read(cluster, topics.reminders),
    windows: read(cluster, topics.windows),
    regions: read(cluster, topics.regions),
    closings: read(cluster, topics.closings),
  })

  const timing = ({ acknowledgedAt, now, clocksWereWrong }: InputTimes): Timing => ({
    inLogBy: new Map([...acknowledgedAt].map(([number, at]) => [String(number), at])),
    doubtful: clocksWereWrong ? [[0, Number.POSITIVE_INFINITY]] : [],
    now,
  })

  return {
    topology: shop(NAME, { standby }),
    inputs: [topics.payments, topics.receipts],
    input,
    end,
    isComplete: (cluster, times) => progress(given(cluster), written(cluster), timing(times)).done,
    deviations: (cluster, _sent, times) => faults(given(cluster), written(cluster), timing(times)),
  }
}
