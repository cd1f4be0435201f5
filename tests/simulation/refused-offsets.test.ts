import { expect, test } from 'vitest'
import { Writer } from '../../kafka/client/protocol.ts'
import { codeOf } from './cluster/errors.ts'
import { handleRequest } from './cluster/requests.ts'
import type { ClientRequest } from './network.ts'
import { append, producerWorld, TOPIC } from './producer-world.ts'

const PARTITION = { topic: TOPIC, partition: 0 }
const PRODUCE = 0
const TXN_OFFSET_COMMIT = 28
const REFUSED = 'TOPIC_AUTHORIZATION_FAILED'

/** Answers that the client may not commit offsets of the topic. */
function refuse({ reply }: ClientRequest): void {
  const answer = Writer.create().appendInt32(0)
  answer.appendArray([TOPIC], (w, name) => {
    w.appendString(name).appendArray([PARTITION.partition], (inner, partition) => {
      inner.appendInt32(partition).appendInt16(codeOf(REFUSED))
    })
  })
  reply(answer.appendTaggedFields())
}

test.each([1, 2] as const)('version %i: if brokers refuse the offsets of a commit, the commit fails with their reason', async (version) => {
  let acknowledge: (() => void) | undefined
  const { run } = producerWorld(version, (request, broker, cluster) => {
    if (request.apiKey === TXN_OFFSET_COMMIT) {
      refuse(request)
      acknowledge?.()
    } else if (request.apiKey === PRODUCE && version === 1) {
      // The records are acknowledged only after the offsets are refused.
      acknowledge = () => handleRequest(request, broker, cluster)
    } else handleRequest(request, broker, cluster)
  })
  await run(async (producer, transport) => {
    const member = transport.groupMember({ groupId: 'group', memberId: '00000000-0000-4000-8000-000000000001', topics: [TOPIC] })
    await member.join()
    append(producer, 'record')
    const committing = producer.commit(new Map([['input', { ...PARTITION, offset: 7 }]]), member)
    await expect(committing).rejects.toMatchObject({ code: REFUSED, fatal: true })
  })
})
