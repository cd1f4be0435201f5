import { expect, test } from 'vitest'
import { readKafkaSecurity } from '../../kafka/config.ts'

const SIGN_IN = { KAFKA_SASL_MECHANISM: 'SCRAM-SHA-256', KAFKA_SASL_USERNAME: 'anna', KAFKA_SASL_PASSWORD: 'secret' }
/** Any readable file will do, because the test opens no connection. */
const FILE = import.meta.filename

test('TLS and authentication are disabled by default', () => {
  expect(readKafkaSecurity({})).toEqual({ tls: undefined, sasl: undefined })
})

test('the settings for TLS and authentication are read, including the files that they name', () => {
  const sasl = { mechanism: 'SCRAM-SHA-256', username: 'anna', password: 'secret' }
  expect(readKafkaSecurity({ ...SIGN_IN, KAFKA_TLS: '1' })).toEqual({ tls: {}, sasl })
  const files = { KAFKA_TLS_CA: FILE, KAFKA_TLS_CERT: FILE, KAFKA_TLS_KEY: FILE }
  const text = expect.stringContaining('nothing connects')
  expect(readKafkaSecurity({ ...files, KAFKA_TLS: '1' })).toEqual({ tls: { ca: text, cert: text, key: text }, sasl: undefined })
})

test.each([
  ['a broker with a protocol', { KAFKA_BROKERS: 'kafka://broker:9092' }, 'KAFKA_BROKERS: is not a list of host:port'],
  ['a file without TLS', { KAFKA_TLS_CA: FILE }, 'KAFKA_TLS_CA: has no effect without KAFKA_TLS=1'],
  ['a missing file', { KAFKA_TLS: '1', KAFKA_TLS_CA: '/nowhere.pem' }, 'KAFKA_TLS_CA: is not a readable file'],
  ['a certificate without its key', { KAFKA_TLS: '1', KAFKA_TLS_CERT: FILE }, 'KAFKA_TLS_KEY: is missing'],
  ['a key without its certificate', { KAFKA_TLS: '1', KAFKA_TLS_KEY: FILE }, 'KAFKA_TLS_CERT: is missing'],
  ['an unknown mechanism', { ...SIGN_IN, KAFKA_SASL_MECHANISM: 'GSSAPI' }, 'KAFKA_SASL_MECHANISM: is not one of PLAIN, SCRAM-SHA-256'],
  ['a user without a mechanism', { KAFKA_SASL_USERNAME: 'anna' }, 'KAFKA_SASL_USERNAME: has no effect without KAFKA_SASL_MECHANISM'],
  ['a user without a password', { ...SIGN_IN, KAFKA_SASL_PASSWORD: '' }, 'KAFKA_SASL_PASSWORD: is missing'],
  [
    'a password in clear text',
    { ...SIGN_IN, KAFKA_SASL_MECHANISM: 'PLAIN', NODE_ENV: 'production' },
    'PLAIN would send the password unencrypted',
  ],
])('%s is refused', (_, env, message) => {
  expect(() => readKafkaSecurity(env as Record<string, string>)).toThrow(message)
})

test('an error message about the password does not contain the password', () => {
  const read = () => readKafkaSecurity({ KAFKA_SASL_PASSWORD: 'hunter2' })
  expect(read).toThrow('KAFKA_SASL_PASSWORD')
  expect(read).not.toThrow('hunter2')
})
