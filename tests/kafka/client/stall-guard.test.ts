import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Worker } from 'node:worker_threads'
import { expect, onTestFinished, test } from 'vitest'
import type { KeptSession } from '../../../kafka/client/kept-session.ts'
import { type Context, kafkaOptions } from '../../../kafka/client/options.ts'
import { openStallGuard } from '../../../kafka/client/stall-guard.ts'
import { manualRuntime } from '../../../runtime/manual.ts'

const SESSION: KeptSession = { groupId: 'g', memberId: 'm', epoch: 1, owned: [], intervalMs: 1_000, clientId: 'test' }

test('if the system permits no further threads, the stall guard does not throw, and tries again after a minute', () => {
  const parsed = kafkaOptions.parse({ brokers: ['127.0.0.1:9092'], clientId: 'test' })
  const logged: string[] = []
  const log = { debug() {}, info() {}, warn: (_: object, event: string) => void logged.push(event), error() {} }
  // A thread cannot receive a function, so the constructor of the thread throws, as it does at the system's limit.
  const options = { ...parsed, clientId: () => {} } as unknown as Context['options']
  const runtime = { ...manualRuntime(), log }
  const guard = openStallGuard({ options, runtime, closing: new AbortController().signal })
  onTestFinished(() => guard.close())
  const guarded = guard.guard()
  guarded.update(SESSION)
  guarded.update({ ...SESSION, epoch: 2 })
  expect(logged).toEqual(['kafka_stall_guard_not_started', 'kafka_stall_guard_not_started'])
  runtime.advance(59_000)
  expect(logged).toHaveLength(2)
  runtime.advance(2_000)
  expect(logged).toHaveLength(3)
  guarded.release()
  runtime.advance(120_000)
  expect(logged).toHaveLength(3)
})

test('if its thread ends, the stall guard starts a new thread after a minute', async () => {
  const threads: Worker[] = []
  const onThread = (thread: Worker) => void threads.push(thread)
  process.on('worker', onThread)
  onTestFinished(() => void process.off('worker', onThread))
  const runtime = manualRuntime()
  const options = kafkaOptions.parse({ brokers: ['127.0.0.1:9092'], clientId: 'test' })
  const guard = openStallGuard({ options, runtime, closing: new AbortController().signal })
  onTestFinished(() => guard.close())
  const guarded = guard.guard()
  guarded.update(SESSION)
  await expect.poll(() => threads.length).toBe(1)
  await threads[0].terminate()
  runtime.advance(59_000)
  // Node reports a new thread only in a later turn of the event loop.
  await nextTurn()
  expect(threads).toHaveLength(1)
  runtime.advance(2_000)
  await expect.poll(() => threads.length).toBe(2)
  guarded.release()
})
