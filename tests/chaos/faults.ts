import { setTimeout as delay } from 'node:timers/promises'
import type { Component } from '../../deploy/local/component.ts'
import { waitUntil } from '../../deploy/local/wait.ts'
import { growTopic, leadPartitions, movePartitions } from './moves.ts'
import type { Fault } from './schedule.ts'
import { noSmallDisk } from './small-disk.ts'
import { ENDED_BY_SIGNAL, failedStop, type WorkerSlot } from './worker-slot.ts'

/** How long to wait for a commit step at which a fault is planned. A worker with work commits ten times a second. */
const STEP_WITHIN_MS = 10_000
const BROKER_ANSWERS_MS = 90_000
const READY_WITHIN_MS = 60_000

export interface FaultDeps {
  /** The brokers, with the controller first. */
  readonly brokers: readonly [Component, ...Component[]]
  /** An additional worker that joins and leaves. */
  readonly guest?: WorkerSlot
  /** A topic that may get more partitions. `grown` is called with the new number each time. */
  readonly growing?: { readonly topic: string; readonly partitions: number; grown(partitions: number): void }
  /** Prefix of all topics of the run. */
  readonly name: string
  readonly workers: readonly WorkerSlot[]
  /** True if a fault in this run may make a worker exit by itself, even during a graceful stop. */
  readonly mayEnd: boolean
  readonly say: (text: string) => void
}

export interface FaultHands {
  inflict(fault: Fault): Promise<void>
  /** Faults that were impossible on this machine, each with the reason. */
  readonly skipped: readonly string[]
}

/**
 * Applies the faults of a schedule to a running system. Faults of the same worker are applied one after another, and so
 * are all faults of brokers.
 */
export function faultHands({ brokers, guest, growing, name, workers, mayEnd, say }: FaultDeps): FaultHands {
  const [broker] = brokers
  let partitions = growing?.partitions ?? 0
  const skipped: string[] = []
  const turns = new Map<string, Promise<void>>()

  async function inTurn(whose: string, action: () => Promise<void>): Promise<void> {
    const turn = (turns.get(whose) ?? Promise.resolve()).then(action)
    turns.set(
      whose,
      turn.catch(() => {}),
    )
    return turn
  }

  /** Waits until the worker has a running process, so that a fault can stop or kill it. */
  async function runs(worker: WorkerSlot): Promise<void> {
    await waitUntil(() => worker.report !== undefined, { what: `the process of worker ${worker.slot}`, timeoutMs: READY_WITHIN_MS })
  }

  async function comeBack(worker: WorkerSlot, afterMs: number): Promise<void> {
    await delay(afterMs)
    worker.start()
  }

  async function onWorker(fault: Extract<Fault, { worker: number }>, worker: WorkerSlot): Promise<void> {
    if (fault.kind !== 'disk-full') await runs(worker)
    switch (fault.kind) {
      case 'kill':
        await worker.kill()
        if (fault.wipe) worker.wipe()
        return comeBack(worker, fault.downMs)
      case 'kill-at-step': {
        worker.expectExit()
        worker.tell({ order: 'at-step', step: fault.step, signal: 'SIGKILL' })
        await Promise.race([worker.whenExited(), delay(STEP_WITHIN_MS)])
        await worker.kill()
        return comeBack(worker, fault.downMs)
      }
      case 'restart': {
        const code = await worker.leave()
        if (code !== 0 && !mayEnd) throw new Error(failedStop(`worker ${worker.slot}`, code))
        return comeBack(worker, fault.downMs)
      }
      case 'zombie-at-step':
        worker.tell({ order: 'at-step', step: fault.step, signal: 'SIGSTOP' })
        await waitUntil(() => worker.isStopped(), { what: 'a commit', timeoutMs: STEP_WITHIN_MS }).catch(() => worker.stop())
        await delay(fault.ms)
        worker.go()
        return worker.tell({ order: 'disarm' })
      case 'zombie':
      case 'stall':
        worker.stop()
        await delay(fault.ms)
        return worker.go()
      case 'cut':
        for (let i = 0; i < fault.times; i++) {
          worker.network.cutAll()
          await delay(fault.gapMs)
        }
        return
      case 'slow':
        worker.network.delay(fault.delayMs)
        await delay(fault.ms)
        return worker.network.delay(0)
      case 'blackhole':
        worker.network.freeze()
        await delay(fault.ms)
        return worker.network.thaw()
      case 'disk-full':
        if (worker.disk === undefined) {
          skipped.push(`disk-full: ${noSmallDisk()}`)
          return
        }
        worker.disk.fill()
        await delay(fault.ms)
        return worker.disk.free()
      case 'damage': {
        // Restarts the worker once. The new process moves records from the write-ahead log into a table file, so that
        // files of all kinds exist.
        await worker.kill()
        worker.start()
        await waitUntil(() => worker.report?.ready === true, { what: `worker ${worker.slot}`, timeoutMs: READY_WITHIN_MS })
        await worker.kill()
        say(`damaged (${fault.how}): ${worker.damage(fault.how, fault.file)}`)
        return worker.start()
      }
      case 'clock':
        worker.tell({ order: 'clock', offsetMs: fault.offsetMs })
        await delay(fault.ms)
        return worker.tell({ order: 'clock', offsetMs: 0 })
    }
  }

  async function onGuest(ms: number): Promise<void> {
    if (guest === undefined) throw new Error('this run has no additional worker')
    guest.start()
    await delay(ms)
    const code = await guest.leave()
    // If the worker has not loaded its program yet, it has no handler for SIGTERM, so the signal ends it.
    if (code !== 0 && code !== ENDED_BY_SIGNAL && !mayEnd) throw new Error(failedStop('the additional worker', code))
  }

  async function restarted(node: Component, downMs: number): Promise<void> {
    await node.kill()
    await delay(downMs)
    await node.start()
  }

  async function onBroker(fault: Exclude<Fault, { worker: number } | { kind: 'join' }>): Promise<void> {
    switch (fault.kind) {
      case 'broker-kill':
        return restarted(broker, fault.downMs)
      case 'replica-kill':
        return restarted(brokers[fault.node - 1], fault.downMs)
      case 'move':
        return movePartitions(broker.address, name, fault.node)
      case 'lead':
        return leadPartitions(broker.address, name, fault.node)
      case 'grow':
        if (growing === undefined) throw new Error('this run has no topic that grows')
        partitions += fault.more
        await growTopic(broker.address, growing.topic, partitions)
        return growing.grown(partitions)
      case 'broker-pause':
        process.kill(broker.pid as number, 'SIGSTOP')
        try {
          await delay(fault.ms)
        } finally {
          process.kill(broker.pid as number, 'SIGCONT')
        }
        return waitUntil(() => broker.isHealthy(), { what: 'the broker after its suspension', timeoutMs: BROKER_ANSWERS_MS })
    }
  }

  return {
    skipped,
    inflict(fault) {
      if ('worker' in fault) {
        const worker = workers[fault.worker]
        return inTurn(`worker ${fault.worker}`, () => onWorker(fault, worker))
      }
      if (fault.kind === 'join') return inTurn('guest', () => onGuest(fault.ms))
      return inTurn('broker', () => onBroker(fault))
    },
  }
}
