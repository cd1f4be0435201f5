import { readResult, type StoredResult } from '../../../state/views/results.ts'
import type { ViewReader } from '../../../state/views/view.ts'
import type { ResultChannel } from './result-channel.ts'

/** Where the result of a command will be stored. */
export interface ResultPlace {
  readonly commandId: string
  readonly view: string
  readonly partition: number
}

export type Result =
  | { readonly outcome: 'decided'; readonly answer: string; readonly requestHash?: string }
  | { readonly outcome: 'conflict' }

/** The requests that wait for the results of their commands. */
export interface WaitingRoom {
  /** Starts to wait for a result. Must be called before the command is sent. */
  wait(place: ResultPlace, timeoutMs: number): Wait
  /** Reads a result that is already stored. Resolves with undefined if there is none, or if it cannot be read. */
  look(place: ResultPlace): Promise<Result | undefined>
  readonly size: number
  close(): void
}

export interface Wait {
  /** Resolves with the result, or with undefined after the time limit. */
  readonly result: Promise<Result | undefined>
  leave(): void
}

interface Waiter extends ResultPlace {
  readonly settle: (result: Result | undefined) => void
  readonly since: number
}

/**
 * Interval at which the view is read for waiting requests, because a message can get lost when a connection breaks or a
 * cluster changes.
 */
const LOOK_EVERY_MS = 500

export interface WaitingRoomDeps {
  readonly channel: ResultChannel
  readonly reader: ViewReader
  /** Monotonic ms. */
  readonly monotonic: () => number
}

export function waitingRoom({ channel, reader, monotonic }: WaitingRoomDeps): WaitingRoom {
  /** Waiting requests, keyed by command id. Several requests may wait for the same command. */
  const waiters = new Map<string, Set<Waiter>>()
  let size = 0
  let timer: NodeJS.Timeout | undefined

  channel.listen(
    ({ commandId, outcome, answer }) => settleAll(commandId, outcome === 'decided' ? { outcome, answer } : { outcome }),
    () => void lookFor(() => true),
  )

  function settleAll(commandId: string, result: Result): void {
    for (const waiter of waiters.get(commandId) ?? []) waiter.settle(result)
  }

  async function look(place: ResultPlace): Promise<Result | undefined> {
    const reading: Promise<StoredResult | undefined> = readResult(reader, place.view, place.partition, place.commandId)
    const found = await reading.catch(() => {
      // If Redis is unreachable, the request continues to wait, but no longer than its time limit. The channel may have
      // lost its connection without an error. `check` detects this, so that no further commands are sent whose results
      // could not be received.
      channel.check()
      return undefined
    })
    return found === undefined ? undefined : { outcome: 'decided', answer: found.answer, requestHash: found.requestHash }
  }

  /** Reads the results of the waiting requests that `isMeant` accepts. Returns whether a result was found. */
  async function lookFor(isMeant: (waiter: Waiter) => boolean): Promise<boolean> {
    const meant = [...waiters.values()].flatMap((group) => [...group]).filter(isMeant)
    const found = await Promise.all(
      meant.map(async (waiter) => {
        const result = await look(waiter)
        if (result !== undefined) waiter.settle(result)
        return result !== undefined
      }),
    )
    return found.includes(true)
  }

  async function lookSometimes(): Promise<void> {
    const now = monotonic()
    // If the view contains a result, its message should have arrived by now, so the connection may be broken.
    if (await lookFor((waiter) => now - waiter.since >= LOOK_EVERY_MS)) channel.check()
  }

  function wait(place: ResultPlace, timeoutMs: number): Wait {
    const { promise, resolve } = Promise.withResolvers<Result | undefined>()
    const deadline = setTimeout(() => void look(waiter).then(settle), timeoutMs)
    const waiter: Waiter = { ...place, settle, since: monotonic() }
    const group = waiters.get(place.commandId) ?? new Set()
    waiters.set(place.commandId, group.add(waiter))
    size++
    timer ??= setInterval(() => void lookSometimes(), LOOK_EVERY_MS)

    function settle(result: Result | undefined): void {
      resolve(result)
      leave()
    }

    function leave(): void {
      clearTimeout(deadline)
      if (!group.delete(waiter)) return
      size--
      if (group.size === 0 && waiters.get(place.commandId) === group) waiters.delete(place.commandId)
      if (size > 0) return
      clearInterval(timer)
      timer = undefined
    }

    return { result: promise, leave }
  }

  return {
    wait,
    look,
    get size() {
      return size
    },
    close() {
      clearInterval(timer)
      channel.close()
    },
  }
}
