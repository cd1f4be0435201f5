import type { ApplyResult, ViewBatch, ViewPosition, ViewStore } from '../../../state/views/apply.ts'
import { viewTag } from '../../../state/views/view.ts'
import { simulatedId } from '../process.ts'
import type { Actor, Scheduler } from '../scheduler.ts'
import { StoreServer } from './store-server.ts'

/** The positions of one partition of a view. */
interface Positions {
  readonly topics: Map<string, ViewPosition>
  /** The mark of the clearing that has begun; undefined if no clearing is under way. */
  clearing: string | undefined
}

/** A model of a Redis server with views. */
export interface ViewModel {
  readonly server: StoreServer
  /** Returns the interface through which one process uses the model. */
  storeOf(client: Actor): ViewStore
  /** Returns the string that is stored under a key. */
  get(key: string): string | undefined
  readonly size: number
  /** Deletes all data. */
  empty(): void
}

export function viewModel(scheduler: Scheduler): ViewModel {
  const server = new StoreServer('redis', scheduler)
  const strings = new Map<string, string>()
  const partitions = new Map<string, Positions>()

  function apply({ view, partition, topic, expected, next, topicId, operations, now }: ViewBatch): ApplyResult {
    const tag = viewTag(view, partition)
    const known = partitions.get(tag)
    if (known?.clearing !== undefined) return { applied: false, position: undefined }
    const stored = known?.topics.get(topic)
    if (stored?.next !== expected) return { applied: false, position: stored?.next }
    for (const operation of operations) {
      if (operation.op === 'set') strings.set(operation.key, String(operation.value))
      else if (operation.op === 'del') strings.delete(operation.key)
      else throw new Error(`the model of Redis does not support ${operation.op}`)
    }
    const positions = known ?? { topics: new Map(), clearing: undefined }
    positions.topics.set(topic, { next, at: now, topicId: topicId ?? stored?.topicId })
    partitions.set(tag, positions)
    return { applied: true }
  }

  /**
   * Begins a clearing, unless one is under way or the partition's position has changed since it was read. Without
   * `read`, begins a clearing only if the partition has no positions.
   */
  function beginClearing(tag: string, mark: string, read?: { readonly topic: string; readonly position: ViewPosition }): void {
    const known = partitions.get(tag)
    if (known?.clearing !== undefined) return
    const stored = read && known?.topics.get(read.topic)
    const isUnchanged = read === undefined ? known === undefined : stored?.next === read.position.next && stored.at === read.position.at
    if (isUnchanged) partitions.set(tag, { topics: new Map(), clearing: mark })
  }

  function storeOf(client: Actor): ViewStore {
    const ask = <Result>(what: string, step: () => Result) => server.request(client, what, step)

    async function clear(view: string, partition: number, topic: string, position: ViewPosition): Promise<void> {
      const tag = viewTag(view, partition)
      const mark = simulatedId(scheduler.random)
      await ask(`begins to clear ${tag}`, () => beginClearing(tag, mark, { topic, position }))
      await finishClearing(view, partition)
    }

    /**
     * Removes the keys of a partition that is being cleared or has no positions. Each key takes a separate request, so
     * that a process can die between any two removals.
     */
    async function finishClearing(view: string, partition: number): Promise<void> {
      const tag = viewTag(view, partition)
      const found = await ask(`looks at ${tag}`, () => ({ exists: partitions.has(tag), mark: partitions.get(tag)?.clearing }))
      if (found.mark === undefined) {
        if (found.exists) return
        const mark = simulatedId(scheduler.random)
        await ask(`begins to clear ${tag}`, () => beginClearing(tag, mark))
        return await finishClearing(view, partition)
      }
      const keys = await ask(`lists ${tag}`, () => [...strings.keys()].filter((key) => key.startsWith(`${tag}:`)))
      for (const key of keys) {
        await ask(`removes ${key}`, () => {
          if (partitions.get(tag)?.clearing === found.mark) strings.delete(key)
        })
      }
      await ask(`has cleared ${tag}`, () => {
        const known = partitions.get(tag)
        if (known !== undefined && known.clearing === found.mark) known.clearing = undefined
      })
    }

    return {
      apply: (batch) => ask(`applies ${batch.topic}-${batch.partition} from ${batch.expected} to ${batch.next}`, () => apply(batch)),
      position: (view, partition, topic) =>
        ask(`returns the position of ${topic}-${partition}`, () => partitions.get(viewTag(view, partition))?.topics.get(topic)),
      read: (keys) => ask('reads', () => keys.map((key) => strings.get(key) ?? null)),
      clear,
      finishClearing,
    }
  }

  return {
    server,
    storeOf,
    get: (key) => strings.get(key),
    get size() {
      return strings.size
    },
    empty() {
      strings.clear()
      partitions.clear()
    },
  }
}
