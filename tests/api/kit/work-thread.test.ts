import { expect, onTestFinished, test } from 'vitest'
import { type WorkThreadOptions, workThread } from '../../../api/kit/work-thread.ts'
import type { SlowRequest } from './slow-worker.ts'

const MODULE = new URL('./slow-worker.ts', import.meta.url)
const LONG_MS = 60_000

/** Modules of threads that never become ready. */
const NEVER_READY = ['', 'setInterval(() => {}, 1_000)'].map((code) => new URL(`data:text/javascript,${encodeURIComponent(code)}`))

function slowThread(options: Partial<WorkThreadOptions> = {}) {
  const thread = workThread<SlowRequest, string>(MODULE, { timeoutMs: 1_000, maxWaitMs: LONG_MS, maxWaiting: 50, ...options })
  onTestFinished(() => thread.close())
  return thread
}

const names = (count: number) => Array.from({ length: count }, (_, index) => `request ${index}`)

test('the time limit of a request starts only when its work starts', async () => {
  const thread = slowThread()
  const answers = await Promise.all(names(20).map((name) => thread.ask({ name, takesMs: 100 })))
  expect(answers).toEqual(names(20))
})

test('a request that takes too long or fails does not affect the requests behind it', async () => {
  const thread = slowThread()
  const stuck = thread.ask({ name: 'stuck', takesMs: LONG_MS })
  const healthy = names(3).map((name) => thread.ask({ name, takesMs: 0 }))
  const failing = thread.ask({ name: 'failing', takesMs: 0, fails: true })
  const last = thread.ask({ name: 'last', takesMs: 0 })
  expect(await Promise.all([stuck, ...healthy, failing, last])).toEqual([undefined, ...names(3), undefined, 'last'])
})

test('only a request that takes too long is reported as slow', async () => {
  const slow: string[] = []
  const thread = slowThread({ onSlow: ({ name }: SlowRequest) => slow.push(name) })
  const stuck = thread.ask({ name: 'stuck', takesMs: LONG_MS })
  const others = [thread.ask({ name: 'failing', takesMs: 0, fails: true }), thread.ask({ name: 'healthy', takesMs: 0 })]
  expect([await stuck, ...(await Promise.all(others))]).toEqual([undefined, undefined, 'healthy'])
  expect(slow).toEqual(['stuck'])
})

test('a request that waits longer than its limit is aborted, and the running request is not disturbed', async () => {
  const thread = slowThread({ timeoutMs: LONG_MS, maxWaitMs: 20 })
  expect(await thread.ask({ name: 'ready', takesMs: 0 })).toBe('ready')
  const running = thread.ask({ name: 'running', takesMs: 500 })
  expect(await Promise.all([thread.ask({ name: 'waiting', takesMs: 0 }), running])).toEqual([undefined, 'running'])
  expect(await thread.ask({ name: 'next', takesMs: 0 })).toBe('next')
})

test('while the maximum number of requests are waiting or running, further requests are refused, and closing aborts all open requests', async () => {
  const thread = slowThread({ timeoutMs: LONG_MS, maxWaiting: 2 })
  const asked = [thread.ask({ name: 'running', takesMs: LONG_MS }), thread.ask({ name: 'waiting', takesMs: 0 })]
  expect(await thread.ask({ name: 'one too many', takesMs: 0 })).toBeUndefined()
  await thread.close()
  expect(await Promise.all(asked)).toEqual([undefined, undefined])
})

test('a request that cannot be sent to the thread fails, and later requests succeed', async () => {
  const thread = slowThread()
  const uncloneable = { name: 'uncloneable', takesMs: 0, fails: (() => {}) as unknown as boolean }
  expect(await thread.ask(uncloneable)).toBeUndefined()
  expect(await thread.ask({ name: 'next', takesMs: 0 })).toBe('next')
})

test.each(NEVER_READY)('requests fail if the thread neither becomes ready nor fails: %s', async (module) => {
  const thread = workThread(module, { timeoutMs: 1_000, maxWaitMs: LONG_MS, maxWaiting: 50, startLimitMs: 50 })
  onTestFinished(() => thread.close())
  expect(await Promise.all([thread.ask('one'), thread.ask('two')])).toEqual([undefined, undefined])
})

test('requests get undefined if the system refuses to create the thread', async () => {
  // The constructor of Worker throws for this module, as it does if the system permits no further threads.
  const thread = workThread(new URL('http://localhost/module.js'), { timeoutMs: 1_000, maxWaitMs: LONG_MS, maxWaiting: 1 })
  onTestFinished(() => thread.close())
  expect(await thread.ask('one')).toBeUndefined()
  expect(await thread.ask('two')).toBeUndefined()
})
