import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Component } from '../../../deploy/local/component.ts'
import { supervisor } from '../../../deploy/local/supervisor.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] })
})
afterEach(() => {
  vi.useRealTimers()
})

/** Creates a fake process that ends on request. The test can also make the next starts fail. */
function fakeComponent() {
  const started: number[] = []
  let failures = 0
  let end: (reason: { code: number | null; signal: NodeJS.Signals | null }) => void
  let exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
  const arm = () => {
    exited = new Promise((resolve) => {
      end = resolve
    })
  }
  arm()
  const component: Component = {
    name: 'broker',
    address: '',
    logFile: 'broker.log',
    pid: undefined,
    checkPorts: async () => undefined,
    isHealthy: async () => true,
    whenExited: () => exited,
    stop: async () => undefined,
    kill: async () => undefined,
    async start() {
      started.push(Date.now())
      if (failures > 0) {
        failures--
        throw new Error('port in use')
      }
      arm()
      return 'started'
    },
  }
  return { component, started, crash: () => end({ code: null, signal: 'SIGKILL' }), failNext: (count: number) => (failures = count) }
}

/** Creates a supervisor with a fake pause function, because fake timers do not affect node:timers/promises. */
function watched() {
  const said: string[] = []
  const pauses: number[] = []
  const watch = supervisor((text) => said.push(text), {
    now: () => Date.now(),
    pause: async (ms) => {
      pauses.push(ms)
    },
  })
  return { said, pauses, watch }
}

const settle = () => new Promise((resolve) => setImmediate(resolve))

test('a crashed process is restarted, and the log reports both the crash and the restart', async () => {
  const { component, started, crash } = fakeComponent()
  const { said, watch } = watched()
  watch.keepRunning(component)
  crash()
  await settle()
  expect(started).toHaveLength(1)
  expect(said).toEqual(['broker has ended (SIGKILL; log: broker.log); restarting it in 1 s', 'broker is running again'])
})

test('the pause before each restart doubles up to 30 s, and is short again after the process has recovered', async () => {
  const { component, crash, failNext } = fakeComponent()
  const { pauses, watch } = watched()
  watch.keepRunning(component)
  failNext(6)
  crash()
  await settle()
  expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000])
  vi.setSystemTime(Date.now() + 61_000)
  crash()
  await settle()
  expect(pauses.at(-1)).toBe(1_000)
})

test('a process that the supervisor has released is not restarted', async () => {
  const { component, started, crash } = fakeComponent()
  const { watch } = watched()
  watch.keepRunning(component)
  watch.release()
  crash()
  await settle()
  expect(started).toEqual([])
})

test('a release does not wait for a restart that hangs, because only stopping the component ends such a restart', async () => {
  const { component, crash } = fakeComponent()
  const { said, watch } = watched()
  const start = Promise.withResolvers<'started'>()
  watch.keepRunning({ ...component, start: () => start.promise })
  crash()
  await settle()
  const first = await Promise.race([watch.release(), settle().then(() => 'still waiting')])
  expect(first).toBeUndefined()
  start.resolve('started')
  await settle()
  expect(said).toEqual(['broker has ended (SIGKILL; log: broker.log); restarting it in 1 s'])
})
