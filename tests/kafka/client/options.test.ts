import { expect, test } from 'vitest'
import { type KafkaOptions, kafkaTransport } from '../../../kafka/client/index.ts'
import { systemRuntime } from '../../../runtime/system.ts'
import { silent } from './harness.ts'

function transportWith(options: Partial<KafkaOptions>) {
  return () => kafkaTransport({ brokers: ['localhost:9092'], clientId: 'test', ...options }, { runtime: systemRuntime(silent) })
}

test.each<[string, Partial<KafkaOptions>, RegExp]>([
  ['no broker', { brokers: [] }, /name at least one broker/],
  ['a broker without a port', { brokers: ['localhost'] }, /a broker is host:port, e\.g\. 127\.0\.0\.1:9092/],
  [
    'a password mechanism without a password',
    { sasl: { mechanism: 'PLAIN', username: 'me' } },
    /the other mechanisms need username and password/,
  ],
  ['a token mechanism without a token', { sasl: { mechanism: 'OAUTHBEARER' } }, /OAUTHBEARER needs token/],
  [
    'a delivery timeout below the request timeout',
    { deliveryTimeoutMs: 1, requestTimeoutMs: 2 },
    /a single unanswered request takes that long/,
  ],
])('a transport with %s does not start', (_name, options, message) => {
  expect(transportWith(options)).toThrow(message)
})

test('brokers may be given as host names, IPv4 addresses or IPv6 addresses', () => {
  expect(transportWith({ brokers: ['kafka.example:9092', '10.0.0.1:9092', '[::1]:9092'] })).not.toThrow()
})
