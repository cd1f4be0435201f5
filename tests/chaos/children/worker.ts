/**
 * A worker process of the shop for fault injection: `node worker.ts <json>`. The parent process sends it orders as
 * messages. The worker carries them out, reports its status, and ends when the parent ends.
 */

import { setTimeout as delay } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { pino } from 'pino'
import { kafkaTransport } from '../../../kafka/client/index.ts'
import { type Transport, TransportError } from '../../../kafka/transport.ts'
import { createWorker, memberIdentity, type Topology, type Worker } from '../../../pipelines/engine/index.ts'
import { type CommitFaultPoint, memoryRegistry } from '../../../pipelines/engine/testing.ts'
import { systemRuntime } from '../../../runtime/system.ts'
import { withReplaceableState } from '../../../state/stores/replaceable-state.ts'
import type { StateBackend } from '../../../state/stores/store.ts'
import { copying } from '../copies.ts'
import type { Settings } from '../schedule.ts'
import { shop } from '../shop.ts'

export interface WorkerArguments {
  readonly brokers: readonly string[]
  readonly topology: string
  /** Whether the process also runs the stateless topology that copies orders. */
  readonly copies: boolean
  readonly folder: string
  readonly transactionTimeoutMs: number
  readonly settings: Settings
}

/** Messages from the parent. */
export type WorkerOrder =
  | { readonly order: 'clock'; readonly offsetMs: number }
  /** Kills or suspends the process when the next commit reaches the step. */
  | { readonly order: 'at-step'; readonly step: CommitFaultPoint; readonly signal: 'SIGKILL' | 'SIGSTOP' }
  /** Cancels an `at-step` order whose step has not been reached yet. */
  | { readonly order: 'disarm' }
  /** Runs a full garbage collection. */
  | { readonly order: 'collect' }

/** The status report that a worker sends ten times a second. */
export interface WorkerReport {
  readonly ready: boolean
  readonly commits: number
  readonly fences: number
}

const REPORT_EVERY_MS = 100
const CONNECT_EVERY_MS = 500
/** Memory budget of the state database. It is small, so that the database writes table files within a few seconds. */
const STATE_MEMORY_BYTES = 16 * 1_048_576

const given = JSON.parse(process.argv[2]) as WorkerArguments
const log = pino({ level: 'debug', messageKey: 'event', timestamp: pino.stdTimeFunctions.isoTime })
let offsetMs = 0
let armed: Extract<WorkerOrder, { order: 'at-step' }> | undefined
const runtime = { ...systemRuntime(log), now: () => Date.now() + offsetMs }

function fault(step: CommitFaultPoint): void {
  if (armed?.step !== step) return
  const { signal } = armed
  armed = undefined
  process.kill(process.pid, signal)
}

process.on('message', (message: WorkerOrder) => {
  if (message.order === 'clock') offsetMs = message.offsetMs
  else if (message.order === 'collect') collectGarbage()
  else if (message.order === 'disarm') armed = undefined
  else armed = message
})
const orphaned = () => process.exit(1)
process.once('disconnect', orphaned)

/**
 * Runs a complete garbage collection, as V8 does when memory runs out. After a normal collection, the young generation
 * would keep its largest size so far.
 */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')({ type: 'major', execution: 'sync', flavor: 'last-resort' })
}

/**
 * Connects to the broker, and retries until it answers. In production, the process would exit without a broker, and a
 * supervisor would restart it again and again. This loop has the same effect without new processes.
 */
async function connected(transport: Transport): Promise<void> {
  for (;;) {
    try {
      return await transport.connect()
    } catch (error) {
      if (!(error instanceof TransportError) || error.fatal) throw error
      log.warn({ err: error }, 'no_broker_at_start')
      await delay(CONNECT_EVERY_MS)
    }
  }
}

/** Returns a transport whose producers have the transaction timeout from the arguments. */
function impatient(transport: Transport): Transport {
  return { ...transport, producer: (options) => transport.producer({ ...options, transactionTimeoutMs: given.transactionTimeoutMs }) }
}

async function run(backend: StateBackend): Promise<void> {
  const transport = kafkaTransport({ brokers: [...given.brokers], clientId: 'shop' }, { runtime })
  const ended = new AbortController()
  let isStopping = false
  let workers: readonly Worker[] = []
  try {
    await connected(transport)
    workers = [shop(given.topology, { standby: given.settings.standby }), ...(given.copies ? [copying(given.topology)] : [])].map(open)
    process.once('SIGTERM', () => {
      isStopping = true
      for (const worker of workers) void worker.stop()
    })
    const starts = await Promise.allSettled(workers.map((worker) => worker.start()))
    const failed = starts.find((start) => start.status === 'rejected')
    // If the worker is stopped while it is still waiting for its brokers, its start fails. This is not an error.
    if (failed !== undefined && !isStopping) throw failed.reason
    void tell(workers, ended.signal)
    await Promise.all(workers.filter((_, at) => starts[at].status === 'fulfilled').map(({ done }) => done))
  } finally {
    ended.abort()
    await Promise.allSettled(workers.map((worker) => worker.stop()))
    await transport.close()
  }

  function open(topology: Topology): Worker {
    return createWorker(
      { topology, keepPlaceOnStop: given.settings.keepPlaceOnStop },
      {
        transport: impatient(transport),
        registry: memoryRegistry(),
        backend,
        identity: memberIdentity(given.folder, topology.name),
        runtime,
        fault,
      },
    )
  }
}

async function tell(workers: readonly Worker[], signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const all = workers.map((worker) => worker.status())
    const report: WorkerReport = {
      ready: all.every(({ ready }) => ready),
      commits: all.reduce((sum, { commits }) => sum + commits, 0),
      fences: all.reduce((sum, { fences }) => sum + fences, 0),
    }
    process.send?.(report)
    await delay(REPORT_EVERY_MS)
  }
}

const onDeleted = (reason: Error) => log.error({ err: reason }, 'state_deleted')
withReplaceableState({ folder: given.folder, memoryBudgetBytes: STATE_MEMORY_BYTES }, onDeleted, run)
  .catch((error) => {
    log.fatal({ err: error }, 'process_failed')
    process.exitCode = 1
  })
  .finally(() => {
    process.off('disconnect', orphaned)
    process.disconnect?.()
  })
