import { avroValue, keyedStore, rawValue, type Topic, type Topology, topology, utf8 } from '../../../pipelines/engine/index.ts'
import { bareAvro } from '../bare-avro.ts'
import { type JobTopology, KEEP_ALL, PARTITIONS } from '../job.ts'
import { paddings } from './padding.ts'
import { enrichedSchema, type Payment, paymentSchema } from './payments.ts'
import { addPayment, type CardState, type Enriched, newCard } from './velocity.ts'

const FIELDS = [
  { name: 'last_ts', type: 'long' },
  { name: 'ts', type: { type: 'array', items: 'long' } },
  { name: 'cents', type: { type: 'array', items: 'long' } },
]
const CARD = { type: 'record', name: 'CardState', namespace: 'millrace.bench', fields: FIELDS }
const PADDED_CARD = { ...CARD, fields: [...FIELDS, { name: 'padding', type: 'bytes' }] }

/** Creates the topology of J2. For each payment, it reads, modifies and writes the card's state once. */
export function velocityFeatures({ name, input, output, onRecord, standby, statePadding = 0 }: JobTopology): Topology {
  const place = { key: utf8, partitions: PARTITIONS, config: KEEP_ALL }
  const payments: Topic<string, Payment> = { ...place, name: input, value: rawValue(bareAvro<Payment>(paymentSchema)) }
  const features: Topic<string, Enriched> = { ...place, name: output, value: rawValue(bareAvro<Enriched>(enrichedSchema)) }
  const value = avroValue<CardState>(statePadding === 0 ? CARD : PADDED_CARD)
  const paddingOf = statePadding === 0 ? undefined : paddings(statePadding)
  return topology(
    name,
    (t) => {
      const states = keyedStore('cards', { key: utf8, value })
      t.source(payments).process(
        'velocity',
        { reads: (_payment, key) => states.prefetch(key), stores: [states], emits: [features] },
        function velocity(payment, ctx) {
          onRecord()
          const { key } = ctx
          const card = states.get(key) ?? newCard(paddingOf?.(payment.card))
          ctx.emit(features, key, addPayment(card, payment))
          states.put(key, card)
        },
      )
    },
    { standby },
  )
}
