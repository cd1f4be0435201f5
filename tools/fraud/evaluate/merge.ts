import type { LabelledPayment } from './payments.ts'

/** Merges two recordings in chronological order. A payment that both recordings contain is returned once. */
export async function* merged(one: AsyncIterable<LabelledPayment>, other: AsyncIterable<LabelledPayment>): AsyncGenerator<LabelledPayment> {
  const sources = [one[Symbol.asyncIterator](), other[Symbol.asyncIterator]()]
  const heads = await Promise.all(sources.map((source) => source.next()))
  let time = Number.NEGATIVE_INFINITY
  let idsOfTime = new Set<string>()
  while (true) {
    const [first, second] = heads
    if (first.done && second.done) return
    const from = second.done || (!first.done && first.value.request.timestamp <= second.value.request.timestamp) ? 0 : 1
    const payment: LabelledPayment = heads[from].value
    heads[from] = await sources[from].next()
    const { transaction_id, timestamp } = payment.request
    if (timestamp !== time) {
      time = timestamp
      idsOfTime = new Set()
    }
    if (idsOfTime.has(transaction_id)) continue
    idsOfTime.add(transaction_id)
    yield payment
  }
}
