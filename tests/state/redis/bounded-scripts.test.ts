import { expect, test } from 'vitest'
import { boundedScripts } from '../../../state/redis/bounded-scripts.ts'
import type { RedisScript, ScriptArgument } from '../../../state/redis/run-script.ts'
import { busyProcess } from '../../runtime/busy-process.ts'

const ECHO: RedisScript = { name: 'echo', source: 'return ARGV' }
const TIMEOUT_MS = 20
const PAUSE_MS = 10
/** How long answers must be late before the circuit opens. */
const LATE_FOR_MS = 20

/** Creates a fake Redis that answers each script with the script's arguments. The test determines how it fails. */
function echoRedis(more: object = {}) {
  const state = { error: undefined as Error | undefined, isSilent: false, knowsScripts: true, shas: 0, sources: [] as string[] }

  async function answer(args: ScriptArgument[]): Promise<ScriptArgument[]> {
    if (state.isSilent) await new Promise(() => undefined)
    if (state.error !== undefined) throw state.error
    return args
  }

  const client = {
    async evalsha(_sha: string, keys: number, ...rest: ScriptArgument[]) {
      state.shas++
      if (!state.knowsScripts) throw replyError('NOSCRIPT No matching script')
      return await answer(rest.slice(keys))
    },
    async eval(source: string, keys: number, ...rest: ScriptArgument[]) {
      state.sources.push(source)
      return await answer(rest.slice(keys))
    },
    ...more,
  }
  const clock = { now: 1_000 }
  const { timers, look } = busyProcess()
  const scripts = boundedScripts({ redis: client, timeoutMs: TIMEOUT_MS, monotonic: () => clock.now, timers })
  const run = (key = '{a}:1') => scripts.run(ECHO, [key], ['x', 7])
  const reason = async (key?: string) => (await run(key).then(String, (error: Error) => error)) as { reason?: string; message?: string }
  /** Lets `ms` pass for the timers only, not for `clock`, and fires the timers that are due. */
  const pass = (ms: number) => look(timers.monotonic() + ms)
  return { state, clock, scripts, run, reason, pass }
}

function replyError(message: string): Error {
  return Object.assign(new Error(message), { name: 'ReplyError' })
}

test("a script returns its answer, including bytes, and the script's source is sent to a server that has not cached the script", async () => {
  const { state, scripts, run } = echoRedis()
  expect(await run()).toEqual(['x', 7])
  expect(await scripts.run(ECHO, ['{a}:1', '{a}:2'], [Buffer.from([0, 255])])).toEqual([Buffer.from([0, 255])])
  state.knowsScripts = false
  expect(await run()).toEqual(['x', 7])
  expect(state.sources).toEqual([ECHO.source])
})

test('a call takes no longer than its time limit, and a short period of late answers leaves the circuit closed', async () => {
  const { state, scripts, reason, run, pass } = echoRedis()
  state.isSilent = true
  const short = scripts.run(ECHO, ['a'], [], { timeoutMs: 1 }).catch((error) => error.reason)
  const usual = reason()
  pass(1)
  expect(await short).toBe('timeout')
  pass(TIMEOUT_MS - 2)
  expect(await Promise.race([usual, 'waiting'])).toBe('waiting')
  pass(1)
  expect((await usual).reason).toBe('timeout')
  state.isSilent = false
  expect(await run()).toEqual(['x', 7])
})

test('while a server does not respond, calls fail at once, and a probe without side effects detects when the server responds again', async () => {
  const { state, clock, run, reason } = echoRedis()
  state.error = new Error('Connection is closed.')
  expect((await reason()).reason).toBe('unreachable')
  state.error = undefined
  const sent = state.shas
  expect((await reason()).reason).toBe('circuit_open')
  expect(state.shas).toBe(sent)
  clock.now += PAUSE_MS
  state.knowsScripts = false
  expect((await reason()).reason).toBe('circuit_open')
  await expect.poll(() => state.sources).toEqual(['return 1'])
  state.knowsScripts = true
  expect(await run()).toEqual(['x', 7])
})

test('late answers open the circuit only if they persist', async () => {
  const { state, clock, reason, pass } = echoRedis()
  state.isSilent = true
  const first = reason()
  pass(TIMEOUT_MS)
  expect((await first).reason).toBe('timeout')
  clock.now += LATE_FOR_MS
  const second = reason()
  pass(TIMEOUT_MS)
  expect((await second).reason).toBe('timeout')
  expect((await reason()).reason).toBe('circuit_open')
})

test('if a script has no result, the message of the error says why', async () => {
  const { state, reason, pass } = echoRedis()
  state.isSilent = true
  const late = reason()
  pass(TIMEOUT_MS)
  expect((await late).message).toMatch(/: it did not answer in time$/)
  state.isSilent = false
  state.error = new Error('Connection is closed.')
  expect((await reason()).message).toMatch(/: Connection is closed\.$/)
  expect((await reason()).message).toMatch(/: the script was not sent, because earlier calls failed$/)
})

test('an error from a faulty script is thrown unchanged and leaves the circuit closed, but a temporary error opens the circuit', async () => {
  const { state, run, reason } = echoRedis()
  state.error = replyError('WRONGTYPE Operation against a key')
  await expect(run()).rejects.toThrow('WRONGTYPE')
  state.error = undefined
  expect(await run()).toEqual(['x', 7])
  state.error = replyError('LOADING Redis is loading the dataset in memory')
  expect((await reason()).reason).toBe('unreachable')
  expect((await reason()).reason).toBe('circuit_open')
})

test('each server of a cluster has its own circuit, and a script cannot use keys with different hash tags', async () => {
  const slots = Array.from({ length: 16_384 }, (_, slot) => [slot < 8_192 ? 'one:1' : 'two:2'])
  const { state, scripts, run, reason } = echoRedis({ isCluster: true, slots })
  // These keys are in the slots 3,300 and 15,495.
  const [one, two] = ['b', 'a']
  state.error = new Error('Connection is closed.')
  expect((await reason(one)).reason).toBe('unreachable')
  state.error = undefined
  expect((await reason(one)).reason).toBe('circuit_open')
  expect(await run(two)).toEqual(['x', 7])
  await expect(scripts.run(ECHO, [two, one], [])).rejects.toThrow('script echo: the keys a, b have different hash tags')
})

test('an error reply about a slot that is moving leaves the circuit closed, but an error reply about a moved slot opens it', async () => {
  const { state, reason, run } = echoRedis()
  state.error = replyError('TRYAGAIN Multiple keys request during rehashing of slot')
  expect((await reason()).reason).toBe('unreachable')
  state.error = undefined
  expect(await run()).toEqual(['x', 7])
  state.error = replyError('MOVED 1 127.0.0.1:7001')
  expect((await reason()).reason).toBe('unreachable')
  expect((await reason()).reason).toBe('circuit_open')
})
