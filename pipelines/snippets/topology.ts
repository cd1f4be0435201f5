import { snippetFlow } from '../../schemas/snippets/flow.ts'
import { snippetBlobs, snippetTexts, snippetViewCounts } from '../../schemas/snippets/topics.ts'
import type { Snippet, SnippetViews } from '../../schemas/snippets/types.ts'
import {
  avro,
  type Change,
  type Context,
  DECIDING,
  decideCommands,
  keyedStore,
  type RecordContext,
  ROLL_EVERY_MS,
  ROLL_KEY,
  rolling,
  type Topic,
  timerStore,
  topology,
  utf8,
  walk,
} from '../engine/index.ts'
import { blobReferences } from './blob-references.ts'
import { decideSnippet, gone, isGone } from './decide.ts'
import { snippetText } from './text.ts'

/**
 * Interval at which expired snippets are removed from the view. Until then, the totals of lists may count them. Readers
 * check the expiry times themselves.
 */
const EXPIRE_EVERY_MS = 10_000
/**
 * Maximum number of snippets that one tick expires. The number is limited because a tick delays commands. The next tick
 * continues.
 */
const EXPIRED_PER_TICK = 500
/** Interval between cleanups of expired snippets: docs/services/snippets.md#expiry */
const CLEANUP_EVERY_MS = 300_000
/** Maximum number of snippets per cleanup, over all partitions, so that a mass expiry does not delay commands. */
const CLEANED_PER_RUN = 1_000
/**
 * Number of snippets that each tick checks for data that earlier versions left behind. All snippets are checked once
 * after each start.
 */
const CHECKED_PER_TICK = 2_000
const ONLY_ONCE = 0

/** The only writer of snippets: creations, deletions, counted reads, expiry, and view counts. */
export const snippets = topology(
  'snippets',
  function declareSnippets(t) {
    const records = keyedStore('records', { key: utf8, value: avro('snippets/Snippet'), erasable: true })
    const blobs = keyedStore('blobs', { key: utf8, value: avro('snippets/BlobReferences'), erasable: true })
    const expiries = timerStore('expiries', { key: utf8 })
    const cleanups = timerStore('cleanups', { key: utf8 })
    const references = blobReferences(blobs, snippetBlobs)

    const logs = rolling()
    const remainders = walk(records, { keysPerRun: CHECKED_PER_TICK, isWanted: isOldRemainder })

    function changed({ key, before, after }: Change<Snippet>, ctx: Context): void {
      if (after === undefined) return
      references.follow(before, after, ctx)
      if (before === undefined || isGone(after)) ctx.emit(snippetTexts, key, snippetText(after))
      if (isGone(after)) {
        logs.erased(ctx.now)
        records.scrub()
      }
      if (before === undefined) {
        if (after.expires_at !== null) expiries.schedule(key, after.expires_at)
      } else if (after.is_deleted) {
        expiries.cancel(key)
        cleanups.cancel(key)
      }
    }

    const deciding = decideCommands(t, {
      flow: snippetFlow,
      store: records,
      decide: decideSnippet,
      view: (snippet) => ({ ...snippet, excerpt: '' }),
      changed,
      emits: [snippetBlobs, snippetTexts],
      stores: [blobs, expiries, cleanups],
    })
    const { stores, emits } = deciding

    function expire(now: number, ctx: Context): void {
      for (const { key, due } of expiries.takeDue(now, EXPIRED_PER_TICK)) {
        const snippet = records.get(key)
        if (snippet === undefined) continue
        cleanups.schedule(key, due)
        deciding.change(key, gone(snippet, { is_expired: true }, now), ctx)
      }
    }

    /** Returns whether an earlier version marked a snippet as gone without erasing its data. */
    function isOldRemainder(_key: string, snippet: Snippet): boolean {
      return isGone(snippet) && snippet.gone_at === null
    }

    function eraseRemainders(now: number, ctx: Context): void {
      for (const [, snippet] of remainders.run(ONLY_ONCE)) deciding.change(snippet.paste_id, gone(snippet, {}, now), ctx)
    }

    /** Makes the broker compact erased records: see `KeyedStore.roll`. */
    function rollLogs(now: number, ctx: Context): void {
      if (!logs.isNeeded(now)) return
      records.roll()
      blobs.roll()
      for (const topic of [snippetFlow.decisions, snippetTexts, snippetBlobs] as Topic<string, unknown>[])
        ctx.emit(topic, ROLL_KEY, null, { partition: ctx.partition, timestamp: now })
    }

    function cleanUp(now: number, ctx: Context): void {
      // The shares of all partitions add up to the maximum per cleanup, regardless of the number of partitions.
      const share = Math.floor((CLEANED_PER_RUN + ctx.partition) / ctx.partitions)
      for (const { key } of cleanups.takeDue(now, share)) {
        const snippet = records.get(key)
        if (snippet !== undefined) deciding.change(key, gone(snippet, { is_deleted: true }, now), ctx)
      }
    }

    function takeViews({ views }: SnippetViews, ctx: RecordContext<string>): void {
      const snippet = records.get(ctx.key)
      const isAlive = snippet !== undefined && !snippet.is_deleted && !snippet.is_expired
      if (isAlive && snippet.view_count < views) deciding.change(ctx.key, { ...snippet, view_count: views }, ctx)
    }

    deciding.stream
      .tick('expire', { everyMs: EXPIRE_EVERY_MS, clock: 'wall', stores, emits }, expire)
      .tick('erase-remainders', { everyMs: EXPIRE_EVERY_MS, clock: 'wall', stores, emits }, eraseRemainders)
      .tick('roll-logs', { everyMs: ROLL_EVERY_MS, clock: 'wall', stores, emits }, rollLogs)
      .tick('clean-up', { everyMs: CLEANUP_EVERY_MS, clock: 'wall', stores, emits }, cleanUp)
    t.source(snippetViewCounts).process('take-views', { reads: (_views, key) => records.prefetch(key), stores, emits }, takeViews)
  },
  DECIDING,
)
