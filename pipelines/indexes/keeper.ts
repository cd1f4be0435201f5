import { partitionKey } from '../../kafka/transport.ts'
import { builderAlias, type ConcreteIndex, hasForm, type IndexFamily, indexFamily, sinkAlias } from '../../state/indexes/family.ts'
import { definitionOf } from '../../state/indexes/search-index.ts'
import { indexWriter } from '../../state/indexes/writer.ts'
import { TargetUnavailableError } from '../../state/unavailable.ts'
import type { JobTurn } from '../engine/index.ts'
import { fillIndex } from './fill.ts'
import type { KeeperDeps } from './keeper-deps.ts'
import type { Build } from './progress.ts'
import { partitionCountOf, topicIdOf } from './topic-facts.ts'

/**
 * Interval between checks of the index. Each check sends the search server one request for its health, one for the list
 * of indexes and one for the position of each partition, and sends Kafka three requests. A deleted index is noticed
 * within this time.
 */
const LOOK_EVERY_MS = 5_000
/** See `KeeperDeps.formerKeptMs`. */
const FORMER_KEPT_MS = 2_000

/**
 * Makes sure that an index exists. Builds the index on request. Also builds it if it does not exist, has lost its data,
 * was filled from another log, is ahead of its topic, or lacks new partitions of its topic. The same applies if it was
 * built with a `version`, settings or mappings that differ from those of this program. Searches use the old index until
 * the new index is complete. If an earlier keeper has left a build unfinished, continues that build.
 */
export async function keepIndex<K, V>(deps: KeeperDeps<K, V>, turn: JobTurn<unknown, unknown>): Promise<void> {
  const { index, topic, client, runtime } = deps
  const { lookEveryMs = LOOK_EVERY_MS, formerKeptMs = FORMER_KEPT_MS } = deps
  const family = indexFamily(index, client, deps.layout)
  /**
   * The ids of the completed requests. A request may be sent again while it waits for earlier ones, so it may arrive
   * again after its completion.
   */
  const completed = new Set(await deps.completedIds(turn))
  let waitMs = 0
  while (!turn.signal.aborted) {
    const request = await turn.nextRequest(waitMs)
    if (turn.signal.aborted) return
    waitMs = lookEveryMs
    await family.retryFailedShards()
    const topicId = await topicIdOf(deps)
    const requestId = request === undefined ? undefined : deps.requestId(request.value)
    const found = await family.list()
    const { current, isOutdated } = await usableIndex(deps, family, found, topicId, turn)
    await removeFormer(family, found, turn)
    const build: Build = { index: index.name, requestId, request: request?.value, startedAt: runtime.now() }
    // An earlier keeper may have published the index for this request and then ended before it reported this.
    const isDone = current !== undefined && requestId !== undefined && (completed.has(requestId) || current.requestId === requestId)
    const isWanted = request !== undefined || current === undefined || isOutdated || !hasForm(current, index)
    if (isWanted && !isDone) {
      await buildIndex(deps, turn, family, { build, found, former: current?.name, topicId })
      if (current !== undefined) await runtime.sleep(formerKeptMs, turn.signal)
    }
    if (request === undefined) continue
    await deps.report(turn, { ...build, state: 'complete', done: 0, total: 0 })
    await turn.completed(request)
    completed.add(deps.requestId(request.value))
  }
  runtime.log.info({ index: index.name, topic: topic.name }, 'index_keeper_ends')
}

/**
 * Returns the index that searches use (`current`), and whether a new index must replace it, because the topic has lost
 * records or has gained partitions. If the index was filled from another log, or has lost its data, deletes it;
 * `current` is then undefined. An outdated index remains in use until a new one is complete.
 */
async function usableIndex<K, V>(
  deps: KeeperDeps<K, V>,
  family: IndexFamily,
  found: readonly ConcreteIndex[],
  topicId: string,
  turn: JobTurn<unknown, unknown>,
): Promise<{ readonly current: ConcreteIndex | undefined; readonly isOutdated: boolean }> {
  const current = found.find(({ isCurrent }) => isCurrent)
  if (current === undefined) return { current, isOutdated: false }
  const isOfAnotherLog = current.topicId !== topicId
  const condition = isOfAnotherLog ? 'lost' : await conditionOf(deps, sinkAlias(current.name))
  if (condition !== 'lost') return { current, isOutdated: condition !== 'sound' }
  const event = isOfAnotherLog ? 'index_of_another_log_deleted' : 'index_without_its_data_deleted'
  deps.runtime.log.warn({ index: current.name, topicId, filledFrom: current.topicId }, event)
  await turn.confirm()
  await family.remove(current.name)
  return { current: undefined, isOutdated: false }
}

