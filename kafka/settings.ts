import { settingsFragment, type ValueOf } from '../settings/fragment.ts'
import { addressOf, documented, list } from '../settings/variables.ts'

const BROKER = /^\S+:\d+$/

export const kafkaSettings = settingsFragment({
  variables: {
    KAFKA_BROKERS: documented(
      list.refine((brokers) => brokers.every((broker) => BROKER.test(broker)), 'is not a list of host:port').prefault('127.0.0.1:9092'),
      'brokers; `npm start` uses given ones instead of a local one',
    ),
    SCHEMA_REGISTRY_URL: documented(
      addressOf('http', 'https').prefault('http://127.0.0.1:8081'),
      'address of the schema registry; if set, `npm start` uses it instead of starting a local one',
    ),
  },
  value: (env) => ({
    /** `host:port` of each broker. */
    brokers: env.KAFKA_BROKERS,
    schemaRegistryUrl: env.SCHEMA_REGISTRY_URL,
  }),
})

/** The addresses of Kafka and of its schema registry. */
export type KafkaSettings = ValueOf<typeof kafkaSettings>
