import { expect, test } from 'vitest'
import { FencedError, type GroupMember } from '../../kafka/transport.ts'
import { append, producerWorld, valuesIn } from './producer-world.ts'

/** A value that is large enough for `flushFull` to send it. */
const LARGE = 'x'.repeat(500_000)

test.each([
  { membership: 'lost', sent: [] },
  { membership: 'confirmed', sent: [LARGE] },
])('if the membership is $membership, a producer without transactions sends $sent.length batches early', async ({ membership, sent }) => {
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
})
