import { builderAlias } from '../../state/indexes/family.ts'
import { indexWriter } from '../../state/indexes/writer.ts'
import { createSink, indexTarget, type JobTurn, type LaneStatus, type Sink } from '../engine/index.ts'
import type { KeeperDeps } from './keeper-deps.ts'
import { paceBesideSearches } from './pace-beside-searches.ts'
import type { Build } from './progress.ts'
import { partitionCountOf } from './topic-facts.ts'
import { wholeTopic } from './whole-topic.ts'

const REPORT_EVERY_MS = 1_000
const LOOK_EVERY_MS = 100
/**
 * Maximum number of records that an index may lack in any partition and still count as complete. The sink that keeps
 * the index up to date adds the missing records.
 */
const COMPLETE_WITHIN_RECORDS = 1_000

/**
 * Fills an index from its topic, starting at the positions that are stored in the index. Resolves when the index is
 * complete.
 * @param name name of the concrete index, which accepts writes only with this turn's token
 * @param topicId the id of the index's topic
 * @param isSearched true if searches use another index in the meantime
 * @throws Error when another process has taken over or deleted the index, or when the turn ends
 */
export async function fillIndex<K, V>(
  deps: KeeperDeps<K, V>,
  turn: JobTurn<unknown, unknown>,
  name: string,
  build: Build,
  topicId: string,
  isSearched: boolean,
): Promise<void> {
  const { index, topic, client, transport, registry, runtime } = deps
  const writer = indexWriter(builderAlias(name, turn.token), client, isSearched ? paceBesideSearches(runtime, turn.signal) : undefined)
  let isLost = false
  const target = indexTarget(index, {
    async writer() {
      // If the sink asks for a writer again, the server has refused the previous writer.
      if (isLost) throw new Error(`index ${name} is filled by another process, or was deleted`)
      return writer
    },
    isStill: async () => true,
    onLost() {
      isLost = true
    },
  })
  const count = await partitionCountOf(deps)
  const seat = wholeTopic(topic.name, count, turn.confirm)
  const sink = createSink({ name: `${index.name}-fill`, topics: [topic] }, { transport, registry, target, seat, runtime })
  const running = sink.run()
  const ended = new AbortController()
  const ending = AbortSignal.any([turn.signal, ended.signal])
  try {
    await Promise.race([running, untilComplete(sink)])
    turn.signal.throwIfAborted()
  } finally {
    // If the sink has failed, the index never becomes complete, so nothing may wait for it any longer.
    ended.abort()
    await sink.stop()
    await running.catch(() => {})
  }
  for (let partition = 0; partition < count; partition++) await markEmpty(partition)

  /**
   * Stores position 0 for a partition that has no position yet. The sink stores none for an empty partition. A complete
   * index thus has a position for every partition, so a position that is missing later shows that the index has lost
   * data.
   */
  async function markEmpty(partition: number): Promise<void> {
    if ((await writer.position(topic.name, partition)) !== undefined) return
    await writer.putPosition({ topic: topic.name, partition, topicId, next: 0 }, undefined)
  }

  async function untilComplete(filling: Sink): Promise<void> {
    let reportedAt = Number.NEGATIVE_INFINITY
    while (!ending.aborted && !isComplete(filling)) {
      await runtime.sleep(LOOK_EVERY_MS, ending)
      if (ending.aborted) return
      if (runtime.monotonic() - reportedAt < REPORT_EVERY_MS) continue
      reportedAt = runtime.monotonic()
      await deps.report(turn, { ...build, state: 'filling', ...amountOf(filling.lanes()) })
    }
  }
}

function isComplete(sink: Sink): boolean {
  return sink.isReady && sink.lanes().every(({ lag }) => lag <= COMPLETE_WITHIN_RECORDS)
}

function amountOf(lanes: readonly LaneStatus[]): { done: number; total: number } {
  const done = lanes.reduce((sum, { position = 0 }) => sum + position, 0)
  return { done, total: lanes.reduce((sum, { position = 0, lag }) => sum + position + lag, 0) }
}
