import { expect, test } from 'vitest'
import { memoryTransport } from '../../../../kafka/memory/transport.ts'
import { partitionKey } from '../../../../kafka/transport.ts'
import { systemRuntime } from '../../../../runtime/system.ts'
import { bench, until } from '../harness.ts'
import { lines, wordCount, wordCounts } from '../words.ts'

const CHANGELOG = 'words-totals-changelog'
const SHORT_KEY = partitionKey(CHANGELOG, 1)

test('if a changelog does not reach the end offset that its restore expects, only its task requests the end offset again, and the other tasks continue', async () => {
  const b = bench()
  const first = await b.worker(wordCount())
  for (const word of ['a', 'b', 'c', 'd', 'e', 'f']) b.send(lines, word, word)
  await until(() => b.latest(wordCounts).size === 6, 'all words are counted')
  await first.stop()

  const transport = memoryTransport(b.broker)
  let isShort = true
  let aheadMs = 0
  const runtime = systemRuntime()
  const worker = await b.worker(wordCount(), {
    runtime: { ...runtime, monotonic: () => runtime.monotonic() + aheadMs },
    transport: {
      ...transport,
      async offsets(partitions, at) {
        const found = await transport.offsets(partitions, at)
        const end = found.get(SHORT_KEY)
        // Simulates an answer from before the log lost its last record.
        if (at === 'end' && end !== undefined && isShort) found.set(SHORT_KEY, end + 1)
        return found
      },
    },
  })
  const tasks = () => worker.status().tasks
  const restoring = () => tasks().filter(({ state }) => state !== 'RUNNING')
  await until(() => tasks().length > 0 && restoring().length === 1, 'a single task waits for the end of its changelog')
  const running = tasks().filter(({ state }) => state === 'RUNNING')
  isShort = false
  await until(() => {
    aheadMs += 1_000
    return worker.status().ready
  }, 'the task has asked for the end again')
  expect({ restarts: worker.status().restarts, kept: running.filter((task) => tasks().includes(task)) }).toEqual({
    restarts: 0,
    kept: running,
  })
  b.send(lines, 'a', 'a b c d e f')
  await until(() => b.latest(wordCounts).get('f') === 2, 'the restored counts continue')
})
