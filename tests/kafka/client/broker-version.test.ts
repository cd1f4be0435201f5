import { expect, test } from 'vitest'
import { refuseOldBroker } from '../../../kafka/client/broker-version.ts'
import * as protocol from '../../../kafka/client/protocol.ts'

/** The part of Kafka 4.2's ApiVersions response that the transport checks. */
const KAFKA_4_2 = new Map([
  [0, [3, 13]],
  [1, [4, 18]],
  [2, [1, 11]],
  [3, [0, 13]],
  [8, [2, 10]],
  [9, [1, 10]],
  [10, [0, 6]],
  [19, [2, 7]],
  [22, [0, 6]],
  [23, [2, 4]],
  [24, [0, 5]],
  [25, [0, 4]],
  [26, [0, 5]],
  [28, [0, 5]],
  [32, [1, 4]],
  [44, [0, 1]],
  [65, [0, 0]],
  [66, [0, 2]],
  [68, [0, 1]],
  [69, [0, 1]],
])

function broker(changes: Record<number, readonly [number, number] | undefined> = {}, groupVersion = 1, transactionVersion = 2) {
  const apis = new Map<number, readonly number[] | undefined>([
    ...KAFKA_4_2,
    ...Object.entries(changes).map(([key, range]) => [Number(key), range] as const),
  ])
  return {
    errorCode: 0,
    apiKeys: [...apis]
      .filter(([, range]) => range !== undefined)
      .map(([apiKey, range]) => ({ apiKey, minVersion: range![0], maxVersion: range![1] })),
    finalizedFeatures: [
      { name: 'group.version', maxVersionLevel: groupVersion },
      { name: 'transaction.version', maxVersionLevel: transactionVersion },
    ],
  }
}

test('Kafka 4.2 is accepted', () => {
  expect(() => refuseOldBroker(broker(), 'b:1')).not.toThrow()
})

/**
 * The requests of the protocol package that the transport sends, with their API keys. ApiVersions is left out, because
 * the check itself uses its response.
 */
const sent = Object.entries(protocol).flatMap(([name, value]) =>
  typeof value === 'object' && value !== null && 'api' in value && value !== protocol.apiVersionsV3 ? [[name, value.api.key] as const] : [],
)

test('the list of requests for the next test has more than 15 entries', () => {
  expect(sent.length).toBeGreaterThan(15)
})

test.each(sent)('a broker that does not support %s is refused', (_, key) => {
  expect(() => refuseOldBroker(broker({ [key]: undefined }), 'b:1')).toThrow(' is needed')
})

test('a broker without the request versions of transaction version 2 is accepted if the cluster has not enabled transaction version 2', () => {
  expect(() => refuseOldBroker(broker({ 0: [3, 11], 26: [0, 4], 28: [0, 4] }, 1, 1), 'b:1')).not.toThrow()
})

test.each([
  [32, 'DescribeConfigs, but v4'],
  [65, 'DescribeTransactions, but v0'],
  [66, 'ListTransactions, but v1'],
  [69, 'ConsumerGroupDescribe, but v0'],
])('a broker that lacks the request with API key %i is refused', (key, needed) => {
  expect(() => refuseOldBroker(broker({ [key]: undefined }), 'b:1')).toThrow(`it supports no ${needed} is needed`)
})

test.each([
  [0, 'Produce up to v11, but v12'],
  [26, 'EndTxn up to v4, but v5'],
  [28, 'TxnOffsetCommit up to v4, but v5'],
])('with transaction version 2, a broker that supports only older versions of the request with API key %i is refused', (key, needed) => {
  const highest = Number(/up to v(\d+)/.exec(needed)?.[1])
  expect(() => refuseOldBroker(broker({ [key]: [0, highest] }), 'b:1')).toThrow(`it supports ${needed} is needed`)
})

test.each([
  [
    'Kafka 3.9, which has an early version of the group protocol,',
    broker({ 68: [0, 0] }),
    /supports ConsumerGroupHeartbeat up to v0, but v1 is needed; upgrade to Kafka 4\.0/,
  ],
  ['Kafka 3.6, which lacks the group protocol,', broker({ 68: undefined }), /supports no ConsumerGroupHeartbeat, but v1 is needed/],
  ['a broker whose group protocol is disabled', broker({}, 0), /group\.version is off; enable it: kafka-features\.sh upgrade/],
  ['a broker that is too new', broker({ 1: [18, 25] }), /no longer supports Fetch v17 \(oldest: v18\)/],
  ['a broker that does not support the ApiVersions request', { errorCode: 35, apiKeys: [] }, /UNSUPPORTED_VERSION.*Kafka 4\.0 or newer/],
])('%s is refused', (_name, versions, reason) => {
  expect(() => refuseOldBroker(versions, 'b:1')).toThrow(reason)
  expect(() => refuseOldBroker(versions, 'b:1')).toThrow(expect.objectContaining({ code: 'UNSUPPORTED_BROKER', fatal: true }))
})
