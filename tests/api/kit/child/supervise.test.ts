import { expect, test } from 'vitest'
import { type SuperviseOptions, supervise } from '../../../../api/kit/child/supervise.ts'
import { manualRuntime } from '../../../../runtime/manual.ts'
import { type FakeChild, fakeChild } from './fake-child.ts'

const PING = 0
const NOTHING = Buffer.alloc(0)

function world(options: Partial<SuperviseOptions> = {}) {
  const runtime = manualRuntime()
  const children: FakeChild[] = []
  const ends: [how: string, restartInMs: number][] = []
  const supervised = supervise({
    start() {
      const child = fakeChild()
      children.push(child)
      return child
    },
    prepare: async () => {},
    ping: (child) => child.request(PING, NOTHING),
    onEnd: (how, restartInMs) => ends.push([how, restartInMs]),
    timers: runtime,
    ...options,
  })
  /** Advances the clock. Lets promises settle before and afterwards. */
  async function pass(ms = 0): Promise<void> {
    await runtime.nextTurn()
    runtime.advance(ms)
    await runtime.nextTurn()
  }
  return { supervised, children, ends, pass }
}

test('a child is ready once it is prepared', async () => {
  const prepared = Promise.withResolvers<void>()
  const { supervised, children, pass } = world({ prepare: () => prepared.promise })
  await pass()
  expect([supervised.ready, supervised.trouble]).toEqual([undefined, 'starting'])
  prepared.resolve()
  await pass()
  expect([supervised.ready, supervised.trouble]).toEqual([children[0], undefined])
})

test('a child that ends is replaced, after increasing pauses until a child has been stable', async () => {
  const { supervised, children, ends, pass } = world()
  for (const pause of [50, 100, 200]) {
    await pass()
    children.at(-1)!.crash()
    await pass()
    expect(ends.at(-1)).toEqual(['SIGSEGV', pause])
    expect([supervised.ready, supervised.trouble]).toEqual([undefined, 'SIGSEGV'])
    await pass(pause - 1)
    expect(children).toHaveLength(ends.length)
    await pass(1)
    expect(children).toHaveLength(ends.length + 1)
  }
  const last = children.at(-1)!
  for (let second = 0; second < 12; second++) {
    for (const { answer } of last.requests) answer()
    await pass(1_000)
  }
  last.crash()
  await pass()
  expect(ends.at(-1)).toEqual(['SIGSEGV', 50])
})

test('a child that answers no ping for two seconds is ended and replaced', async () => {
  const { supervised, children, pass } = world()
  await pass(1_999)
  expect(children[0].isKilled).toBe(false)
  await pass(1)
  expect([children[0].isKilled, supervised.ready]).toEqual([true, undefined])
  await pass(50)
  expect(supervised.ready).toBe(children[1])
})

test('a child that answers its pings is not replaced', async () => {
  const { supervised, children, pass } = world()
  for (let second = 0; second < 60; second++) {
    for (const { answer } of children[0].requests) answer()
    await pass(1_000)
  }
  expect([children.length, supervised.ready]).toEqual([1, children[0]])
})

test('a child that cannot be prepared, or takes too long, is replaced', async () => {
  let prepare: () => Promise<void> = () => Promise.reject(new Error('refused'))
  const { supervised, children, pass } = world({ prepare: () => prepare() })
  await pass()
  expect(children[0].isKilled).toBe(true)
  prepare = () => new Promise(() => {})
  await pass(50)
  await pass(29_999)
  expect(children[1].isKilled).toBe(false)
  await pass(1)
  expect(children[1].isKilled).toBe(true)
  prepare = async () => {}
  await pass(100)
  expect(supervised.ready).toBe(children[2])
})

test('no child is started after closing', async () => {
  const { supervised, children, ends, pass } = world()
  await pass()
  await supervised.close()
  await pass(60_000)
  expect([children.length, children[0].isKilled, ends]).toEqual([1, true, []])
})

test('if a child cannot be started, for example for lack of file descriptors, a later attempt starts it', async () => {
  let attempts = 0
  const { supervised, ends, pass } = world({
    start() {
      if (++attempts === 1) throw new Error('EMFILE')
      return fakeChild()
    },
    prepare: (child) => child.request(PING, NOTHING).then(() => {}),
  })
  await pass()
  expect([supervised.ready, supervised.trouble, ends]).toEqual([undefined, 'EMFILE', [['EMFILE', 50]]])
  await pass(50)
  expect(attempts).toBe(2)
})
