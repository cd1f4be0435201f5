import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { sharedStart } from '../../../api/kit/shared-start.ts'
import { manualRuntime } from '../../../runtime/manual.ts'

/** Creates requests that share their starts, and records the start time of each request in ms. */
function world() {
  const runtime = manualRuntime()
  const begin = runtime.monotonic()
  const started = sharedStart(runtime)
  const starts: [string, number][] = []

  return {
    starts,
    arrive: (name: string) => void started().then(() => starts.push([name, runtime.monotonic() - begin])),
    async advance(ms: number) {
      await setImmediate()
      for (let passed = 0; passed < ms; passed++) {
        runtime.advance(1)
        await setImmediate()
      }
    },
  }
}

test('a request that arrives alone starts at once', async () => {
  const { starts, arrive, advance } = world()
  arrive('first')
  await advance(0)
  expect(starts).toEqual([['first', 0]])
  await advance(10)
  arrive('second')
  await advance(0)
  expect(starts).toEqual([
    ['first', 0],
    ['second', 10],
  ])
})

test('requests that arrive shortly after a start wait and share the next start', async () => {
  const { starts, arrive, advance } = world()
  arrive('first')
  await advance(1)
  arrive('second')
  await advance(2)
  arrive('third')
  await advance(3)
  arrive('fourth')
  await advance(10)
  expect(starts).toEqual([
    ['first', 0],
    ['second', 4],
    ['third', 4],
    ['fourth', 8],
  ])
})