/**
 * Compares the positions in an index with its topic.
 * - `grown`: the index has positions for the first partitions, but for none of the later ones. It was complete before
 *   the topic gained these partitions.
 * - `lost`: positions are missing in any other way. A complete index has a position for every partition, so this index
 *   has lost its data.
 * - `ahead`: a position is beyond the end of its partition, which has lost its last records. New records get the
 *   offsets of the lost ones, so the index would ignore the new records.
 * - `sound`: none of these. An index that cannot be read at the moment also counts as sound, because its data may still
 *   be there.
 * @param address an alias of the index
 */
async function conditionOf<K, V>(deps: KeeperDeps<K, V>, address: string): Promise<'sound' | 'lost' | 'grown' | 'ahead'> {
  const { topic, client, transport } = deps
  const count = await partitionCountOf(deps)
  const places = Array.from({ length: count }, (_, partition) => ({ topic: topic.name, partition }))
  const writer = indexWriter(address, client)
  try {
    const positions = await Promise.all(places.map(({ partition }) => writer.position(topic.name, partition)))
    // Positions and ends both grow, so the ends must be read after the positions.
    const ends = await transport.offsets(places, 'end')
    const isAhead = positions.some((position, partition) => {
      const end = ends.get(partitionKey(topic.name, partition))
      return typeof position === 'object' && end !== undefined && position.next > end
    })
    if (isAhead) return 'ahead'
    const known = positions.filter((position) => position !== undefined).length
    if (known === count) return 'sound'
    return known > 0 && positions.indexOf(undefined) === known ? 'grown' : 'lost'
  } catch (error) {
    if (error instanceof TargetUnavailableError) return 'sound'
    throw error
  }
}

/** Deletes indexes that were replaced. */
async function removeFormer(family: IndexFamily, found: readonly ConcreteIndex[], turn: JobTurn<unknown, unknown>): Promise<void> {
  const former = found.filter(({ isCurrent, builders }) => !isCurrent && builders.length === 0)
  if (former.length > 0) await turn.confirm()
  for (const { name } of former) await family.remove(name)
}

interface BuildPlan {
  readonly build: Build
  readonly found: readonly ConcreteIndex[]
  readonly former: string | undefined
  readonly topicId: string
}

async function buildIndex<K, V>(
  deps: KeeperDeps<K, V>,
  turn: JobTurn<unknown, unknown>,
  family: IndexFamily,
  { build, found, former, topicId }: BuildPlan,
): Promise<void> {
  const { runtime } = deps
  const { requestId } = build
  const name = await unfinishedOrNew(deps, turn, family, found, { topicId, requestId })
  runtime.log.info({ index: name, former, requestId }, 'index_build_begins')
  await fillIndex(deps, turn, name, build, topicId, former !== undefined)
  await turn.confirm()
  if (!(await family.publish(name, turn.token, former)))
    throw new Error(`index ${name} was not published, because another process changed its aliases or those of the index in use`)
  runtime.log.info({ index: name, former, requestId }, 'index_published')
}

/**
 * Returns the name of the index to fill. If an earlier keeper has begun an index for the same topic and request, with
 * the same definition, and this index is not ahead of the topic, returns its name. Otherwise, creates a new index.
 * Deletes all other unfinished indexes.
 * @throws Error if another process has taken over the unfinished index
 */
async function unfinishedOrNew<K, V>(
  deps: KeeperDeps<K, V>,
  turn: JobTurn<unknown, unknown>,
  family: IndexFamily,
  found: readonly ConcreteIndex[],
  origin: { readonly topicId: string; readonly requestId: string | undefined },
): Promise<string> {
  const { index, runtime } = deps
  const unfinished = found.filter(({ isCurrent }) => !isCurrent)
  const fits = (each: ConcreteIndex) =>
    hasForm(each, index) && each.topicId === origin.topicId && each.requestId === origin.requestId && each.builders.length > 0
  await turn.confirm()
  const last = unfinished.findLast(fits)
  // An index that is ahead of the topic would never become complete.
  const kept = last !== undefined && (await conditionOf(deps, builderAlias(last.name, last.builders[0]))) === 'ahead' ? undefined : last
  for (const each of unfinished) if (each !== kept) await family.remove(each.name)
  if (kept !== undefined) {
    const isOurs = kept.builders.includes(turn.token) || (await family.takeOver(kept, turn.token))
    if (isOurs) return kept.name
    throw new Error(`index ${kept.name} was taken over by another process`)
  }
  return family.create({ definition: definitionOf(index), ...origin }, turn.token, runtime.now())
}
