import { expect, test } from 'vitest'
import { Writer } from '../../kafka/client/protocol.ts'
import type { Transport } from '../../kafka/transport.ts'
import { codeOf } from './cluster/errors.ts'
import { handleRequest } from './cluster/requests.ts'
import type { ClientRequest } from './network.ts'
import { append, producerWorld, TOPIC } from './producer-world.ts'

const PARTITION = { topic: TOPIC, partition: 0 }
const KEY = `${TOPIC}-0`
const LIST_OFFSETS = 2
const EPOCH_ENDS = 23
const UNEXPLAINED = codeOf('UNKNOWN_SERVER_ERROR')
const NOTHING = -1n

/** Answers a request with the error UNKNOWN_SERVER_ERROR. */
function fail({ apiKey, reply }: ClientRequest): void {
  const answer = Writer.create().appendInt32(0)
  answer.appendArray([TOPIC], (w, name) => {
    w.appendString(name).appendArray([PARTITION.partition], (inner, partition) => {
      if (apiKey === LIST_OFFSETS)
        inner.appendInt32(partition).appendInt16(UNEXPLAINED).appendInt64(NOTHING).appendInt64(NOTHING).appendInt32(-1)
      else inner.appendInt16(UNEXPLAINED).appendInt32(partition).appendInt32(-1).appendInt64(NOTHING)
    })
  })
  reply(answer.appendTaggedFields())
}

test.each<[string, number, (transport: Transport) => Promise<Map<string, number>>]>([
  ['the end of a log', LIST_OFFSETS, (transport) => transport.offsets([PARTITION], 'end')],
  ['the end of a leader epoch', EPOCH_ENDS, (transport) => transport.epochEnds([{ ...PARTITION, leaderEpoch: 0 }])],
])('if a broker answers once with an unknown error, the client repeats its request for %s', async (_, apiKey, ask) => {
  let failures = 1
  const { run } = producerWorld(2, (request, broker, cluster) => {
    if (request.apiKey === apiKey && failures-- > 0) fail(request)
    else handleRequest(request, broker, cluster)
  })
  await run(async (producer, transport) => {
    append(producer, 'a')
    await producer.commit(new Map(), undefined)
    expect((await ask(transport)).get(KEY)).toBeGreaterThan(0)
  })
  expect(failures).toBeLessThan(0)
})
