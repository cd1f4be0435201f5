import { expect, test } from 'vitest'
import { FencedError, type GroupMember } from '../../kafka/transport.ts'
import { append, producerWorld, valuesIn } from './producer-world.ts'

/** A value that is large enough for `flushFull` to send it. */
const LARGE = 'x'.repeat(500_000)

test.each([
  { membership: 'lost', sent: [] },
  { membership: 'confirmed', sent: [LARGE] },
])(
  'if the membership is $membership, a producer without transactions sends $sent.length batches before the commit',
  async ({ membership, sent }) => {
    const { cluster, run } = producerWorld(2)
    async function confirm(): Promise<void> {
      if (membership === 'lost') throw new FencedError('the session timed out')
    }
    await run(async (_, transport) => {
      const producer = transport.producer({})
      await producer.init()
      append(producer, LARGE)
      await producer.flushFull({ confirm } as GroupMember).catch((error) => expect(error).toBeInstanceOf(FencedError))
    })
    expect(valuesIn(cluster)).toEqual(sent)
  },
)

test('a producer without transactions sends nothing if the membership is lost while it connects to the leader', async () => {
  const { cluster, network, now, run } = producerWorld(2)
  const sending = run(async (_, transport) => {
    const producer = transport.producer({})
    await producer.init()
    append(producer, LARGE)
    const [lostAt, connectedAt] = [now() + 1_000, now() + 2_000]
    network.cut((client, endpoint) => {
      network.partition(client, endpoint, connectedAt)
      return false
    })
    async function confirm(): Promise<void> {
      if (now() >= lostAt) throw new FencedError('the session timed out')
    }
    await producer.commit(new Map(), { confirm } as GroupMember)
  })
  await expect(sending).rejects.toThrow('the session timed out')
  expect(valuesIn(cluster)).toEqual([])
})
