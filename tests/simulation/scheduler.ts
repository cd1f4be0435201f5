import { createHash } from 'node:crypto'
import type { Random } from '../../tools/random/random.ts'
import { type Chance, chanceOf, seedFor } from './chance.ts'

/** A part of the world that handles events, such as a process or a broker. When it is dead, its events are dropped. */
export interface Actor {
  readonly name: string
  alive: boolean
  /** The actor handles nothing before this time, like a process that the operating system has stopped. */
  stalledUntil: number
}

/** Receives every line of the trace. A line describes an event, or is a note. */
export type Trace = (line: string) => void

interface Event {
  /** Undefined if the event was cancelled. */
  action: (() => void) | undefined
  at: number
  readonly order: number
  readonly actor: Actor
  readonly label: string
}

/**
 * The only source of time, order and chance in a simulation. Events happen one at a time, in the order of their times.
 * The next event happens only when the queue of promise jobs is empty, so a seed determines the whole run.
 */
export interface Scheduler {
  /** Milliseconds since the beginning. */
  now(): number
  readonly random: Random
  /** Draws a number between `least` and `most`. */
  between(least: number, most: number): number
  /**
   * Returns a source of chance that depends only on the seed and the name. If a part of the simulation has a separate
   * source, it makes the same decisions even when another part is left out. A failing run can therefore be reduced.
   */
  chance(name: string): Chance
  /**
   * Schedules an event of the actor.
   * @returns a function that cancels the event
   */
  after(ms: number, actor: Actor, label: string, action: () => void): () => void
  /** Writes a line to the trace. */
  note(line: string): void
  /**
   * Runs events until the condition holds after an event, or until the given time. Returns whether the condition holds.
   */
  run(until: number, isDone: () => boolean): Promise<boolean>
  /** A hash of everything that has happened. */
  digest(): string
  readonly events: number
}

/** How many characters of the trace are hashed at once. */
const HASHED_AT_ONCE = 16_384

export function actor(name: string): Actor {
  return { name, alive: true, stalledUntil: 0 }
}

export function scheduler(seed: number, trace?: Trace): Scheduler {
  const { random, between } = chanceOf(seed)
  const chances = new Map<string, Chance>()
  const hash = createHash('sha256')
  const heap: Event[] = []
  let time = 0
  let order = 0
  let events = 0
  let unhashed = ''

  function note(line: string): void {
    const full = `${time.toFixed(3)} ${line}\n`
    unhashed += full
    if (unhashed.length > HASHED_AT_ONCE) hashLines()
    trace?.(full)
  }

  function hashLines(): void {
    hash.update(unhashed)
    unhashed = ''
  }

  function chance(name: string): Chance {
    const known = chances.get(name) ?? chanceOf(seedFor(seed, name))
    chances.set(name, known)
    return known
  }

  function after(ms: number, of: Actor, label: string, action: () => void): () => void {
    const event: Event = { at: time + Math.max(0, ms), order: order++, actor: of, label, action }
    push(heap, event)
    return () => {
      event.action = undefined
    }
  }

  async function run(until: number, isDone: () => boolean): Promise<boolean> {
    while (heap.length > 0 && heap[0].at <= until) {
      const event = pop(heap)
      if (event.action === undefined || !event.actor.alive) continue
      if (event.actor.stalledUntil > event.at) {
        // The events of a stalled actor keep their order.
        event.at = event.actor.stalledUntil
        push(heap, event)
        continue
      }
      time = event.at
      events++
      note(`${event.actor.name} ${event.label}`)
      event.action()
      await noJobLeft()
      if (isDone()) return true
    }
    time = Math.max(time, until)
    return isDone()
  }

  return {
    now: () => time,
    random,
    between,
    chance,
    after,
    note,
    run,
    digest() {
      hashLines()
      return hash.copy().digest('hex')
    },
    get events() {
      return events
    },
  }
}

/**
 * Resolves when all promise jobs have run. This takes only one turn of the event loop, because no other work is
 * waiting.
 */
function noJobLeft(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

function isBefore(a: Event, b: Event): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order)
}

function push(heap: Event[], event: Event): void {
  let at = heap.push(event) - 1
  while (at > 0) {
    const parent = (at - 1) >> 1
    if (!isBefore(event, heap[parent])) break
    heap[at] = heap[parent]
    at = parent
  }
  heap[at] = event
}

function pop(heap: Event[]): Event {
  const [first] = heap
  const last = heap.pop() as Event
  if (heap.length === 0) return first
  let at = 0
  for (;;) {
    let child = 2 * at + 1
    if (child >= heap.length) break
    if (child + 1 < heap.length && isBefore(heap[child + 1], heap[child])) child++
    if (!isBefore(heap[child], last)) break
    heap[at] = heap[child]
    at = child
  }
  heap[at] = last
  return first
}
