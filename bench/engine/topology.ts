import { type Topology, topology } from '../../pipelines/engine/topology.ts'
import { avroValue } from '../../schemas/avro/value.ts'
import { utf8 } from '../../schemas/keys.ts'
import { rawValue } from '../../schemas/raw.ts'
import type { Topic } from '../../schemas/topic.ts'
import { keyedStore } from '../../state/stores/keyed-store.ts'
import { bareAvro, enrichedSchema, type Payment, paymentSchema } from './payments.ts'
import { addPayment, type CardState, type Enriched, newCard } from './velocity.ts'

export const PARTITIONS = 4
/** Event times lie years back. */
const KEEP_ALL = { 'retention.ms': '-1' }

const cards = avroValue<CardState>({
  type: 'record',
  name: 'CardState',
  namespace: 'millrace.bench',
  fields: [
    { name: 'last_ts', type: 'long' },
    { name: 'ts', type: { type: 'array', items: 'long' } },
    { name: 'cents', type: { type: 'array', items: 'long' } },
  ],
})

export function inputTopic(name: string): Topic<string, Payment> {
  return { name, key: utf8, value: rawValue(bareAvro<Payment>(paymentSchema)), partitions: PARTITIONS, config: KEEP_ALL }
}

export function outputTopic(name: string): Topic<string, Enriched> {
  return { name, key: utf8, value: rawValue(bareAvro<Enriched>(enrichedSchema)), partitions: PARTITIONS, config: KEEP_ALL }
}

/** Job J2 of the peers: one read-modify-write of the card's state per payment. */
export function velocityFeatures(name: string, input: string, output: string, onRecord: () => void): Topology {
  const payments = inputTopic(input)
  const features = outputTopic(output)
  return topology(name, (t) => {
    const states = t.store(keyedStore('cards', { key: utf8, value: cards }))
    t.source(payments).process(
      'velocity',
      { reads: (_payment, key) => states.prefetch(key as string), stores: [states], emits: [features] },
      function velocity(payment, ctx) {
        onRecord()
        const key = ctx.key as string
        const card = states.get(key) ?? newCard()
        ctx.emit(features, key, addPayment(card, payment))
        states.put(key, card)
      },
    )
  })
}
