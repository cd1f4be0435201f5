import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { type Report, settingsFragment, type ValueOf, type Values } from '../settings/fragment.ts'
import { addressesOf, documented, flag, list } from '../settings/variables.ts'
import { brokerAddress, type KafkaOptions } from './client/options.ts'

const MECHANISMS = ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'] as const
const TLS_FILES = ['KAFKA_TLS_CA', 'KAFKA_TLS_CERT', 'KAFKA_TLS_KEY'] as const

const text = z.string().optional()

const variables = {
  KAFKA_BROKERS: documented(
    list
      .refine((brokers) => brokers.every((broker) => brokerAddress.safeParse(broker).success), 'is not a list of host:port')
      .prefault('127.0.0.1:9092'),
    'addresses of the brokers; if set, `npm start` uses them instead of a local broker',
  ),
  KAFKA_TLS: documented(flag.prefault('0'), '1 if the brokers require TLS'),
  KAFKA_TLS_CA: documented(text, 'PEM file with the certificate authorities to trust for the brokers', 'those that Node trusts'),
  KAFKA_TLS_CERT: documented(text, 'PEM file with a client certificate, if the brokers ask for one'),
  KAFKA_TLS_KEY: documented(text, 'PEM file with the private key of the certificate in `KAFKA_TLS_CERT`'),
  KAFKA_SASL_MECHANISM: documented(
    z.enum(MECHANISMS, `is not one of ${MECHANISMS.join(', ')}`).optional(),
    `how to sign in to the brokers: ${MECHANISMS.join(', ')}`,
    'no sign-in',
  ),
  KAFKA_SASL_USERNAME: documented(text, 'name of the Kafka user'),
  KAFKA_SASL_PASSWORD: documented(text, 'password of `KAFKA_SASL_USERNAME`'),
  SCHEMA_REGISTRY_URL: documented(
    addressesOf('http', 'https').prefault('http://127.0.0.1:8081'),
    'address of the schema registry, with user and password if it needs them, or several addresses, separated by commas; if set, `npm start` uses it instead of starting a local one',
  ),
}

type KafkaVariables = Values<typeof variables>

/** The TLS and SASL options for connections to the brokers. */
export type KafkaSecurity = Pick<KafkaOptions, 'tls' | 'sasl'>

export const kafkaSettings = settingsFragment({
  variables,
  rules(env, report, { isProduction }) {
    checkTls(env, report)
    checkSasl(env, report)
    if (isProduction && env.KAFKA_SASL_MECHANISM === 'PLAIN' && !env.KAFKA_TLS)
      report('KAFKA_TLS', 'is missing: PLAIN would send the password unencrypted')
  },
  value: (env) => ({
    /** `host:port` of each broker. */
    brokers: env.KAFKA_BROKERS,
    security: securityOf(env),
    schemaRegistryUrl: env.SCHEMA_REGISTRY_URL,
  }),
})

/** The addresses of the brokers and the schema registry, and the TLS and SASL options for the brokers. */
export type KafkaSettings = ValueOf<typeof kafkaSettings>

function checkTls(env: KafkaVariables, report: Report): void {
  for (const name of TLS_FILES) {
    const file = env[name]
    if (file === undefined) continue
    if (!env.KAFKA_TLS) report(name, 'has no effect without KAFKA_TLS=1')
    else if (!isReadable(file)) report(name, 'is not a readable file')
  }
  if ((env.KAFKA_TLS_CERT === undefined) !== (env.KAFKA_TLS_KEY === undefined))
    report(
      env.KAFKA_TLS_CERT === undefined ? 'KAFKA_TLS_CERT' : 'KAFKA_TLS_KEY',
      'is missing: a certificate and its key must be set together',
    )
}

function checkSasl(env: KafkaVariables, report: Report): void {
  for (const name of ['KAFKA_SASL_USERNAME', 'KAFKA_SASL_PASSWORD'] as const) {
    if (env.KAFKA_SASL_MECHANISM === undefined && env[name] !== undefined) report(name, 'has no effect without KAFKA_SASL_MECHANISM')
    if (env.KAFKA_SASL_MECHANISM !== undefined && env[name] === undefined) report(name, 'is missing: KAFKA_SASL_MECHANISM needs it')
  }
}

function isReadable(file: string): boolean {
  try {
    readFileSync(file)
    return true
  } catch {
    return false
  }
}

function securityOf(env: KafkaVariables): KafkaSecurity {
  const pem = (file: string | undefined) => (file === undefined ? undefined : readFileSync(file, 'utf8'))
  return {
    tls: env.KAFKA_TLS ? { ca: pem(env.KAFKA_TLS_CA), cert: pem(env.KAFKA_TLS_CERT), key: pem(env.KAFKA_TLS_KEY) } : undefined,
    sasl: env.KAFKA_SASL_MECHANISM && {
      mechanism: env.KAFKA_SASL_MECHANISM,
      username: env.KAFKA_SASL_USERNAME,
      password: env.KAFKA_SASL_PASSWORD,
    },
  }
}
