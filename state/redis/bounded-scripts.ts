import { type PatientTimers, patientTimer, systemTimers } from '../../runtime/patient-timer.ts'
import { type Circuit, circuit } from './circuit.ts'
import { isAboutSlot, isPassingError } from './passing-errors.ts'
import { type RedisScript, runScript, type ScriptArgument, type ScriptClient } from './run-script.ts'
import { serversOfKeys } from './servers.ts'

/** Runs Lua scripts on data that services keep in Redis. Each call has a time limit. */
export interface BoundedScripts {
  /**
   * @param keys at least one, all with the same hash tag
   * @throws ScriptUnavailableError when Redis did not answer or reported a temporary condition, or when the script was
   * not sent (`circuit_open`). If the script was sent, it may have run or may still run.
   * @throws Error with the error reply of a faulty script
   */
  run(script: RedisScript, keys: readonly string[], args: readonly ScriptArgument[], options?: RunOptions): Promise<unknown>
}

export interface RunOptions {
  /** @default the time limit in `BoundedScriptsOptions` */
  readonly timeoutMs?: number
  /**
   * Upper limit of the whole wait if this process was too busy to read the answer within `timeoutMs`.
   * @default `timeoutMs`
   */
  readonly busyTimeoutMs?: number
}

export interface BoundedScriptsOptions {
  /**
   * The client for scripts. It must fail commands immediately while Redis is unreachable, as the client of
   * `connectScriptRedis` does.
   */
  readonly redis: ScriptClient
  /** Time limit of a call, ms. */
  readonly timeoutMs: number
  /** Returns the time of a monotonic clock, ms. */
  monotonic(): number
  /** @default the timers of this machine */
  readonly timers?: PatientTimers
}

export type ScriptFailure = 'timeout' | 'unreachable' | 'circuit_open'

const WHY: Readonly<Record<ScriptFailure, string>> = {
  timeout: 'it did not answer in time',
  unreachable: 'it cannot be reached',
  circuit_open: 'the script was not sent, because earlier calls failed',
}

export class ScriptUnavailableError extends Error {
  override readonly name = 'ScriptUnavailableError'
  readonly reason: ScriptFailure
  constructor(script: string, reason: ScriptFailure, cause?: Error) {
    super(`Redis returned no result for the script ${script}: ${cause?.message ?? WHY[reason]}`, { cause })
    this.reason = reason
  }
}

/** A script without effects, so it can run even if no caller waits for its answer. */
const PROBE: RedisScript = { name: 'probe', source: 'return 1' }

/**
 * Uses a circuit breaker for each server, so that calls do not wait for a server that does not respond. While the
 * circuit of a server is open, calls to it fail immediately, and a script without effects probes whether the server
 * responds again.
 */
export function boundedScripts(options: BoundedScriptsOptions): BoundedScripts {
  const { redis, timeoutMs: usualMs, monotonic, timers = systemTimers } = options
  const { groupOf, nodeOf } = serversOfKeys(redis)
  const circuits = new Map<string, Circuit>()

  function circuitOf(key: string): Circuit {
    const node = nodeOf(groupOf(key))
    let found = circuits.get(node)
    if (found === undefined) {
      found = circuit(monotonic)
      circuits.set(node, found)
    }
    return found
  }

  function send(
    state: Circuit,
    script: RedisScript,
    keys: readonly string[],
    args: readonly ScriptArgument[],
    timeoutMs: number,
    busyTimeoutMs: number,
  ): Promise<unknown> {
    return new Promise((resolve, reject) => {
      let isSettled = false
      const cancelTimer = patientTimer(timers, timeoutMs, busyTimeoutMs, () => settle(onDeadline))

      function settle(outcome: () => void): void {
        if (isSettled) return
        isSettled = true
        cancelTimer()
        outcome()
      }

      function onDeadline(): void {
        state.late()
        reject(new ScriptUnavailableError(script.name, 'timeout'))
      }

      function answered(): void {
        // An answer to a script that was sent before the circuit opened must not close the circuit.
        if (script === PROBE || !state.isOpen) state.answered()
      }

      runScript(redis, script, keys, args).then(
        (answer) =>
          settle(() => {
            answered()
            resolve(answer)
          }),
        (error: Error) =>
          settle(() => {
            if (isPassingError(error)) {
              if (isAboutSlot(error)) answered()
              else state.failed()
              reject(new ScriptUnavailableError(script.name, 'unreachable', error))
              return
            }
            answered()
            reject(error)
          }),
      )
    })
  }

  return {
    async run(script, keys, args, { timeoutMs = usualMs, busyTimeoutMs = timeoutMs } = {}) {
      const [first] = keys
      if (keys.some((key) => groupOf(key) !== groupOf(first))) {
        throw new Error(`script ${script.name}: the keys ${keys.join(', ')} have different hash tags, so they may be on different shards`)
      }
      const state = circuitOf(first)
      const admitted = state.admit()
      if (admitted === 'send') return await send(state, script, keys, args, timeoutMs, busyTimeoutMs)
      // The circuit records how the probe ends; no caller waits for it.
      if (admitted === 'probe') send(state, PROBE, [first], [], timeoutMs, busyTimeoutMs).catch(() => undefined)
      throw new ScriptUnavailableError(script.name, 'circuit_open')
    },
  }
}
