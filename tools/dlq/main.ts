/** Entry point of `npm run dlq` (see main.command.ts). Reads the settings of kafka/settings.ts as workers do. */
import { Admin } from '@platformatic/kafka'
import { pino } from 'pino'
import { kafkaTransport } from '../../kafka/client/index.ts'
import { registryClient } from '../../kafka/registry.ts'
import { SchemaNotFoundError } from '../../kafka/registry-interface.ts'
import type { KafkaSettings } from '../../kafka/settings.ts'
import { type DeadLetterRecord, deadLetterTopicName } from '../../pipelines/engine/index.ts'
import { directOutput, STDERR } from '../../runtime/log-output.ts'
import { systemRuntime } from '../../runtime/system.ts'
import { avroValue } from '../../schemas/avro/value.ts'
import type { Codec } from '../../schemas/codec.ts'
import type { AvroSchema } from '../../schemas/topic.ts'
import { commandLine, runMain } from '../../scripts/command-line/main.ts'
import { runDlq } from './command.ts'
import { readDlqConfig } from './config.ts'
import declaration from './main.command.ts'

const CLIENT_ID = 'millrace-dlq'
const SUFFIX = deadLetterTopicName('')
/** Length of the header in Confluent's wire format: a zero byte and the schema's id. */
const WIRE_FORMAT_BYTES = 5

async function namesWithDeadLetters({ brokers, security }: KafkaSettings): Promise<string[]> {
  const admin = new Admin({ ...security, clientId: CLIENT_ID, bootstrapBrokers: [...brokers] })
  try {
    const topics = await admin.listTopics()
    return topics.filter((topic) => topic.endsWith(SUFFIX)).map((topic) => topic.slice(0, -SUFFIX.length))
  } finally {
    await admin.close()
  }
}

function schemaIdOf(value: Buffer | null): number | undefined {
  return value !== null && value.length >= WIRE_FORMAT_BYTES && value[0] === 0 ? value.readInt32BE(1) : undefined
}

/**
 * Loads the schemas of the values from the registry, and returns a function that decodes these values. The function
 * returns undefined for a value whose schema the registry lacks, and for a value without a schema id.
 */
async function decoderFor(config: KafkaSettings, letters: readonly DeadLetterRecord[]): Promise<(value: Buffer) => unknown> {
  const registry = registryClient({ url: config.schemaRegistryUrl })
  const codecs = new Map<number, Codec<unknown>>()
  for (const id of new Set(letters.map((letter) => schemaIdOf(letter.value)))) {
    if (id === undefined) continue
    try {
      const schema = JSON.parse(await registry.schemaById(id)) as AvroSchema
      codecs.set(id, avroValue(schema).open(id, { get: () => undefined }))
    } catch (error) {
      if (!(error instanceof SchemaNotFoundError)) throw error
    }
  }
  return (value) => codecs.get(schemaIdOf(value) ?? -1)?.decode(value, 0, value.length)
}

async function main(): Promise<void> {
  const asked = commandLine(declaration)
  const config = readDlqConfig()
  const log = pino({ level: 'warn' }, directOutput(STDERR))
  const transport = kafkaTransport(
    { ...config.security, brokers: [...config.brokers], clientId: CLIENT_ID },
    { runtime: systemRuntime(log) },
  )
  try {
    await transport.connect()
    await runDlq(asked, {
      transport,
      names: () => namesWithDeadLetters(config),
      decoder: (letters) => decoderFor(config, letters),
      print: (text) => process.stdout.write(text),
    })
  } finally {
    await transport.close()
  }
}

await runMain(main)
