import { expect, test } from 'vitest'
import type { OffsetToCommit } from '../../kafka/transport.ts'
import { handleRequest } from './cluster/requests.ts'
import { append, producerWorld, TOPIC, valuesIn } from './producer-world.ts'

const PARTITION = { topic: TOPIC, partition: 0 }
const PRODUCE = 0
const TXN_OFFSET_COMMIT = 28
/**
 * After this many round trips, a request has certainly arrived, unless the client holds it back until the response to
 * another request arrives.
 */
const ROUND_TRIPS = 20

test.each([
  { version: 1, arrivesBefore: true },
  { version: 2, arrivesBefore: false },
] as const)(
  'transactions of version $version: the offsets arrive before the records are acknowledged: $arrivesBefore',
  async ({ version, arrivesBefore }) => {
    const arrived: number[] = []
    let acknowledge: (() => void) | undefined
    const { cluster, run } = producerWorld(version, (request, broker, cluster) => {
      arrived.push(request.apiKey)
      if (request.apiKey === PRODUCE) acknowledge = () => handleRequest(request, broker, cluster)
      else handleRequest(request, broker, cluster)
    })
    await run(async (producer, transport) => {
      const member = transport.groupMember({ groupId: 'group', memberId: '00000000-0000-4000-8000-000000000001', topics: [TOPIC] })
      await member.join()
      append(producer, 'record')
      const offsets = new Map<string, OffsetToCommit>([['input', { ...PARTITION, offset: 7 }]])
      const committing = producer.commit(offsets, member)
      for (let trip = 0; trip < ROUND_TRIPS; trip++) await transport.offsets([PARTITION], 'end')
      expect(arrived.includes(TXN_OFFSET_COMMIT)).toBe(arrivesBefore)
      acknowledge?.()
      await committing
    })
    expect(arrived).toContain(TXN_OFFSET_COMMIT)
    expect(valuesIn(cluster)).toEqual(['record'])
  },
)
