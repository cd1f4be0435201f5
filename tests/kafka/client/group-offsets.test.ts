import { expect, test } from 'vitest'
import type { Coordinator } from '../../../kafka/client/coordinator.ts'
import { MemberFenced } from '../../../kafka/client/errors.ts'
import { repeat } from '../../../kafka/client/group-offsets.ts'
import { type Context, kafkaOptions } from '../../../kafka/client/options.ts'
import { systemRuntime } from '../../../runtime/system.ts'
import { silent } from './harness.ts'

/** More than half of the 20 repetitions that the client allows with the same member epoch. */
const REFUSALS = 15

/**
 * Repeats a request that the broker first refuses `REFUSALS` times for each of these member epochs, and then accepts.
 * After the last refusal of an epoch, the next heartbeat returns the following epoch.
 */
async function refusedFor(epochs: readonly number[]): Promise<void> {
  const runtime = { ...systemRuntime(silent), sleep: async () => {} }
  const closing = new AbortController().signal
  const context: Context = { options: kafkaOptions.parse({ brokers: ['localhost:9092'], clientId: 'test' }), closing, runtime }
  const coordinator: Coordinator = { send: () => Promise.reject(new Error('not used')), forget() {}, async close() {} }
  let refusals = 0
  const epoch = () => epochs[Math.min(Math.floor(refusals / REFUSALS), epochs.length - 1)]
  let current = epochs[0]
  const owner = {
    groupId: 'g',
    memberId: 'm',
    get epoch() {
      return current
    },
    async heartbeat() {
      current = epoch()
    },
    signal: closing,
  }
  await repeat(context, coordinator, owner, 'committing', async () =>
    refusals++ < epochs.length * REFUSALS ? ['STALE_MEMBER_EPOCH'] : ['NONE'],
  )
}

test('if the broker refuses a request because of its member epoch, each new epoch allows the full number of repetitions', async () => {
  await expect(refusedFor([1, 2])).resolves.toBeUndefined()
  await expect(refusedFor([1, 1])).rejects.toThrow(MemberFenced)
})
